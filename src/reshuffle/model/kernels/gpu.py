"""The kernels in Triton; products of matrices and states have a module of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl
from torch import Tensor

from reshuffle.model.kernels.gpu_products import grouped, products, products_back

if TYPE_CHECKING:
    from reshuffle.model.propagation import MessageGraph

_COLUMNS, _WARP_COLUMNS = 512, 128  # of a row, per program
_EDGES = 16  # messages that a program reads at once
# Below it squares have underflowed; see `_norm` of the CPU.
_TINY = tl.constexpr(torch.finfo(torch.float32).tiny)


def layer(
    matrices: Tensor, graph: MessageGraph, states: Tensor, edges: Tensor, room: Tensor
) -> tuple[Tensor, Tensor]:
    """The states after a layer, and the winners."""
    messages = products(matrices, graph.relations, states, graph.heads, out=room)
    return segment_max(messages.flatten(1), states.flatten(1), graph.starts, edges)


def segment_max(messages: Tensor, states: Tensor, starts: Tensor, edges: Tensor) -> tuple[Tensor, Tensor]:
    """The maximum of each state and the messages it receives; the winner is `len(messages)` where it kept its own."""
    received, winner = (
        torch.empty_like(states),
        torch.empty(states.shape, dtype=torch.int32, device=states.device),
    )
    rows, columns = states.shape
    # One warp per program: what is compared along the edges then lies within a thread.
    _segment_max[(rows, triton.cdiv(columns, _WARP_COLUMNS))](
        messages,
        states,
        starts,
        edges,
        received,
        winner,
        len(messages),
        columns,
        EDGES=_EDGES,
        BLOCK=_WARP_COLUMNS,
        num_warps=1,
    )
    return received, winner


@triton.jit
def _segment_max(
    messages,
    states,
    starts,
    edges,
    received,
    winner,
    count,
    columns,
    EDGES: tl.constexpr,
    BLOCK: tl.constexpr,
):
    entity = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = column < columns
    best = tl.load(states + entity * columns + column, mask=inside, other=0.0)
    won = tl.full((BLOCK,), 0, tl.int32) + count
    first, last = tl.load(starts + entity), tl.load(starts + entity + 1)
    number = tl.arange(0, EDGES)[:, None]
    for start in range(first, last, EDGES):  # many at once, since each waits long for its memory
        message = tl.load(edges + start + number, mask=start + number < last, other=count).to(tl.int64)
        shown = (message < count) & inside[None, :]
        values = tl.load(messages + message * columns + column[None, :], mask=shown, other=-1.0)
        highest = tl.max(values, axis=0)
        foremost = tl.min(tl.where(values == highest[None, :], number, EDGES), axis=0)
        sender = tl.sum(tl.where(number == foremost[None, :], message.to(tl.int32), 0), axis=0)
        better = highest > best
        best = tl.where(better, highest, best)
        won = tl.where(better, sender, won)
    tl.store(received + entity * columns + column, best, mask=inside)
    tl.store(winner + entity * columns + column, won, mask=inside)


def segment_max_back(
    gradient: Tensor,
    winner: Tensor,
    matrices: Tensor,
    states: Tensor,
    graph: MessageGraph,
    *,
    wants_states: bool,
) -> tuple[Tensor, Tensor | None]:
    """What the matrices and the states get of the gradient of a layer."""
    to_messages = gradient.new_zeros(graph.num_messages, gradient.shape[1])
    kept = torch.empty_like(gradient)
    rows, columns = gradient.shape
    _spread[(rows, triton.cdiv(columns, _COLUMNS))](
        gradient, winner, to_messages, kept, graph.num_messages, columns, BLOCK=_COLUMNS
    )
    to_states = kept.view_as(states) if wants_states else None
    to_matrices = products_back(
        to_messages.view(-1, *states.shape[1:]),
        matrices,
        graph.relations,
        states,
        graph.heads,
        to_states=to_states,
        by_row=graph.messages_by_head[::-1],
        by_relation=graph.relation_runs,
    )
    return to_matrices, to_states


@triton.jit
def _spread(gradient, winner, to_messages, to_states, count, columns, BLOCK: tl.constexpr):
    entity = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = column < columns
    value = tl.load(gradient + entity * columns + column, mask=inside, other=0.0)
    message = tl.load(winner + entity * columns + column, mask=inside, other=0).to(tl.int64)
    sent = message < count
    tl.atomic_add(to_messages + message * columns + column, value, mask=inside & sent & (value != 0.0))
    tl.store(to_states + entity * columns + column, tl.where(sent, 0.0, value), mask=inside)


def norms(bodies: Tensor, states: Tensor, candidates: Tensor) -> Tensor:
    """||ReLU(x_q - z_c)||_2, [query, candidate]."""
    result = torch.empty(candidates.shape, device=bodies.device)
    queries, width = candidates.shape
    rows = 8
    _norms[(queries, triton.cdiv(width, rows))](
        bodies, states, candidates, result, width, bodies.shape[1], ROWS=rows, BLOCK=_COLUMNS
    )
    return result


@triton.jit
def _norms(bodies, states, candidates, result, width, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    query = tl.program_id(0).to(tl.int64)
    place = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    wanted = place < width
    candidate = tl.load(candidates + query * width + place, mask=wanted, other=0).to(tl.int64)
    total, largest = tl.zeros((ROWS,), tl.float32), tl.zeros((ROWS,), tl.float32)
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)
        inside = column < columns
        body = tl.load(bodies + query * columns + column, mask=inside, other=0.0)
        state = tl.load(
            states + candidate[:, None] * columns + column[None, :],
            mask=wanted[:, None] & inside[None, :],
            other=0.0,
        )
        difference = body[None, :] - state
        difference = tl.where(difference <= 0.0, 0.0, difference)  # NaN stays NaN, so that training can stop
        total += tl.sum(difference * difference, axis=1)
        largest = tl.maximum(largest, tl.max(difference, axis=1))
    norm = tl.where(total < _TINY, largest, tl.sqrt(total))
    tl.store(result + query * width + place, norm, mask=wanted)


def pulls(bodies: Tensor, states: Tensor, candidates: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Sums of weight x ReLU(x_q - z_c): over the candidates of each query, and over the queries of each candidate."""
    of_bodies, of_states = torch.empty_like(bodies), torch.empty_like(states)
    order, starts = grouped(candidates.flatten(), len(states))
    queries, columns = bodies.shape
    weights, width, blocks = weights.contiguous(), candidates.shape[1], triton.cdiv(columns, _COLUMNS)
    _pulls_of_bodies[(queries, blocks)](
        bodies, states, candidates, weights, of_bodies, width, columns, BLOCK=_COLUMNS
    )
    _pulls_of_states[(len(states), blocks)](
        bodies, states, weights, order, starts, of_states, width, columns, BLOCK=_COLUMNS
    )
    return of_bodies, of_states


