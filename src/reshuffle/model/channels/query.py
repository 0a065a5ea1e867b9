"""A channel per query: 1 in all slots of its head, 0 for everyone else.

Z_t then says how well t is reached from the head through each slot, and s(h, r, t) asks for what B_r asks for: the
slots of t must be at least B_r Z_h. One propagation scores all entities as tails of one query, so training can compare
the true tail with all others at once.

At t nothing tells in which slot of the head a value started. So with hard matrices whatever the constraints entail
scores 0, but more may, and every (h, r, h) does; `answers/walks.py` tells them apart (`Walker.follows`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import softplus

from reshuffle.errors import ReshuffleError
from reshuffle.model.channels.interface import ChannelKind, ChannelsOnGraph, Plan
from reshuffle.model.evidence.interface import Asked
from reshuffle.model.kernels.cpu_misses import weighted_misses
from reshuffle.model.propagation import ModelGraph, products, propagate
from reshuffle.model.scoring import Scores, pair_scores

if TYPE_CHECKING:
    from typing import NoReturn

    from reshuffle.model.propagation import MessageGraph

_MOST_NUMBERS = 1 << 26  # of the states of the queries at a time
_QUICK_NUMBERS = 1 << 22  # with more a CPU waits for memory
_FEW_QUERIES = 64  # with fewer at a time those of one head would be parted, and its channel propagated again
_LIGHTEST = 1e-4  # what a slot counts at least


class PerQuery(ChannelKind):
    """The channel of a query is 1 in all slots of its head."""

    per_query = True

    def initial_states(
        self, shape: tuple[int, int, int], *, probability: float, generator: torch.Generator
    ) -> NoReturn:
        """Refused: there is nothing to begin with before a question."""
        del shape, probability, generator
        raise ReshuffleError(
            "with initial = 'head' states depend on the query: every query has a channel of its own",
            hint="use scores, or the states of given heads; or choose another kind, such as 'bits'",
        )

    def on_graph(self, graph: ModelGraph, matrices: Tensor, *, seed: int) -> QueryChannels:
        """Nothing is drawn, so the seed does not matter."""
        del seed
        return QueryChannels(self, graph, matrices)


@dataclass(frozen=True)
class HeadChannels:
    """A graph on which the tails of given heads are scored, with the matrices of the moment."""

    graph: ModelGraph
    messages: MessageGraph

    def scores(
        self,
        matrices: Tensor,
        heads: Tensor,
        relations: Tensor,
        *,
        hidden: Tensor | None = None,
        shared: bool = True,
    ) -> Scores[Tensor]:  # query entity
        """The scores of every entity as the tail of each query, when some triples (by position) are not there.

        Queries of one head share a channel, unless they seldom have one: to see which do, a GPU would have to wait.
        """
        model, asked, channels = self.graph.model, heads, None
        if shared:
            distinct, places = torch.unique(heads, return_inverse=True)
            asked, channels = (heads, None) if len(distinct) == len(heads) else (distinct, places)
        states = self.states(matrices, asked, hidden=hidden)
        constraint = self._constraint_scores(matrices, states, heads, relations, channels)
        evidence: dict[str, Tensor] = {}
        if model.evidence is not None:
            by_query = None
            if model.evidence.reads_states:
                if model.path_matrices is not None:
                    states = self.states(model.path_matrices(), asked, hidden=hidden)
                by_query = states_by_query(states, channels)
            graph, messages = self.graph.facts, self.messages
            evidence = model.evidence.scores(Asked(heads, relations, graph, hidden, messages, by_query))
        if model.injected is None or self.graph.injected is None:
            return Scores(constraint, evidence)
        rules = model.injected.parts(heads, relations, self.graph.injected, hidden=hidden)
        return Scores(constraint, evidence, rules)

    def states(
        self, matrices: Tensor, heads: Tensor, *, hidden: Tensor | None = None
    ) -> Tensor:  # entity slot head
        """Z^(m), a channel per head."""
        architecture, messages = self.graph.model.architecture, self.messages
        states = lit_heads(heads, messages.num_entities, architecture.num_slots)
        edges = None if hidden is None else messages.hiding(hidden)
        return propagate(states, matrices, messages, num_layers=architecture.num_layers, edge_messages=edges)

    def _constraint_scores(
        self,
        matrices: Tensor,
        states: Tensor,
        heads: Tensor,
        relations: Tensor,
        channels: Tensor | None,
    ) -> Tensor:  # query entity
        """Compares B_r Z_h with the state of every entity, in the query's own channel.

        B_r Z_h is made as messages are made, by the same kernel with all channels side by side: then the tail of a fact
        has got exactly these numbers as a message, to the last bit, and its score is 0. Training does not need the last
        bit, and may have more queries than there are entities, each with a channel of its own.
        """
        model, queries = self.graph.model, torch.arange(len(heads), device=heads.device)
        own = queries if channels is None else channels
        if torch.is_grad_enabled():
            lit = states[heads, :, own]
            bodies = torch.bmm(matrices.index_select(0, relations), lit[..., None])[..., 0]
        else:
            bodies = products(matrices, states, relations=relations, rows=heads)[queries, :, own]
        if model.bias is not None:
            bodies = bodies + model.bias.index_select(0, relations)
        if model.slot_logits is None:
            by_query = states_by_query(states, channels)
            return pair_scores(bodies[:, None, :, None], by_query.permute(2, 0, 1)[..., None])
        weights = positive_weights(model.slot_logits).index_select(0, relations)
        return weighted_scores(bodies, states, weights, channels)


def lit_heads(heads: Tensor, num_entities: int, num_slots: int) -> Tensor:  # entity slot head
    """Z^(0): channel q is 1 in all slots of head q."""
    states = torch.zeros(num_entities, num_slots, len(heads), device=heads.device)
    states[heads, :, torch.arange(len(heads), device=heads.device)] = 1.0
    return states


def states_by_query(states: Tensor, channels: Tensor | None) -> Tensor:  # entity slot query
    """The channel of each query; in two dimensions, since torch gathers the last of three many times as slowly."""
    if channels is None:
        return states
    entities, slots, _ = states.shape
    return states.flatten(0, 1).index_select(1, channels).view(entities, slots, -1)


def positive_weights(logits: Tensor) -> Tensor:  # relation slot
    """How much each slot counts: strictly more than 0, so that a score of 0 still means captured."""
    return softplus(logits) + _LIGHTEST


def weighted_scores(
    bodies: Tensor, states: Tensor, weights: Tensor, channels: Tensor | None = None
) -> Tensor:  # query entity
    """-sum over slots of weight x ReLU(body - state): 0 iff every slot is met, as every weight is positive.

    `channels` says which channel of the states each query has, where it is not the one of its own number.
    """
    if torch.is_grad_enabled() and states.device.type == "cpu":
        return -weighted_misses(bodies.T, states, weights.T, channels).T
    missing = torch.relu(bodies.T - states_by_query(states, channels))  # entity slot query
    scores = -(missing * weights.T).sum(1)
    if not torch.is_grad_enabled():  # a miss so small that its product with the weight is 0 is still a miss
        scores = torch.where((scores == 0) & (missing.amax(1) > 0), -torch.finfo(scores.dtype).tiny, scores)
    return scores.T


class QueryChannels(ChannelsOnGraph):
    """A trained model with a channel per query on a graph."""

    def __init__(self, kind: PerQuery, graph: ModelGraph, matrices: Tensor) -> None:
        self._kind, self.graph, self._matrices = kind, graph, matrices

    @property
    def states(self) -> NoReturn:
        """Refused: every query has a channel of its own."""
        self._kind.initial_states((0, 0, 0), probability=0, generator=torch.Generator())

    def scores(
        self, anchors: Tensor, relations: Tensor, candidates: Tensor | None, *, forward: bool
    ) -> Scores[Tensor]:  # query candidate
        """Constraint scores, all evidence, and injected rules; candidates are scored as tails alone."""
        if not forward:
            return self.states
        found = HeadChannels(self.graph, self.graph.messages).scores(self._matrices, anchors, relations)
        return found if candidates is None else found.of(candidates)

    def plan(self, width: int | None, *, forward: bool) -> Plan:
        """A query has a state for every entity, sends messages along all edges, and walks are counted along them."""
        del width, forward
        slots = self.graph.model.architecture.num_slots
        numbers = max(1, self.graph.num_entities * slots, 2 * len(self.graph.triples))
        at_once = max(1, _MOST_NUMBERS // numbers)
        if self._matrices.device.type == "cpu":
            at_once = min(at_once, max(_FEW_QUERIES, _QUICK_NUMBERS // numbers))
        if self.graph.model.evidence is not None:
            self.graph.facts  # noqa: B018 - made before the first piece, beside the messages
        return Plan(at_once, self.graph.messages.num_messages * slots**2)

    def moved(self, graph: ModelGraph, touched: Tensor, kept: Tensor) -> QueryChannels:
        """Nothing is kept between questions."""
        del touched, kept
        return QueryChannels(self._kind, graph, self._matrices)
