"""Evidence from walk counts: how many random walks from the query's head end at the candidate.

In the states only the best walk to a candidate counts. Here all walks are summed. A walk of some
steps starts at the head and leaves each entity by any of its edges alike, forwards or backwards. Weights of the
relations, for each relation that is asked for and each step, say which edges matter. They start at 1, where it is a
plain random walk, and stay between 0 and 2. What ends at a candidate, for each number of steps, speaks for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import softplus

from reshuffle.model.evidence.interface import WEAK, Asked, EvidenceKind, Weight
from reshuffle.model.kernels.cpu_walks import walk_step

if TYPE_CHECKING:
    from reshuffle.evaluation.questions import Question
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.model.propagation import EvidenceGraph, MessageGraph

STEPS = 4
_RARE = 1e-3  # what ends at a candidate counts by its logarithm; shares far below this count as nothing


class WalkCounts(EvidenceKind):
    """The weights of relations and steps, for each relation that is asked for and shared by all."""

    name = "ways"
    shown = "walks"

    own_weights = (
        Weight(
            "ways.of_relation",
            lambda shape: torch.zeros(shape.num_roles + 1, STEPS, shape.num_roles),
            penalty="walk",
        ),
        Weight("ways.of_length", lambda shape: torch.zeros(shape.num_roles + 1, STEPS), penalty="walk"),
    )

    def scores(self, asked: Asked) -> dict[str, Tensor]:
        """What the walks of each length bring to every entity; never negative."""
        heads, relations, graph = asked.heads, asked.relations, asked.graph
        of_relation, of_length = self.weights.ways.of_relation, self.weights.ways.of_length
        wanted, place = torch.unique(relations, return_inverse=True)
        weights = 2 * torch.sigmoid(of_relation[:-1].index_select(0, wanted) + of_relation[-1])
        lengths = softplus(of_length[:-1].index_select(0, relations) + of_length[-1] + WEAK)
        shares = _shares(graph, asked.hidden)
        there = torch.zeros(graph.num_entities, len(heads), device=heads.device)
        there[heads, torch.arange(len(heads), device=heads.device)] = 1.0
        total = torch.zeros_like(there)
        for step in range(STEPS):
            there = _moved(there, weights[:, step], place, shares, graph)
            total = total + torch.log(there / _RARE + 1) * lengths[:, step]
        return {self.name: total.T}

    def words(self, question: Question, answer: int, *, graph: KnowledgeGraph, messages: MessageGraph) -> str:
        """Which walks it counted."""
        del answer, messages
        return f"how many of the walks from {graph.entities[question.anchor]} end there"


def _moved(
    there: Tensor, weights: Tensor, place: Tensor, shares: Tensor, graph: EvidenceGraph
) -> Tensor:  # entity query
    """What is there after a step, by the weights [asked, relation] of what each query asks for."""
    if there.device.type == "cpu":
        return walk_step(there, weights.index_select(0, place).T.contiguous(), shares, graph)
    taken = weights.index_select(1, graph.relations) * shares  # asked edge
    moved = there.index_select(0, graph.heads) * taken.index_select(0, place).T
    return torch.zeros_like(there).index_add(0, graph.tails, moved)


def _shares(graph: EvidenceGraph, hidden: Tensor | None) -> Tensor:  # place
    """1 / the number of edges that leave the same entity, and 0 for the edges of hidden triples."""
    there = torch.ones(len(graph.edges) // 2, device=graph.edges.device)
    if hidden is not None:
        there[hidden] = 0.0
    edges = there[graph.edges % max(1, len(there))]
    leaving = torch.zeros(graph.num_entities, device=edges.device).index_add(0, graph.heads, edges)
    return edges / leaving.clamp(min=1)[graph.heads]
