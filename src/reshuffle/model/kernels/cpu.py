"""The kernels in numba, on the memory of CPU tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numba
import numpy as np
import torch
from torch import Tensor

from reshuffle.compiled import compiled
from reshuffle.model.kernels.threads import threads_for

if TYPE_CHECKING:
    from reshuffle.model.propagation import MessageGraph

_FAST = {"reassoc", "contract", "nsz", "arcp"}  # sums in any order; NaN and infinity stay what they are
_TINY = np.finfo(np.float32).tiny
_BLOCKS = (
    8  # what threads share out where rows would collide; fixed, so that sums do not depend on the machine
)


def products(
    matrices: Tensor, relations: Tensor, states: Tensor, rows: Tensor, *, out: Tensor | None = None
) -> Tensor:
    """B_r Z_e for each relation and row, [product, slot, channel]."""
    result = torch.empty(len(rows), *states.shape[1:]) if out is None else out
    everyone = torch.ones(len(states), dtype=torch.bool)
    arrays = (matrices, relations, states, rows, everyone, result)
    with threads_for(result.numel() * states.shape[1]):
        _products(*(array.numpy() for array in arrays))
    return result


def products_back(
    gradient: Tensor,
    matrices: Tensor,
    relations: Tensor,
    states: Tensor,
    rows: Tensor,
    *,
    to_states: Tensor | None,
) -> Tensor:
    """What the matrices get of the gradient; what the states get is added to `to_states`."""
    partial = torch.zeros(_BLOCKS, *matrices.shape)
    work = gradient.numel() * states.shape[1]
    with threads_for(work):
        _to_matrices(gradient.numpy(), relations.numpy(), states.numpy(), rows.numpy(), partial.numpy())
    if to_states is not None:
        order, starts = _grouped(rows, len(states))
        transposed = matrices.transpose(1, 2).contiguous()
        arrays = (gradient, transposed, relations, order, starts, to_states)
        with threads_for(work):
            _to_states(*(array.numpy() for array in arrays))
    return partial.sum(0)


def layer(
    matrices: Tensor, graph: MessageGraph, states: Tensor, edges: Tensor, room: Tensor
) -> tuple[Tensor, Tensor]:
    """The states after a layer, and the winners.

    Where a channel belongs to one head, the first layers reach few entities: those with nothing send nothing.
    """
    speaking = torch.empty(len(states), dtype=torch.bool)
    with threads_for(states.numel()):
        _find_speaking(states.flatten(1).numpy(), speaking.numpy())
    heard = torch.cat([speaking[graph.heads], speaking.new_zeros(1)])
    arrays = (matrices, graph.relations, states, graph.heads, speaking, room)
    with threads_for(room.numel() * states.shape[1]):
        _products(*(array.numpy() for array in arrays))
    edges = torch.where(heard[edges], edges, graph.num_messages)
    return segment_max(room.flatten(1), states.flatten(1), graph.starts, edges)


def segment_max(messages: Tensor, states: Tensor, starts: Tensor, edges: Tensor) -> tuple[Tensor, Tensor]:
    """The maximum of each state and the messages it receives; the winner is `len(messages)` where it kept its own."""
    received, winner = torch.empty_like(states), torch.empty(states.shape, dtype=torch.int32)
    arrays = (messages, states, starts, edges, received, winner)
    with threads_for(len(edges) * states.shape[1]):
        _segment_max(*(array.numpy() for array in arrays))
    return received, winner


def segment_max_back(
    gradient: Tensor,
    winner: Tensor,
    matrices: Tensor,
    states: Tensor,
    graph: MessageGraph,
    *,
    wants_states: bool,
) -> tuple[Tensor, Tensor | None]:
    """What the matrices and the states get of the gradient of a layer; no gradient of a message is ever stored."""
    partial = torch.zeros(_BLOCKS, *matrices.shape)
    to_states = torch.empty_like(states) if wants_states else torch.empty(0, *states.shape[1:])
    arrays = (
        gradient,
        winner,
        matrices.transpose(1, 2).contiguous(),
        graph.relations,
        states,
        *graph.messages_by_head,
        *graph.receivers,
        partial,
        to_states,
    )
    with threads_for(len(graph.edge_tails) * gradient.shape[1]):
        _segment_max_back(*(array.numpy() for array in arrays))
    return partial.sum(0), to_states if wants_states else None


def norms(bodies: Tensor, states: Tensor, candidates: Tensor) -> Tensor:
    """||ReLU(x_q - z_c)||_2, [query, candidate]."""
    result = torch.empty(candidates.shape)
    with threads_for(candidates.numel() * states.shape[1]):
        _norms(bodies.numpy(), states.numpy(), candidates.numpy(), result.numpy())
    return result


def pulls(bodies: Tensor, states: Tensor, candidates: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Sums of weight x ReLU(x_q - z_c): over the candidates of each query, and over the queries of each candidate."""
    of_bodies, of_states = torch.empty_like(bodies), torch.empty_like(states)
    order, starts = _grouped(candidates.flatten(), len(states))
    arrays = (bodies, states, candidates, weights, order, starts, of_bodies, of_states)
    with threads_for(candidates.numel() * states.shape[1]):
        _pulls(*(array.numpy() for array in arrays))
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
    """`pulls` on products `states` = B_r Z_e, and at once `products_back` of what these get, which is never stored.

    What bodies and matrices get is returned; what the heads Z_e get is added to `to_states`. `rows` must be sorted.
    """
    if not len(rows):
        return torch.zeros_like(bodies), torch.zeros_like(matrices)
    of_bodies, partial = torch.zeros(_BLOCKS, *bodies.shape), torch.zeros(_BLOCKS, *matrices.shape)
    order, starts = _grouped(candidates.flatten(), len(states))
    # Blocks end where a row does: two that add to one would collide.
    shares = torch.arange(_BLOCKS) * len(rows) // _BLOCKS
    ends = torch.cat([torch.searchsorted(rows, rows[shares]), torch.tensor([len(rows)])])
    transposed = matrices.transpose(1, 2).contiguous()
    arrays = (bodies, states, weights, order, starts, transposed, relations, heads, rows, ends)
    with threads_for(2 * states.numel() * matrices.shape[1]):
        _product_pulls(*(array.numpy() for array in (*arrays, of_bodies, partial, to_states)))
    return of_bodies.sum(0), partial.sum(0)


