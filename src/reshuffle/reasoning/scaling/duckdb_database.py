"""A database of DuckDB's: opened with a limit of memory, asked, interrupted."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from reshuffle.errors import InputError, Place
from reshuffle.packages import package
from reshuffle.progress import UNHEARD
from reshuffle.reasoning.scaling.parquet_facts import quoted_text
from reshuffle.reasoning.sharing import usable_cores

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from reshuffle.progress import Notes

LEAST_MEMORY = 100_000_000  # bytes that DuckDB itself needs
_ROWS = 1 << 16  # of one block of names
_NO_ROOM = (*map(os.strerror, (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)), "max_temp_directory_size")
_FILE, _SPILLED = "tables.duckdb", "spilled"


def duckdb() -> Any:
    """The package, which is an extra."""
    return package("duckdb")


@contextmanager
def database(folder: Path, memory: int | None, *, notes: Notes = UNHEARD) -> Iterator[Any]:
    """The database of a folder, where it also puts what does not fit into the memory; made if there is none."""
    with _full_disk_told(folder), _connected(folder, notes) as connection:
        run(connection, f"SET memory_limit = '{memory_limit(memory) // 1000}kB'")
        run(connection, f"SET temp_directory = {quoted_text(folder / _SPILLED)}")
        run(connection, "SET preserve_insertion_order = false")
        run(connection, "SET enable_progress_bar = false")
        run(connection, f"SET threads = {usable_cores()}")
        with _interrupts_raised():
            yield connection


@contextmanager
def _interrupts_raised() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        if str(error) == "Query interrupted":  # what DuckDB makes of Ctrl-C
            raise KeyboardInterrupt from error
        raise


@contextmanager
def _full_disk_told(folder: Path) -> Iterator[None]:
    """Where DuckDB has no room for its tables, or for what it puts aside, the error says so and names the folder."""
    try:
        yield
    except (duckdb().Error, pa.ArrowException, OSError) as error:
        if not _is_full_disk(error):
            raise
        raise InputError(
            "DuckDB cannot write its tables: the disk is full",
            place=Place(str(folder)),
            hint="free some disk space, and run it again; existing output is unchanged",
        ) from error


def _is_full_disk(error: BaseException) -> bool:
    """DuckDB has no type of its own for it, and reading by Arrow changes the type of its errors."""
    return any(words in str(error) for words in _NO_ROOM)


def _connected(folder: Path, notes: Notes) -> Any:
    shutil.rmtree(folder / _SPILLED, ignore_errors=True)  # of a run that was killed
    try:
        return duckdb().connect(str(folder / _FILE))
    except duckdb().Error as error:
        if _is_full_disk(error) or not (folder / _FILE).exists():
            raise
    notes("starting from the beginning: DuckDB cannot read the tables of the interrupted run")
    for left in folder.glob(f"{_FILE}*"):  # the file, and its log
        left.unlink()
    return duckdb().connect(str(folder / _FILE))


def memory_limit(memory: int | None) -> int:
    """What DuckDB may take: the memory that this process does not hold already, and a little less."""
    psutil = package("psutil")
    if memory is None:
        return int(psutil.virtual_memory().available * 0.6)
    return max(LEAST_MEMORY, int(0.8 * (memory - psutil.Process().memory_info().rss)))


def run(connection: Any, statement: str) -> list[tuple[Any, ...]]:
    """What a statement gives, fetched to its end: DuckDB runs one at a time on a connection."""
    rows: list[tuple[Any, ...]] = connection.execute(statement).fetchall()
    return rows


def arrow_batches(connection: Any, query: str) -> Iterator[pa.RecordBatch]:
    """What a query gives, as Arrow blocks; versions of DuckDB differ in the name of the method."""
    relation = connection.sql(query)
    if relation is not None:
        read = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader
        yield from read(_ROWS)


@contextmanager
def interrupts_held_back(notes: Notes) -> Iterator[None]:
    """Ctrl-C takes effect at the end; DuckDB 2.0 hangs where a recursive query is interrupted. A second one kills."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield  # no signal comes here, or none is heard
        return
    asked = False

    def ask(*_: object) -> None:
        nonlocal asked
        asked = True
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        notes("stopping after the current entities; press Ctrl-C again to stop now")

    signal.signal(signal.SIGINT, ask)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if asked:
        raise KeyboardInterrupt
