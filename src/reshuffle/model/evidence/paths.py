"""Evidence from paths: the slots through which the candidate is reached, beyond those of the constraints."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import softplus

from reshuffle.model.evidence.interface import WEAK, Asked, EvidenceKind, Weight

if TYPE_CHECKING:
    from reshuffle.evaluation.questions import Question
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.model.propagation import MessageGraph

_REACHED = 1e-2  # states far below this count as not reached


class Paths(EvidenceKind):
    """A positive weight for each slot, per relation."""

    name = "paths"
    shown = "paths"
    reads_states = True

    own_weights = (
        Weight("of_slot", lambda shape: torch.zeros(shape.num_roles, shape.num_slots), penalty="slot"),
    )

    def scores(self, asked: Asked) -> dict[str, Tensor]:
        """The weights of the slots, as far as each is reached."""
        assert asked.states is not None  # it needs a channel per query
        weights = softplus(self.weights.of_slot + WEAK).index_select(0, asked.relations)
        reached = torch.log(asked.states / _REACHED + 1)
        return {self.name: (reached * weights.T).sum(1).T}  # an einsum would copy the states

    def worth_of_slots(self) -> Tensor:  # relation slot
        """What a slot that is fully reached adds; a slot reached in part adds at least that part of it."""
        return softplus(self.weights.of_slot + WEAK) * math.log(1 / _REACHED + 1)

    def words(self, question: Question, answer: int, *, graph: KnowledgeGraph, messages: MessageGraph) -> str:
        """Which walks it looked at."""
        del answer, messages
        return f"how well walks from {graph.entities[question.anchor]} lead there, slot by slot"