def _grouped(rows: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The places of each row number, one row after the other, and where each row starts."""
    ordered, order = torch.sort(rows, stable=True)
    return order, torch.searchsorted(ordered, torch.arange(count + 1))


def all_norms(bodies: Tensor, states: Tensor) -> Tensor:
    """||ReLU(x_q - z_c)||_2 for every row c, [query, row]."""
    result = torch.empty(len(bodies), len(states))
    with threads_for(len(bodies) * states.numel()):
        _all_norms(bodies.numpy(), states.numpy(), result.numpy())
    return result


@compiled(fastmath=_FAST)
def _add_product(matrix, state, result):  # noqa: C901 - one loop for the blocks, three for what is left over
    """result += matrix x state; 4 x 4 entries of the matrix at a time, so that rows are loaded and stored less.

    Invariant: every entry adds its products in the same order, whatever the number of channels.
    Cost: slots^2 x channels; memory is read once per 4 x 4 block.
    """
    rows, slots = matrix.shape
    for i in range(0, rows - 3, 4):
        first, second, third, fourth = result[i], result[i + 1], result[i + 2], result[i + 3]
        for j in range(0, slots - 3, 4):
            a, b, c, d = matrix[i, j], matrix[i, j + 1], matrix[i, j + 2], matrix[i, j + 3]
            e, f, g, h = matrix[i + 1, j], matrix[i + 1, j + 1], matrix[i + 1, j + 2], matrix[i + 1, j + 3]
            k, m, n, o = matrix[i + 2, j], matrix[i + 2, j + 1], matrix[i + 2, j + 2], matrix[i + 2, j + 3]
            p, q, r, s = matrix[i + 3, j], matrix[i + 3, j + 1], matrix[i + 3, j + 2], matrix[i + 3, j + 3]
            x, y, z, w = state[j], state[j + 1], state[j + 2], state[j + 3]
            for t in range(len(first)):
                first[t] += a * x[t] + b * y[t] + c * z[t] + d * w[t]
                second[t] += e * x[t] + f * y[t] + g * z[t] + h * w[t]
                third[t] += k * x[t] + m * y[t] + n * z[t] + o * w[t]
                fourth[t] += p * x[t] + q * y[t] + r * z[t] + s * w[t]
        for j in range(slots // 4 * 4, slots):
            a, b, c, d, x = matrix[i, j], matrix[i + 1, j], matrix[i + 2, j], matrix[i + 3, j], state[j]
            for t in range(len(first)):
                first[t] += a * x[t]
                second[t] += b * x[t]
                third[t] += c * x[t]
                fourth[t] += d * x[t]
    for i in range(rows // 4 * 4, rows):
        first = result[i]
        for j in range(0, slots - 3, 4):
            a, b, c, d = matrix[i, j], matrix[i, j + 1], matrix[i, j + 2], matrix[i, j + 3]
            x, y, z, w = state[j], state[j + 1], state[j + 2], state[j + 3]
            for t in range(len(first)):
                first[t] += a * x[t] + b * y[t] + c * z[t] + d * w[t]
        for j in range(slots // 4 * 4, slots):
            a, x = matrix[i, j], state[j]
            for t in range(len(first)):
                first[t] += a * x[t]


@compiled(fastmath=_FAST)
def _add_outer(gradient, state, matrix):
    """matrix += gradient x state^T; rows without gradient are skipped: most messages win nowhere in most slots.

    Invariant: a row of the matrix changes only where its row of the gradient is not 0.
    Cost: slots x channels for each row that is not skipped, and channels for each that is.
    """
    slots, channels = state.shape
    whole = slots // 4 * 4
    for i in range(gradient.shape[0]):
        row = gradient[i]
        if _is_zero(row):
            continue
        for j in range(0, whole, 4):
            a, b, c, d = np.float32(0), np.float32(0), np.float32(0), np.float32(0)
            for channel in range(channels):
                a += row[channel] * state[j, channel]
                b += row[channel] * state[j + 1, channel]
                c += row[channel] * state[j + 2, channel]
                d += row[channel] * state[j + 3, channel]
            matrix[i, j] += a
            matrix[i, j + 1] += b
            matrix[i, j + 2] += c
            matrix[i, j + 3] += d
        for j in range(whole, slots):
            a = np.float32(0)
            for channel in range(channels):
                a += row[channel] * state[j, channel]
            matrix[i, j] += a


@compiled(parallel=True, fastmath=_FAST)
def _find_speaking(states, result):
    """Which rows are not all 0; NaN is not 0.

    Invariant: rows are independent, so threads share them out. Cost: all rows, many entries at a time, which is less
    than to stop at the first that is not 0: most rows are all 0.
    """
    for row in numba.prange(states.shape[0]):
        result[row] = not _is_zero(states[row])


@compiled(parallel=True, fastmath=_FAST)
def _products(matrices, relations, states, rows, wanted, result):
    """Products of the wanted rows; the others are left as they are.

    Invariant: one function, compiled once, makes messages and what is asked for, so that sums come in the same order
    and a score is 0 where a message says just what is asked for.
    Cost: slots^2 x channels for each wanted row.
    """
    for product in numba.prange(rows.shape[0]):
        if wanted[rows[product]]:
            result[product] = 0
            _add_product(matrices[relations[product]], states[rows[product]], result[product])


@compiled(fastmath=_FAST)
def _is_zero(values):
    """Are all values 0? Their absolute values are added up, which a CPU does many at a time. Cost: all values."""
    total = np.float32(0)
    for place in range(values.shape[0]):
        total += abs(values[place])
    return total == 0


@compiled(parallel=True, fastmath=_FAST)
def _to_matrices(gradient, relations, states, rows, partial):
    """partial[block, r] += gradient x state^T of the products of each block.

    Invariant: a block is one thread's alone, and the number of blocks is fixed: sums do not depend on the machine.
    Cost: slots^2 x channels for each product with a gradient.
    """
    count = gradient.shape[0]
    width = (count + _BLOCKS - 1) // _BLOCKS
    for block in numba.prange(_BLOCKS):
        for product in range(block * width, min(count, (block + 1) * width)):
            _add_outer(gradient[product], states[rows[product]], partial[block, relations[product]])


@compiled(parallel=True, fastmath=_FAST)
def _to_states(gradient, transposed, relations, order, starts, to_states):
    """to_states[row] += B_r^T x gradient of the products of that row, which `order` lists one row after the other.

    Invariant: a row is one thread's alone, and its products come in the order of `order`.
    Cost: slots^2 x channels for each product with a gradient.
    """
    for row in numba.prange(to_states.shape[0]):
        for place in range(starts[row], starts[row + 1]):
            product = order[place]
            if not _is_zero(gradient[product].ravel()):
                _add_product(transposed[relations[product]], gradient[product], to_states[row])


@compiled(parallel=True)
def _segment_max(messages, states, starts, edges, received, winner):
    """The maximum of each state and its messages, and which message won.

    Invariant: ties go to the state itself, then to the first edge; a message with the number `count` is hidden.
    Cost: slots x channels for each edge that is not hidden.
    """
    count = messages.shape[0]
    for entity in numba.prange(states.shape[0]):
        best, won = received[entity], winner[entity]
        best[:] = states[entity]
        won[:] = count
        for place in range(starts[entity], starts[entity + 1]):
            message = edges[place]
            if message < count:
                row = messages[message]
                for column in range(row.shape[0]):
                    if row[column] > best[column]:
                        best[column] = row[column]
                        won[column] = message


@compiled(parallel=True, fastmath=_FAST)
def _segment_max_back(
    gradient,
    winner,
    transposed,
    relations,
    states,
    head_starts,
    head_messages,
    receiver_starts,
    receivers,
    partial,
    to_states,
):
    """The gradient of a layer, head by head: the gradient of each of its messages is gathered, used and forgotten.

    Invariant: a block of heads is one thread's alone, so nothing is added by two; a head with no state won nothing.
    Cost: slots x channels for each edge, and slots^2 x channels for each message that won somewhere.
    """
    count, width = len(relations), (len(gradient) + _BLOCKS - 1) // _BLOCKS
    for block in numba.prange(_BLOCKS):
        own = np.empty(states.shape[1:], dtype=np.float32)
        for entity in range(block * width, min(len(gradient), (block + 1) * width)):
            if len(to_states) > 0:
                kept = to_states[entity].reshape(-1)
                _won_by(count, gradient[entity], winner[entity], kept)
            if _is_zero(states[entity].ravel()):
                continue  # it sent nothing, so nothing of it won
            for place in range(head_starts[entity], head_starts[entity + 1]):
                message = head_messages[place]
                flat = own.reshape(-1)
                flat[:] = 0
                for edge in range(receiver_starts[message], receiver_starts[message + 1]):
                    _add_won_by(message, gradient[receivers[edge]], winner[receivers[edge]], flat)
                if not _is_zero(flat):
                    _add_outer(own, states[entity], partial[block, relations[message]])
                    if len(to_states) > 0:
                        _add_product(transposed[relations[message]], own, to_states[entity])


@compiled(fastmath=_FAST)
def _won_by(message, gradient, winner, result):
    """The gradient where the message won, else 0. Cost: slots x channels, without a branch."""
    for column in range(len(result)):
        result[column] = gradient[column] if winner[column] == message else np.float32(0)


@compiled(fastmath=_FAST)
def _add_won_by(message, gradient, winner, result):
    """The same, added to what is there. Cost: slots x channels, without a branch."""
    for column in range(len(result)):
        result[column] += gradient[column] if winner[column] == message else np.float32(0)


@compiled(fastmath=_FAST)
def _norm(body, state):
    """||ReLU(body - state)||_2.

    Invariant: it is 0 iff no difference is positive: where squares underflow, it is the largest difference.
    Cost: slots x channels, twice where the squares underflow.
    """
    total = np.float32(0)
    for column in range(body.shape[0]):
        difference = body[column] - state[column]
        positive = (
            np.float32(0) if difference <= 0 else difference
        )  # NaN stays NaN, so that training can stop
        total += positive * positive
    if not total < _TINY:
        return np.sqrt(total)
    largest = np.float32(0)
    for column in range(body.shape[0]):
        largest = max(largest, body[column] - state[column])
    return largest


@compiled(parallel=True, fastmath=_FAST)
def _norms(bodies, states, candidates, result):
    """The norm of each query against its candidates.

    Invariant: queries are independent, so threads share them out. Cost: slots x channels for each candidate.
    """
    for query in numba.prange(candidates.shape[0]):
        body = bodies[query]
        for place in range(candidates.shape[1]):
            result[query, place] = _norm(body, states[candidates[query, place]])


@compiled(parallel=True, fastmath=_FAST)
def _pulls(bodies, states, candidates, weights, order, starts, of_bodies, of_states):
    """Sums of weight x ReLU(body - state), query by query and then row by row.

    Invariant: a query, and then a row, is one thread's alone, so that sums come in one order.
    Cost: 2 x slots x channels for each candidate whose weight is not 0.
    """
    width = candidates.shape[1]
    for query in numba.prange(candidates.shape[0]):
        of_bodies[query] = 0
        for place in range(width):
            if weights[query, place] != 0:
                _add_pull(
                    weights[query, place], bodies[query], states[candidates[query, place]], of_bodies[query]
                )
    for row in numba.prange(states.shape[0]):
        of_states[row] = 0
        for index in range(starts[row], starts[row + 1]):
            query, place = order[index] // width, order[index] % width
            if weights[query, place] != 0:
                _add_pull(weights[query, place], bodies[query], states[row], of_states[row])


@compiled(parallel=True, fastmath=_FAST)
def _product_pulls(
    bodies,
    states,
    weights,
    order,
    starts,
    transposed,
    relations,
    heads,
    rows,
    ends,
    of_bodies,
    to_matrices,
    to_states,
):
    """`_pulls` for products, and at once what their matrices and heads get.

    Invariant: a block of products is one thread's alone, and ends where a head does, so nothing is added by two.
    Cost: slots x channels for each candidate, and 2 x slots^2 x channels for each product that is pulled.
    """
    width = weights.shape[1]
    for block in numba.prange(_BLOCKS):
        own = np.empty(heads.shape[1:], dtype=np.float32)
        flat = own.reshape(-1)
        for product in range(ends[block], ends[block + 1]):
            flat[:] = 0
            pulled = False
            for index in range(starts[product], starts[product + 1]):
                query = order[index] // width
                weight = weights[query, order[index] % width]
                if weight != 0:
                    _add_pulls(weight, bodies[query], states[product], flat, of_bodies[block, query])
                    pulled = True
            if pulled:
                row, relation = rows[product], relations[product]
                _add_outer(own, heads[row], to_matrices[block, relation])
                _add_product(transposed[relation], own, to_states[row])


@compiled(fastmath=_FAST)
def _add_pulls(weight, body, state, result, other):
    """Add weight x ReLU(body - state) to both results. Cost: slots x channels."""
    for column in range(len(result)):
        pull = weight * max(body[column] - state[column], np.float32(0))
        result[column] += pull
        other[column] += pull


@compiled(fastmath=_FAST)
def _add_pull(weight, body, state, result):
    """Add weight x ReLU(body - state) to the result. Cost: slots x channels."""
    for column in range(len(result)):
        result[column] += weight * max(body[column] - state[column], np.float32(0))


@compiled(parallel=True, fastmath=_FAST)
def _all_norms(bodies, states, result):
    """The norm of each query against every row.

    Invariant: a row is one thread's alone, and stays in its cache for all queries.
    Cost: slots x channels for each pair.
    """
    for row in numba.prange(states.shape[0]):
        state = states[row]
        for query in range(bodies.shape[0]):
            result[query, row] = _norm(bodies[query], state)
