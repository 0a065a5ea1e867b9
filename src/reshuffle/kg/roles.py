"""Roles: a relation with one of its sides, such as "is a head of bornIn"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from reshuffle.kg.rows import Rows, starts_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from reshuffle.kg.graph import KnowledgeGraph

_PAIRS_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class Roles:
    """The distinct roles of each entity as compressed rows; role r is head of r, role R + r tail of r."""

    starts: NDArray[np.int64]  # entity + 1
    roles: NDArray[np.int64]  # entry

    @classmethod
    def of(cls, graph: KnowledgeGraph, relations: NDArray[np.int32], num_relations: int) -> Roles:
        """The roles in a graph; `relations` gives the id of each of its relations, -1 for one to ignore."""
        ids = relations[graph.relation_ids].astype(np.int64)
        used = ids >= 0
        entities = np.concatenate([graph.heads[used], graph.tails[used]]).astype(np.int64)
        roles = np.concatenate([ids[used], ids[used] + num_relations])
        entries = np.unique(entities * (2 * num_relations) + roles)
        owners, distinct = np.divmod(entries, max(1, 2 * num_relations))
        return cls(starts_in(owners, num_rows=graph.num_entities), distinct)

    def pair_counts(self, num_roles: int) -> NDArray[np.int64]:  # role role
        """How many entities have both of two roles."""
        counts = np.zeros(num_roles * num_roles, dtype=np.int64)
        for pairs in self._pairs(num_roles):
            codes, numbers = np.unique(pairs, return_counts=True)
            counts[codes] += numbers
        return counts.reshape(num_roles, num_roles)

    def _pairs(self, num_roles: int) -> Iterator[NDArray[np.int64]]:
        """All pairs of roles that share an entity, as one number each, some entities at a time."""
        rows = Rows(self.starts, self.roles)
        sizes = rows.sizes
        if not len(sizes):
            return
        blocks = np.cumsum(sizes**2) // _PAIRS_AT_ONCE
        for block in np.split(np.arange(len(sizes)), np.flatnonzero(np.diff(blocks)) + 1):
            first, second = rows.entries(np.repeat(block, sizes[block]))
            yield self.roles[self.starts[block[0]] + first] * num_roles + second

    def best(self, confidences: NDArray[np.float32]) -> NDArray[np.float32]:  # entity
        """For each entity the highest confidence among its roles, 0 where it has none."""
        scores = np.zeros(len(self.starts) - 1, dtype=np.float32)
        occupied = np.diff(self.starts) > 0
        if occupied.any():
            scores[occupied] = np.maximum.reduceat(confidences[self.roles], self.starts[:-1][occupied])
        return scores
