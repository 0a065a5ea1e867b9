"""Progress callbacks and notes: how a long computation reports to its caller.

Library functions take `progress: Progress = SILENT` and `notes: Notes = UNHEARD`, and never print; the command line
passes a bar and its messages.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

SHORT = 2.0
"""Seconds: work that takes no longer is not reported on."""

Notes: TypeAlias = "Callable[[str], None]"
"""A callback for remarks, one sentence at a time, such as how many duplicates were left out."""


class Report(Protocol):
    """A callback that is told how many more units are done, with a short note such as `loss 0.3`."""

    def __call__(self, done: int, /, note: str = "") -> None:
        """Report `done` more units; `note` is shown beside the bar until the next one."""
        ...


class Progress(Protocol):
    """Opens a named piece of work, as a context manager that gives its `Report`."""

    def __call__(
        self, description: str, *, total: int | None = None, unit: str = "it"
    ) -> AbstractContextManager[Report]:
        """Begin to report; `total` is None where it is unknown, and `unit` names what is counted."""
        ...


@contextmanager
def SILENT(  # noqa: N802 - a constant of type Progress
    description: str, *, total: int | None = None, unit: str = "it"
) -> Iterator[Report]:
    """A `Progress` that shows nothing."""
    del description, total, unit

    def ignore(done: int, /, note: str = "") -> None:
        del done, note

    yield ignore


@contextmanager
def in_one_step(progress: Progress, description: str) -> Iterator[None]:
    """Work that reports nothing while it goes on: one step, with a report before and after it."""
    with progress(description, total=1, unit="steps") as report:
        report(0)  # a caller that does not want the work any more says so here
        yield
        report(1)


def UNHEARD(note: str) -> None:  # noqa: N802 - a constant of type Notes
    """A `Notes` that ignores all remarks."""
    del note
