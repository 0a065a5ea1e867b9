"""A graph as evidence sees it: who has which roles, and the edges by where they leave.

Roles are numbered as in `kg/roles.py`, by the question that they answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from reshuffle.kg.rows import Rows
from reshuffle.kg.vocabulary import with_inverses

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class EvidenceGraph:
    """Roles and edges; edge numbers are those of the triples, then those of their inverses."""

    num_entities: int
    entities: Tensor  # entry: whose role it is; an entry is a distinct (entity, role), sorted
    roles: Tensor  # entry
    role_starts: Tensor  # entity + 1: where the entries of each entity begin
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
        heads, relations, tails = with_inverses(triples.reshape(-1, 3), num_relations).T
        keys, entry, counts = np.unique(
            tails * np.int64(2 * num_relations) + relations, return_inverse=True, return_counts=True
        )
        owners, roles = np.divmod(keys, max(1, 2 * num_relations))
        by_head = Rows.positions(heads, num_rows=num_entities)
        order = by_head.values
        columns = (
            owners,
            roles,
            np.searchsorted(owners, np.arange(num_entities + 1)),
            counts,
            entry.reshape(-1),
            by_head.starts,
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
    def pairs(self) -> tuple[Tensor, Tensor]:
        """For each edge head x entities + tail, sorted, and its place in `edges`."""
        keys, places = torch.sort(self.heads * self.num_entities + self.tails, stable=True)
        return keys, places

    @cached_property
    def heads(self) -> Tensor:  # place
        """Where each edge leaves."""
        everyone = torch.arange(self.num_entities, device=self.starts.device)
        return torch.repeat_interleave(everyone, self.starts.diff())
