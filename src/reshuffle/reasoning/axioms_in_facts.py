"""Axioms among facts: a second ontology that passes as facts says nothing by itself, and its reader must hear of it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from reshuffle.rules.class_axioms import TYPE
from reshuffle.rules.formats.ontology import shortened
from reshuffle.rules.formats.owl import AXIOM_RELATIONS, is_axiom
from reshuffle.rules.rule import Unread
from reshuffle.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from reshuffle.kg import KnowledgeGraph
    from reshuffle.rules import RuleBase
    from reshuffle.rules.formats.owl import Triple


def axioms_among(facts: KnowledgeGraph, rules: RuleBase) -> tuple[Unread, ...]:
    """The axioms that stand among facts and are not among the rules, by kind.

    Rules that ask for the relation of an axiom, such as rdfs:subClassOf, say themselves what follows from it. Axioms of
    the ontology that was read as rules may stand among the facts, where one file holds both.
    """
    found = Counter(_axioms(facts, rules))
    if not found:
        return ()
    found -= rules.stated or Counter()
    kinds: dict[str, list[Triple]] = {}
    for (head, relation, tail), count in found.items():
        name = shortened(tail if relation == TYPE else relation)
        kinds.setdefault(name, []).extend([(head, relation, tail)] * count)
    return tuple(
        Unread(f"{name} axioms among the facts", len(some), " ".join(some[0]), "axiom among the facts")
        for name, some in kinds.items()
    )


def _axioms(facts: KnowledgeGraph, rules: RuleBase) -> Iterator[Triple]:
    asked = {name for rule in rules.given for name in rule.body} if rules.stated is None else set()
    for number, relation in enumerate(facts.relations):
        if relation in asked or relation not in AXIOM_RELATIONS | {TYPE}:
            continue
        heads, tails = facts.edges(number)
        for head, tail in zip(heads.tolist(), tails.tolist(), strict=True):
            names = facts.entities[head], facts.entities[tail]
            if is_axiom(names[0], relation, names[1]):
                start, end = ("_:" if name.startswith("_:") else name for name in names)
                yield start, relation, end


def told_axioms(found: Sequence[Unread]) -> str:
    """The warning about them."""
    number = sum(one.count for one in found)
    kinds = ", ".join(f"{one.what.split()[0]} {one.count:,}" for one in found[:3])
    more = ", ..." if len(found) > 3 else ""
    return (
        f"warning: {counted(number, 'axiom')} among the facts ({kinds}{more}): nothing follows from them, "
        "since only RULES is read for axioms\n  hint: join the ontologies in one file, and give it as RULES"
    )
