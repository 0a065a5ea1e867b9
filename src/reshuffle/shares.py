"""Shares of work: which rows one of several processes takes, and how what each has found comes together.

Library functions take `shares: Shares = WHOLE`; `learning.team` has the one for processes that torchrun starts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Shares(Protocol):
    """One of several equal processes."""

    def rows(self, count: int) -> slice:
        """The rows of this process."""
        ...

    def summed(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """The sum over all processes; each must call it, with numbers of the same shape and type."""
        ...


class _Whole:
    """A process that works alone."""

    def rows(self, count: int) -> slice:
        """All rows."""
        return slice(0, count)

    def summed(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """The numbers as they are."""
        return numbers


WHOLE = _Whole()


def gathered(shares: Shares, own: NDArray[Any], count: int) -> NDArray[Any]:
    """All `count` rows on every process, of which each has found its own."""
    if isinstance(shares, _Whole):
        return own
    everything = np.zeros((count, *own.shape[1:]), dtype=own.dtype)
    everything[shares.rows(count)] = own
    return shares.summed(everything)
