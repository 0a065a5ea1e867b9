"""Sizes of relations and degrees of entities: a graph in a few numbers."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reshuffle.kg.graph import KnowledgeGraph


@dataclass(frozen=True)
class Degrees:
    """The distribution of the number of edges per entity."""

    least: int
    median: float
    mean: float
    most: int

    def to_dict(self) -> dict[str, float]:
        """Plain data for JSON."""
        return asdict(self)


def relation_sizes(graph: KnowledgeGraph) -> dict[str, int]:
    """Triples per relation that has any, the largest first.

    >>> from reshuffle.kg import KnowledgeGraph
    >>> relation_sizes(KnowledgeGraph([("a", "r", "b"), ("a", "s", "b"), ("b", "s", "c")]))
    {'s': 2, 'r': 1}
    """
    counts = np.bincount(graph.relation_ids, minlength=len(graph.relations)).tolist()
    sizes = {name: count for name, count in zip(graph.relations, counts, strict=True) if count}
    return dict(sorted(sizes.items(), key=lambda item: (-item[1], item[0])))


def degree_summary(graph: KnowledgeGraph) -> dict[str, Degrees]:
    """Out-edges, in-edges and all edges per entity; entities without an edge count as 0.

    >>> from reshuffle.kg import KnowledgeGraph
    >>> degree_summary(KnowledgeGraph([("a", "r", "b"), ("a", "s", "b"), ("b", "s", "c")]))["out"]
    Degrees(least=0, median=1.0, mean=1.0, most=2)
    """
    out = np.bincount(graph.heads, minlength=graph.num_entities)
    into = np.bincount(graph.tails, minlength=graph.num_entities)
    return {"out": _degrees(out), "in": _degrees(into), "all": _degrees(out + into)}


def _degrees(counts: NDArray[np.int64]) -> Degrees:
    if not len(counts):
        return Degrees(0, 0.0, 0.0, 0)
    return Degrees(int(counts.min()), float(np.median(counts)), float(counts.mean()), int(counts.max()))
