"""Roles: a relation with one of its sides, such as "is a head of bornIn".

A role has the id of the relation that it answers, with inverses as in `inverses`: the tails of r have role r, and its
heads, the tails of r^-1, have role r + R. So every answer to a question about r, or about r^-1, has the role with the
id of the question.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from reshuffle.kg.rows import Rows, starts_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from reshuffle.kg.graph import KnowledgeGraph

_PAIRS_AT_ONCE = 1 << 22


def role_of(relation: int, side: Literal["head", "tail"], num_relations: int) -> int:
    """The role of those on one side of a relation.

    >>> role_of(1, "tail", num_relations=3), role_of(1, "head", num_relations=3)
    (1, 4)
    """
    return relation if side == "tail" else relation + num_relations


@dataclass(frozen=True)
class Roles:
    """The distinct roles of each entity."""

    rows: Rows  # entity: its roles, sorted
    num_roles: int

    @classmethod
    def of(
        cls,
        graph: KnowledgeGraph,
        *,
        relations: NDArray[np.int32] | None = None,
        num_relations: int | None = None,
    ) -> Roles:
        """The roles in a graph; `relations` renumbers its relations, from `num_relations`, and -1 leaves one out."""
        count = len(graph.relations) if num_relations is None else num_relations
        ids = (graph.relation_ids if relations is None else relations[graph.relation_ids]).astype(np.int64)
        used = ids >= 0
        entities = np.concatenate([graph.tails[used], graph.heads[used]]).astype(np.int64)
        roles = np.concatenate([ids[used], ids[used] + count])
        entries = np.unique(entities * (2 * count) + roles)
        owners, distinct = np.divmod(entries, max(1, 2 * count))
        sizes = np.bincount(owners, minlength=graph.num_entities)
        return cls(Rows(starts_of(sizes), distinct), 2 * count)

    def pair_counts(self) -> NDArray[np.int64]:  # role role
        """How many entities have both of two roles."""
        counts = np.zeros(self.num_roles**2, dtype=np.int64)
        for pairs in self._pairs():
            codes, numbers = np.unique(pairs, return_counts=True)
            counts[codes] += numbers
        return counts.reshape(self.num_roles, self.num_roles)

    def _pairs(self) -> Iterator[NDArray[np.int64]]:
        """All pairs of roles that share an entity, as one number each, some entities at a time."""
        starts, roles = self.rows.starts, self.rows.values
        sizes = np.diff(starts)
        if not len(sizes):
            return
        blocks = np.cumsum(sizes**2) // _PAIRS_AT_ONCE
        for block in np.split(np.arange(len(sizes)), np.flatnonzero(np.diff(blocks)) + 1):
            first, second = self.rows.entries(np.repeat(block, sizes[block]))
            yield roles[starts[block[0]] + first] * self.num_roles + second

    def best(self, confidences: NDArray[np.float32]) -> NDArray[np.float32]:  # entity
        """For each entity the highest confidence among its roles, 0 where it has none."""
        scores = np.zeros(len(self.rows), dtype=np.float32)
        occupied = np.diff(self.rows.starts) > 0
        if occupied.any():
            firsts = self.rows.starts[:-1][occupied]
            scores[occupied] = np.maximum.reduceat(confidences[self.rows.values], firsts)
        return scores
