"""Axioms that are found while reasoning: those that stand among facts, and those that follow.

A triple of names that is an axiom, such as `ex:p rdfs:subPropertyOf ex:q`, is taken up as one. What literals would say
under an axiom is not derived, since literals are no entities; such axioms are counted.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from reshuffle.errors import UnknownNameError
from reshuffle.kg import Triple
from reshuffle.kg.vocabulary import base_relation, is_inverse
from reshuffle.rules.class_axioms import SAME_AS, TYPE, domain_in
from reshuffle.rules.formats.owl import AXIOM_RELATIONS, is_axiom
from reshuffle.rules.ontologies.axiom_rules import PART, rules_of
from reshuffle.rules.ontologies.axioms import EquivalentProperties
from reshuffle.rules.ontologies.equality import with_equality
from reshuffle.rules.ontologies.schema import axiom_of
from reshuffle.rules.rule import ConstantRule, PathRule, Unread

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from reshuffle.kg import KnowledgeGraph
    from reshuffle.reasoning.answers import Answers
    from reshuffle.rules import RuleBase
    from reshuffle.rules.ontologies.axioms import Axiom
    from reshuffle.rules.rule import Rule


def axioms_of(triples: Iterable[Triple]) -> dict[Triple, Axiom]:
    """The axioms among triples that are said in names alone."""
    return {
        triple: axiom for triple in triples if is_axiom(*triple) and (axiom := axiom_of(*triple)) is not None
    }


def among(facts: KnowledgeGraph) -> Iterator[Triple]:
    """The triples of a graph whose relation may make them axioms."""
    for number, relation in enumerate(facts.relations):
        if relation in AXIOM_RELATIONS or relation == TYPE:
            heads, tails = facts.edges(number)
            for head, tail in zip(heads.tolist(), tails.tolist(), strict=True):
                yield Triple(facts.entities[head], relation, facts.entities[tail])


def may_follow(rules: RuleBase) -> bool:
    """Can a rule conclude an axiom?"""
    return any(map(_may_conclude_axioms, rules.given))


def _may_conclude_axioms(rule: Rule) -> bool:
    if base_relation(rule.head) in AXIOM_RELATIONS - {SAME_AS}:
        return True
    return (
        isinstance(rule, ConstantRule) and rule.head == TYPE and is_axiom("", TYPE, str(rule.conclusion[2]))
    )


def same_relations(answers: Answers, relations: Iterable[str]) -> dict[Triple, Axiom]:
    """What answers say of two names of one relation."""
    found: dict[Triple, Axiom] = {}
    for name in relations:
        with suppress(UnknownNameError):
            others = [other for other in answers.tails(name, SAME_AS) if other != name]
            found |= {Triple(name, SAME_AS, other): EquivalentProperties((name, other)) for other in others}
    return found


def taking_up(rules: RuleBase, axioms: Mapping[Triple, Axiom]) -> RuleBase:
    """The rules with those of axioms that are new; the same object where none is."""
    assert rules.stated is not None
    new = {triple: axiom for triple, axiom in axioms.items() if triple not in rules.stated}
    if not new:
        return rules
    more = rules_of(new.values())
    given = tuple(dict.fromkeys([*rules.given, *more.given]))
    taken = replace(
        rules,
        given=given,
        disjointness=tuple(dict.fromkeys([*rules.disjointness, *more.disjointness])),
        by_instance=tuple(dict.fromkeys([*rules.by_instance, *more.by_instance])),
        schema=(*rules.schema, *new),
        stated=rules.stated + Counter(new.keys()),
    )
    return with_equality(taken)


def follows_later(rules: RuleBase) -> tuple[Unread, ...]:
    """What an engine leaves out that applies all rules at once: rules that no engine takes, and axioms that follow.

    Axioms about another name of a class or a property say nothing that the shared triples of both do not say.
    """
    concluding = [rule for rule in rules.given if _may_conclude_axioms(rule) and SAME_AS not in rule.body]
    kinds = {
        "rules with conditions on a path between two variables": rules.by_instance,
        "rules that conclude axioms": concluding,
    }
    return tuple(Unread(what, len(some), str(some[0])) for what, some in kinds.items() if some)


def over_literals(rules: RuleBase, facts: KnowledgeGraph) -> tuple[Unread, ...]:
    """The axioms under which the literals of facts would say more."""
    used = set() if facts.literals is None else set(facts.literals.relations)
    if not used:
        return ()
    found = Counter(
        kind for rule in (*rules.given, *rules.by_instance) if (kind := _asks_of_literals(rule, used))
    )
    return tuple(Unread(kind, count, "what literals say under them", PART) for kind, count in found.items())


def _asks_of_literals(rule: Rule, used: set[str]) -> str:
    """What an axiom is counted as whose rule asks for the ends of a property that leads to literals."""
    if used.isdisjoint(map(base_relation, rule.body)):
        return ""
    if isinstance(rule, PathRule):
        if rule.head != SAME_AS or base_relation(rule.body[0]) == SAME_AS:
            return ""
        kind = "Functional" if is_inverse(rule.body[0]) else "InverseFunctional"
        return f"owl:{kind}Property axioms over literals"
    if not isinstance(rule, ConstantRule) or domain_in(rule) is not None:
        return ""
    ends = [end for _, *two in (*rule.atoms, rule.conclusion) for end in two]
    asked = any(
        relation in used and isinstance(end, int) and (ends.count(end) == 1 or rule.head == SAME_AS)
        for relation, _, end in rule.atoms
    )
    return "axioms over literals" if asked else ""
