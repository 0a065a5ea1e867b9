"""How many threads a piece of work on the CPU is worth."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import numba
import torch

if TYPE_CHECKING:
    from collections.abc import Iterator

_MUCH = 1 << 23  # numbers to go through; below, threads would wait for each other longer than they work


@contextmanager
def threads_for(work: int) -> Iterator[None]:
    """As many threads for numba as there are for much work, one for little."""
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
        with threads_for(work):
            yield
    finally:
        torch.set_num_threads(before)
