"""States that are kept true while facts come and go: every layer is kept, and only what changes is computed again.

If the states of some entities differ in layer l, then in layer l + 1 at most theirs, those of their neighbours, and
those at the ends of facts that came or went can differ. Each of these is computed from all it receives, and those that
turn out as they were are not followed any further.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from reshuffle.model.channels.registry import initial_states
from reshuffle.model.kernels import all_threads_for, kernels_for, runs
from reshuffle.model.propagation import propagate

if TYPE_CHECKING:
    from reshuffle.model.channels.registry import Kind
    from reshuffle.model.propagation import MessageGraph
    from reshuffle.model.reshuffle import Architecture


@dataclass
class Draw:
    """The initial states of one seed, entity after entity: who comes later changes nothing for those before."""

    kind: Kind
    architecture: Architecture
    seed: int

    def __post_init__(self) -> None:
        # On the CPU, since a GPU draws in blocks whose values depend on how many are asked for.
        self._generator = torch.Generator().manual_seed(self.seed)
        self._first: Tensor | None = None

    def next(self, count: int) -> Tensor:  # entity slot channel
        """The states of the next entities."""
        shape = (count, self.architecture.num_slots, self.architecture.num_channels)
        if self.kind == "shared" and self._first is not None:
            return self._first.expand(shape).contiguous()
        drawn = initial_states(
            self.kind, shape, probability=self.architecture.probability, generator=self._generator
        )
        self._first = drawn[:1].clone() if count else None
        return drawn


class LayeredStates:
    """Z^(0), ..., Z^(m) of all entities of a graph that changes."""

    def __init__(self, draw: Draw, matrices: Tensor, graph: MessageGraph) -> None:
        self._draw, self._matrices = draw, matrices
        self._drawn = draw.next(graph.num_entities).to(matrices.device)
        self._layers = [self._drawn]
        for _ in range(draw.architecture.num_layers):
            self._layers.append(propagate(self._layers[-1], matrices, graph, num_layers=1))
        self.recomputed = [graph.num_entities] * draw.architecture.num_layers
        """How many entities the last change asked for, layer by layer."""

    @property
    def last(self) -> Tensor:  # entity slot channel
        """Z^(m)."""
        return self._layers[-1]

    def follow(self, graph: MessageGraph, touched: Tensor, kept: Tensor) -> None:
        """Be true of another graph: it has the entities `kept` of this one in their order, and new ones behind.

        Its facts differ between `touched` entities, by their new ids; those that are not kept have none.
        """
        before = len(kept)
        changed = self._seat(graph.num_entities, kept)
        self.recomputed = []
        each = self._layers[0].shape[1:].numel() * self._matrices.shape[1]
        for layer in range(1, len(self._layers)):
            # Threads that wait for each other cost more than the few rows of a small change.
            with all_threads_for(each * (len(touched) + len(changed))):
                affected = torch.unique(torch.cat([touched, changed, _neighbours(graph, changed)]))
                found = _received(self._layers[layer - 1], self._matrices, graph, affected)
                old = self._layers[layer][affected]
                differs = (found != old).flatten(1).any(1) | (affected >= before)
                self._layers[layer][affected] = found
                changed = affected[differs]
            self.recomputed.append(len(affected))

    def _seat(self, count: int, kept: Tensor) -> Tensor:
        """Rows for the entities of now; who begins with another state than before, or is new, comes back."""
        places = torch.arange(count, device=kept.device)
        everyone = len(kept) == len(self._layers[0])
        if everyone and count == len(kept):
            return places[:0]
        # A draw belongs to a place: whoever takes it begins as if nobody had had it before.
        if count > len(self._drawn):
            drawn = self._draw.next(count - len(self._drawn)).to(self._drawn.device)
            self._drawn = torch.cat([self._drawn, drawn])
        new = self._drawn[len(kept) : count]
        later = [torch.cat([layer if everyone else layer[kept], new]) for layer in self._layers[1:]]
        self._layers = [self._drawn[:count], *later]
        moved = places[: len(kept)][kept != places[: len(kept)]]
        return torch.cat([moved, places[len(kept) :]])


def _incoming(graph: MessageGraph, entities: Tensor) -> tuple[Tensor, Tensor]:
    """How many edges arrive at each entity, and their messages, one entity after the other."""
    first = graph.starts[entities]
    number = graph.starts[entities + 1] - first
    return number, graph.edge_messages[runs(first, number)[1]]


def _neighbours(graph: MessageGraph, entities: Tensor) -> Tensor:
    """Every edge has its inverse, so who receives from an entity is who it receives from."""
    return graph.heads[_incoming(graph, entities)[1]]


def _received(states: Tensor, matrices: Tensor, graph: MessageGraph, entities: Tensor) -> Tensor:
    """One layer for some entities."""
    kernels = kernels_for(states.device)
    number, messages = _incoming(graph, entities)
    distinct, edges = torch.unique(messages, return_inverse=True)  # by relation, as all messages are
    sent = kernels.products(matrices, graph.relations[distinct], states, graph.heads[distinct])
    starts = torch.cat([number.new_zeros(1), number.cumsum(0)])
    received, _ = kernels.segment_max(sent.flatten(1), states[entities].flatten(1), starts, edges)
    result: Tensor = received.view(-1, *states.shape[1:])
    return result
