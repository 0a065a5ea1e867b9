"""Rows of a compressed table, several at a time."""

from __future__ import annotations

import torch
from torch import Tensor


def runs(first: Tensor, number: Tensor) -> tuple[Tensor, Tensor]:
    """The places first, first + 1, ... of each run, one run after the other: which run each is of, and the place.

    >>> runs(torch.tensor([7, 0]), torch.tensor([2, 3]))
    (tensor([0, 0, 1, 1, 1]), tensor([7, 8, 0, 1, 2]))
    """
    owners = torch.repeat_interleave(torch.arange(len(number), device=number.device), number)
    begins = first - (number.cumsum(0) - number)
    return owners, torch.arange(len(owners), device=number.device) + begins[owners]
