"""Private channels: each is 1 at one (entity, slot) and 0 elsewhere, so that nothing can be confused.

For a query (a, r, ?) only the channels of a are needed, one per slot; they are propagated for some heads at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from reshuffle.model.channels.entity_states import EntityChannels
from reshuffle.model.channels.interface import ChannelKind
from reshuffle.model.propagation import propagate
from reshuffle.model.scoring import pair_scores

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reshuffle.model.propagation import ModelGraph

_MOST_NUMBERS = 1 << 26  # of the states of one block of heads


class Private(ChannelKind):
    """Which (entity, slot) has a channel is drawn, each at most once; channels beyond the last one stay 0."""

    trainable = False

    def initial_states(
        self, shape: tuple[int, int, int], *, probability: float, generator: torch.Generator
    ) -> Tensor:
        """A draw of Z^(0)."""
        del probability
        entities, slots, channels = shape
        drawn = torch.randperm(entities * slots, generator=generator, device=generator.device)[:channels]
        owners = torch.stack([drawn // max(slots, 1), drawn % max(slots, 1)], dim=1)
        return states_of(owners, shape)

    def on_graph(self, graph: ModelGraph, matrices: Tensor, *, seed: int) -> PrivateChannels:
        """Scores do not depend on the seed: a query has all channels of its head."""
        return PrivateChannels(self, graph, matrices, seed=seed)


def states_of(owners: Tensor, shape: tuple[int, int, int]) -> Tensor:  # entity slot channel
    """Z^(0) where channel c is 1 at `owners[c]` = (entity, slot); channels without an owner are 0."""
    states = torch.zeros(shape, device=owners.device)
    states[owners[:, 0], owners[:, 1], torch.arange(len(owners), device=owners.device)] = 1.0
    return states


class PrivateChannels(EntityChannels):
    """Scores compare states in the channels of the query's head alone."""

    def tail_scores(
        self, heads: Tensor, relations: Tensor, tails: Tensor | None
    ) -> Tensor:  # query candidate
        """-||ReLU(B_r Z_h - Z_t)||_2 in the channels of h, for the given tails of each query or for all entities."""
        return private_scores(self.graph, self.matrices, heads, relations, tails)

    def head_scores(
        self, tails: Tensor, relations: Tensor, heads: Tensor | None
    ) -> Tensor:  # query candidate
        """The same in the channels of each candidate."""
        heads = self.everyone(len(tails)) if heads is None else heads
        width = heads.shape[1]
        each = (heads.flatten(), relations.repeat_interleave(width), tails.repeat_interleave(width)[:, None])
        return private_scores(self.graph, self.matrices, *each).view(-1, width)


@torch.no_grad()
def private_scores(
    graph: ModelGraph, matrices: Tensor, heads: Tensor, relations: Tensor, tails: Tensor | None
) -> Tensor:  # query candidate
    """-||ReLU(B_r Z_h - Z_t)||_2 in the channels of h, for the given tails of each query or for all entities."""
    width = graph.num_entities if tails is None else tails.shape[1]
    result = torch.empty(len(heads), width, device=heads.device)
    for block, states in _blocks(graph, matrices, torch.unique(heads)):
        inside = torch.isin(heads, block)
        places = torch.searchsorted(block, heads[inside])
        for query, place in zip(inside.nonzero().flatten().tolist(), places.tolist(), strict=True):
            own = states[:, :, place]
            body = graph.model.body(matrices, own[heads[query]], relations[query])
            result[query] = pair_scores(body, own if tails is None else own[tails[query]])
    return result


def _blocks(graph: ModelGraph, matrices: Tensor, heads: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Some heads at a time, and the states [entity, slot, head, channel] of everyone in their channels."""
    architecture, slots = graph.model.architecture, graph.model.architecture.num_slots
    most = max(1, _MOST_NUMBERS // max(1, graph.num_entities * slots * slots))
    for block in heads.split(most):
        owners = torch.cartesian_prod(block, torch.arange(slots, device=heads.device)).view(-1, 2)
        begun = states_of(owners, (graph.num_entities, slots, len(owners)))
        states = propagate(begun, matrices, graph.messages, num_layers=architecture.num_layers)
        yield block, states.unflatten(2, (len(block), slots))
