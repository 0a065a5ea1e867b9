"""How the loops are compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numba import njit

if TYPE_CHECKING:
    from collections.abc import Callable


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Machine code, kept on disk where possible, that lets other threads run."""
    try:
        return njit(nogil=True, cache=True)(function)
    except RuntimeError:  # nowhere to keep the machine code (no writable home): compile in every process
        return njit(nogil=True)(function)
