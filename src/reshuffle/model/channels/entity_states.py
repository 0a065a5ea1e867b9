"""Channels whose states do not depend on the question; they are updated when facts are added or removed.

Every layer is kept from the first change on. If the states of some entities differ in layer l, then in layer l + 1 at
most theirs, those of their neighbours, and those at the ends of facts that came or went can differ. Each of these is
computed from all it receives, and those that turn out as they were are not followed any further.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from reshuffle.model.channels.interface import ChannelsOnGraph, Plan
from reshuffle.model.evidence.interface import Asked
from reshuffle.model.propagation import kernels_for, propagate, runs, threads_worth
from reshuffle.model.scoring import Scores
from reshuffle.reasoning.sharing import built_once

if TYPE_CHECKING:
    from reshuffle.model.architecture import Architecture
    from reshuffle.model.channels.interface import ChannelKind
    from reshuffle.model.evidence.registry import Evidence
    from reshuffle.model.propagation import MessageGraph, ModelGraph

_MOST_NUMBERS = 1 << 26  # of bodies held at a time


class EntityChannels(ChannelsOnGraph):
    """States from one draw, and beside the constraints the evidence of a model whose evidence is all local."""

    def __init__(self, kind: ChannelKind, graph: ModelGraph, matrices: Tensor, *, seed: int) -> None:
        self.graph, self.matrices = graph, matrices
        self._kind, self._seed = kind, seed
        self.layers: LayeredStates | None = None
        self._keep_layers = False

    @built_once
    def states(self) -> Tensor:  # entity slot channel
        """Z^(m) of every entity."""
        architecture = self.graph.model.architecture
        draw = Draw(self._kind, architecture, self._seed)
        with torch.no_grad():
            if self.layers is None and self._keep_layers:
                self.layers = LayeredStates(draw, self.matrices, self.graph.messages)
            if self.layers is not None:
                return self.layers.last
            drawn = draw.next(self.graph.num_entities).to(self.matrices.device)
            return propagate(drawn, self.matrices, self.graph.messages, num_layers=architecture.num_layers)

    @property
    def keeps_layers(self) -> bool:
        """They are from the second change on: most graphs never change."""
        return self.layers is not None

    @torch.no_grad()
    def moved(self, graph: ModelGraph, touched: Tensor, kept: Tensor) -> EntityChannels:
        """The first change computes all states again and keeps every layer of them."""
        after = type(self)(self._kind, graph, self.matrices, seed=self._seed)
        after._keep_layers = self._keep_layers or "states" in self.__dict__
        if self.layers is not None:
            self.layers.follow(graph.messages, touched, kept)
            after.layers = self.layers
        return after

    @property
    def evidence(self) -> Evidence | None:
        """The model's evidence, unless some of it needs a channel per query."""
        evidence = self.graph.model.evidence
        return evidence if evidence is not None and evidence.local else None

    def scores(
        self, anchors: Tensor, relations: Tensor, candidates: Tensor | None, *, forward: bool
    ) -> Scores[Tensor]:  # query candidate
        """The constraint scores, and local evidence."""
        score = self.tail_scores if forward else self.head_scores
        constraint = score(anchors, relations, candidates)
        if self.evidence is None:
            return Scores(constraint, {})
        # The head of (?, r, t) is the tail of (t, r^-1, ?), and that is how its evidence is learned.
        asked = relations if forward else relations + self.graph.model.num_relations
        return Scores(constraint, self.evidence.scores(Asked(anchors, asked, self.graph.facts), candidates))

    @abstractmethod
    def tail_scores(
        self, heads: Tensor, relations: Tensor, tails: Tensor | None
    ) -> Tensor:  # query candidate
        """Constraint scores of the candidates as tails."""

    @abstractmethod
    def head_scores(
        self, tails: Tensor, relations: Tensor, heads: Tensor | None
    ) -> Tensor:  # query candidate
        """Constraint scores of the candidates as heads."""

    def everyone(self, queries: int) -> Tensor:  # query entity
        """All entities as the candidates of each query."""
        return torch.arange(self.graph.num_entities, device=self.matrices.device).repeat(queries, 1)

    def plan(self, width: int | None, *, forward: bool) -> Plan:
        """A query has one body, or one for each candidate as its head; evidence goes through the candidates' roles."""
        architecture, entities = self.graph.model.architecture, self.graph.num_entities
        each = architecture.num_slots * architecture.num_channels
        numbers = each * (1 if forward else entities if width is None else width)
        if self.evidence is not None:
            roles = len(self.graph.facts.entities)
            of_some = (width or 0) * (1 + roles // max(1, entities))
            numbers = max(numbers, max(roles, entities) if width is None else of_some)
        return Plan(max(1, _MOST_NUMBERS // max(1, numbers)), entities * each)


@dataclass
class Draw:
    """The initial states of one seed, entity after entity; later entities do not change earlier ones."""

    kind: ChannelKind
    architecture: Architecture
    seed: int

    def __post_init__(self) -> None:
        # On the CPU, since a GPU draws in blocks whose values depend on how many are asked for.
        self._generator = torch.Generator().manual_seed(self.seed)
        self._first: Tensor | None = None

    def next(self, count: int) -> Tensor:  # entity slot channel
        """The states of the next entities."""
        shape = (count, self.architecture.num_slots, self.architecture.num_channels)
        if self.kind.alike and self._first is not None:
            return self._first.expand(shape).contiguous()
        drawn = self.kind.initial_states(
            shape, probability=self.architecture.probability, generator=self._generator
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
            with threads_worth(each * (len(touched) + len(changed))):
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
        # A draw belongs to a place: the next entity there begins as if it had been unused.
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
