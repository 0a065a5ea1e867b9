"""Rules on a graph: support, confidence, PCA confidence and head coverage, as mining counts them."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from reshuffle.kg.completion import INVERSE_SUFFIX
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
    paths = [rule for rule in listed if isinstance(rule, PathRule)]
    found: dict[Rule, Measures] = dict(measure(graph, paths, progress=progress).items())
    for rule in listed:
        if isinstance(rule, IntersectionRule):
            found[rule] = _intersection(rule, graph)
    return found


def _intersection(rule: IntersectionRule, graph: KnowledgeGraph) -> Measures:
    predicted = reduce(np.intersect1d, [_keys(name, graph) for name in rule.body])
    true = _keys(rule.head, graph)
    starts = predicted // max(1, graph.num_entities)
    known = np.isin(starts, true // max(1, graph.num_entities))
    return Measures(int(np.isin(predicted, true).sum()), len(predicted), int(known.sum()), len(true))


def _keys(name: str, graph: KnowledgeGraph) -> NDArray[np.int64]:
    """The pairs of a relation or inverse, one number each."""
    base = name.removesuffix(INVERSE_SUFFIX)
    if base not in graph.relations:
        return np.zeros(0, dtype=np.int64)
    heads, tails = graph.edges(int(graph.relations.ids([base])[0]))
    first, second = (tails, heads) if name != base else (heads, tails)
    return first.astype(np.int64) * graph.num_entities + second
