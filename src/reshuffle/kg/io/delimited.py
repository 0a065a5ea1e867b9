"""TSV and CSV, line by line: slow, obvious, and able to say exactly what is wrong and where (`bad_lines`)."""

from __future__ import annotations

import csv
import re
from collections import deque
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from reshuffle.errors import InputError
from reshuffle.kg.guards.bad_lines import (
    COMMAS,
    TABS,
    bad_header,
    bad_row,
    inverse_relation,
    not_utf8,
    one_column,
    separator_of,
    shown_line,
)
from reshuffle.kg.guards.bad_rows import REFUSED
from reshuffle.kg.guards.limits import LONGEST_LINE, too_long_text
from reshuffle.kg.io.columns import BY_COMMON_NAMES, COMMON_NAMES, WantedColumns, by_role
from reshuffle.kg.io.files import BYTE_ORDER_MARK, GZIP_ERRORS, broken_gzip, no_triples
from reshuffle.kg.rows import COLUMNS, numbered
from reshuffle.kg.vocabulary import INVERSE_SUFFIX

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from reshuffle.kg.guards.bad_lines import Separator
    from reshuffle.kg.guards.bad_rows import BadRows
    from reshuffle.kg.io.columns import ChosenColumns
    from reshuffle.kg.io.files import Source
    from reshuffle.kg.rows import TripleColumns
    from reshuffle.progress import Notes

_HEADER_NOTE = "{}: the first line looks like a header and was read as a triple; delete it if it is one"
_LETTERS = ({"s", "p", "o"}, {"h", "r", "t"})  # names of columns; other letters are rather names of entities
_BLANKS = " \t\r"
_NUL = "\udc00"  # stands for NUL, which the csv module of Python 3.10 refuses; no UTF-8 decodes to it


def read_tsv(
    source: Source,
    report: Callable[[int], None],
    columns: WantedColumns = BY_COMMON_NAMES,
    bad: BadRows = REFUSED,
) -> TripleColumns:
    """The triples of a TSV file; raises at the first line that is wrong. It has a header where columns are wanted."""
    has_header = columns.wanted is not None
    rows = _named_tsv_rows(source, report, columns, bad) if has_header else _tsv_rows(source, report, bad)
    first = next(rows, None)
    if first is None:
        raise no_triples(source, "lines such as head<TAB>relation<TAB>tail")
    if not has_header:
        check_first(source, first, columns.notes)
    return numbered(chain([first], rows))


def check_first(source: Source, first: Sequence[str], notes: Notes) -> None:
    """Say that the first triple looks like a header; refuse it where that names the columns in another order."""
    named = _named_by(first)
    if {*named} != {*COLUMNS}:
        return
    letters = min(map(len, first)) == 1  # which are names of facts, too
    if named != COLUMNS and not letters:
        raise InputError(
            f"the first line names the columns {', '.join(first)}, expected them in the order head, relation, tail",
            place=source.place(1),
            hint=f"--columns {by_role(first)} (columns=) reads them by name; if it is a triple, put another first",
        )
    if not letters or {name.casefold() for name in first} in _LETTERS:
        notes(_HEADER_NOTE.format(source.name))


def _named_by(row: Sequence[str]) -> tuple[str | None, ...]:
    """What three names would name as a header: head, relation or tail, by the names that are common for them."""
    return tuple(COMMON_NAMES.get(name.strip().casefold()) for name in row)


def read_csv(
    source: Source,
    report: Callable[[int], None],
    columns: WantedColumns = BY_COMMON_NAMES,
    bad: BadRows = REFUSED,
) -> TripleColumns:
    """The triples of a CSV file; raises at the first line that is wrong."""
    triples = numbered(_csv_rows(source, report, columns, bad))
    if not len(triples):
        raise no_triples(source, "lines such as head,relation,tail")
    return triples


