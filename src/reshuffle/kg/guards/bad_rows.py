"""Rows that hold no triple: the first one is an error, or all are skipped, counted and reported.

Readers hand every bad row to `BadRows.add`, which raises unless bad rows are skipped. What is wrong with a file as a
whole, such as a header without the columns, stays an error.
"""

from __future__ import annotations

import csv
import os
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from reshuffle.errors import InputError, Place
from reshuffle.kg.io.files import check_writable, written_whole
from reshuffle.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from reshuffle.progress import Notes

REFUSE, SKIP = "refuse", "skip"
CHOICES = (REFUSE, SKIP)
"""What may be done with bad rows, as users name it."""
REPORT_COLUMNS = ("file", "line", "reason", "content")
"""The columns of a report; in Parquet and tables the line is the number of the row."""
_IN_MEMORY = "<table>"


class BadRows:
    """Refuses every bad row."""

    skips = False
    count = 0
    """How many rows were skipped."""
    first: InputError | None = None

    def add(self, error: InputError, content: str, *, row: int | None = None) -> None:
        """One more row that holds no triple; `row` is its number where the place of the error has no line."""
        del content, row
        raise error

    def check_inputs(self, paths: Iterable[str]) -> None:
        """Refuse files to read that are written."""


REFUSED = BadRows()


class SkippedRows(BadRows):
    """Counts bad rows, and writes each to the report where there is one."""

    skips = True

    def __init__(self, report: str | os.PathLike[str] | None, aside: Path | None, stack: ExitStack) -> None:
        self._report = report
        self._writer = None
        if aside is not None:
            file = stack.enter_context(aside.open("w", encoding="utf-8", newline=""))
            self._writer = csv.writer(file, lineterminator="\n")
            self._writer.writerow(REPORT_COLUMNS)

    def add(self, error: InputError, content: str, *, row: int | None = None) -> None:
        """Count it, and write it to the report."""
        self.count += 1
        if self.first is None:
            self.first = error
        if self._writer is not None:
            place = error.place or Place(_IN_MEMORY)
            line = row if place.line is None else place.line
            self._writer.writerow([place.file, line, error.message, content])

    def check_inputs(self, paths: Iterable[str]) -> None:
        """Refuse to replace a file that is read by the report."""
        if self._report is None or not Path(self._report).exists():
            return
        for path in paths:
            if Path(path).exists() and Path(path).samefile(self._report):
                raise InputError(
                    f"the report would replace the input '{path}'",
                    place=Place(os.fspath(self._report)),
                    hint="name another file for the report",
                )

    def tell(self, notes: Notes) -> None:
        """Say how many rows were skipped, and why the first was."""
        if self.first is None:
            return
        where = f"{self.first.place}: " if self.first.place is not None else ""
        listed = "" if self._report is None else f"; all are in {os.fspath(self._report)}"
        notes(f"{counted(self.count, 'row')} skipped, the first for: {where}{self.first.message}{listed}")


@contextmanager
def treated(
    bad_rows: str | BadRows, report: str | os.PathLike[str] | None, notes: Notes
) -> Iterator[BadRows]:
    """What is done with the bad rows of all files that are read meanwhile; the report is written at the end.

    What is given as `BadRows` was begun elsewhere, and ends there.
    """
    if isinstance(bad_rows, BadRows):
        yield bad_rows
        return
    _check(bad_rows, report)
    if bad_rows == REFUSE:
        yield REFUSED
        return
    with ExitStack() as whole:
        aside = None if report is None else whole.enter_context(written_whole(report))
        with ExitStack() as stack:  # the report is complete before it gets its name
            skipped = SkippedRows(report, aside, stack)
            yield skipped
    skipped.tell(notes)


def _check(bad_rows: object, report: str | os.PathLike[str] | None) -> None:
    if bad_rows not in CHOICES:
        raise InputError(f"found bad_rows={bad_rows!r}, expected 'refuse' or 'skip'")
    if report is not None and bad_rows != SKIP:
        raise InputError(
            "a report lists the rows that are skipped, and none are",
            hint="give bad_rows='skip' (--bad-rows skip), too",
        )
    if report is not None:
        check_writable(report, endings=(".csv", ""))


def content_of(values: Iterable[object]) -> str:
    """The values of a row of a table, as the report has them.

    >>> content_of(["ada", None, "london"])
    '["ada", null, "london"]'
    """
    import json  # noqa: PLC0415 - few tables have bad rows

    return json.dumps(list(values), ensure_ascii=False, default=str)
