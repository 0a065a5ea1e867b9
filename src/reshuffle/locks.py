"""Locks on files that end with the process that holds them, in whatever way it ends.

They are advisory: they keep out others that ask. Windows and some network file systems have none; there nobody is kept
out, and nobody else's files are taken for abandoned ones.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from reshuffle.errors import InputError, Place

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def alone_in(directory: Path, doing: str, *, leave_file: bool = False) -> Iterator[bool]:
    """No other process does the same in the directory; one that comes second gets an error at once.

    Gives whether that is sure: some file systems have no locks. The file itself means nothing, since only its lock
    counts; it is removed at the end unless it is to be left.
    """
    path = directory / f"{doing}.lock"
    descriptor = locked(path)
    if descriptor is None:
        raise InputError(
            f"another {doing} is running in this directory",
            place=Place(str(directory)),
            hint="wait until it has ended, or name another directory",
        )
    with released(descriptor):
        try:
            yield _lock(descriptor) is True
        finally:
            if not leave_file:
                path.unlink(missing_ok=True)


def locked(path: Path) -> int | None:
    """A descriptor that holds the lock of a file, which is made if need be; None where somebody else holds it."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        if _lock(descriptor) is False:
            os.close(descriptor)
            return None
        if _is_at(descriptor, path):
            return descriptor
        os.close(descriptor)  # its last holder removed it between opening and locking


@contextmanager
def released(descriptor: int) -> Iterator[None]:
    """Give the lock back at the end."""
    try:
        yield
    finally:
        os.close(descriptor)


def is_abandoned(path: Path) -> bool:
    """Is this the file of a process that has ended? Such a process held its lock."""
    try:
        descriptor = os.open(path, os.O_RDWR)
    except OSError:  # gone, or somebody else's
        return False
    with released(descriptor):
        return _lock(descriptor) is True


def _lock(descriptor: int) -> bool | None:
    """Whether the lock was free and is now held; None where there are no locks."""
    try:
        import fcntl  # noqa: PLC0415 - Windows has none
    except ImportError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
