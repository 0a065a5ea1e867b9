"""The kernels in numba, on the memory of CPU tensors."""

from __future__ import annotations

import numba
import numpy as np
import torch
from torch import Tensor

_COLUMN_BLOCKS = 8  # threads share out the columns where rows would collide


def segment_max(messages: Tensor, states: Tensor, starts: Tensor, edges: Tensor) -> tuple[Tensor, Tensor]:
    """The maximum of each state and the messages it receives; the winner is `len(messages)` where it kept its own."""
    received, winner = torch.empty_like(states), torch.empty(states.shape, dtype=torch.int32)
    _segment_max(
        messages.numpy(), states.numpy(), starts.numpy(), edges.numpy(), received.numpy(), winner.numpy()
    )
    return received, winner


def spread(gradient: Tensor, winner: Tensor, num_messages: int) -> tuple[Tensor, Tensor]:
    """What the messages and what the states themselves get of the gradient."""
    to_messages = torch.zeros(num_messages, gradient.shape[1])
    to_states = torch.zeros_like(gradient)
    _spread(gradient.numpy(), winner.numpy(), to_messages.numpy(), to_states.numpy())
    return to_messages, to_states


def norms(bodies: Tensor, states: Tensor, candidates: Tensor) -> Tensor:
    """||ReLU(x_q - z_c)||_2, [query, candidate]."""
    result = torch.empty(candidates.shape)
    _norms(bodies.numpy(), states.numpy(), candidates.numpy(), result.numpy())
    return result


def pulls(bodies: Tensor, states: Tensor, candidates: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Sums of weight x ReLU(x_q - z_c): over the candidates of each query, and over the queries of each candidate."""
    of_bodies, of_states = torch.zeros_like(bodies), torch.zeros_like(states)
    _pulls(
        bodies.numpy(),
        states.numpy(),
        candidates.numpy(),
        weights.numpy(),
        of_bodies.numpy(),
        of_states.numpy(),
    )
    return of_bodies, of_states


def all_norms(bodies: Tensor, states: Tensor) -> Tensor:
    """||ReLU(x_q - z_c)||_2 for every row c, [query, row]."""
    result = torch.empty(len(bodies), len(states))
    _all_norms(bodies.numpy(), states.numpy(), result.numpy())
    return result


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
    width = (columns + _COLUMN_BLOCKS - 1) // _COLUMN_BLOCKS
    for block in numba.prange(_COLUMN_BLOCKS):
        for entity in range(gradient.shape[0]):
            for column in range(block * width, min(columns, (block + 1) * width)):
                message = winner[entity, column]
                if message < count:
                    to_messages[message, column] += gradient[entity, column]
                else:
                    to_states[entity, column] = gradient[entity, column]


@numba.njit(parallel=True, cache=True, nogil=True, fastmath=True)
def _norms(bodies, states, candidates, result):
    for query in numba.prange(candidates.shape[0]):
        body = bodies[query]
        for place in range(candidates.shape[1]):
            state = states[candidates[query, place]]
            total = np.float32(0)
            for column in range(body.shape[0]):
                difference = max(body[column] - state[column], np.float32(0))
                total += difference * difference
            result[query, place] = np.sqrt(total)


@numba.njit(parallel=True, cache=True, nogil=True, fastmath=True)
def _pulls(bodies, states, candidates, weights, of_bodies, of_states):
    columns = bodies.shape[1]
    width = (columns + _COLUMN_BLOCKS - 1) // _COLUMN_BLOCKS
    for block in numba.prange(_COLUMN_BLOCKS):
        first, last = block * width, min(columns, (block + 1) * width)
        for query in range(candidates.shape[0]):
            for place in range(candidates.shape[1]):
                candidate, weight = candidates[query, place], weights[query, place]
                if weight != 0:
                    for column in range(first, last):
                        pull = weight * max(bodies[query, column] - states[candidate, column], np.float32(0))
                        of_bodies[query, column] += pull
                        of_states[candidate, column] += pull


@numba.njit(parallel=True, cache=True, nogil=True, fastmath=True)
def _all_norms(bodies, states, result):
    for row in numba.prange(states.shape[0]):
        state = states[row]
        for query in range(bodies.shape[0]):
            body = bodies[query]
            total = np.float32(0)
            for column in range(body.shape[0]):
                difference = max(body[column] - state[column], np.float32(0))
                total += difference * difference
            result[query, row] = np.sqrt(total)