def _tsv_rows(source: Source, report: Callable[[int], None], bad: BadRows) -> Iterator[list[str]]:
    """The lines of a TSV file: no quotes, no comments, blanks at the end of a line dropped."""
    for number, line in numbered_lines(source, report, bad):
        kept = line.rstrip(_BLANKS)
        if kept:
            row = kept.split("\t")
            if len(row) != 3 or "" in row:
                bad.add(bad_row(source, number, line, TABS), line)
            elif row[1].endswith(INVERSE_SUFFIX):
                bad.add(inverse_relation(source, number, line, row), line)
            else:
                yield row


def _named_tsv_rows(
    source: Source, report: Callable[[int], None], columns: WantedColumns, bad: BadRows
) -> Iterator[list[str]]:
    """The lines of a TSV file below its header, of which the named columns are kept."""
    chosen, width = None, 3
    for number, line in numbered_lines(source, report, bad):
        if not line.rstrip(_BLANKS):
            continue
        row = line.rstrip("\r").split("\t")
        if chosen is None:
            row = [name.strip() for name in row]
            chosen, width = columns.chosen(row, source.place(number)), len(row)
            continue
        row[-1] = row[-1].rstrip(_BLANKS)
        try:
            kept = _kept(source, number, line, TABS, row, chosen, width)
        except InputError as error:
            bad.add(error, line)
        else:
            yield kept


def plain_row(source: Source, number: int, line: str, separator: Separator) -> list[str] | None:
    """Head, relation and tail of a line without quotes that holds these columns alone; None of a blank line."""
    row = line.rstrip(_BLANKS).split(separator.text)
    if row == [""]:
        return None
    if len(row) != 3 or "" in row:
        raise bad_row(source, number, line, separator)
    if row[1].endswith(INVERSE_SUFFIX):
        raise inverse_relation(source, number, line, row)
    return row


def _kept(
    source: Source,
    number: int,
    line: str,
    separator: Separator,
    row: list[str],
    chosen: ChosenColumns,
    width: int,
) -> list[str]:
    """Head, relation and tail of a row below a header."""
    if len(row) != width:
        raise bad_row(source, number, line, separator, row, expected=width)
    head, relation, tail = chosen.places
    kept = [row[head], row[relation], row[tail]]
    if "" in kept:
        raise bad_row(source, number, line, separator, kept)
    if kept[1].endswith(INVERSE_SUFFIX):
        raise inverse_relation(source, number, line, kept)
    return kept


def _csv_rows(
    source: Source, report: Callable[[int], None], columns: WantedColumns, bad: BadRows
) -> Iterator[list[str]]:
    """The records of a CSV file: RFC 4180, with a header that names the columns."""
    lines = _CsvLines(source, report, bad)
    try:
        header = next(filter(None, csv.reader(lines, strict=True, skipinitialspace=True)), None)
    except csv.Error as error:
        raise _unpaired(source, lines, error) from error
    if header is None:
        return
    chosen, width = _csv_header(source, lines, header, columns), len(header)
    # Where blanks stand behind the commas of the header, they belong to no name below it either.
    drop = bool(_BLANK_BEHIND.search(lines.last))
    lines.begin_record()
    while True:
        try:
            for row in csv.reader(lines, strict=True, skipinitialspace=drop):
                if row:
                    try:
                        kept = _kept(source, lines.number, lines.last, COMMAS, row, chosen, width)
                    except InputError as error:
                        bad.add(error, lines.record_text())
                    else:
                        yield [name.replace(_NUL, "\0") for name in kept] if lines.has_nul else kept
                lines.begin_record()
        except csv.Error as error:
            lines.skip_to_whole_row(_unpaired(source, lines, error))
            continue
        return


def _unpaired(source: Source, lines: _CsvLines, error: csv.Error) -> InputError:
    return InputError(
        f"found quotes that do not pair up ({error}), expected CSV as in RFC 4180",
        place=source.place(lines.number),
        source=shown_line(lines.last),
        hint='a name with commas, quotes or line breaks stands in quotes, and quotes in it are doubled: "a ""b"""',
    )


