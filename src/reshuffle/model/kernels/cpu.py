"""The kernels in numba, on the memory of CPU tensors."""

from __future__ import annotations

import numba
import numpy as np
import torch
from torch import Tensor

from reshuffle.model.kernels.threads import threads_for

_FAST = {"reassoc", "contract", "nsz", "arcp"}  # sums in any order; NaN and infinity stay what they are
_TINY = np.finfo(np.float32).tiny
_BLOCKS = (
    8  # what threads share out where rows would collide; fixed, so that sums do not depend on the machine
)


def products(matrices: Tensor, relations: Tensor, states: Tensor, rows: Tensor) -> Tensor:
    """B_r Z_e for each relation and row, [product, slot, channel]."""
    result = torch.empty(len(rows), *states.shape[1:])
    with threads_for(result.numel() * states.shape[1]):
        _products(matrices.numpy(), relations.numpy(), states.numpy(), rows.numpy(), result.numpy())
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
        order = torch.argsort(rows)
        starts = torch.searchsorted(rows[order], torch.arange(len(states) + 1))
        transposed = matrices.transpose(1, 2).contiguous()
        arrays = (gradient, transposed, relations, order, starts, to_states)
        with threads_for(work):
            _to_states(*(array.numpy() for array in arrays))
    return partial.sum(0)


def segment_max(messages: Tensor, states: Tensor, starts: Tensor, edges: Tensor) -> tuple[Tensor, Tensor]:
    """The maximum of each state and the messages it receives; the winner is `len(messages)` where it kept its own."""
    received, winner = torch.empty_like(states), torch.empty(states.shape, dtype=torch.int32)
    arrays = (messages, states, starts, edges, received, winner)
    with threads_for(len(edges) * states.shape[1]):
        _segment_max(*(array.numpy() for array in arrays))
    return received, winner


def spread(gradient: Tensor, winner: Tensor, num_messages: int) -> tuple[Tensor, Tensor]:
    """What the messages and what the states themselves get of the gradient."""
    to_messages = torch.zeros(num_messages, gradient.shape[1])
    to_states = torch.zeros_like(gradient)
    with threads_for(gradient.numel()):
        _spread(gradient.numpy(), winner.numpy(), to_messages.numpy(), to_states.numpy())
    return to_messages, to_states


def norms(bodies: Tensor, states: Tensor, candidates: Tensor) -> Tensor:
    """||ReLU(x_q - z_c)||_2, [query, candidate]."""
    result = torch.empty(candidates.shape)
    with threads_for(candidates.numel() * states.shape[1]):
        _norms(bodies.numpy(), states.numpy(), candidates.numpy(), result.numpy())
    return result


