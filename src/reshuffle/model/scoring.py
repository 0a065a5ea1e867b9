"""s(e, r, f) = -||ReLU(B_r Z_e - Z_f)||_2, for one triple or for many corruptions of it.

What is compared is the body x = B_r Z_e with the target z = Z_f. With N negatives per triple the differences are N
times the size of the states; they are never stored, but made again for the backward pass.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from reshuffle.model.kernels import kernels_for
from reshuffle.model.products import products


def pair_scores(bodies: Tensor, targets: Tensor) -> Tensor:
    """Scores of pairs [..., slot, channel] in plain torch: 0 iff captured."""
    differences = torch.relu(bodies - targets).flatten(-2)
    squared = differences.square().sum(-1)
    # Squares of tiny differences underflow, and a triple that is missed by little is still missed. Besides, the square
    # root has no gradient at 0, and a captured triple is there and should stay there.
    tiny = squared < torch.finfo(squared.dtype).tiny
    return -torch.where(tiny, differences.amax(-1), torch.sqrt(torch.where(tiny, 1.0, squared)))


def tail_scores(bodies: Tensor, states: Tensor, candidates: Tensor) -> Tensor:  # query candidate
    """Scores of each body against the states of its candidates."""
    scores: Tensor = _TailScores.apply(bodies.flatten(1), states.flatten(1), candidates)
    return scores


def all_tail_scores(bodies: Tensor, states: Tensor) -> Tensor:  # query entity
    """Scores of each body against every entity; for evaluation, without gradient."""
    norms: Tensor = kernels_for(bodies.device).all_norms(bodies.flatten(1), states.flatten(1))
    return -norms


def head_scores(
    matrices: Tensor, relations: Tensor, states: Tensor, candidates: Tensor, targets: Tensor
) -> Tensor:  # query candidate
    """Scores of the candidates as heads: B_r Z_c against the target of each query.

    Queries of one relation share their bodies. They are compared the other way round than tails are:
    ReLU(x - z) = ReLU((-z) - (-x)), and -x is the product with -B_r.
    """
    pairs, places = torch.unique(relations[:, None] * len(states) + candidates, return_inverse=True)
    bodies = products(-matrices, states, relations=pairs // len(states), rows=pairs % len(states))
    return tail_scores(-targets, bodies, places)


class _TailScores(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, bodies: Tensor, states: Tensor, candidates: Tensor) -> Tensor:
        norms: Tensor = kernels_for(bodies.device).norms(bodies, states, candidates)
        ctx.save_for_backward(bodies, states, candidates, norms)
        return -norms

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None]:
        bodies, states, candidates, norms = ctx.saved_tensors
        weights = _over(gradient, norms)
        of_bodies, of_states = kernels_for(bodies.device).pulls(bodies, states, candidates, weights)
        return -of_bodies, of_states, None


def _over(gradient: Tensor, norms: Tensor) -> Tensor:
    """gradient / norm, and 0 where the norm is 0."""
    return torch.where(norms > 0, gradient / norms.clamp(min=torch.finfo(norms.dtype).tiny), 0.0)
