"""In how many ways a candidate is reached: what random walks from the query's head say about where they end.

States tell whether a candidate is reached, and the best way counts. Here all ways are added up. A walk of some steps
starts at the head and leaves each entity by any of its edges alike, forwards or backwards; weights of the relations,
for each relation that is asked for and each step, say which edges tell something. They start at 1, where it is a plain
random walk, and stay between 0 and 2. What ends at a candidate, for each number of steps, speaks for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

if TYPE_CHECKING:
    from reshuffle.model.evidence.evidence_graph import EvidenceGraph

STEPS = 4
WEAK = -3.0  # softplus(-3) = 0.05: evidence of one sign starts near 0
_RARE = 1e-3  # what ends at a candidate counts by its logarithm; shares far below this count as nothing


class Ways(nn.Module):
    """The weights of relations and steps, for each relation that is asked for (r, then r^-1) and shared by all."""

    def __init__(self, num_roles: int) -> None:
        super().__init__()
        self.of_relation = nn.Parameter(torch.zeros(num_roles + 1, STEPS, num_roles))
        self.of_length = nn.Parameter(torch.zeros(num_roles + 1, STEPS))

    def squares(self) -> Tensor:  # relation
        """Of what is free per relation."""
        free = torch.cat([weights[:-1].flatten(1) for weights in (self.of_relation, self.of_length)], dim=1)
        return free.square().sum(1)

    def worth(
        self, heads: Tensor, relations: Tensor, graph: EvidenceGraph, hidden: Tensor | None
    ) -> Tensor:  # query entity
        """The evidence for every entity as the tail of each query; never negative."""
        wanted, place = torch.unique(relations, return_inverse=True)
        weights = 2 * torch.sigmoid(self.of_relation[:-1].index_select(0, wanted) + self.of_relation[-1])
        lengths = softplus(self.of_length[:-1].index_select(0, relations) + self.of_length[-1] + WEAK)
        shares = graph.shares_without(hidden)
        there = torch.zeros(graph.num_entities, len(heads), device=heads.device)
        there[heads, torch.arange(len(heads), device=heads.device)] = 1.0
        total = torch.zeros_like(there)
        for step in range(STEPS):
            taken = weights[:, step].index_select(1, graph.relations) * shares  # asked edge
            moved = there.index_select(0, graph.heads) * taken.index_select(0, place).T
            there = torch.zeros_like(there).index_add(0, graph.tails, moved)
            total = total + torch.log(there / _RARE + 1) * lengths[:, step]
        return total.T
