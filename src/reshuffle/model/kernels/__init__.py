"""The loops that torch has no operation for, once for the CPU (numba) and once for the GPU (Triton).

Both modules have the same functions. Two are about products of matrices [relation, slot, slot] and states
[row, slot, channel]:

- `products(matrices, relations, states, rows)`: B_r Z_e;
- `products_back(gradient, ..., to_states=)`: its backward pass.

One is a whole layer: `layer(matrices, graph, states, edges, room)`, new states and per coordinate which message won.

The others see row-major tensors [row, column], column = slot x channel:

- `segment_max(messages, states, starts, edges)`: new states, and per coordinate which message won;
- `segment_max_back(gradient, winner, matrices, states, graph, wants_states=)`: its backward pass and that of the
  messages' products;
- `norms(bodies, states, candidates)`: ||ReLU(x_q - z_c)||_2 for given candidates of each query;
- `pulls(bodies, states, candidates, weights)`: its backward pass;
- `product_pulls(...)`: that and `products_back`, where the states are products;
- `all_norms(bodies, states)`: the same against all rows.

The GPU compares corrupted heads in a way of its own (`gpu_heads.py`).

`propagation.kernels_for` says which of the two modules serves a device. Here are besides: how many threads a piece of
work on the CPU is worth, and `runs`, rows of a compressed table as torch indexes them.
"""

from __future__ import annotations

from contextlib import contextmanager
from threading import RLock
from typing import TYPE_CHECKING

import numba
import torch
from torch import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

MOST_SLOTS = 64  # of a tile on a GPU; larger matrices would not fit where a program keeps its own
_ONE_CALLER = RLock()
_MUCH = 1 << 23  # numbers to go through; below, threads would wait for each other longer than they work


def fit_a_gpu(states: Tensor) -> bool:
    """Are the states [row, slot, channel] on a GPU, with few enough slots for its own way to compare heads?"""
    return states.device.type == "cuda" and states.shape[1] <= MOST_SLOTS


def threads_for(work: int) -> AbstractContextManager[object]:
    """As many threads for numba as there are for much work, one for little; around every parallel kernel."""
    return _one_after_the_other(work) if _takes_one_caller() else _numba_threads(work)


def _takes_one_caller() -> bool:
    """Would parallel kernels that several threads call at a time end the process?

    Only numba's own way to start threads is like that; it is taken where neither OpenMP nor TBB is there. Which way
    numba takes is known once a parallel kernel has run.
    """
    try:
        return bool(numba.threading_layer() == "workqueue")  # type: ignore[attr-defined]
    except ValueError:
        return True


@contextmanager
def _one_after_the_other(work: int) -> Iterator[None]:
    with _ONE_CALLER, _numba_threads(work):
        yield


@contextmanager
def _numba_threads(work: int) -> Iterator[None]:
    before = numba.get_num_threads()
    numba.set_num_threads(before if work >= _MUCH else 1)
    try:
        yield
    finally:
        numba.set_num_threads(before)


@contextmanager
def all_threads_for(work: int) -> Iterator[None]:
    """The same for numba and torch together, around many small pieces."""
    before = torch.get_num_threads()
    if work < _MUCH:
        torch.set_num_threads(1)
    try:
        with _numba_threads(work):
            yield
    finally:
        torch.set_num_threads(before)


def runs(first: Tensor, number: Tensor) -> tuple[Tensor, Tensor]:
    """The places first, first + 1, ... of each run, one run after the other: which run each is of, and the place.

    >>> runs(torch.tensor([7, 0]), torch.tensor([2, 3]))
    (tensor([0, 0, 1, 1, 1]), tensor([7, 8, 0, 1, 2]))
    """
    owners = torch.repeat_interleave(torch.arange(len(number), device=number.device), number)
    begins = first - (number.cumsum(0) - number)
    return owners, torch.arange(len(owners), device=number.device) + begins[owners]
