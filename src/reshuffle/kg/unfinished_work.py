"""The folder in which an engine works: what a run that was cut off leaves there, the same command takes up.

Of the output `out.parquet` it is `.out.parquet.unfinished`, beside it. It counts from the moment when the engine says
that it holds something worth keeping: then it also holds a digest of what the run is about, such as rules and facts,
and a failure, an interrupt or a kill leaves it there. The next run about the same goes on from it, one about something
else clears it. At the end it is removed.
"""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from reshuffle.errors import InputError, Place
from reshuffle.kg.io.files import written_whole
from reshuffle.locks import locked, released

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
            if entry.is_dir():
                shutil.rmtree(entry)
            elif entry.name != _LOCK:
                entry.unlink()


@contextmanager
def folder_beside(output: str | os.PathLike[str], inputs: str, *, notes: Notes) -> Iterator[WorkFolder]:
    """The folder beside an output, with what a run over the same inputs left in it; one run at a time has it."""
    target = Path(os.path.realpath(output))
    path = target.with_name(f".{target.name}.unfinished")
    path.mkdir(exist_ok=True)
    lock = locked(path / _LOCK)
    if lock is None:
        raise InputError(
            "another run is writing this output",
            place=Place(os.fspath(output)),
            hint="wait until it has ended, or name another output",
        )
    with released(lock):
        work = WorkFolder(path, inputs)
        _take_up(work, notes)
        try:
            yield work
        except BaseException:
            if work.is_kept:
                notes(
                    f"the same command goes on from here: what is done lies beside the output, in {path.name}"
                )
            else:
                shutil.rmtree(path, ignore_errors=True)
            raise
        shutil.rmtree(path, ignore_errors=True)


def _take_up(work: WorkFolder, notes: Notes) -> None:
    """Leave what the last run kept if it was about the same; otherwise begin with nothing."""
    kept = (work.path / _INPUTS).read_text(encoding="ascii", errors="replace") if work.is_kept else None
    if kept == work.inputs:
        return
    if kept is not None:
        notes(f"starting anew: {work.path.name} is the work of a run over other rules, facts or options")
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