def pulls(bodies: Tensor, states: Tensor, candidates: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Sums of weight x ReLU(x_q - z_c): over the candidates of each query, and over the queries of each candidate."""
    of_bodies, of_states = torch.zeros_like(bodies), torch.zeros_like(states)
    arrays = (bodies, states, candidates, weights, of_bodies, of_states)
    with threads_for(candidates.numel() * states.shape[1]):
        _pulls(*(array.numpy() for array in arrays))
    return of_bodies, of_states


def all_norms(bodies: Tensor, states: Tensor) -> Tensor:
    """||ReLU(x_q - z_c)||_2 for every row c, [query, row]."""
    result = torch.empty(len(bodies), len(states))
    with threads_for(len(bodies) * states.numel()):
        _all_norms(bodies.numpy(), states.numpy(), result.numpy())
    return result


@numba.njit(cache=True, nogil=True, fastmath=_FAST)
def _add_product(matrix, state, result):
    """result += matrix x state; four columns of the matrix at a time, so that a row is loaded and stored less."""
    slots, channels = state.shape
    whole = slots // 4 * 4
    for i in range(matrix.shape[0]):
        row = result[i]
        for j in range(0, whole, 4):
            a, b, c, d = matrix[i, j], matrix[i, j + 1], matrix[i, j + 2], matrix[i, j + 3]
            for channel in range(channels):
                row[channel] += (
                    a * state[j, channel]
                    + b * state[j + 1, channel]
                    + c * state[j + 2, channel]
                    + d * state[j + 3, channel]
                )
        for j in range(whole, slots):
            for channel in range(channels):
                row[channel] += matrix[i, j] * state[j, channel]


@numba.njit(parallel=True, cache=True, nogil=True, fastmath=_FAST)
def _products(matrices, relations, states, rows, result):
    for product in numba.prange(rows.shape[0]):
        result[product] = 0
        _add_product(matrices[relations[product]], states[rows[product]], result[product])


@numba.njit(cache=True, nogil=True, fastmath=_FAST)
def _is_zero(values):
    total = np.float32(0)
    for place in range(values.shape[0]):
        total += abs(values[place])
    return total == 0


@numba.njit(parallel=True, cache=True, nogil=True, fastmath=_FAST)
def _to_matrices(gradient, relations, states, rows, partial):
    count, slots, channels = gradient.shape
    width = (count + _BLOCKS - 1) // _BLOCKS
    for block in numba.prange(_BLOCKS):
        for product in range(block * width, min(count, (block + 1) * width)):
            state, matrix = states[rows[product]], partial[block, relations[product]]
            for i in range(slots):
                row = gradient[product, i]
                if _is_zero(row):  # most messages win nowhere in most slots
                    continue
                for j in range(slots):
                    total = np.float32(0)
                    for channel in range(channels):
                        total += row[channel] * state[j, channel]
                    matrix[i, j] += total


@numba.njit(parallel=True, cache=True, nogil=True, fastmath=_FAST)
def _to_states(gradient, transposed, relations, order, starts, to_states):
    for row in numba.prange(to_states.shape[0]):
        for place in range(starts[row], starts[row + 1]):
            product = order[place]
            if not _is_zero(gradient[product].ravel()):
                _add_product(transposed[relations[product]], gradient[product], to_states[row])


@numba.njit(parallel=True, cache=True, nogil=True)
def _segment_max(messages, states, starts, edges, received, winner):
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


@numba.njit(parallel=True, cache=True, nogil=True)
def _spread(gradient, winner, to_messages, to_states):
    count, columns = to_messages.shape[0], gradient.shape[1]
    width = (columns + _BLOCKS - 1) // _BLOCKS
    for block in numba.prange(_BLOCKS):
        for entity in range(gradient.shape[0]):
            for column in range(block * width, min(columns, (block + 1) * width)):
                message = winner[entity, column]
                if message < count:
                    to_messages[message, column] += gradient[entity, column]
                else:
                    to_states[entity, column] = gradient[entity, column]


@numba.njit(cache=True, nogil=True, fastmath=_FAST)
def _norm(body, state):
    """||ReLU(body - state)||_2; where the squares underflow the largest difference, so that 0 means captured."""
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


@numba.njit(parallel=True, cache=True, nogil=True, fastmath=_FAST)
def _norms(bodies, states, candidates, result):
    for query in numba.prange(candidates.shape[0]):
        body = bodies[query]
        for place in range(candidates.shape[1]):
            result[query, place] = _norm(body, states[candidates[query, place]])


@numba.njit(parallel=True, cache=True, nogil=True, fastmath=_FAST)
def _pulls(bodies, states, candidates, weights, of_bodies, of_states):
    columns = bodies.shape[1]
    width = (columns + _BLOCKS - 1) // _BLOCKS
    for block in numba.prange(_BLOCKS):
        first, last = block * width, min(columns, (block + 1) * width)
        for query in range(candidates.shape[0]):
            for place in range(candidates.shape[1]):
                candidate, weight = candidates[query, place], weights[query, place]
                if weight != 0:
                    for column in range(first, last):
                        pull = weight * max(bodies[query, column] - states[candidate, column], np.float32(0))
                        of_bodies[query, column] += pull
                        of_states[candidate, column] += pull


@numba.njit(parallel=True, cache=True, nogil=True, fastmath=_FAST)
def _all_norms(bodies, states, result):
    for row in numba.prange(states.shape[0]):
        state = states[row]
        for query in range(bodies.shape[0]):
            result[query, row] = _norm(bodies[query], state)
