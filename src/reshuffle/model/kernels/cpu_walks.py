"""Walks from the heads of queries, in numba: their shortest lengths, and the counts per end.

Most walks of few steps reach a small part of a graph, so both loops pass over entities that no walk has reached.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba
import numpy as np
import torch
from torch import Tensor

from reshuffle.compiled import compiled
from reshuffle.kg.rows import starts_of
from reshuffle.kg.searching.steps import Edges, steps_to_everyone
from reshuffle.model.kernels.threads import threads_for

if TYPE_CHECKING:
    from reshuffle.model.propagation import EvidenceGraph, MessageGraph

_TOGETHER = 16  # queries of one thread: their numbers fill a line of the cache


def steps(heads: Tensor, graph: MessageGraph, edges: Tensor, *, most: int) -> Tensor:  # query entity
    """In how many steps each entity is reached from each head; most + 1 where it takes more."""
    senders, starts, messages = _arrays(graph.heads, graph.starts, edges)
    shown = messages < len(senders)  # all others are hidden
    bounds = starts_of(shown)[starts]
    heard = Edges(bounds, senders[messages[shown]].astype(np.int32))
    (sources,) = _arrays(heads)
    nobody = np.full(len(sources), -1, dtype=np.int32)
    found = steps_to_everyone(heard, sources.astype(np.int32), nobody, most=most)
    return torch.from_numpy(found.astype(np.int64))


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
