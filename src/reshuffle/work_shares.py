"""Shares of work: the rows of each process, and how results are combined.

Library functions take `shares: Shares = WHOLE`; `learning.team` has the one for processes that torchrun starts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Shares(Protocol):
    """One of several equal processes."""

    @property
    def size(self) -> int:
        """How many processes there are."""
        ...

    def rows(self, count: int) -> slice:
        """The rows of this process; none is left out where there are as many rows as processes."""
        ...

    def joined(self, own: NDArray[Any]) -> NDArray[Any]:
        """The rows of all processes, in their order; each must call it."""
        ...


class _Whole:
    """A process that works alone."""

    size = 1

    def rows(self, count: int) -> slice:
        """All rows."""
        return slice(0, count)

    def joined(self, own: NDArray[Any]) -> NDArray[Any]:
        """The rows as they are."""
        return own


WHOLE: Shares = _Whole()
