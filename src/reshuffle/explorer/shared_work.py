"""Work that several questions share: who waits for it can be cancelled, and it goes by the question that asks for it.

Answers put work off until somebody asks for it, long after they were made. They are made with `whoever_asks` as their
progress, so that the work reports to the question of the moment, not to the one that came first and is long over.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from reshuffle.progress import SILENT, Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from threading import Lock

    from reshuffle.progress import Report

_SECONDS = 0.1  # between two reports

_HEARING: ContextVar[Any] = ContextVar("hearing", default=lambda _: None)
_ASKING: ContextVar[Progress] = ContextVar("asking", default=SILENT)


@contextmanager
def asked_by(progress: Progress) -> Iterator[None]:
    """What is done in here, in this thread, reports to `progress` where it reports to `whoever_asks`."""
    before = _ASKING.set(progress)
    try:
        yield
    finally:
        _ASKING.reset(before)


@contextmanager
def told_to(hear: Callable[[Any], None]) -> Iterator[None]:
    """What `tell_part` tells in here, in this thread, goes to `hear`."""
    before = _HEARING.set(hear)
    try:
        yield
    finally:
        _HEARING.reset(before)


def tell_part(found: Any) -> None:
    """Show those that ask a part of an answer that is not complete yet."""
    _HEARING.get()(found)


def whoever_asks(
    description: str, *, total: int | None = None, unit: str = "it"
) -> AbstractContextManager[Report]:
    """A `Progress` that is the one of the question which is being answered."""
    return _ASKING.get()(description, total=total, unit=unit)


@contextmanager
def held(lock: Lock, progress: Progress) -> Iterator[None]:
    """Hold a lock that another thread may have for minutes; the wait reports, so that it can be cancelled."""
    if not lock.acquire(blocking=False):
        with progress("waiting for the same work of another question", unit="steps") as report:
            while not lock.acquire(timeout=_SECONDS):
                report(0)
    try:
        yield
    finally:
        lock.release()
