"""The rules of an ontology for engines outside of this process, which apply all of them at once.

`ontology_answers` derives, takes up what follows, and derives again. An engine gets everything beforehand: the axioms
that stand among the facts, what these say of each other, and the rules of equality for the relations of the facts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from reshuffle.kg import KnowledgeGraph
from reshuffle.reasoning.axioms_taken_up import among, axioms_of, follows_later, taking_up
from reshuffle.rules.class_axioms import TYPE
from reshuffle.rules.ontologies.equality import with_equality
from reshuffle.rules.ontologies.schema import BY_RELATION, KINDS, RELATIONS, SCHEMA_RULES
from reshuffle.rules.rule import ConstantRule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reshuffle.kg import Triple
    from reshuffle.reasoning.reasoner import Reasoner
    from reshuffle.reasoning.scaling.parquet_facts import ParquetFacts
    from reshuffle.rules import RuleBase
    from reshuffle.rules.rule import Unread


@dataclass(frozen=True)
class OverFacts:
    """What an engine derives by, which depends on the facts."""

    reasoner: Reasoner
    """With all rules that the facts bring to an ontology."""
    proving: Reasoner
    """With the axioms alone, which proves what follows from a few of the facts."""
    left_out: tuple[Unread, ...] = ()
    """What an engine does not derive."""


def for_engine(reasoner: Reasoner, facts: KnowledgeGraph | ParquetFacts) -> OverFacts:
    """What an engine derives by over these facts; rules that are no ontology stay as they are."""
    rules = reasoner.rules
    if rules is None or rules.stated is None:
        return OverFacts(reasoner, reasoner)
    relations, axioms = _used(facts)
    taken = taking_up(rules, axioms_of(axioms))
    said = () if RELATIONS.isdisjoint(relations) else _said_of_each_other(reasoner, taken, axioms)
    whole = with_equality(replace(taken, given=(*taken.given, *said)) if said else taken, relations)
    return OverFacts(reasoner.with_rules(whole), reasoner.with_rules(taken), follows_later(taken))


def _used(facts: KnowledgeGraph | ParquetFacts) -> tuple[list[str], list[Triple]]:
    """The relations of the facts, and the triples among them that may be axioms."""
    if isinstance(facts, KnowledgeGraph):
        return list(facts.relations), list(among(facts))
    relations = facts.relations()
    may_be = {TYPE, *BY_RELATION}.intersection(relations)
    return relations, list(facts.some(BY_RELATION, KINDS)) if may_be else []


def _said_of_each_other(
    reasoner: Reasoner, rules: RuleBase, axioms: Iterable[Triple]
) -> tuple[ConstantRule, ...]:
    """What follows between classes and properties, as rules without conditions."""
    schema = reasoner.chased(SCHEMA_RULES, KnowledgeGraph(dict.fromkeys([*rules.schema, *axioms])))
    return tuple(
        ConstantRule((), (relation, head, tail)) for head, relation, tail in schema.triples() if head != tail
    )
