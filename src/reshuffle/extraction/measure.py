"""Measure rules on a graph: support, confidence, PCA confidence and head coverage, as in mining, with one difference.

If a body contains its own head, it may find a pair through the very fact that it predicts. The spouse of a person's
spouse is that person, so `ancestor ; spouse ; spouse -> ancestor` would nearly always be correct and still be useless.
So a pair does not count, as prediction or support, if the body joins it only through the pair's own fact.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from reshuffle.extraction.kernels import found_by_others, found_by_themselves
from reshuffle.kg import CompletedGraph, inverse_name
from reshuffle.kg.vocabulary import base_relation, is_inverse
from reshuffle.progress import SILENT
from reshuffle.rules import IntersectionRule, PathRule
from reshuffle.rules.mining import Measures, measure

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from reshuffle.kg import KnowledgeGraph
    from reshuffle.progress import Progress
    from reshuffle.rules import Rule


def measured(
    rules: Iterable[Rule], graph: KnowledgeGraph, *, progress: Progress = SILENT
) -> dict[Rule, Measures]:
    """The measures of each rule; a path that joins too many pairs (`mining.MOST_JOINED`) has none."""
    listed = list(rules)
    paths = measure(graph, [rule for rule in listed if isinstance(rule, PathRule)], progress=progress)
    facts = FoundFacts(graph)
    found: dict[Rule, Measures] = {}
    with progress("hiding facts", total=len(listed), unit="rules") as report:
        for rule in listed:
            if isinstance(rule, IntersectionRule):
                found[rule] = _intersection(rule, graph)
            elif rule in paths:
                found[rule] = _without(paths[rule], facts.by_themselves(rule) if paths[rule].support else 0)
            report(1)
    return found


def _without(counts: Measures, number: int) -> Measures:
    return replace(
        counts,
        support=counts.support - number,
        predictions=counts.predictions - number,
        predictions_known=counts.predictions_known - number,
    )


class FoundFacts:
    """Which facts of its head a body finds, with and without the help of the fact itself."""

    def __init__(self, graph: KnowledgeGraph) -> None:
        completed = CompletedGraph(graph, num_identities=0)
        edges = completed.by_head
        self._graph, self._edges = graph, (edges.starts, edges.relations, edges.neighbours)
        names = [completed.relation_name(code) for code in range(completed.num_relations)]
        self._codes = {name: code for code, name in enumerate(names)}

    def by_themselves(self, rule: PathRule) -> int:
        """How many facts the body finds by the fact alone; for rules that have support."""
        if rule.head not in rule.body and inverse_name(rule.head) not in rule.body:
            return 0
        return int(found_by_themselves(*self._coded(rule), self._edges))

    def found(self, rule: Rule) -> NDArray[np.bool_]:
        """For each fact of the head whether the body finds it without it; for rules that have support."""
        if isinstance(rule, IntersectionRule):
            return np.isin(_keys(rule.head, self._graph), pairs_met(rule, self._graph))
        assert isinstance(rule, PathRule)  # rules with constants are not measured
        found: NDArray[np.bool_] = found_by_others(*self._coded(rule), self._edges)
        return found

    def _coded(self, rule: PathRule) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
        """The facts of the head, the body and its reversal, and the two names of the facts' own edges."""
        read = rule.reversed() if is_inverse(rule.head) else rule
        hidden = np.array([self._codes[read.head], self._codes[inverse_name(read.head)]])
        pairs = np.stack(self._graph.edges(int(hidden[0])), axis=1)
        ways = [[self._codes[name] for name in way.body] for way in (read, read.reversed())]
        return pairs, np.array(ways), hidden


def _intersection(rule: IntersectionRule, graph: KnowledgeGraph) -> Measures:
    predicted = pairs_met(rule, graph)
    true = _keys(rule.head, graph)
    starts = predicted // max(1, graph.num_entities)
    known = np.isin(starts, true // max(1, graph.num_entities))
    return Measures(int(np.isin(predicted, true).sum()), len(predicted), int(known.sum()), len(true))


def pairs_met(rule: IntersectionRule, graph: KnowledgeGraph) -> NDArray[np.int64]:
    """The pairs of entities that all relations of the body join, one number each: first * entities + second."""
    return reduce(np.intersect1d, [_keys(name, graph) for name in rule.body])


def _keys(name: str, graph: KnowledgeGraph) -> NDArray[np.int64]:
    """The pairs of a relation or inverse, one number each."""
    base = base_relation(name)
    if base not in graph.relations:
        return np.zeros(0, dtype=np.int64)
    heads, tails = graph.edges(int(graph.relations.ids([base])[0]))
    first, second = (tails, heads) if name != base else (heads, tails)
    return first.astype(np.int64) * graph.num_entities + second
