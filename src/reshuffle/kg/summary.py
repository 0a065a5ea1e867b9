"""Summaries of a graph: sizes of relations, degrees of entities, and suspicious names."""

from __future__ import annotations

import unicodedata
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

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


def odd_names(graph: KnowledgeGraph) -> dict[str, list[list[str]]]:
    """Names that look like mistakes, by what is odd about them; those that are nearly the same in one group.

    >>> from reshuffle.kg import KnowledgeGraph
    >>> found = odd_names(KnowledgeGraph([(" ada", "r", "b"), ("é", "r", "e\\u0301")]))
    >>> [len(groups) for groups in found.values()]
    [1, 0, 1]
    """
    names = pa.chunked_array(
        [graph.entities.to_arrow(), graph.relations.to_arrow()], pa.large_string()
    ).unique()
    blank = pc.not_equal(pc.utf8_trim_whitespace(names), names)
    control = pc.match_substring_regex(names, r"[\x00-\x1f\x7f]")
    return {
        "with blanks at an end": [[name] for name in names.filter(blank).to_pylist()],
        "with NUL or other control characters": [[name] for name in names.filter(control).to_pylist()],
        "that differ by their Unicode form alone": _spelled_twice(names),
    }


def _spelled_twice(names: pa.Array) -> list[list[str]]:
    """Groups of names that are one name in Unicode's form NFC; plain ASCII has one spelling."""
    spelled: dict[str, list[str]] = {}
    for name in names.filter(pc.invert(pc.string_is_ascii(names))).to_pylist():
        spelled.setdefault(unicodedata.normalize("NFC", name), []).append(name)
    return [group for group in spelled.values() if len(group) > 1]
