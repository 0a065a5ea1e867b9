"""Tasks over shares, through `mapInArrow`, and what they report.

A task may write files, under names of its own, and reports these names. Files of tasks that failed, or that ran twice,
are named by no report.
"""

from __future__ import annotations

import os
import secrets
import socket
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from reshuffle.errors import ReshuffleError
from reshuffle.kg.io.files import work_folder
from reshuffle.spark.graph_files import write_graph
from reshuffle.spark.spark_session import spark_session, without_pandas_warning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from reshuffle.kg import KnowledgeGraph
    from reshuffle.spark.spark_session import Spark

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

    def reports(
        self, task: Callable[[slice], Iterable[Mapping[str, str | int]]], columns: str
    ) -> list[tuple[Any, ...]]:
        """What a task tells of each share, as rows of the columns; each share by one task that came to its end."""
        shares = self.session.range(0, self.shares, 1, self.shares)
        schema = f"share long, worker string, {columns}"
        found = _collected(shares.mapInArrow(partial(_told, task, str(self.folder), self.shares), schema))
        self.seen.update(worker for _, worker, *_ in found)
        return [row[2:] for row in sorted(found, key=lambda row: row[0])]

    def tables(self, task: Callable[[slice], pa.Table]) -> list[pa.Table]:
        """The table that a task makes of each share, in the order of the shares; they lie in files."""
        files = self.reports(partial(_stored, task, str(self.folder)), "file string")
        return [pa.ipc.open_file(pa.memory_map(str(self.folder / file))).read_all() for (file,) in files]


@contextmanager
def workers_on(graph: KnowledgeGraph, spark: Spark) -> Iterator[Workers]:
    """Workers that see a graph; the session is stopped at the end if it was started here."""
    with spark_session(spark) as session, work_folder(spark.folder) as folder:
        write_graph(folder, graph)
        yield Workers(session, folder, num_shares(session, spark))


def num_shares(session: Any, spark: Spark) -> int:
    """Into how many shares the work is cut."""
    return spark.partitions or _PER_CORE * int(session.sparkContext.defaultParallelism)


def _told(
    task: Callable[[slice], Iterable[Mapping[str, str | int]]],
    folder: str,
    shares: int,
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """On a worker: what a task tells of the shares that Spark hands over."""
    here = socket.gethostname()
    if not Path(folder).is_dir():
        raise FileNotFoundError(f"the worker on {here} does not see the folder {folder}")
    for batch in batches:
        for share in batch.column(0).to_pylist():
            for row in task(slice(share, None, shares)):
                told = {"share": share, "worker": f"{here}:{os.getppid()}", **row}
                yield pa.record_batch({name: [value] for name, value in told.items()})


def _stored(task: Callable[[slice], pa.Table], folder: str, share: slice) -> Iterator[dict[str, str]]:
    """On a worker: put the table of a share into a file."""
    table, name = task(share), f"share-{share.start:05d}-{secrets.token_hex(4)}.arrow"
    with pa.ipc.new_file(f"{folder}/{name}", table.schema) as writer:
        writer.write_table(table)
    yield {"file": name}


def _collected(frame: Any) -> list[tuple[Any, ...]]:
    try:
        with without_pandas_warning():
            return [tuple(row) for row in frame.collect()]
    except Exception as error:
        raise ReshuffleError(
            f"Spark gave up on a task: {_cause(error)}",
            hint="every worker needs reshuffle with the same extras, and a folder that all of them see",
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
