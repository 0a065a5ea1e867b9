"""Products of matrices and states in Triton, tile by tile, without a gathered copy of either; and what tiles are."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from reshuffle.model.kernels import MOST_SLOTS

_SMALLEST = 16  # side of a tile that can be multiplied


def products(
    matrices: Tensor, relations: Tensor, states: Tensor, rows: Tensor, *, out: Tensor | None = None
) -> Tensor:
    """B_r Z_e for each relation and row, [product, slot, channel]."""
    _, slots, channels = states.shape
    if slots > MOST_SLOTS:
        return torch.bmm(matrices[relations], states[rows], out=out)
    result = states.new_empty(len(rows), slots, channels) if out is None else out
    if len(rows):
        tile = tiles(slots, channels)
        _products[(len(rows), triton.cdiv(channels, tile["CHANNELS"]))](
            matrices.contiguous(),
            relations,
            states.contiguous(),
            rows,
            result,
            slots,
            channels,
            PRECISION="tf32x3" if matrices.requires_grad else "ieee",
            **tile,
        )
    return result


def products_back(
    gradient: Tensor,
    matrices: Tensor,
    relations: Tensor,
    states: Tensor,
    rows: Tensor,
    *,
    to_states: Tensor | None,
    by_row: tuple[Tensor, Tensor] | None = None,
    by_relation: Tensor | None = None,
) -> Tensor:
    """What the matrices get of the gradient; what the states get is added to `to_states`.

    Where it is known, `by_row` is what `grouped` says about the rows, and `by_relation` where runs of one relation
    start.
    """
    to_matrices = torch.zeros_like(matrices)
    if states.shape[1] > MOST_SLOTS:
        if to_states is not None:
            to_states.index_add_(0, rows, torch.bmm(matrices[relations].transpose(1, 2), gradient))
        return to_matrices.index_add_(0, relations, torch.bmm(gradient, states[rows].transpose(1, 2)))
    if len(rows):
        _, slots, channels = states.shape
        tile = tiles(slots, channels)
        parts = triton.cdiv(channels, tile["CHANNELS"])
        runs = torch.arange(len(rows) + 1, device=rows.device) if by_relation is None else by_relation
        _to_matrices[(len(runs) - 1, parts)](
            gradient, relations, states, rows, runs, to_matrices, slots, channels, **tile | {"num_warps": 4}
        )
        if to_states is not None:
            order, starts = grouped(rows, len(states)) if by_row is None else by_row
            _to_states[(len(states), parts)](
                gradient, matrices, relations, order, starts, to_states, slots, channels, **tile
            )
    return to_matrices


def tiles(slots: int, channels: int) -> dict[str, int]:
    """How to cut states: tiles of all slots and as many channels as leave little of them empty, in powers of 2."""
    width = min((64, 32), key=lambda size: (triton.cdiv(channels, size) * size, -size))
    return {
        "SLOTS": max(_SMALLEST, triton.next_power_of_2(slots)),
        "CHANNELS": min(width, max(_SMALLEST, triton.next_power_of_2(channels))),
        "num_warps": 2,
    }


@triton.jit
def multiplied(one, other):
    """For training: three products on tensor cores keep all but the last bits, and are faster than plain ones."""
    return tl.dot(one, other, input_precision="tf32x3")


@triton.jit
def nearly_multiplied(one, other):
    """For gradients, which may be some thousandths off."""
    return tl.dot(one, other, input_precision="tf32")


@triton.jit
def square(slots, SLOTS: tl.constexpr):
    """Offsets of a matrix, and which are inside."""
    row, column = tl.arange(0, SLOTS)[:, None], tl.arange(0, SLOTS)[None, :]
    return row * slots + column, (row < slots) & (column < slots)


@triton.jit
def block(part, slots, channels, SLOTS: tl.constexpr, CHANNELS: tl.constexpr):
    """Offsets of some channels of a state, and which are inside."""
    row, column = tl.arange(0, SLOTS)[:, None], part * CHANNELS + tl.arange(0, CHANNELS)[None, :]
    return row * channels + column, (row < slots) & (column < channels)


@triton.jit
def _products(
    matrices,
    relations,
    states,
    rows,
    result,
    slots,
    channels,
    PRECISION: tl.constexpr,
    SLOTS: tl.constexpr,
    CHANNELS: tl.constexpr,
):
    pair = tl.program_id(0).to(tl.int64)
    entry, in_matrix = square(slots, SLOTS)
    place, in_state = block(tl.program_id(1), slots, channels, SLOTS, CHANNELS)
    matrix = tl.load(matrices + tl.load(relations + pair) * slots * slots + entry, mask=in_matrix, other=0.0)
    state = tl.load(states + tl.load(rows + pair) * slots * channels + place, mask=in_state, other=0.0)
    product = tl.dot(matrix, state, input_precision=PRECISION)
    tl.store(result + pair * slots * channels + place, product, mask=in_state)


@triton.jit
def _to_matrices(
    gradient,
    relations,
    states,
    rows,
    runs,
    to_matrices,
    slots,
    channels,
    SLOTS: tl.constexpr,
    CHANNELS: tl.constexpr,
):
    first, last = tl.load(runs + tl.program_id(0)), tl.load(runs + tl.program_id(0) + 1)
    entry, in_matrix = square(slots, SLOTS)
    place, in_state = block(tl.program_id(1), slots, channels, SLOTS, CHANNELS)
    total = tl.zeros((SLOTS, SLOTS), tl.float32)
    for pair in range(first, last):
        own = tl.load(gradient + pair * slots * channels + place, mask=in_state, other=0.0)
        state = tl.load(states + tl.load(rows + pair) * slots * channels + place, mask=in_state, other=0.0)
        total += nearly_multiplied(own, tl.trans(state))
    tl.atomic_add(to_matrices + tl.load(relations + first) * slots * slots + entry, total, mask=in_matrix)


@triton.jit
def _to_states(
    gradient,
    matrices,
    relations,
    order,
    starts,
    to_states,
    slots,
    channels,
    SLOTS: tl.constexpr,
    CHANNELS: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    entry, in_matrix = square(slots, SLOTS)
    place, in_state = block(tl.program_id(1), slots, channels, SLOTS, CHANNELS)
    result = to_states + row * slots * channels + place
    total = tl.load(result, mask=in_state, other=0.0)
    for index in range(tl.load(starts + row), tl.load(starts + row + 1)):
        pair = tl.load(order + index)
        own = tl.load(gradient + pair * slots * channels + place, mask=in_state, other=0.0)
        matrix = tl.load(
            matrices + tl.load(relations + pair) * slots * slots + entry, mask=in_matrix, other=0.0
        )
        total += nearly_multiplied(tl.trans(matrix), own)
    tl.store(result, total, mask=in_state)


def grouped(rows: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The places of each row number, one row after the other, and where each row starts."""
    kind = torch.int16 if count < 1 << 15 else torch.int32  # a radix sort takes a pass for every byte
    ordered, order = torch.sort(rows.to(kind))
    return order, torch.searchsorted(ordered, torch.arange(count + 1, device=rows.device, dtype=kind))
