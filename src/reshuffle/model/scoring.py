"""s(e, r, f) = -||ReLU(B_r Z_e - Z_f)||_2, for one triple or for many corruptions of it.

What is compared is the body x = B_r Z_e with the target z = Z_f. With N negatives per triple the differences are N
times the size of the states: for corrupted tails they are never stored, for corrupted heads they are made in pieces,
and both are made again for the backward pass.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from reshuffle.model.kernels import kernels_for

_MOST_ELEMENTS = 1 << 26  # of bodies of corrupted heads at a time


def pair_scores(bodies: Tensor, targets: Tensor) -> Tensor:
    """Scores of pairs [..., slot, channel]: 0 iff captured."""
    squared = torch.relu(bodies - targets).square().sum(dim=(-2, -1))
    # The square root has no gradient at 0. A captured triple is there, and there it should stay.
    captured = squared == 0
    return -torch.where(captured, 0.0, torch.sqrt(torch.where(captured, 1.0, squared)))


def tail_scores(bodies: Tensor, states: Tensor, candidates: Tensor) -> Tensor:  # query candidate
    """Scores of each body against the states of its candidates."""
    scores: Tensor = _TailScores.apply(bodies.flatten(1), states.flatten(1), candidates)
    return scores


def all_tail_scores(bodies: Tensor, states: Tensor) -> Tensor:  # query entity
    """Scores of each body against every entity; for evaluation, without gradient."""
    norms: Tensor = kernels_for(bodies.device).all_norms(bodies.flatten(1), states.flatten(1))
    return -norms


def head_scores(
    matrices: Tensor, states: Tensor, candidates: Tensor, targets: Tensor
) -> Tensor:  # query candidate
    """Scores of the candidates as heads: B_q Z_c against the target of each query."""
    scores: Tensor = _HeadScores.apply(matrices, states, candidates, targets)
    return scores


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


class _HeadScores(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, matrices: Tensor, states: Tensor, candidates: Tensor, targets: Tensor) -> Tensor:
        norms = torch.cat(
            [
                _differences(matrices, states[piece], targets).square().sum(dim=(1, 3)).sqrt()
                for piece in _pieces(candidates, states)
            ],
            dim=1,
        )
        ctx.save_for_backward(matrices, states, candidates, targets, norms)
        return -norms

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None, Tensor]:
        matrices, states, candidates, targets, norms = ctx.saved_tensors
        weights = _over(gradient, norms)
        to_matrices, to_states, to_targets = map(torch.zeros_like, (matrices, states, targets))
        start = 0
        for piece in _pieces(candidates, states):
            chosen = states[piece]
            pull = (
                _differences(matrices, chosen, targets)
                * weights[:, None, start : start + piece.shape[1], None]
            )
            start += piece.shape[1]
            to_targets += pull.sum(2)
            to_matrices -= torch.einsum("qinc,qnjc->qij", pull, chosen)
            back = torch.einsum("qij,qinc->qnjc", matrices, pull)
            to_states.index_add_(0, piece.flatten(), back.flatten(0, 1), alpha=-1)
        return to_matrices, to_states, None, to_targets


def _differences(matrices: Tensor, chosen: Tensor, targets: Tensor) -> Tensor:  # query slot candidate channel
    return torch.relu(torch.einsum("qij,qnjc->qinc", matrices, chosen) - targets[:, :, None])


def _over(gradient: Tensor, norms: Tensor) -> Tensor:
    """gradient / norm, and 0 where the norm is 0."""
    return torch.where(norms > 0, gradient / norms.clamp(min=torch.finfo(norms.dtype).tiny), 0.0)


def _pieces(candidates: Tensor, states: Tensor) -> list[Tensor]:
    columns = max(1, _MOST_ELEMENTS // max(1, len(candidates) * states[0].numel()))
    return list(candidates.split(columns, dim=1))
