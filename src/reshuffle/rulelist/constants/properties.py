"""The properties of entities: to have a certain neighbour over a relation, or some neighbour.

They are numbered: first the pairs of a code and a neighbour that stand in the facts, by code and neighbour, then for
each code that of having some neighbour.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from reshuffle.kg.rows import starts_of
from reshuffle.rulelist.kernels.constant_walks import number_edges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reshuffle.rulelist.features import FeatureGraph


@dataclass(frozen=True)
class Properties:
    """Who has which property."""

    codes: NDArray[np.int32]  # property
    entities: NDArray[np.int32]  # property: the neighbour; -1 for any
    starts: NDArray[np.int64]  # property + 1
    members: NDArray[np.int32]
    of_edges: NDArray[np.int32]  # edge of the adjacency: its property

    @classmethod
    def of(cls, facts: FeatureGraph) -> Properties:
        """Those of the entities of a graph."""
        starts, codes, neighbours = facts.edges
        number = 2 * facts.num_relations
        heads = np.repeat(np.arange(len(starts) - 1, dtype=np.int32), np.diff(starts))
        # The edges of an entity over one code end at those that have the property of the inverse code and this entity.
        first = np.ones(len(codes), dtype=np.bool_)
        first[1:] = (heads[1:] != heads[:-1]) | (codes[1:] != codes[:-1])
        runs = np.flatnonzero(first)
        about, inverse = heads[runs], (codes[runs] + number // 2) % max(1, number)
        by_code = np.argsort(inverse, kind="stable")
        sizes = np.diff(np.append(runs, len(codes)))[by_code]
        any_sizes = np.bincount(codes[runs], minlength=number)
        named = starts_of(sizes)
        places = np.arange(len(codes)) + np.repeat(runs[by_code] - named[:-1], sizes)
        members = neighbours[places]
        of_edges = np.empty(len(codes), dtype=np.int32)
        number_edges(starts, named, members, of_edges)
        return cls(
            np.concatenate([inverse[by_code], np.arange(number)]).astype(np.int32),
            np.concatenate([about[by_code], np.full(number, -1)]).astype(np.int32),
            starts_of(np.concatenate([sizes, any_sizes])),
            np.concatenate([members, about[np.argsort(codes[runs], kind="stable")]]),
            of_edges,
        )

    @property
    def num_named(self) -> int:
        """How many name a neighbour."""
        return int(np.count_nonzero(self.entities >= 0))

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many have each property."""
        return np.diff(self.starts)

    def having(self) -> NDArray[np.int64]:
        """For each code how many have some neighbour."""
        return self.sizes[self.num_named :]

    def numbers_of(
        self, codes: NDArray[np.integer], entities: NDArray[np.integer], count: int
    ) -> NDArray[np.int64]:
        """The numbers of properties by code and entity, of a graph with so many; -1 where nobody has one."""
        named = self.num_named
        known = self.codes[:named].astype(np.int64) * max(1, count) + self.entities[:named]
        asked = codes.astype(np.int64) * max(1, count) + entities
        places = np.searchsorted(known, asked)
        found = np.zeros(len(asked), dtype=np.bool_)
        inside = places < named
        found[inside] = known[places[inside]] == asked[inside]
        return np.where(entities < 0, named + codes, np.where(found, places, -1)).astype(np.int64)
