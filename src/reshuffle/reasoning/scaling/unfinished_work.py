"""The folder in which an engine works: what a run that was cut off leaves there, the same command takes up.

Of the output `out.parquet` it is `.out.parquet.unfinished`, beside it. It counts from the moment when the engine says
that it holds something worth keeping: then it also holds a digest of rules and facts, and a failure, an interrupt or a
kill leaves it there. The next run over the same rules and facts goes on from it, one over others clears it. At the end
it is removed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from reshuffle.errors import InputError, Place
from reshuffle.kg import KnowledgeGraph
from reshuffle.kg.io.files import written_whole
from reshuffle.locks import locked, released

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reshuffle.kg import Vocabulary
    from reshuffle.progress import Notes
    from reshuffle.reasoning.scaling.engine_interface import Deduction
    from reshuffle.reasoning.scaling.parquet_facts import ParquetFacts
    from reshuffle.rules import RuleBase

_FORMAT = 1  # of what engines keep; one more where the next version cannot go on with it
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


def digest_of(deduction: Deduction, facts: KnowledgeGraph | ParquetFacts, engine: str) -> str:
    """What work is about: rules and facts. Of Parquet files their names, sizes and times are taken for the content."""
    digest = hashlib.sha256(repr((_FORMAT, engine, deduction.node_budget)).encode())
    if deduction.constraints is not None:
        digest.update(deduction.constraints.to_bytes())
    if deduction.rules is not None:
        digest.update(_told(deduction.rules).encode())
    if isinstance(facts, KnowledgeGraph):
        for names in (facts.entities, facts.relations):
            _add_names(digest, names)
        for ids in (facts.heads, facts.relation_ids, facts.tails):
            digest.update(np.ascontiguousarray(ids).data)
    else:
        stats = ((str(file.resolve()), file.stat()) for file in facts.files)
        digest.update(repr([(name, stat.st_size, stat.st_mtime_ns) for name, stat in stats]).encode())
    return digest.hexdigest()


def _told(rules: RuleBase) -> str:
    classes = None if rules.classes is None else rules.classes.to_list()
    return repr(([*map(str, rules.given)], [*map(str, rules.disjointness)], sorted(rules.fresh), classes))


def _add_names(digest: hashlib._Hash, names: Vocabulary) -> None:
    """The names as Arrow sends them, block by block: the array may be a part of a longer one."""
    array = names.to_arrow()
    for start in range(0, len(array), _BLOCK):
        block = pa.record_batch([array.slice(start, _BLOCK)], names=["name"])
        digest.update(block.serialize())