def product_pulls(
    bodies: Tensor,
    states: Tensor,
    candidates: Tensor,
    weights: Tensor,
    matrices: Tensor,
    relations: Tensor,
    heads: Tensor,
    rows: Tensor,
    *,
    to_states: Tensor,
) -> tuple[Tensor, Tensor]:
    """`pulls` on products `states` = B_r Z_e, then `products_back` of what these get; see the CPU's."""
    of_bodies, pulled = pulls(bodies, states, candidates, weights)
    pulled = pulled.view(-1, *heads.shape[1:])
    return of_bodies, products_back(pulled, matrices, relations, heads, rows, to_states=to_states)


@triton.jit
def _pulls_of_bodies(bodies, states, candidates, weights, of_bodies, width, columns, BLOCK: tl.constexpr):
    query = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = column < columns
    body = tl.load(bodies + query * columns + column, mask=inside, other=0.0)
    total = tl.zeros((BLOCK,), tl.float32)
    for place in range(0, width):
        weight = tl.load(weights + query * width + place)
        if weight != 0.0:
            candidate = tl.load(candidates + query * width + place).to(tl.int64)
            state = tl.load(states + candidate * columns + column, mask=inside, other=0.0)
            total += weight * tl.maximum(body - state, 0.0)
    tl.store(of_bodies + query * columns + column, total, mask=inside)


@triton.jit
def _pulls_of_states(bodies, states, weights, order, starts, of_states, width, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = column < columns
    state = tl.load(states + row * columns + column, mask=inside, other=0.0)
    total = tl.zeros((BLOCK,), tl.float32)
    for index in range(tl.load(starts + row), tl.load(starts + row + 1)):
        place = tl.load(order + index)
        weight = tl.load(weights + place)
        if weight != 0.0:
            body = tl.load(bodies + (place // width) * columns + column, mask=inside, other=0.0)
            total += weight * tl.maximum(body - state, 0.0)
    tl.store(of_states + row * columns + column, total, mask=inside)


def all_norms(bodies: Tensor, states: Tensor) -> Tensor:
    """||ReLU(x_q - z_c)||_2 for every row c, [query, row]."""
    result = torch.empty(len(bodies), len(states), device=bodies.device)
    queries, rows = 16, 16
    # Rows first: there may be millions, and only the first axis may be that long.
    _all_norms[(triton.cdiv(len(states), rows), triton.cdiv(len(bodies), queries))](
        bodies,
        states,
        result,
        len(bodies),
        len(states),
        bodies.shape[1],
        QUERIES=queries,
        ROWS=rows,
        BLOCK=32,
    )
    return result


@triton.jit
def _all_norms(
    bodies,
    states,
    result,
    num_queries,
    num_rows,
    columns,
    QUERIES: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    query = tl.program_id(1) * QUERIES + tl.arange(0, QUERIES)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    total, largest = tl.zeros((QUERIES, ROWS), tl.float32), tl.zeros((QUERIES, ROWS), tl.float32)
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)
        inside = column < columns
        body = tl.load(
            bodies + query[:, None].to(tl.int64) * columns + column[None, :],
            mask=(query < num_queries)[:, None] & inside[None, :],
            other=0.0,
        )
        state = tl.load(
            states + row[:, None].to(tl.int64) * columns + column[None, :],
            mask=(row < num_rows)[:, None] & inside[None, :],
            other=0.0,
        )
        difference = body[:, None, :] - state[None, :, :]
        difference = tl.where(difference <= 0.0, 0.0, difference)
        total += tl.sum(difference * difference, axis=2)
        largest = tl.maximum(largest, tl.max(difference, axis=2))
    tl.store(
        result + query[:, None].to(tl.int64) * num_rows + row[None, :],
        tl.where(total < _TINY, largest, tl.sqrt(total)),
        mask=(query < num_queries)[:, None] & (row < num_rows)[None, :],
    )
