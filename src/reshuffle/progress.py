"""How long work tells how far it is.

Library functions take `progress: Progress = SILENT` and never print; the command line passes a bar.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager


class Progress(Protocol):
    """Opens a named piece of work and yields the function that reports units done."""

    def __call__(
        self, description: str, *, total: int | None = None, unit: str = "it"
    ) -> AbstractContextManager[Callable[[int], None]]:
        """`total` may be unknown; `unit` is what is counted."""
        ...


@contextmanager
def SILENT(  # noqa: N802 - a constant of type Progress
    description: str, *, total: int | None = None, unit: str = "it"
) -> Iterator[Callable[[int], None]]:
    """The progress of a program that does not want any."""
    del description, total, unit
    yield lambda _done: None