def _csv_header(source: Source, lines: _CsvLines, row: list[str], columns: WantedColumns) -> ChosenColumns:
    try:
        return columns.chosen(row, source.place(lines.number))
    except InputError:
        if len(row) == 1 and (separator := separator_of(lines.last)) is not None:
            raise one_column(source, lines.number, lines.last, separator) from None
        if columns.wanted is None and len(row) == 3 and {*_named_by(row)} != {*COLUMNS}:
            raise bad_header(source, lines.number, lines.last) from None
        raise


_BLANK_BEHIND = re.compile(r",[ \t]")
_FIELD = r'(?: *"(?:[^"]|"")*"|[^",]*)'
_WHOLE_ROW = re.compile(rf"{_FIELD}(?:,{_FIELD})*")


class _CsvLines:
    """Lines for `csv.reader`, without the blanks at their end unless these belong to a quoted name.

    Where bad rows are skipped, the lines of the record that is being read are kept, so that reading can go on behind
    the first of them: a quote without an end must not take the rest of the file.
    """

    def __init__(self, source: Source, report: Callable[[int], None], bad: BadRows) -> None:
        self._source, self._bad = source, bad
        self._lines = numbered_lines(source, report, bad)
        self._again: deque[tuple[int, str]] = deque()
        self._record: list[tuple[int, str]] = []
        self.number, self.last = 0, ""
        self.has_nul = False

    def __iter__(self) -> Iterator[str]:
        inside_quotes = False
        for number, line in self._numbered():
            if self._record and number != self.number + 1:
                self._again.appendleft((number, line))
                raise csv.Error("a line between them is not UTF-8")
            self.number, self.last = number, line
            inside_quotes ^= line.count('"') % 2 == 1
            kept = line + "\n" if inside_quotes else line.rstrip(_BLANKS)
            if "\0" in kept:
                self.has_nul, kept = True, kept.replace("\0", _NUL)
            if self._bad.skips:
                self._record.append((number, line))
            yield kept

    def _numbered(self) -> Iterator[tuple[int, str]]:
        while True:
            if self._again:
                yield self._again.popleft()
            elif (following := next(self._lines, None)) is not None:
                yield following
            else:
                return

    def begin_record(self) -> None:
        """What was read until now is done with."""
        self._record.clear()

    def record_text(self) -> str:
        """The lines of the record that is being read."""
        return "\n".join(line for _, line in self._record)

    def skip_to_whole_row(self, error: InputError) -> None:
        """Pass over the first line of the record, and others until one is a whole row by itself."""
        (number, line), *others = self._record or [(self.number, self.last)]
        self._bad.add(self._located(error, number, line), line)
        self.begin_record()
        self._again.extendleft(reversed(others))
        for number, line in self._numbered():
            if _WHOLE_ROW.fullmatch(line.rstrip(_BLANKS)):
                self._again.appendleft((number, line))
                return
            self._bad.add(self._located(error, number, line), line)

    def _located(self, error: InputError, number: int, line: str) -> InputError:
        return InputError(
            error.message, place=self._source.place(number), source=shown_line(line), hint=error.hint
        )


def numbered_lines(
    source: Source, report: Callable[[int], None], bad: BadRows = REFUSED
) -> Iterator[tuple[int, str]]:
    """Line numbers and lines without their line feed; a byte order mark is dropped."""
    offset = number = 0
    try:
        with source.open(report) as stream:
            for number, raw in enumerate(iter(partial(stream.readline, LONGEST_LINE), b""), start=1):
                if len(raw) == LONGEST_LINE:
                    raise too_long_text(source.place(number), "a line")
                offset += len(raw)
                try:
                    line = raw.decode()
                except UnicodeDecodeError as error:
                    wrong = not_utf8(source, number, raw, offset - len(raw), error)
                    bad.add(wrong, raw.rstrip(b"\r\n").decode(errors="backslashreplace"))
                    continue
                if number == 1:
                    line = line.removeprefix(BYTE_ORDER_MARK)
                yield number, line.removesuffix("\n")
    except GZIP_ERRORS as error:
        raise broken_gzip(source, error, line=number + 1) from error
