"""Scores from private channels: each head has channels of its own, one per slot, and no other entity's get into them.

For a query (a, r, ?) only the channels of a are needed, so they are propagated for some heads at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from reshuffle.model.scoring import pair_scores

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reshuffle.model.propagation import MessageGraph
    from reshuffle.model.reshuffle import ReshuffleModel

_MOST_NUMBERS = 1 << 26  # of the states of one block of heads


@dataclass(frozen=True)
class ExactScores:
    """A model on a graph, for questions about given heads."""

    model: ReshuffleModel
    graph: MessageGraph
    matrices: Tensor

    @torch.no_grad()
    def scores(self, heads: Tensor, relations: Tensor, tails: Tensor | None) -> Tensor:  # query candidate
        """-||ReLU(B_r Z_h - Z_t)||_2 in the channels of h, for the given tails of each query or for all entities."""
        width = self.graph.num_entities if tails is None else tails.shape[1]
        result = torch.empty(len(heads), width, device=heads.device)
        for block, states in self._blocks(torch.unique(heads)):
            inside = torch.isin(heads, block)
            places = torch.searchsorted(block, heads[inside])
            for query, place in zip(inside.nonzero().flatten().tolist(), places.tolist(), strict=True):
                own = states[:, :, place]
                body = self.model.body(self.matrices, own[heads[query]], relations[query])
                result[query] = pair_scores(body, own if tails is None else own[tails[query]])
        return result

    def _blocks(self, heads: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """Heads, and the states [entity, slot, head, channel] of everyone in their channels."""
        slots = self.model.architecture.num_slots
        most = max(1, _MOST_NUMBERS // max(1, self.graph.num_entities * slots * slots))
        generator = torch.Generator(heads.device)  # nothing is drawn: the channels are given
        for block in heads.split(most):
            owners = torch.cartesian_prod(block, torch.arange(slots, device=heads.device)).view(-1, 2)
            states = self.model.states(self.graph, self.matrices, generator, owners=owners)
            yield block, states.unflatten(2, (len(block), slots))
