"""Random channels: every entity begins with random coordinates, all of them from one draw."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from reshuffle.model.channels.entity_states import EntityChannels
from reshuffle.model.channels.interface import ChannelKind
from reshuffle.model.scoring import all_tail_scores, tail_scores

if TYPE_CHECKING:
    from reshuffle.model.propagation import ModelGraph

_OFFICIAL_PROBABILITY = 0.5 * math.erfc(0.5 / math.sqrt(2))  # P(normal > 1/2) = 0.3085


class Continuous(ChannelKind):
    """A coordinate is uniform in [0, 1)."""

    def initial_states(
        self, shape: tuple[int, int, int], *, probability: float, generator: torch.Generator
    ) -> Tensor:
        """A draw of Z^(0)."""
        del probability
        return torch.rand(shape, generator=generator, device=generator.device)

    def on_graph(self, graph: ModelGraph, matrices: Tensor, *, seed: int) -> RandomChannels:
        """The states of the graph's entities are computed when they are first needed."""
        return RandomChannels(self, graph, matrices, seed=seed)


class Bits(ChannelKind):
    """A coordinate is 1 with some probability, else 0; with `alike` all entities begin with the same bits."""

    def __init__(self, *, probability: float | None = None, alike: bool = False) -> None:
        """A `probability` given here takes the place of the setting."""
        self._probability, self.alike = probability, alike

    def initial_states(
        self, shape: tuple[int, int, int], *, probability: float, generator: torch.Generator
    ) -> Tensor:
        """A draw of Z^(0)."""
        entities, *rest = shape
        rows = 1 if self.alike else entities
        values = torch.rand(rows, *rest, generator=generator, device=generator.device)
        bits = (values < (probability if self._probability is None else self._probability)).float()
        return bits.expand(entities, -1, -1).contiguous() if self.alike else bits

    def on_graph(self, graph: ModelGraph, matrices: Tensor, *, seed: int) -> RandomChannels:
        """The states of the graph's entities are computed when they are first needed."""
        return RandomChannels(self, graph, matrices, seed=seed)


BITS, SHARED_BITS = Bits(), Bits(alike=True)
OFFICIAL_BITS = Bits(probability=_OFFICIAL_PROBABILITY)


class RandomChannels(EntityChannels):
    """Scores compare the states of all entities."""

    def tail_scores(
        self, heads: Tensor, relations: Tensor, tails: Tensor | None
    ) -> Tensor:  # query candidate
        """-||ReLU(B_r Z_h - Z_t)||_2 for the given tails of each query, or for all entities."""
        bodies = self.graph.model.bodies(self.matrices, self.states, heads, relations)
        if tails is None:
            return all_tail_scores(bodies, self.states)
        return tail_scores(bodies, self.states, tails)

    def head_scores(
        self, tails: Tensor, relations: Tensor, heads: Tensor | None
    ) -> Tensor:  # query candidate
        """The same for the given heads of each query, or for all entities."""
        heads = self.everyone(len(tails)) if heads is None else heads
        return self.graph.model.head_scores(self.matrices, self.states, heads, relations, tails)
