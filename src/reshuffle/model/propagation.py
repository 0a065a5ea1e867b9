"""A graph as tensors, and the layers over it.

A layer is Z_f <- max(Z_f, max over the messages that f receives), and messages are products B_r Z_e.

`MessageGraph` is a graph as the layers need it: each distinct message once, and who receives it. A message is computed
once per distinct (head, relation) and thrown away; the backward pass keeps only which message won in each coordinate
(ties go to the state itself, then to the first edge), so nothing of size edges x slots x channels outlives the layer.

`EvidenceGraph` is a graph as evidence needs it: who has which roles, numbered as in `kg/roles.py`, and the edges by
where they leave. `ModelGraph` builds either when it is first needed.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
import torch
from torch import Tensor

from reshuffle.kg.rows import Rows, with_inverses
from reshuffle.model.kernels import MUCH_WORK, cpu, cpu_walks
from reshuffle.reasoning.sharing import built_once

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from numpy.typing import NDArray

    from reshuffle.model.injected import InjectedGraph
    from reshuffle.model.reshuffle import ReshuffleModel

_LONGEST_RUN = 8  # shorter ones add up less, longer ones leave a GPU's programs too few


@dataclass(frozen=True)
class MessageGraph:
    """Message m is B_r Z_e for a distinct (relation, head); entity f receives `edge_messages[starts[f]:starts[f+1]]`.

    Messages are sorted by relation. An edge whose message is `num_messages` carries nothing: it is hidden.
    """

    num_entities: int
    num_relations: int  # inverses and identities included
    heads: Tensor  # message
    relations: Tensor  # message
    starts: Tensor  # entity + 1
    edge_messages: Tensor  # edge
    edge_tails: Tensor  # edge
    edge_of_triple: Tensor  # 2 triple: the edge of each triple and of its inverse

    @property
    def num_messages(self) -> int:
        """How many distinct (relation, head) there are."""
        return len(self.heads)

    @cached_property
    def messages_by_head(self) -> tuple[Tensor, Tensor]:
        """Where each entity starts in the messages ordered by head, and those."""
        heads, order = torch.sort(self.heads, stable=True)
        everyone = torch.arange(self.num_entities + 1, device=heads.device)
        return torch.searchsorted(heads, everyone), order

    @cached_property
    def relation_runs(self) -> Tensor:
        """Where runs of messages of one relation start, none longer than `_LONGEST_RUN`, and the end."""
        places = torch.arange(self.num_messages, device=self.relations.device)
        since = places - torch.searchsorted(self.relations, self.relations)  # the first of the relation
        ends = torch.full((1,), self.num_messages, device=places.device)
        return torch.cat([places[since % _LONGEST_RUN == 0], ends])

    @cached_property
    def receivers(self) -> tuple[Tensor, Tensor]:
        """Where each message starts in the tails ordered by message, and those; hiding is left to the winners."""
        messages, order = torch.sort(self.edge_messages, stable=True)
        every = torch.arange(self.num_messages + 1, device=messages.device)
        return torch.searchsorted(messages, every), self.edge_tails[order]

    @classmethod
    def build(
        cls, triples: NDArray[np.int64], *, num_entities: int, num_relations: int, num_identities: int
    ) -> MessageGraph:
        """From triples of ids [triple, (head relation tail)], with inverses and a self-loop for each identity."""
        triples = triples.reshape(-1, 3)
        head, relation, tail = with_inverses(triples, num_relations).T
        everyone = np.tile(np.arange(num_entities), num_identities)
        identities = np.repeat(np.arange(num_identities), num_entities)
        heads = np.concatenate([head, everyone])
        tails = np.concatenate([tail, everyone])
        relations = np.concatenate([relation, identities + 2 * num_relations])
        keys, message = np.unique(relations * np.int64(num_entities) + heads, return_inverse=True)
        by_tail = Rows.positions(tails, num_rows=num_entities)
        order = by_tail.values
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        columns = (
            keys % max(num_entities, 1),
            keys // max(num_entities, 1),
            by_tail.starts,
            message[order],
            tails[order],
            place[: 2 * len(triples)].reshape(2, -1),
        )
        return cls(
            num_entities,
            2 * num_relations + num_identities,
            *(torch.from_numpy(np.ascontiguousarray(column, dtype=np.int64)) for column in columns),
        )

    def to(self, device: torch.device) -> MessageGraph:
        """The same graph on another device."""
        tensors = (
            self.heads,
            self.relations,
            self.starts,
            self.edge_messages,
            self.edge_tails,
            self.edge_of_triple,
        )
        return MessageGraph(self.num_entities, self.num_relations, *(tensor.to(device) for tensor in tensors))

    def for_training(self) -> MessageGraph:
        """The same graph, with what a backward pass reads made now and not within the first step."""
        self.messages_by_head, self.receivers  # noqa: B018 - cached when first read
        return self

    def hiding(self, triples: Tensor) -> Tensor:
        """`edge_messages` in which the given triples (by position) and their inverses carry nothing."""
        hidden = self.edge_messages.clone()
        hidden[self.edge_of_triple[:, triples].flatten()] = self.num_messages
        return hidden


def propagate(
    states: Tensor,
    matrices: Tensor,
    graph: MessageGraph,
    *,
    num_layers: int,
    edge_messages: Tensor | None = None,
) -> Tensor:  # entity slot channel
    """`num_layers` layers with the same matrices. `edge_messages` may hide edges (`MessageGraph.hiding`)."""
    edges = graph.edge_messages if edge_messages is None else edge_messages
    room = states.new_empty(
        graph.num_messages, *states.shape[1:]
    )  # for the messages of one layer after the other
    for _ in range(num_layers):
        states = _MaxLayer.apply(states, matrices, graph, edges, room)
    return states


class _MaxLayer(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, states: Tensor, matrices: Tensor, graph: MessageGraph, edges: Tensor, room: Tensor
    ) -> Tensor:
        kernels = kernels_for(states.device)
        received, winner = kernels.layer(matrices, graph, states, edges, room)
        ctx.save_for_backward(states, matrices, winner)
        ctx.graph = graph
        return received.view_as(states)  # type: ignore[no-any-return]

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor, None, None, None]:
        states, matrices, winner = ctx.saved_tensors
        to_matrices, to_states = kernels_for(states.device).segment_max_back(
            gradient.contiguous().flatten(1),
            winner,
            matrices,
            states,
            ctx.graph,
            wants_states=ctx.needs_input_grad[0],
        )
        return to_states, to_matrices, None, None, None


@torch.no_grad()
def hops(
    heads: Tensor, messages: MessageGraph, *, most: int, hidden: Tensor | None = None
) -> Tensor:  # query entity
    """In how many steps each entity is reached, either way along any relation; most + 1 where it takes more.

    On a GPU it is a layer like any other, with one slot that every relation halves: 2^-steps is exact in floating
    point.
    """
    edges = messages.edge_messages if hidden is None else messages.hiding(hidden)
    if heads.device.type == "cpu":
        return cpu_walks.steps(heads, messages, edges, most=most)
    queries = torch.arange(len(heads), device=heads.device)
    reached = torch.zeros(messages.num_entities, 1, len(heads), device=heads.device)
    reached[heads, 0, queries] = 1.0
    halves = torch.full((messages.num_relations, 1, 1), 0.5, device=heads.device)
    reached = propagate(reached, halves, messages, num_layers=most, edge_messages=edges).squeeze(1)
    steps = -torch.log2(reached.clamp(min=2.0 ** -(most + 1)))
    return steps.round().long().T


def products(
    matrices: Tensor, states: Tensor, *, relations: Tensor, rows: Tensor
) -> Tensor:  # product slot channel
    """Product p is `matrices[relations[p]] @ states[rows[p]]`; fast where pairs of one relation are neighbours."""
    result: Tensor = _Products.apply(matrices, states, relations, rows)
    return result


class _Products(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, matrices: Tensor, states: Tensor, relations: Tensor, rows: Tensor) -> Tensor:
        ctx.save_for_backward(matrices, states, relations, rows)
        result: Tensor = kernels_for(states.device).products(matrices, relations, states, rows)
        return result

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor | None, None, None]:
        matrices, states, relations, rows = ctx.saved_tensors
        to_states = torch.zeros_like(states) if ctx.needs_input_grad[1] else None
        to_matrices = kernels_for(states.device).products_back(
            gradient.contiguous(), matrices, relations, states, rows, to_states=to_states
        )
        return to_matrices, to_states, None, None


@dataclass(frozen=True)
class EvidenceGraph:
    """Roles and edges; edge numbers are those of the triples, then those of their inverses."""

    num_entities: int
    entities: Tensor  # entry: whose role it is; an entry is a distinct (entity, role), sorted
    roles: Tensor  # entry
    role_starts: Tensor  # entity + 1: where the entries of each entity begin
    counts: Tensor  # entry: how many edges give the role
    entry_of_edge: Tensor  # edge
    starts: Tensor  # entity + 1: where the edges that leave it begin
    edges: Tensor  # place: the edges, by head
    relations: Tensor  # place
    tails: Tensor  # place

    @classmethod
    def build(
        cls, triples: NDArray[np.int64], *, num_entities: int, num_relations: int, device: torch.device
    ) -> EvidenceGraph:
        """From triples of ids [triple, (head relation tail)]."""
        heads, relations, tails = with_inverses(triples.reshape(-1, 3), num_relations).T
        keys, entry, counts = np.unique(
            tails * np.int64(2 * num_relations) + relations, return_inverse=True, return_counts=True
        )
        owners, roles = np.divmod(keys, max(1, 2 * num_relations))
        by_head = Rows.positions(heads, num_rows=num_entities)
        order = by_head.values
        columns = (
            owners,
            roles,
            np.searchsorted(owners, np.arange(num_entities + 1)),
            counts,
            entry.reshape(-1),
            by_head.starts,
            order,
            relations[order],
            tails[order],
        )
        return cls(
            num_entities,
            *(
                torch.from_numpy(np.ascontiguousarray(column, dtype=np.int64)).to(device)
                for column in columns
            ),
        )

    @cached_property
    def pairs(self) -> tuple[Tensor, Tensor]:
        """For each edge head x entities + tail, sorted, and its place in `edges`."""
        keys, places = torch.sort(self.heads * self.num_entities + self.tails, stable=True)
        return keys, places

    @cached_property
    def heads(self) -> Tensor:  # place
        """Where each edge leaves."""
        everyone = torch.arange(self.num_entities, device=self.starts.device)
        return torch.repeat_interleave(everyone, self.starts.diff())


@dataclass(frozen=True)
class ModelGraph:
    """A graph as a model computes with it, on the model's device; each form is built when it is first needed."""

    model: ReshuffleModel
    triples: NDArray[np.int64]  # triple (head relation tail): ids, relations as the model numbers them
    num_entities: int

    @built_once
    def messages(self) -> MessageGraph:
        """The graph as the layers need it."""
        return MessageGraph.build(
            self.triples,
            num_entities=self.num_entities,
            num_relations=self.model.num_relations,
            num_identities=self.model.num_identities,
        ).to(self.model.matrices.logits.device)

    @built_once
    def facts(self) -> EvidenceGraph:
        """The graph as evidence and the search for walks need it."""
        return EvidenceGraph.build(
            self.triples,
            num_entities=self.num_entities,
            num_relations=self.model.num_relations,
            device=self.model.matrices.logits.device,
        )

    @built_once
    def injected(self) -> InjectedGraph | None:
        """The graph as injected rules need it; None for a model without."""
        block, device = self.model.injected, self.model.matrices.logits.device
        if block is None:
            return None
        return block.graph_of(self.triples, num_entities=self.num_entities, device=device)


@contextmanager
def threads_worth(work: int) -> Iterator[None]:
    """As many threads for torch and numba as there are for much work, one for little; around many small pieces."""
    before = torch.get_num_threads(), numba.get_num_threads()
    if work < MUCH_WORK:
        torch.set_num_threads(1)
        numba.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before[0])
        numba.set_num_threads(before[1])


def runs(first: Tensor, number: Tensor) -> tuple[Tensor, Tensor]:
    """The places first, first + 1, ... of each run, one run after the other: which run each is of, and the place.

    >>> runs(torch.tensor([7, 0]), torch.tensor([2, 3]))
    (tensor([0, 0, 1, 1, 1]), tensor([7, 8, 0, 1, 2]))
    """
    owners = torch.repeat_interleave(torch.arange(len(number), device=number.device), number)
    begins = first - (number.cumsum(0) - number)
    return owners, torch.arange(len(owners), device=number.device) + begins[owners]


def kernels_for(device: torch.device) -> ModuleType:
    """The module for a device; that for GPUs is imported when first needed, since Triton exists only beside them."""
    if device.type == "cuda":
        from reshuffle.model.kernels import gpu  # noqa: PLC0415

        return gpu
    return cpu
