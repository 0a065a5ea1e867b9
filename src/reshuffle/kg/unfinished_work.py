"""The work folder of an engine: the same command continues the interrupted run that is stored there.

For the output `out.parquet` the folder is `.out.parquet.unfinished`, beside it. As soon as the engine has a result
worth keeping, the folder also gets a digest of the inputs, such as rules and facts, and then it stays after a failure,
an interrupt or a kill. The next run with the same digest continues from it; a run with another digest clears it. A
complete run removes it.

Another user may have made something with that name. So the folder is used only if this run makes it, or if a run of the
same user made it: not a link, owned by the user, not writable for others, and either empty or with the lock of a run
and no links. Anything else is refused and stays unchanged.
"""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from reshuffle.errors import InputError, Place
from reshuffle.kg.io.files import written_whole
from reshuffle.locks import is_own, locked, released

if TYPE_CHECKING:
    import hashlib
    from collections.abc import Iterator

    from reshuffle.kg.graph import KnowledgeGraph
    from reshuffle.kg.vocabulary import Vocabulary
    from reshuffle.progress import Notes

_BLOCK = 1 << 20  # names
_INPUTS, _LOCK = "inputs.sha256", "run.lock"


@dataclass(frozen=True)
class WorkFolder:
    """A folder to work in, and the digest of what the work is about; None where no later run can find the folder."""

    path: Path
    inputs: str | None = None

    def keep(self) -> None:
        """From here on, there is something that a run which is cut off leaves to the next one."""
        if self.inputs is not None and not self.is_kept:
            with written_whole(self.path / _INPUTS) as aside:
                aside.write_text(self.inputs, encoding="ascii")

    @property
    def is_kept(self) -> bool:
        """Does it hold something that is worth keeping?"""
        return (self.path / _INPUTS).exists()

    def clear(self) -> None:
        """Remove what is in it."""
        for entry in self.path.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            elif entry.name != _LOCK:
                entry.unlink()


@contextmanager
def folder_beside(output: str | os.PathLike[str], inputs: str, *, notes: Notes) -> Iterator[WorkFolder]:
    """The folder beside an output, with what a run over the same inputs left in it; one run at a time has it."""
    target = Path(os.path.realpath(output))
    path = target.with_name(f".{target.name}.unfinished")
    _make_or_trust(path)
    lock = locked(path / _LOCK)
    if lock is None:
        raise InputError(
            "another run writes to this output",
            place=Place(os.fspath(output)),
            hint="wait until it ends, or name another output",
        )
    with released(lock):
        work = WorkFolder(path, inputs)
        _take_up(work, notes)
        try:
            yield work
        except BaseException:
            if work.is_kept:
                notes(f"the same command continues from here; finished work is stored in {path.name}")
            else:
                shutil.rmtree(path, ignore_errors=True)
            raise
        shutil.rmtree(path, ignore_errors=True)


def _make_or_trust(path: Path) -> None:
    """Make the folder, or refuse what is there and was not made by a run of the same user."""
    try:
        path.mkdir(mode=0o755)
    except FileExistsError:
        if (found := _distrusted(path)) is not None:
            raise InputError(
                f"found {found}, expected a work folder of an unfinished run, or nothing",
                place=Place(str(path)),
                hint="remove it if you do not need it, or name another output",
            ) from None


def _distrusted(path: Path) -> str | None:
    """What makes a folder one that no run of this user has made; None where nothing does."""
    there = path.lstat()
    if stat.S_ISLNK(there.st_mode):
        return "a link"
    if not stat.S_ISDIR(there.st_mode):
        return "a file"
    if not is_own(path):
        return "a folder of another user"
    if there.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "a folder that others may write to"
    return _strange_content(path)


def _strange_content(path: Path) -> str | None:
    """What makes the content of a folder one that no run has written."""
    if any(entry.is_symlink() for entry in path.rglob("*")):  # a run makes none
        return "a folder with links in it"
    marked = any((path / name).is_file() for name in (_LOCK, _INPUTS))
    return "a folder with other things in it" if any(path.iterdir()) and not marked else None


def _take_up(work: WorkFolder, notes: Notes) -> None:
    """Leave what the last run kept if it was about the same; otherwise begin with nothing."""
    kept = (work.path / _INPUTS).read_text(encoding="ascii", errors="replace") if work.is_kept else None
    if kept == work.inputs:
        return
    if kept is not None:
        notes(f"starting anew: {work.path.name} belongs to a run with other rules, facts or options")
    work.clear()


def add_files(digest: hashlib._Hash, folder: Path) -> None:
    """What lies in a folder, by name."""
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        content = file.read_bytes()
        digest.update(f"{file.relative_to(folder)} {len(content)} ".encode())
        digest.update(content)


def add_graph(digest: hashlib._Hash, graph: KnowledgeGraph) -> None:
    """The names and the triples of a graph."""
    for names in (graph.entities, graph.relations):
        _add_names(digest, names)
    for ids in (graph.heads, graph.relation_ids, graph.tails):
        digest.update(np.ascontiguousarray(ids).data)


def _add_names(digest: hashlib._Hash, names: Vocabulary) -> None:
    """The names as Arrow sends them, block by block: the array may be a part of a longer one."""
    array = names.to_arrow()
    for start in range(0, len(array), _BLOCK):
        block = pa.record_batch([array.slice(start, _BLOCK)], names=["name"])
        digest.update(block.serialize())
