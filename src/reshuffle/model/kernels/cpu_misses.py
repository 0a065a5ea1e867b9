"""The unmet demand of candidates, slot by slot, in numba.

In training, torch would read all states ten times, and memory bandwidth limits a CPU; this reads them once per pass.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import torch
from torch import Tensor

from reshuffle.compiled import compiled
from reshuffle.model.kernels.threads import threads_for

_BLOCKS = 64  # of entities; fixed, so that sums do not depend on the number of threads


def weighted_misses(
    bodies: Tensor, states: Tensor, weights: Tensor, channels: Tensor | None = None
) -> Tensor:  # entity query
    """The sum over slots of weight x ReLU(body - state), of bodies and weights [slot, query].

    Query q compares with the channel `channels[q]` of the states, or with channel q.
    """
    places = torch.arange(bodies.shape[1]) if channels is None else channels
    result: Tensor = _WeightedMisses.apply(bodies.contiguous(), states, weights.contiguous(), places)
    return result


class _WeightedMisses(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, bodies: Tensor, states: Tensor, weights: Tensor, channels: Tensor) -> Tensor:
        ctx.save_for_backward(bodies, states, weights, channels)
        result = torch.empty(states.shape[0], bodies.shape[1])
        with threads_for(states.shape[0] * bodies.numel()):
            _misses(*(tensor.detach().numpy() for tensor in (bodies, states, weights, channels, result)))
        return result

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        bodies, states, weights, channels = ctx.saved_tensors
        to_bodies, to_weights = (torch.zeros(_BLOCKS, *bodies.shape) for _ in range(2))
        to_states = torch.zeros_like(states)
        given = (gradient.contiguous(), bodies, states, weights, channels)
        with threads_for(states.shape[0] * bodies.numel()):
            _misses_back(*(array.detach().numpy() for array in (*given, to_bodies, to_states, to_weights)))
        return to_bodies.sum(0), to_states, to_weights.sum(0), None


@compiled(parallel=True)
def _misses(bodies, states, weights, channels, result):
    """result[entity, query] = sum over slots of weight x ReLU(body - state).

    Invariant: an entity is one thread's alone, and its slots come in their order.
    Cost: slots x queries for each entity.
    """
    slots, queries = bodies.shape
    for entity in numba.prange(len(states)):
        missed = result[entity]
        missed[:] = 0
        for slot in range(slots):
            body, state, weight = bodies[slot], states[entity, slot], weights[slot]
            for query in range(queries):
                missed[query] += max(body[query] - state[channels[query]], np.float32(0)) * weight[query]


@compiled(parallel=True)
def _misses_back(gradient, bodies, states, weights, channels, to_bodies, to_states, to_weights):
    """The gradient of `_misses`; bodies and weights get theirs block by block.

    Invariant: a block of entities is one thread's alone, and the number of blocks is fixed. Cost: as of `_misses`.
    """
    slots, queries = bodies.shape
    width = (len(states) + _BLOCKS - 1) // _BLOCKS
    for block in numba.prange(_BLOCKS):
        for entity in range(block * width, min(len(states), (block + 1) * width)):
            pulled = gradient[entity]
            for slot in range(slots):
                body, state, weight = bodies[slot], states[entity, slot], weights[slot]
                to_body, to_state, to_weight = (
                    to_bodies[block, slot],
                    to_states[entity, slot],
                    to_weights[block, slot],
                )
                for query in range(queries):
                    channel = channels[query]
                    missed = body[query] - state[channel]
                    pull = pulled[query] if missed > 0 else np.float32(0)
                    to_weight[query] += pull * missed
                    pull *= weight[query]
                    to_body[query] += pull
                    to_state[channel] -= pull
