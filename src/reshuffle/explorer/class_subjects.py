"""Ontologies without individuals as subjects: the edges that do not follow are facts, the axioms of properties rules.

Classification says which edges there are. Those that are left when all that follows from the rest is taken away, with
the rules below, have the same closure. So a proof, what is derived, and what goes with an edge come as of any facts.

>>> print(*_of_every("part_of", "is_a"), sep="; ")
is_a(X, Y) & part_of(Y, Z) -> part_of(X, Z); part_of(X, Y) & is_a(Y, Z) -> part_of(X, Z)
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from reshuffle.explorer.rule_bases import RuleBaseSubject
from reshuffle.kg import KnowledgeGraph
from reshuffle.progress import SILENT
from reshuffle.reasoning.classes.class_answers import ClassAnswers
from reshuffle.rules.ontologies.axioms import (
    EquivalentProperties,
    Kind,
    PropertyChain,
    PropertyIs,
    SubProperty,
)
from reshuffle.rules.rule import PathRule, RuleBase

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from reshuffle.explorer.changes import Edits
    from reshuffle.explorer.rule_bases import RuleBaseWorld
    from reshuffle.explorer.subject import Source
    from reshuffle.progress import Progress
    from reshuffle.rules.ontologies.axioms import Axiom, Ontology


class ClassSubject(RuleBaseSubject):
    """The classes of an ontology and the edges between them."""

    def __init__(self, ontology: Ontology, source: Source, *, progress: Progress = SILENT) -> None:
        edges = ClassAnswers(ontology, reduced=True, progress=progress)
        self._is_a, self.labels = edges.is_a, edges.names.labels
        source = replace(source, facts=KnowledgeGraph(list(edges.triples())))
        super().__init__(_rules_between(ontology, edges), source)

    def world(self, edits: Edits, progress: Progress = SILENT) -> RuleBaseWorld:
        """As of all rules and facts; its facts are edges between classes."""
        world = super().world(edits, progress)
        world.is_a = self._is_a
        return world


def _rules_between(ontology: Ontology, edges: ClassAnswers) -> RuleBase:
    """What closes the edges, by the relations that have some or get some."""
    short = edges.names.__getitem__
    of_properties = [rule.renamed(short) for axiom in ontology.axioms for rule in _of_properties(axiom)]
    used = _with_edges(set(edges.counts()), of_properties)
    rules = [PathRule((edges.is_a, edges.is_a), edges.is_a)]
    for relation in sorted(used - {edges.is_a}):
        rules += _of_every(relation, edges.is_a)
    rules += [rule for rule in of_properties if used.issuperset(rule.body)]
    return RuleBase(tuple(dict.fromkeys(rules)), unread=edges.read_rules.unread)


def _with_edges(used: set[str], rules: Sequence[PathRule]) -> set[str]:
    """These relations, and those that rules derive from them."""
    more = {rule.head for rule in rules if used.issuperset(rule.body)} - used
    return _with_edges(used | more, rules) if more else used


def _of_every(relation: str, is_a: str) -> list[PathRule]:
    return [PathRule((is_a, relation), relation), PathRule((relation, is_a), relation)]


def _of_properties(axiom: Axiom) -> Iterator[PathRule]:
    """The path rules of an axiom about properties."""
    match axiom:
        case SubProperty(sub, sup):
            yield PathRule((sub,), sup)
        case EquivalentProperties(members):
            yield from (PathRule((one,), other) for one in members for other in members if one != other)
        case PropertyChain(chain, sup):
            yield PathRule(chain, sup)
        case PropertyIs(Kind.TRANSITIVE, relation):
            yield PathRule((relation, relation), relation)
