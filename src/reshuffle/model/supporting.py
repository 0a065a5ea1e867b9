"""What supports a triple under a model on a graph: the walks from its head to its tail."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch

from reshuffle.model.walking import Asked, WalkGraph

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reshuffle.model.evidence import EvidenceGraph
    from reshuffle.model.reshuffle import ReshuffleModel
    from reshuffle.model.walking import Walks


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

    def steps(self, start: int, most: int) -> NDArray[np.int64]:  # entity
        """In how many steps everyone is reached; most + 1 where it takes more."""
        return self._walks.steps(start, most)

    def walks(self, ends: tuple[int, int], relation: int, *, backwards: bool, most: int) -> Walks:
        """The best walks between the ends of a triple, as if it were no fact; backwards they start at the tail."""
        hidden = self._place_of((ends[0], relation, ends[1]))
        asked = self._asked(relation + self.model.num_relations if backwards else relation)
        start, end = ends[::-1] if backwards else ends
        return self._walks.between(start, end, asked, most=most, hidden=hidden)

    @torch.no_grad()
    def _asked(self, relation: int) -> Asked:
        matrix = self.matrices[relation]
        bodies, weights = matrix.sum(1), matrix.new_ones(len(matrix))
        if self.model.bias is not None:
            bodies = bodies + self.model.bias[relation]
        if self.model.slot_logits is not None:
            weights = self.model.slot_weights()[relation]
        bodies, weights, matrix = (tensor.cpu() for tensor in (bodies, weights, matrix))
        return Asked(bodies.numpy(), weights.numpy(), matrix.numpy() if self.by_slot else None)

    def _place_of(self, fact: tuple[int, int, int]) -> int | None:
        """Where a fact stands among the triples, or None."""
        places = np.flatnonzero((self.triples == np.array(fact)).all(axis=1))
        return int(places[0]) if len(places) else None
