"""Walks from the heads of queries, in numba: how long the shortest ones are, and how many end where.

Most walks of few steps reach a small part of a graph, so both loops pass over entities that no walk has reached.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba
import numpy as np
import torch
from torch import Tensor

from reshuffle.compiled import compiled
from reshuffle.model.kernels.threads import threads_for

if TYPE_CHECKING:
    from reshuffle.model.propagation import EvidenceGraph, MessageGraph

_TOGETHER = 16  # queries of one thread: their numbers fill a line of the cache


def steps(heads: Tensor, graph: MessageGraph, edges: Tensor, *, most: int) -> Tensor:  # query entity
    """In how many steps each entity is reached from each head; most + 1 where it takes more."""
    result = np.full((len(heads), graph.num_entities), most + 1, dtype=np.int64)
    words = np.zeros((graph.num_entities, (len(heads) + 63) // 64), dtype=np.uint64)
    arrays = (*_arrays(heads, graph.heads, graph.starts, edges), most, words, result)
    with threads_for(len(edges) * len(heads)):
        _steps(*arrays)
    return torch.from_numpy(result)


def walk_step(there: Tensor, weights: Tensor, shares: Tensor, graph: EvidenceGraph) -> Tensor:  # entity query
    """What is there after a step: every edge passes on its share, times the weight [relation, query]."""
    result: Tensor = _WalkStep.apply(there, weights, shares, graph)
    return result


class _WalkStep(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, there: Tensor, weights: Tensor, shares: Tensor, graph: EvidenceGraph) -> Tensor:
        ctx.save_for_backward(there, weights, shares)
        ctx.graph, moved = graph, torch.zeros_like(there)
        arrays = _arrays(there, weights, shares, graph.starts, graph.relations, graph.tails, moved)
        with threads_for(len(shares) * there.shape[1]):
            _walk_step(*arrays)
        return moved

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None, None]:
        there, weights, shares = ctx.saved_tensors
        graph, to_there, to_weights = ctx.graph, torch.zeros_like(there), torch.zeros_like(weights)
        edges = graph.starts, graph.relations, graph.tails
        arrays = _arrays(gradient.contiguous(), there, weights, shares, *edges, to_there, to_weights)
        with threads_for(len(shares) * there.shape[1]):
            _walk_step_back(*arrays)
        return to_there, to_weights, None, None


def _arrays(*tensors: Tensor) -> tuple[Any, ...]:
    return tuple(tensor.detach().numpy() for tensor in tensors)


@compiled(parallel=True)
def _steps(heads, message_heads, starts, edges, most, seen, result):
    """Breadth-first from all heads at once, a bit per query.

    Invariant: `fresh` has the bits of those reached by the step before, `seen` of all; an entity is one thread's alone.
    Cost: edges x queries / 64 for each step, until nobody new is reached.
    """
    for query in range(len(heads)):
        seen[heads[query], query // 64] |= np.uint64(1) << np.uint64(query % 64)
        result[query, heads[query]] = 0
    fresh = seen.copy()
    for step in range(1, most + 1):
        reached = np.zeros_like(seen)
        for entity in numba.prange(len(seen)):
            own = edges[starts[entity] : starts[entity + 1]]
            for word in range(seen.shape[1]):
                bits = _received(own, message_heads, fresh[:, word]) & ~seen[entity, word]
                if bits != 0:
                    reached[entity, word] = bits
                    seen[entity, word] |= bits
                    _note(step, bits, result[64 * word : 64 * word + 64, entity])
        if not reached.any():
            break
        fresh = reached


@compiled
def _received(edges, message_heads, words):
    """The bits of all that an entity hears; a message with the number `count` is hidden. Cost: the edges."""
    bits, count = np.uint64(0), len(message_heads)
    for place in range(len(edges)):
        if edges[place] < count:
            bits |= words[message_heads[edges[place]]]
    return bits


@compiled
def _note(step, bits, result):
    """result[query] = step for every bit that is set. Cost: the queries."""
    for query in range(len(result)):
        if (bits >> np.uint64(query)) & np.uint64(1):
            result[query] = step


@compiled(parallel=True)
def _walk_step(there, weights, shares, starts, relations, tails, moved):
    """moved[tail] += there[head] x (weight x share), for every edge that leaves an entity where something is.

    Invariant: a block of queries is one thread's alone, and edges come in their order: sums do not depend on threads.
    Cost: queries for each edge that leaves such an entity.
    """
    queries = there.shape[1]
    for block in numba.prange((queries + _TOGETHER - 1) // _TOGETHER):
        first, last = block * _TOGETHER, min(queries, (block + 1) * _TOGETHER)
        for head in range(len(there)):
            here = there[head, first:last]
            if not here.any():
                continue
            for place in range(starts[head], starts[head + 1]):
                share = shares[place]
                if share != 0:
                    weight, sum_there = weights[relations[place], first:last], moved[tails[place], first:last]
                    for query in range(last - first):
                        sum_there[query] += here[query] * (weight[query] * share)


@compiled(parallel=True)
def _walk_step_back(gradient, there, weights, shares, starts, relations, tails, to_there, to_weights):
    """The gradient of a step for where walks are, and for the weights.

    Where no walk is, the gradient is left at 0: whatever could have led there is nowhere either, and no weight counts.
    Invariant and cost: as of the step.
    """
    queries = there.shape[1]
    for block in numba.prange((queries + _TOGETHER - 1) // _TOGETHER):
        first, last = block * _TOGETHER, min(queries, (block + 1) * _TOGETHER)
        for head in range(len(there)):
            here, to_here = there[head, first:last], to_there[head, first:last]
            if not here.any():
                continue
            for place in range(starts[head], starts[head + 1]):
                share = shares[place]
                if share != 0:
                    relation, pulled = relations[place], gradient[tails[place], first:last]
                    weight, to_weight = weights[relation, first:last], to_weights[relation, first:last]
                    for query in range(last - first):
                        pull = pulled[query] * share
                        to_here[query] += pull * weight[query]
                        to_weight[query] += pull * here[query]
