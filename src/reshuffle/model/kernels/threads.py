"""How many threads a kernel in numba takes."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from threading import RLock
from typing import TYPE_CHECKING

import numba

from reshuffle.model.kernels import MUCH_WORK

if TYPE_CHECKING:
    from collections.abc import Iterator

_ONE_CALLER = RLock()


@contextmanager
def threads_for(work: int) -> Iterator[None]:
    """As many threads for numba as there are for much work, one for little; around every parallel kernel."""
    before = numba.get_num_threads()
    with _ONE_CALLER if _takes_one_caller() else nullcontext():
        numba.set_num_threads(before if work >= MUCH_WORK else 1)
        try:
            yield
        finally:
            numba.set_num_threads(before)


def _takes_one_caller() -> bool:
    """Would parallel kernels that several threads call at a time end the process?

    Only numba's own way to start threads is like that; it is taken where neither OpenMP nor TBB is there. Which way
    numba takes is known once a parallel kernel has run.
    """
    try:
        return bool(numba.threading_layer() == "workqueue")  # type: ignore[attr-defined]
    except ValueError:
        return True
