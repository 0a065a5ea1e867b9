"""Scores from a channel that belongs to the query: 1 in all slots of its head, 0 for everyone else.

Z_t then says how well t is reached from the head through each slot, and s(h, r, t) asks for what B_r asks for: the
slots of t must be at least B_r Z_h. One propagation scores all entities as tails of one query, so training can compare
the true tail with all others at once.

At t nothing tells in which slot of the head a value started. So with hard matrices whatever the constraints entail
scores 0, but more may, and every (h, r, h) does; `walking.WalkGraph.follows` tells them apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from reshuffle.model.evidence.interface import Asked
from reshuffle.model.propagation import products, propagate
from reshuffle.model.scoring import pair_scores

if TYPE_CHECKING:
    from reshuffle.model.evidence.evidence_graph import EvidenceGraph
    from reshuffle.model.injected import InjectedGraph
    from reshuffle.model.propagation import MessageGraph
    from reshuffle.model.reshuffle import ReshuffleModel


@dataclass(frozen=True)
class Parts:
    """What a score is made of, each [query, entity], or [query, candidate] where only some are asked about."""

    constraint: Tensor
    evidence: dict[str, Tensor]
    injected: Tensor | None = None  # of the frozen block, with its weights

    @property
    def total(self) -> Tensor:
        """What is ranked by."""
        learned = self.constraint + sum(self.evidence.values())
        return learned if self.injected is None else learned + self.injected

    def of(self, candidates: Tensor) -> Parts:  # query candidate
        """Of some entities only."""
        return Parts(
            self.constraint.gather(1, candidates),
            {kind: part.gather(1, candidates) for kind, part in self.evidence.items()},
            None if self.injected is None else self.injected.gather(1, candidates),
        )


@dataclass(frozen=True)
class HeadChannels:
    """A model on a graph, for questions about the tails of given heads."""

    model: ReshuffleModel
    messages: MessageGraph
    graph: EvidenceGraph
    injected: InjectedGraph | None = None

    def parts(
        self, matrices: Tensor, heads: Tensor, relations: Tensor, *, hidden: Tensor | None = None
    ) -> Parts:
        """Constraint score and evidence of every entity as the tail, when some triples (by position) are not there."""
        asked, channels = _shared(heads)
        states = self.states(matrices, asked, hidden=hidden)
        bodies = self._bodies(matrices, states, heads, relations, channels)
        constraint = self._constraint_scores(bodies, _spread(states, channels), relations)
        if self.model.path_matrices is not None:
            states = self.states(self.model.path_matrices(), asked, hidden=hidden)
        states = _spread(states, channels)
        evidence = self.model.evidence
        return Parts(
            constraint,
            {}
            if evidence is None
            else evidence.scores(Asked(heads, relations, self.graph, hidden, self.messages, states)),
            self._injected_parts(heads, relations, hidden),
        )

    def _injected_parts(self, heads: Tensor, relations: Tensor, hidden: Tensor | None) -> Tensor | None:
        block = self.model.injected
        if block is None or self.injected is None:
            return None
        return block.parts(heads, relations, self.injected, hidden=hidden)

    def states(
        self, matrices: Tensor, heads: Tensor, *, hidden: Tensor | None = None
    ) -> Tensor:  # entity slot head
        """Z^(m), a channel per head."""
        architecture = self.model.architecture
        states = lit_heads(heads, self.messages.num_entities, architecture.num_slots)
        edges = None if hidden is None else self.messages.hiding(hidden)
        return propagate(
            states, matrices, self.messages, num_layers=architecture.num_layers, edge_messages=edges
        )

    def _bodies(
        self, matrices: Tensor, states: Tensor, heads: Tensor, relations: Tensor, channels: Tensor | None
    ) -> Tensor:  # query slot
        """B_r Z_h in the query's own channel.

        Made as messages are made, by the same kernel with all channels side by side: then the tail of a fact has got
        exactly these numbers as a message, to the last bit, and its score is 0. Training does not need the last bit,
        and may have more queries than there are entities, each with a channel of its own.
        """
        queries = torch.arange(len(heads), device=heads.device)
        if torch.is_grad_enabled():
            own = states[heads, :, queries if channels is None else channels]
            return torch.bmm(matrices.index_select(0, relations), own[..., None])[..., 0]
        every = products(matrices, states, relations=relations, rows=heads)
        return every[queries, :, queries if channels is None else channels]

    def _constraint_scores(self, bodies: Tensor, states: Tensor, relations: Tensor) -> Tensor:  # query entity
        if self.model.bias is not None:
            bodies = bodies + self.model.bias.index_select(0, relations)
        if self.model.slot_logits is None:
            return pair_scores(bodies[:, None, :, None], states.permute(2, 0, 1)[..., None])
        return weighted_scores(bodies, states, self.model.slot_weights().index_select(0, relations))


def _shared(heads: Tensor) -> tuple[Tensor, Tensor | None]:
    """The heads to have a channel, and which channel each query has, where it is not its own: queries of one head share
    one. Training seldom has two of a head, and would have to wait."""
    if torch.is_grad_enabled():
        return heads, None
    distinct, channels = torch.unique(heads, return_inverse=True)
    return (heads, None) if len(distinct) == len(heads) else (distinct, channels)


def _spread(states: Tensor, channels: Tensor | None) -> Tensor:  # entity slot query
    return states if channels is None else states.index_select(2, channels)


def lit_heads(heads: Tensor, num_entities: int, num_slots: int) -> Tensor:  # entity slot head
    """Z^(0): channel q is 1 in all slots of head q."""
    states = torch.zeros(num_entities, num_slots, len(heads), device=heads.device)
    states[heads, :, torch.arange(len(heads), device=heads.device)] = 1.0
    return states


def weighted_scores(bodies: Tensor, states: Tensor, weights: Tensor) -> Tensor:  # query entity
    """-sum over slots of weight x ReLU(body - state): 0 iff every slot is met, as every weight is positive."""
    missing = torch.relu(bodies.T - states)  # entity slot query
    scores = -(missing * weights.T).sum(1)
    if not torch.is_grad_enabled():  # a miss so small that its product with the weight is 0 is still a miss
        scores = torch.where((scores == 0) & (missing.amax(1) > 0), -torch.finfo(scores.dtype).tiny, scores)
    return scores.T
