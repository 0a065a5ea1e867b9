"""How work tells how far it is, and what there is to remark.

Library functions take `progress: Progress = SILENT` and `notes: Notes = UNHEARD`, and never print; the command line
passes a bar and its messages.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

Notes: TypeAlias = "Callable[[str], None]"
"""Hears remarks, one sentence at a time, such as how many duplicates were left out."""


class Report(Protocol):
    """Tells that some units are done, and perhaps how it looks, such as `loss 0.3`."""

    def __call__(self, done: int, /, note: str = "") -> None:
        """`note` stands beside the bar until the next one."""
        ...


class Progress(Protocol):
    """Opens a named piece of work and yields what reports units done."""

    def __call__(
        self, description: str, *, total: int | None = None, unit: str = "it"
    ) -> AbstractContextManager[Report]:
        """`total` may be unknown; `unit` is what is counted."""
        ...


@contextmanager
def SILENT(  # noqa: N802 - a constant of type Progress
    description: str, *, total: int | None = None, unit: str = "it"
) -> Iterator[Report]:
    """The progress of a program that does not want any."""
    del description, total, unit

    def ignore(done: int, /, note: str = "") -> None:
        del done, note

    yield ignore


def UNHEARD(note: str) -> None:  # noqa: N802 - a constant of type Notes
    """The notes of a program that does not want any."""
    del note
