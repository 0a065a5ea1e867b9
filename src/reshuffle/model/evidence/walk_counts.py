"""Evidence from the number of walks: how many random walks from the query's head end at the candidate.

States tell whether a candidate is reached, and only the best walk counts. Here all walks are added up. A walk of some
steps starts at the head and leaves each entity by any of its edges alike, forwards or backwards. Weights of the
relations, for each relation that is asked for and each step, say which edges matter. They start at 1, where it is a
plain random walk, and stay between 0 and 2. What ends at a candidate, for each number of steps, speaks for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from reshuffle.model.evidence.interface import WEAK, Asked, EvidenceKind, Shape

if TYPE_CHECKING:
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.model.evidence.evidence_graph import EvidenceGraph
    from reshuffle.model.questions import Question

STEPS = 4
_RARE = 1e-3  # what ends at a candidate counts by its logarithm; shares far below this count as nothing


class WalkCounts(EvidenceKind):
    """The weights of relations and steps, for each relation that is asked for and shared by all."""

    name = "ways"

    def __init__(self, weights: nn.Module, shape: Shape) -> None:
        super().__init__(weights, shape)
        self.weights.ways = nn.Module()
        self._own = self.weights.ways
        self._own.of_relation = nn.Parameter(torch.zeros(shape.num_roles + 1, STEPS, shape.num_roles))
        self._own.of_length = nn.Parameter(torch.zeros(shape.num_roles + 1, STEPS))

    def free_weights(self) -> dict[str, Tensor]:
        """All but what all relations share."""
        own = (self._own.of_relation, self._own.of_length)
        return {"walk": torch.cat([weights[:-1].flatten(1) for weights in own], dim=1)}

    def scores(self, asked: Asked) -> dict[str, Tensor]:
        """What the walks of each length bring to every entity; never negative."""
        heads, relations, graph = asked.heads, asked.relations, asked.graph
        of_relation, of_length = self._own.of_relation, self._own.of_length
        wanted, place = torch.unique(relations, return_inverse=True)
        weights = 2 * torch.sigmoid(of_relation[:-1].index_select(0, wanted) + of_relation[-1])
        lengths = softplus(of_length[:-1].index_select(0, relations) + of_length[-1] + WEAK)
        shares = graph.shares_without(asked.hidden)
        there = torch.zeros(graph.num_entities, len(heads), device=heads.device)
        there[heads, torch.arange(len(heads), device=heads.device)] = 1.0
        total = torch.zeros_like(there)
        for step in range(STEPS):
            taken = weights[:, step].index_select(1, graph.relations) * shares  # asked edge
            moved = there.index_select(0, graph.heads) * taken.index_select(0, place).T
            there = torch.zeros_like(there).index_add(0, graph.tails, moved)
            total = total + torch.log(there / _RARE + 1) * lengths[:, step]
        return {self.name: total.T}

    def words(self, question: Question, answer: int, *, graph: KnowledgeGraph, facts: EvidenceGraph) -> str:
        """Which walks it counted."""
        del answer, facts
        return f"how many of the walks from {graph.entities[question.anchor]} end there"
