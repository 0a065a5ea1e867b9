"""B_r Z_e for many pairs of a relation and an entity, without a copy of B_r and Z_e for each."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from reshuffle.model.kernels import kernels_for


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
