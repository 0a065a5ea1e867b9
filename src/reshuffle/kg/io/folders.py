"""Write folders completely or not at all, and reserve a name for one process."""

from __future__ import annotations

import ctypes
import glob
import os
import re
import secrets
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING

from reshuffle.kg.io.files import flush_to_disk
from reshuffle.locks import left_over, locked_folder, released

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@contextmanager
def folder_aside(target: Path, *, may_go: Callable[[Path], bool]) -> Iterator[Path]:
    """A new folder beside `target`, to write to; it vanishes at the end, unless it has got another name by then.

    What killed processes left when they wrote the same goes first, if it `may_go`.

    >>> import tempfile
    >>> from pathlib import Path
    >>> target = Path(tempfile.mkdtemp()) / "out"
    >>> with folder_aside(target, may_go=lambda left: True) as aside:
    ...     (aside / "a").touch()
    ...     publish(aside / "a", target)
    >>> [file.name for file in target.parent.iterdir()]
    ['out']
    """
    for left in target.parent.glob(f".{glob.escape(target.name)}.*.part"):
        if _is_aside(left, target) and left.is_dir():
            with left_over(left) as abandoned:
                if abandoned and may_go(left):
                    shutil.rmtree(left, ignore_errors=True)
    folder, lock = _new_folder(target)
    with released(lock):
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _is_aside(left: Path, target: Path) -> bool:
    return re.fullmatch(rf"\.{re.escape(target.name)}\.[0-9a-f]{{8}}\.part", left.name) is not None


def _new_folder(target: Path) -> tuple[Path, int]:
    """A new folder beside the target, and its lock, which says that this process is alive."""
    while True:
        folder = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
        folder.mkdir()  # an error where there is such a name: somebody else has made it
        if (lock := locked_folder(folder)) is not None:
            return folder, lock


def publish(aside: Path, target: Path) -> None:
    """Give a file or a folder a name that nothing has yet; `FileExistsError` where something has it."""
    if aside.is_dir():
        target.mkdir()  # only one can make it; the new folder takes the place of an empty one
        aside.replace(target)
    else:
        _linked(aside, target)
    flush_to_disk(target.parent)


def _linked(aside: Path, target: Path) -> None:
    try:
        os.link(aside, target)
    except FileExistsError:
        raise
    except OSError:  # a file system that gives a file one name only
        target.touch(exist_ok=False)
        aside.replace(target)


def exchanged(one: Path, other: Path) -> bool:
    """Exchange the names of two files or folders in one step; False where the system cannot.

    >>> import tempfile
    >>> from pathlib import Path
    >>> one, other = Path(tempfile.mkdtemp()), Path(tempfile.mkdtemp())
    >>> (one / "a").touch()
    >>> exchanged(one, other) == (other / "a").exists()
    True
    """
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2  # of Linux; no other system has it
    except (AttributeError, OSError, TypeError):
        return False
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    return bool(rename(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0)
