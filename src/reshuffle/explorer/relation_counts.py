"""What the facts of each relation look like: sizes, typical ends, how functional and how symmetric it is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reshuffle.kg import KnowledgeGraph

_TYPICAL = 3  # ends that are named
_EXCEPTIONS = 5  # that are named
FUNCTIONAL = 0.95
"""The share of heads with one tail from which on several tails are an exception."""
_LEAST = 20  # heads: a share of fewer says little


@dataclass(frozen=True)
class _Ends:
    """How many facts each end of a relation has, by relation, most first."""

    relations: NDArray[np.int64]  # pair
    entities: NDArray[np.int64]  # pair
    counts: NDArray[np.int64]  # pair
    number: int

    @classmethod
    def of(cls, facts: KnowledgeGraph, ends: NDArray[np.int32]) -> _Ends:
        width = max(1, facts.num_entities)
        keys, counts = np.unique(facts.relation_ids.astype(np.int64) * width + ends, return_counts=True)
        order = np.lexsort((keys, -counts, keys // width))
        return cls((keys // width)[order], (keys % width)[order], counts[order], len(facts.relations))

    @cached_property
    def distinct(self) -> NDArray[np.int64]:  # relation
        return np.bincount(self.relations, minlength=self.number)

    @cached_property
    def single(self) -> NDArray[np.int64]:  # relation
        """How many have one fact."""
        return np.bincount(self.relations[self.counts == 1], minlength=self.number)

    def first(self, relation: int, most: int) -> slice:
        """The places of the commonest ends of a relation."""
        begin, end = np.searchsorted(self.relations, [relation, relation + 1])
        return slice(int(begin), min(int(end), int(begin) + most))


class RelationCounts:
    """The relations of a graph, counted once."""

    def __init__(self, facts: KnowledgeGraph) -> None:
        self._facts = facts
        self._heads, self._tails = _Ends.of(facts, facts.heads), _Ends.of(facts, facts.tails)
        self._sizes = np.bincount(facts.relation_ids, minlength=len(facts.relations))
        self._reversed = _reversed(facts)
        self.degrees: NDArray[np.int64] = np.bincount(
            np.concatenate([facts.heads, facts.tails]), minlength=facts.num_entities
        )

    def rows(self) -> list[dict[str, Any]]:
        """A row for each relation with facts, most facts first."""
        order = np.argsort(-self._sizes, kind="stable")
        return [self._row(relation) for relation in order.tolist() if self._sizes[relation]]

    def _row(self, relation: int) -> dict[str, Any]:
        heads, tails = (int(side.distinct[relation]) for side in (self._heads, self._tails))
        size = int(self._sizes[relation])
        return {
            "relation": self._facts.relations[relation],
            "facts": size,
            "heads": heads,
            "tails": tails,
            "typical_heads": self._typical(self._heads, relation),
            "typical_tails": self._typical(self._tails, relation),
            "one_tail": int(self._heads.single[relation]) / heads,
            "one_head": int(self._tails.single[relation]) / tails,
            "symmetric": int(self._reversed[relation]) / size,
        }

    def _typical(self, side: _Ends, relation: int) -> list[tuple[str, int]]:
        here = side.first(relation, _TYPICAL)
        names = self._facts.entities[side.entities[here]]
        return list(zip(names, side.counts[here].tolist(), strict=True))

    def exceptions(self) -> list[dict[str, Any]]:
        """Relations that nearly always have one tail, with the heads that have several."""
        found = []
        distinct, single = self._heads.distinct, self._heads.single
        for relation in np.flatnonzero((distinct >= _LEAST) & (single >= FUNCTIONAL * distinct)).tolist():
            several = int(distinct[relation] - single[relation])
            if several:
                here = self._heads.first(relation, min(several, _EXCEPTIONS))
                rows = [
                    {
                        "head": self._facts.entities[head],
                        "tails": list(
                            self._facts.entities[self._facts.by_head.of(head, relation)[:_TYPICAL]]
                        ),
                        "count": count,
                    }
                    for head, count in zip(
                        self._heads.entities[here].tolist(), self._heads.counts[here].tolist(), strict=True
                    )
                ]
                share = int(single[relation]) / int(distinct[relation])
                name = self._facts.relations[relation]
                found.append({"relation": name, "share": share, "count": several, "heads": rows})
        return found


def _reversed(facts: KnowledgeGraph) -> NDArray[np.int64]:  # relation
    """How many facts of each relation hold the other way round, too."""
    width = np.int64(max(1, facts.num_entities))
    relations, heads, tails = (
        column.astype(np.int64) for column in (facts.relation_ids, facts.heads, facts.tails)
    )
    one, other = (relations * width + heads) * width + tails, (relations * width + tails) * width + heads
    there = np.isin(one, other)
    return np.bincount(facts.relation_ids[there], minlength=len(facts.relations))
