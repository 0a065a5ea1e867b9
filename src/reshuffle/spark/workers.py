"""Run tasks over shares by `mapInArrow`, and collect their reports.

A task may write files, under names of its own, and reports these names. Files of tasks that failed, or that ran twice,
are named by no report. A report also lies in a file. So the driver sees the progress, and an interrupted run leaves its
finished shares to the next run in the same folder.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from reshuffle.errors import ReshuffleError
from reshuffle.kg.io.files import flush_to_disk, is_device, work_folder, written_whole
from reshuffle.kg.unfinished_work import WorkFolder, folder_beside
from reshuffle.progress import SILENT, UNHEARD
from reshuffle.spark.graph_files import write_graph
from reshuffle.spark.spark_session import spark_session, without_pandas_warning
from reshuffle.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from reshuffle.kg import KnowledgeGraph
    from reshuffle.progress import Notes, Progress, Report
    from reshuffle.spark.spark_session import Spark

    Row = Mapping[str, str | int]

_SECONDS_BETWEEN_LOOKS = 0.5
_PER_CORE = 4  # shares: they differ in length
_LONGEST = 300  # letters of an error that are shown


@dataclass(frozen=True)
class Workers:
    """A session, a folder that all its workers see, and the number of shares."""

    session: Any
    folder: Path
    shares: int
    seen: set[str] = field(default_factory=set)
    """The executors that have reported, by host and process."""
    progress: Progress = SILENT
    notes: Notes = UNHEARD

    @property
    def cores(self) -> int:
        """How many tasks run at a time."""
        return int(self.session.sparkContext.defaultParallelism)

    def reports(
        self,
        task: Callable[[slice], Iterable[Row]],
        columns: str,
        *,
        work: str | None = None,
        shown: str = "tasks",
    ) -> list[tuple[Any, ...]]:
        """What a task tells of each share, as rows of the columns; each share by one task that came to its end.

        A row may name a `file` of the folder. Reports of a `work` with a name, of a run that was cut off, count.
        """
        reports = _Reports(str(self.folder), work or secrets.token_hex(4), self.shares)
        if done := reports.done(range(self.shares)):
            self.notes(f"going on after {len(done)} of {counted(self.shares, 'share')}")
        shares = self.session.range(0, self.shares, 1, self.shares)
        schema = f"share long, worker string, {columns}"
        with self.progress(shown, total=self.shares, unit="shares") as report, _watched(reports, report):
            found = _collected(lambda: shares.mapInArrow(partial(_told, task, reports), schema))
        self.seen.update(worker for _, worker, *_ in found)
        return [row[2:] for row in sorted(found, key=lambda row: row[0])]

    def tables(
        self, task: Callable[[slice], pa.Table], *, work: str | None = None, shown: str = "tasks"
    ) -> list[pa.Table]:
        """The table that a task makes of each share, in the order of the shares; they lie in files."""
        stored = partial(_stored, task, str(self.folder))
        files = self.reports(stored, "file string", work=work, shown=shown)
        return [pa.ipc.open_file(pa.memory_map(str(self.folder / file))).read_all() for (file,) in files]


@contextmanager
def workers_on(
    graph: KnowledgeGraph,
    spark: Spark,
    *,
    about: str | None = None,
    progress: Progress = SILENT,
    notes: Notes = UNHEARD,
) -> Iterator[Workers]:
    """Workers that see a graph; the session is stopped at the end if it was started here.

    `about` is a digest of the work: what is done of it lies beside the output that Spark is given, if any, and a run
    about the same goes on from there.
    """
    with spark_session(spark) as session, _folder(spark, about, notes) as work:
        write_graph(work.path, graph)
        work.keep()
        yield Workers(session, work.path, num_shares(session, spark), progress=progress, notes=notes)


@contextmanager
def _folder(spark: Spark, about: str | None, notes: Notes) -> Iterator[WorkFolder]:
    if about is None or spark.beside is None or is_device(Path(os.path.realpath(spark.beside))):
        with work_folder(spark.folder) as path:
            yield WorkFolder(path)
    else:
        with folder_beside(spark.beside, about, notes=notes) as work:
            yield work


@dataclass(frozen=True)
class _Reports:
    """The reports of a work in the files of a folder, one per share."""

    folder: str
    work: str
    shares: int

    def of(self, share: int) -> list[Row] | None:
        """What a task has told of a share, if the files that it names are there; None if none has come to its end."""
        if not self._file(share).exists():
            return None
        rows: list[Row] = json.loads(self._file(share).read_text(encoding="utf-8"))
        named = (Path(self.folder, str(row["file"])) for row in rows if "file" in row)
        return rows if all(file.exists() for file in named) else None

    def store(self, share: int, rows: list[Row]) -> None:
        """Keep what a task tells of a share."""
        with written_whole(self._file(share)) as aside:
            aside.write_text(json.dumps(rows), encoding="utf-8")

    def done(self, shares: Iterable[int]) -> set[int]:
        """Those of the shares that are done."""
        return {share for share in shares if self.of(share) is not None}

    def _file(self, share: int) -> Path:
        return Path(self.folder, f"{self.work}-{share}-of-{self.shares}.json")


@contextmanager
def _watched(reports: _Reports, report: Report) -> Iterator[None]:
    """Tell how many shares are done, while Spark has the word."""
    open_shares, over = set(range(reports.shares)), threading.Event()

    def look() -> None:
        if done := reports.done(open_shares):
            open_shares.difference_update(done)
            report(len(done))

    def watch() -> None:
        look()
        while not over.wait(_SECONDS_BETWEEN_LOOKS):
            look()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
    look()


def num_shares(session: Any, spark: Spark) -> int:
    """Into how many shares the work is cut."""
    return spark.partitions or _PER_CORE * int(session.sparkContext.defaultParallelism)


def _told(
    task: Callable[[slice], Iterable[Row]], reports: _Reports, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """On a worker: what a task tells of the shares that Spark hands over, unless it was told before."""
    here = socket.gethostname()
    if not Path(reports.folder).is_dir():
        raise FileNotFoundError(f"the worker on {here} does not see the folder {reports.folder}")
    for batch in batches:
        for share in batch.column(0).to_pylist():
            rows = reports.of(share)
            if rows is None:
                rows = list(task(slice(share, None, reports.shares)))
                reports.store(share, rows)
            for row in rows:
                told = {"share": share, "worker": f"{here}:{os.getppid()}", **row}
                yield pa.record_batch({name: [value] for name, value in told.items()})


def _stored(task: Callable[[slice], pa.Table], folder: str, share: slice) -> Iterator[dict[str, str]]:
    """On a worker: put the table of a share into a file."""
    table, name = task(share), f"share-{share.start:05d}-{secrets.token_hex(4)}.arrow"
    with pa.ipc.new_file(f"{folder}/{name}", table.schema) as writer:
        writer.write_table(table)
    flush_to_disk(Path(folder, name))
    yield {"file": name}


def _collected(frame: Callable[[], Any]) -> list[tuple[Any, ...]]:
    try:
        with without_pandas_warning():
            return [tuple(row) for row in frame().collect()]
    except Exception as error:
        raise ReshuffleError(
            f"Spark gave up on a task: {_cause(error)}",
            hint="every worker needs reshuffle with the same extras, and access to a shared folder",
        ) from error


def _cause(error: Exception) -> str:
    """The line of an error that says what went wrong: on a worker, the last line of its traceback."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    raised = [
        place for place, line in enumerate(lines) if line.startswith("Traceback (most recent call last)")
    ]
    if not raised:
        return lines[0][:_LONGEST] if lines else type(error).__name__
    behind = (line for line in lines[raised[-1] + 1 :] if not line.startswith(("File ", "^", "~")))
    return next((line for line in behind if _names_error(line)), lines[0])[:_LONGEST]


def _names_error(line: str) -> bool:
    """Is it `SomeError: what happened`?"""
    kind, colon, _ = line.partition(": ")
    return bool(colon) and kind.replace(".", "").replace("_", "").isalnum()
