"""Evidence from proximity: the distance of the candidate from the query's head, over any relations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from reshuffle.model.evidence.interface import Asked, EvidenceKind, Weight
from reshuffle.model.propagation import hops
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
        distances = asked.distances(self.shape.num_hops)
        table = self.weights.of_distance[:-1].index_select(0, asked.relations) + self.weights.of_distance[-1]
        return {self.name: table.gather(1, distances)}

    def words(self, question: Question, answer: int, *, graph: KnowledgeGraph, messages: MessageGraph) -> str:
        """How far away the answer is."""
        most, names = self.shape.num_hops, graph.entities
        anchor = torch.tensor([question.anchor], device=messages.heads.device)
        steps = int(hops(anchor, messages, most=most)[0, answer])
        far = f"more than {most} steps" if steps > most else counted(steps, "step")
        return f"{names[answer]} is {far} away from {names[question.anchor]}"
