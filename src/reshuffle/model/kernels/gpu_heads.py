"""Corrupted heads on the GPU: B_r Z_c is made, compared with the target and forgotten, forwards and backwards.

With 100 candidates per query these products are the largest thing of a training step; writing them down and reading
them again takes longer than making them twice.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from reshuffle.model.kernels.gpu_products import block, multiplied, nearly_multiplied, square, tiles

_CANDIDATES = 25  # of a query, per program
_TINY = torch.finfo(torch.float32).tiny


def head_norms(
    matrices: Tensor, relations: Tensor, states: Tensor, candidates: Tensor, targets: Tensor
) -> Tensor:
    """||ReLU(B_r Z_c - z_q)||_2, [query, candidate]."""
    queries, width = candidates.shape
    _, slots, channels = states.shape
    tile = tiles(slots, channels)
    parts = triton.cdiv(channels, tile["CHANNELS"])
    squares, largest = torch.zeros(2, parts, queries, width, device=states.device)
    if candidates.numel():
        _head_norms[(queries, triton.cdiv(width, _CANDIDATES), parts)](
            matrices,
            relations,
            states,
            candidates,
            targets,
            squares,
            largest,
            width,
            slots,
            channels,
            WIDTH=_CANDIDATES,
            **tile,
        )
    total = squares.sum(0)
    return torch.where(total < _TINY, largest.amax(0), total.sqrt())


def head_pulls(
    matrices: Tensor, relations: Tensor, states: Tensor, candidates: Tensor, targets: Tensor, weights: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Sums of P = weight x ReLU(B_r Z_c - z_q): of P Z_c^T per matrix, of B_r^T P per state, and of P per target."""
    queries, width = candidates.shape
    _, slots, channels = states.shape
    to_matrices, to_targets = torch.zeros_like(matrices), torch.zeros_like(targets)
    if not candidates.numel():
        return to_matrices, torch.zeros_like(states), to_targets
    to_states, weights = torch.zeros_like(states), weights.contiguous()
    tile = tiles(slots, channels)
    parts = triton.cdiv(channels, tile["CHANNELS"])
    _head_pulls[(queries, triton.cdiv(width, _CANDIDATES), parts)](
        matrices,
        relations,
        states,
        candidates,
        targets,
        weights,
        to_matrices,
        to_states,
        to_targets,
        width,
        slots,
        channels,
        WIDTH=_CANDIDATES,
        **tile,
    )
    return to_matrices, to_states, to_targets


@triton.jit
def _head_norms(
    matrices,
    relations,
    states,
    candidates,
    targets,
    squares,
    largest,
    width,
    slots,
    channels,
    WIDTH: tl.constexpr,
    SLOTS: tl.constexpr,
    CHANNELS: tl.constexpr,
):
    query = tl.program_id(0).to(tl.int64)
    entry, in_matrix = square(slots, SLOTS)
    place, in_state = block(tl.program_id(2), slots, channels, SLOTS, CHANNELS)
    relation = tl.load(relations + query)
    matrix = tl.load(matrices + relation * slots * slots + entry, mask=in_matrix, other=0.0)
    target = tl.load(targets + query * slots * channels + place, mask=in_state, other=0.0)
    first = tl.program_id(1) * WIDTH
    row = query * width
    part = tl.program_id(2) * tl.num_programs(0).to(tl.int64) * width
    for number in range(first, tl.minimum(first + WIDTH, width)):
        candidate = tl.load(candidates + row + number).to(tl.int64)
        state = tl.load(states + candidate * slots * channels + place, mask=in_state, other=0.0)
        difference = multiplied(matrix, state) - target
        difference = tl.where(difference <= 0.0, 0.0, difference)  # NaN stays NaN, so that training can stop
        tl.store(squares + part + row + number, tl.sum(difference * difference))
        tl.store(largest + part + row + number, tl.max(difference))


@triton.jit
def _head_pulls(
    matrices,
    relations,
    states,
    candidates,
    targets,
    weights,
    to_matrices,
    to_states,
    to_targets,
    width,
    slots,
    channels,
    WIDTH: tl.constexpr,
    SLOTS: tl.constexpr,
    CHANNELS: tl.constexpr,
):
    query = tl.program_id(0).to(tl.int64)
    entry, in_matrix = square(slots, SLOTS)
    place, in_state = block(tl.program_id(2), slots, channels, SLOTS, CHANNELS)
    relation = tl.load(relations + query)
    matrix = tl.load(matrices + relation * slots * slots + entry, mask=in_matrix, other=0.0)
    target = tl.load(targets + query * slots * channels + place, mask=in_state, other=0.0)
    of_matrix, of_target = tl.zeros((SLOTS, SLOTS), tl.float32), tl.zeros((SLOTS, CHANNELS), tl.float32)
    first = tl.program_id(1) * WIDTH
    for number in range(first, tl.minimum(first + WIDTH, width)):
        weight = tl.load(weights + query * width + number)
        if weight != 0.0:
            candidate = tl.load(candidates + query * width + number).to(tl.int64)
            state = tl.load(states + candidate * slots * channels + place, mask=in_state, other=0.0)
            pull = weight * tl.maximum(nearly_multiplied(matrix, state) - target, 0.0)
            of_target += pull
            of_matrix += nearly_multiplied(pull, tl.trans(state))
            of_state = nearly_multiplied(tl.trans(matrix), pull)
            tl.atomic_add(
                to_states + candidate * slots * channels + place, of_state, mask=in_state, sem="relaxed"
            )
    tl.atomic_add(to_matrices + relation * slots * slots + entry, of_matrix, mask=in_matrix)
    tl.atomic_add(to_targets + query * slots * channels + place, of_target, mask=in_state)
