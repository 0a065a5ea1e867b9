"""A graph as evidence sees it: who has which roles, and the edges by where they leave.

A *role* is numbered like a relation: who is a tail of r has role r, and who is a head of r, that is a tail of r^-1, has
role r + R.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from reshuffle.compiled import compiled
from reshuffle.evaluation.baselines.types import Roles

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class EvidenceGraph:
    """Roles and edges; edge numbers are those of the triples, then those of their inverses."""

    num_entities: int
    entities: Tensor  # entry: whose role it is; an entry is a distinct (entity, role), sorted
    roles: Tensor  # entry
    counts: Tensor  # entry: how many edges give the role
    entry_of_edge: Tensor  # edge
    starts: Tensor  # entity + 1: where the edges that leave it begin
    edges: Tensor  # place: the edges, by head
    relations: Tensor  # place
    tails: Tensor  # place

    @classmethod
    def build(
        cls, triples: NDArray[np.int64], *, num_entities: int, num_relations: int, device: torch.device
    ) -> EvidenceGraph:
        """From triples of ids [triple, (head relation tail)]."""
        head, relation, tail = triples.reshape(-1, 3).T
        heads, tails = np.concatenate([head, tail]), np.concatenate([tail, head])
        relations = np.concatenate([relation, relation + num_relations])
        keys, entry, counts = np.unique(
            tails * np.int64(2 * num_relations) + relations, return_inverse=True, return_counts=True
        )
        owners, roles = np.divmod(keys, max(1, 2 * num_relations))
        order = np.argsort(heads, kind="stable")
        starts = np.searchsorted(heads[order], np.arange(num_entities + 1))
        columns = (
            owners,
            roles,
            counts,
            entry.reshape(-1),
            starts,
            order,
            relations[order],
            tails[order],
        )
        return cls(
            num_entities,
            *(
                torch.from_numpy(np.ascontiguousarray(column, dtype=np.int64)).to(device)
                for column in columns
            ),
        )

    @cached_property
    def role_starts(self) -> Tensor:  # entity + 1
        """Where the entries of each entity begin."""
        everyone = torch.arange(self.num_entities + 1, device=self.entities.device)
        return torch.searchsorted(self.entities, everyone)

    @cached_property
    def pairs(self) -> tuple[Tensor, Tensor]:
        """For each edge head x entities + tail, sorted, and its place in `edges`."""
        keys, places = torch.sort(self.heads * self.num_entities + self.tails, stable=True)
        return keys, places

    @cached_property
    def heads(self) -> Tensor:  # place
        """Where each edge leaves."""
        everyone = torch.arange(self.num_entities, device=self.starts.device)
        return torch.repeat_interleave(everyone, self.starts.diff())

    def shares_without(self, hidden: Tensor | None) -> Tensor:  # place
        """1 / the number of edges that leave the same entity, and 0 for the edges of triples that are not there."""
        there = torch.ones(len(self.edges) // 2, device=self.edges.device)
        if hidden is not None:
            there[hidden] = 0.0
        edges = there[self.edges % max(1, len(there))]
        leaving = torch.zeros(self.num_entities, device=edges.device).index_add(0, self.heads, edges)
        return edges / leaving.clamp(min=1)[self.heads]

    def counts_without(self, hidden: Tensor | None) -> Tensor:
        """How many edges give each role when some triples (by position, each at most once) are not there."""
        if hidden is None:
            return self.counts
        lost = self.entry_of_edge.view(2, -1)[:, hidden].flatten()
        return self.counts.index_add(0, lost, torch.full_like(lost, -1))

    def role_pair_counts(self, num_roles: int) -> NDArray[np.int64]:  # role role
        """How many entities have both of two roles."""
        return Roles(self.role_starts.cpu().numpy(), self.roles.cpu().numpy()).pair_counts(num_roles)

    def steps_from(self, start: int, most: int) -> NDArray[np.int64]:  # entity
        """In how many steps everyone is reached, by any relations; most + 1 where it takes more."""
        return steps_from(start, self.starts.cpu().numpy(), self.tails.cpu().numpy(), most)


@compiled
def steps_from(
    start: int, starts: NDArray[np.int64], tails: NDArray[np.int64], most: int
) -> NDArray[np.int64]:  # entity
    """In how many steps everyone is reached; most + 1 where it takes more.

    Invariant: the queue holds entities in the order of their steps, each at most once.
    Cost: linear in the edges that leave entities less than `most` steps away.
    """
    found = np.full(len(starts) - 1, most + 1, np.int64)
    queue = np.empty(len(starts) - 1, np.int64)
    queue[0], found[start], first, last = start, 0, 0, 1
    while first < last:
        here = queue[first]
        first += 1
        if found[here] == most:
            break
        for place in range(starts[here], starts[here + 1]):
            if found[tails[place]] > found[here] + 1:
                found[tails[place]] = found[here] + 1
                queue[last] = tails[place]
                last += 1
    return found
