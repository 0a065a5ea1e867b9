"""Evidence from proximity: in how many steps the candidate is reached from the query's head, by any relations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from reshuffle.model.evidence.interface import Asked, EvidenceKind, Weight
from reshuffle.model.propagation import propagate
from reshuffle.text import counted

if TYPE_CHECKING:
    from reshuffle.evaluation.questions import Question
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.model.propagation import MessageGraph


class Proximity(EvidenceKind):
    """A weight for each number of steps, per relation and shared by all."""

    name = "proximity"
    shown = "distance"

    own_weights = (
        # Columns: 0 to num_hops steps, and further away.
        Weight(
            "of_distance",
            lambda shape: torch.zeros(shape.num_roles + 1, shape.num_hops + 2),
            penalty="distance",
        ),
    )

    def scores(self, asked: Asked) -> dict[str, Tensor]:
        """The weight of each entity's distance from the head."""
        assert asked.messages is not None  # it needs a channel per query
        distances = hops(asked.heads, asked.messages, most=self.shape.num_hops, hidden=asked.hidden)
        table = self.weights.of_distance[:-1].index_select(0, asked.relations) + self.weights.of_distance[-1]
        return {self.name: table.gather(1, distances)}

    def words(self, question: Question, answer: int, *, graph: KnowledgeGraph, messages: MessageGraph) -> str:
        """How far away the answer is."""
        most, names = self.shape.num_hops, graph.entities
        anchor = torch.tensor([question.anchor], device=messages.heads.device)
        steps = int(hops(anchor, messages, most=most)[0, answer])
        far = f"more than {most} steps" if steps > most else counted(steps, "step")
        return f"{names[answer]} is {far} away from {names[question.anchor]}"


@torch.no_grad()
def hops(
    heads: Tensor, messages: MessageGraph, *, most: int, hidden: Tensor | None = None
) -> Tensor:  # query entity
    """In how many steps each entity is reached, either way along any relation; most + 1 where it takes more.

    It is a layer like any other, with one slot that every relation halves: 2^-steps is exact in floating point.
    """
    queries = torch.arange(len(heads), device=heads.device)
    reached = torch.zeros(messages.num_entities, 1, len(heads), device=heads.device)
    reached[heads, 0, queries] = 1.0
    halves = torch.full((messages.num_relations, 1, 1), 0.5, device=heads.device)
    edges = None if hidden is None else messages.hiding(hidden)
    reached = propagate(reached, halves, messages, num_layers=most, edge_messages=edges).squeeze(1)
    steps = -torch.log2(reached.clamp(min=2.0 ** -(most + 1)))
    return steps.round().long().T
