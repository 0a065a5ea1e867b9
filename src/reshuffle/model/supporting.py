"""What supports a triple under a model on a graph: the walks from its head to its tail."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch

from reshuffle.model.answers.walks import Asked, WalkGraph
from reshuffle.model.channels.private import ExactScores

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reshuffle.model.answers.walks import Walks
    from reshuffle.model.evidence.evidence_graph import EvidenceGraph
    from reshuffle.model.reshuffle import ReshuffleModel


@dataclass(frozen=True)
class Supports:
    """A model on a graph; with `by_slot` it matters in which slot of the head a value started."""

    model: ReshuffleModel
    matrices: torch.Tensor
    graph: EvidenceGraph
    triples: NDArray[np.int64]  # triple (head relation tail)
    by_slot: bool

    @cached_property
    def _walks(self) -> WalkGraph:
        return WalkGraph(
            self.graph,
            self.matrices,
            num_layers=self.model.architecture.num_layers,
            num_identities=self.model.num_identities,
        )

    def walks(self, ends: tuple[int, int], relation: int, *, backwards: bool, most: int) -> Walks:
        """The best walks between the ends of a triple, as if it were no fact; backwards they start at the tail."""
        hidden = self._place_of((ends[0], relation, ends[1]))
        # Hard matrices meet a slot or do not, and at the head itself its channel has all slots from the start.
        by_slot = self.by_slot or self.hard or ends[0] == ends[1]
        asked = self._asked(relation + self.model.num_relations if backwards else relation, by_slot=by_slot)
        start, end = ends[::-1] if backwards else ends
        return self._walks.between(start, end, asked, most=most, hidden=hidden)

    def follows(self, ends: tuple[int, int], relation: int, *, backwards: bool) -> bool:
        """Do the constraints entail the triple in as many steps as there are layers, whichever channels score it?

        Of hard matrices that is all. With soft ones several walks may share in one slot, and what each brings cannot be
        added up; there the private channels of the head have to capture the triple, too.
        """
        number = relation + self.model.num_relations if backwards else relation
        start, end = ends[::-1] if backwards else ends
        matrix, bias = self.matrices[number], self.model.bias
        asked = matrix if bias is None else matrix + bias[number].detach()[:, None]
        arrives = self._walks.follows(start, end, asked.cpu().numpy())
        return arrives and (self.hard or self._captured_privately(start, number, end))

    def _captured_privately(self, start: int, number: int, end: int) -> bool:
        messages = self.model.graph_of(self.triples, num_entities=self.graph.num_entities)
        head, relation, tail = torch.tensor([[start], [number], [end]], device=self.matrices.device)
        score = ExactScores(self.model, messages, self.matrices).scores(head, relation, tail[None])
        return bool(score == 0)

    @cached_property
    def hard(self) -> bool:
        """Are all matrices hard, so that nothing is met by halves?"""
        return bool(((self.matrices == 0) | (self.matrices == 1)).all())

    @torch.no_grad()
    def _asked(self, relation: int, *, by_slot: bool) -> Asked:
        matrix = self.matrices[relation]
        bodies, weights = matrix.sum(1), matrix.new_ones(len(matrix))
        if self.model.bias is not None:
            bodies = bodies + self.model.bias[relation]
        if self.model.slot_logits is not None:
            weights = self.model.slot_weights()[relation]
        bodies, weights, matrix = (tensor.cpu() for tensor in (bodies, weights, matrix))
        return Asked(bodies.numpy(), weights.numpy(), matrix.numpy() if by_slot else None)

    def _place_of(self, fact: tuple[int, int, int]) -> int:
        """Where a fact stands among the triples, or -1."""
        places = np.flatnonzero((self.triples == np.array(fact)).all(axis=1))
        return int(places[0]) if len(places) else -1
