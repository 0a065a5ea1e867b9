"""Locks on files that end with the process that holds them, in whatever way it ends.

They are advisory: only processes that ask for the lock respect it. Windows and some network file systems have no such
locks; there no process is kept out, and files of other processes are never treated as abandoned.
"""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from reshuffle.errors import InputError, Place

if TYPE_CHECKING:
    from collections.abc import Iterator

_NO_LINK = getattr(os, "O_NOFOLLOW", 0)  # a link that somebody put there leads elsewhere


@contextmanager
def alone_in(directory: Path, doing: str) -> Iterator[bool]:
    """No other process does the same in the directory; one that comes second gets an error at once.

    Gives whether that is sure: some file systems have no locks. The file itself means nothing, since only its lock
    counts; it is removed at the end. A directory with links in it is refused: what is written there would go elsewhere.
    """
    path = directory / f"{doing}.lock"
    for entry in directory.rglob("*"):
        refuse_link(entry)
    descriptor = locked(path)
    if descriptor is None:
        raise InputError(
            f"another {doing} uses this directory",
            place=Place(str(directory)),
            hint="wait until it ends, or name another directory",
        )
    with released(descriptor):
        try:
            yield _lock(descriptor) is True
        finally:
            path.unlink(missing_ok=True)


def locked(path: Path, *, new: bool = False) -> int | None:
    """A descriptor that holds the lock of a file, which is made if need be; None where somebody else holds it.

    A `new` one must not be there yet. Links are not followed.
    """
    flags = os.O_RDWR | os.O_CREAT | _NO_LINK | (os.O_EXCL if new else 0)
    while True:
        descriptor = _opened(path, flags)
        if _lock(descriptor) is False:
            os.close(descriptor)
            return None
        if _is_at(descriptor, path):
            return descriptor
        os.close(descriptor)  # its last holder removed it between opening and locking


def _opened(path: Path, flags: int) -> int:
    try:
        return os.open(path, flags, 0o666)
    except OSError:
        refuse_link(path)
        raise


def no_link(path: str, flags: int) -> int:
    """As `opener` of `open`: opens files, and refuses links."""
    return _opened(Path(path), flags | _NO_LINK)


def refuse_link(path: Path) -> None:
    """Raise where there is a link: somebody may have put it there so that another file is written."""
    if path.is_symlink():
        raise InputError(
            "found a link, expected a file or nothing",
            place=Place(str(path)),
            hint="remove it, if you do not know where it comes from",
        )


def locked_folder(path: Path) -> int | None:
    """A descriptor that holds the lock of a folder; None where somebody else holds it, or has removed the folder."""
    try:
        descriptor = os.open(path, os.O_RDONLY | _NO_LINK)
    except FileNotFoundError:
        return None
    if _lock(descriptor) is not False and _is_at(descriptor, path):
        return descriptor
    os.close(descriptor)
    return None


@contextmanager
def released(descriptor: int) -> Iterator[None]:
    """Give the lock back at the end."""
    try:
        yield
    finally:
        os.close(descriptor)


def is_abandoned(path: Path) -> bool:
    """Is this the file, or the folder, of a process that has ended? Such a process held its lock."""
    with _locked_now(path) as is_ours:
        return is_ours


@contextmanager
def _locked_now(path: Path) -> Iterator[bool]:
    """Whether nobody held the lock; it is held meanwhile."""
    try:
        is_folder = stat.S_ISDIR(path.lstat().st_mode)
        descriptor = os.open(path, (os.O_RDONLY if is_folder else os.O_RDWR) | _NO_LINK)
    except OSError:  # gone, a link, or somebody else's
        yield False
        return
    with released(descriptor):
        yield _lock(descriptor) is True


def is_own(path: Path) -> bool:
    """Does it belong to the user of this process? Where there are no users, everything does."""
    return not hasattr(os, "getuid") or path.lstat().st_uid == os.getuid()


@contextmanager
def left_over(path: Path) -> Iterator[bool]:
    """Whether a process of this user has left it behind. The caller may then remove it within the block; never a link.

    The block holds its lock. A process that has just made it cannot lock it, and makes another one.
    """
    with _locked_now(path) as is_ours:
        try:
            own = is_own(path)
        except FileNotFoundError:  # somebody else was faster
            own = False
        yield own and is_ours


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
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except FileNotFoundError:
        return False
