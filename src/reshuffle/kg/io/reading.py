"""Reading the triples of a file, whatever its format.

    .tsv, .txt, any other ending, and stdin    three columns separated by tabs
    .csv                                       RFC 4180 with the header head,relation,tail
    .nt, .ttl, .rdf, .nq, .trig, .jsonld       RDF (extra `rdf`), see `rdf`; names of graphs are passed over
    .parquet                                   the columns head, relation, tail

Text formats may be compressed (`.gz` behind the ending). Names are taken as they are; blanks at the end of
a line, blank lines and a byte order mark are dropped. A relation may not end in `^-1`, which stands for the
inverse. Large TSV and CSV files go through `fast_delimited`; where anything looks odd there, they are read here line by
line, which gives the same triples or the place of what is wrong.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from reshuffle.errors import InputError
from reshuffle.kg.io.files import (
    GZIP_ERRORS,
    LONGEST_LINE,
    STDIN,
    Format,
    NoTriplesError,
    Source,
    broken_gzip,
    find_source,
    format_of,
    no_triples,
)
from reshuffle.kg.io.rdf import RDF, read_rdf
from reshuffle.kg.io.tables import read_parquet
from reshuffle.kg.rows import COLUMNS, TripleColumns, numbered
from reshuffle.kg.vocabulary import INVERSE_SUFFIX, named_like_an_inverse
from reshuffle.progress import SILENT, UNHEARD
from reshuffle.text import counted

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

    from reshuffle.progress import Notes, Progress

# Below this many bytes the careful reader is done before the compiled one would be loaded.
_LARGE = 32_000_000
_HEADERS = ([*COLUMNS], ["subject", "predicate", "object"])
_HEADER_NOTE = "{}: the first line looks like a header and was read as a triple; delete it if it is one"

BLANKS = " \t\r"
BYTE_ORDER_MARK = "\N{ZERO WIDTH NO-BREAK SPACE}"
_SHOWN = 120


@dataclass(frozen=True)
class Separator:
    """What stands between two columns, in a message and in a file."""

    plural: str
    text: str


TABS, COMMAS = Separator("tabs", "\t"), Separator("commas", ",")
_SEPARATORS = (
    TABS,
    COMMAS,
    Separator("semicolons", ";"),
    Separator("vertical bars", "|"),
    Separator("spaces", " "),
)

_NUL = "\udc00"  # stands for NUL, which the csv module of Python 3.10 refuses; no UTF-8 decodes to it


def read_triples(
    path: str | os.PathLike[str],
    *,
    may_be_empty: bool = False,
    progress: Progress = SILENT,
    notes: Notes = UNHEARD,
) -> TripleColumns:
    """The distinct triples of a file, or of stdin for `-`, sorted; `kg.read_graph` says what the options do."""
    form = Format.TSV if path == STDIN else format_of(path)
    source = find_source(path)
    try:
        with progress(f"reading {source.name}", total=source.size, unit="B") as report:
            triples = _read(source, form, report, notes)
    except NoTriplesError:
        if not may_be_empty:
            raise
        notes(f"{source.name}: no triples")
        return numbered([])
    distinct = triples.distinct()
    if len(triples) > len(distinct):
        notes(f"{source.name}: {counted(len(triples) - len(distinct), 'duplicate triple')} collapsed")
    return distinct


def _read(source: Source, form: Format, report: Callable[[int], None], notes: Notes) -> TripleColumns:
    if form is Format.PARQUET:
        return read_parquet(source, report)
    if form in RDF:
        return read_rdf(source, form, report, notes)
    quickly = _read_quickly(source, form, report) if source.size >= _LARGE else None
    if quickly is None:
        return read_csv(source, report) if form is Format.CSV else read_tsv(source, report, notes)
    if form is Format.TSV and [name.casefold() for name in quickly.first()] in _HEADERS:
        notes(_HEADER_NOTE.format(source.name))
    return quickly


def _read_quickly(source: Source, form: Format, report: Callable[[int], None]) -> TripleColumns | None:
    """The triples of a file without anything odd, or None, and then the progress is taken back."""
    from reshuffle.kg.io.fast_delimited import read_fast  # noqa: PLC0415 - compiled code is slow to load

    done = 0

    def tally(count: int) -> None:
        nonlocal done
        done += count
        report(count)

    triples = None
    try:
        with source.open(tally) as stream:
            separator = b"," if form is Format.CSV else b"\t"
            triples = read_fast(stream, separator=separator, size=source.size)
    except GZIP_ERRORS:  # the careful reader knows the line
        pass
    if triples is None:
        report(-done)
    return triples


# --- TSV and CSV line by line: slow, obvious, and able to say exactly what is wrong and where ---------------


def read_tsv(source: Source, report: Callable[[int], None], notes: Notes = UNHEARD) -> TripleColumns:
    """The triples of a TSV file; raises at the first line that is wrong."""
    rows = _tsv_rows(source, report)
    first = next(rows, None)
    if first is None:
        raise no_triples(source, "lines such as head<TAB>relation<TAB>tail")
    if [name.casefold() for name in first] in _HEADERS:
        notes(_HEADER_NOTE.format(source.name))
    return numbered(chain([first], rows))


def read_csv(source: Source, report: Callable[[int], None]) -> TripleColumns:
    """The triples of a CSV file; raises at the first line that is wrong."""
    triples = numbered(_csv_rows(source, report))
    if not len(triples):
        raise no_triples(source, "lines such as head,relation,tail")
    return triples


def _tsv_rows(source: Source, report: Callable[[int], None]) -> Iterator[list[str]]:
    """The lines of a TSV file: no quotes, no comments, blanks at the end of a line dropped."""
    for number, line in _numbered_lines(source, report):
        kept = line.rstrip(BLANKS)
        if kept:
            row = kept.split("\t")
            if len(row) != 3 or "" in row:
                raise _bad_row(source, number, line, TABS)
            if row[1].endswith(INVERSE_SUFFIX):
                raise _inverse(source, number, line, row)
            yield row


def _csv_rows(source: Source, report: Callable[[int], None]) -> Iterator[list[str]]:
    """The records of a CSV file: RFC 4180, with the header `head,relation,tail`."""
    lines = _CsvLines(source, report)
    records = csv.reader(lines, strict=True)
    header = None
    try:
        for row in records:
            if not row:
                continue
            if header is None:
                header = row
                if tuple(header) != COLUMNS:
                    raise _bad_header(source, lines)
            elif len(row) != 3 or "" in row:
                raise _bad_row(source, lines.number, lines.last, COMMAS, row)
            elif row[1].endswith(INVERSE_SUFFIX):
                raise _inverse(source, lines.number, lines.last, row)
            else:
                yield [name.replace(_NUL, "\0") for name in row] if lines.has_nul else row
    except csv.Error as error:
        raise InputError(
            f"found quotes that do not pair up ({error}), expected CSV as in RFC 4180",
            place=source.place(lines.number),
            source=_shown(lines.last),
            hint='a name with commas, quotes or line breaks stands in quotes, and quotes in it are doubled: "a ""b"""',
        ) from error


class _CsvLines:
    """Lines for `csv.reader`, without the blanks at their end unless these belong to a quoted name."""

    def __init__(self, source: Source, report: Callable[[int], None]) -> None:
        self._lines = _numbered_lines(source, report)
        self.number, self.last = 0, ""
        self.has_nul = False

    def __iter__(self) -> Iterator[str]:
        inside_quotes = False
        for number, line in self._lines:
            self.number, self.last = number, line
            inside_quotes ^= line.count('"') % 2 == 1
            kept = line + "\n" if inside_quotes else line.rstrip(BLANKS)
            if "\0" in kept:
                self.has_nul, kept = True, kept.replace("\0", _NUL)
            yield kept


def _numbered_lines(source: Source, report: Callable[[int], None]) -> Iterator[tuple[int, str]]:
    """Line numbers and lines without their line feed; a byte order mark is dropped."""
    offset = number = 0
    try:
        with source.open(report) as stream:
            for number, raw in enumerate(iter(partial(stream.readline, LONGEST_LINE), b""), start=1):
                if len(raw) == LONGEST_LINE:
                    raise _too_long(source, number)
                try:
                    line = raw.decode()
                except UnicodeDecodeError as error:
                    raise _not_utf8(source, number, raw, offset, error) from error
                offset += len(raw)
                if number == 1:
                    line = line.removeprefix(BYTE_ORDER_MARK)
                yield number, line.removesuffix("\n")
    except GZIP_ERRORS as error:
        raise broken_gzip(source, error, line=number + 1) from error


def _too_long(source: Source, number: int) -> InputError:
    return InputError(
        f"this line has {LONGEST_LINE:,} bytes or more, expected one triple in it",
        place=source.place(number),
        hint="check that the file has line breaks, and that it unpacks to triples",
    )


def _bad_row(
    source: Source, number: int, line: str, separator: Separator, row: list[str] | None = None
) -> InputError:
    """What is wrong with a line that does not hold three names."""
    columns = line.rstrip(" \r").split(separator.text) if row is None else row
    where = {"place": source.place(number), "source": _shown(line)}
    if len(columns) == 3:
        empty = COLUMNS[columns.index("")]
        return InputError(
            f"the {empty} is empty, expected a name in each of the 3 columns (head, relation, tail)",
            hint="write the name, or delete the line",
            **where,  # type: ignore[arg-type]
        )
    found = f"found {counted(len(columns), 'column')}"
    message = f"{found}, expected 3 (head, relation, tail) separated by {separator.plural}"
    other = _other_separator(line, separator)
    if other is not None:
        looks = "mixes them with" if separator.text in line else "looks separated by"
        message += f"; this line {looks} {other.plural}"
    return InputError(message, hint=_way_out(separator, other), **where)  # type: ignore[arg-type]


def _inverse(source: Source, number: int, line: str, row: list[str]) -> InputError:
    return named_like_an_inverse(row[1], place=source.place(number), source=_shown(line))


def _other_separator(line: str, separator: Separator) -> Separator | None:
    """The separator with which, in part or throughout, the line would have three columns."""
    for other in _SEPARATORS:
        if other != separator and other.text in line:
            columns = line.strip().replace(separator.text, other.text).split(other.text)
            if len([column for column in columns if column]) == 3:
                return other
    return None


def _way_out(separator: Separator, other: Separator | None) -> str:
    if separator == COMMAS:
        if other == TABS:
            return "put commas between the columns, or name the file .tsv and delete its header"
        return "every line after the header holds one triple: head,relation,tail; a name with a comma stands in quotes"
    if other == COMMAS:
        return "put tabs between the columns, or name the file .csv and begin it with the line head,relation,tail"
    return "every line holds one triple: head<TAB>relation<TAB>tail; other blanks belong to the names"


def _bad_header(source: Source, lines: _CsvLines) -> InputError:
    return InputError(
        "found no header, expected the first line head,relation,tail",
        place=source.place(lines.number),
        source=_shown(lines.last),
        hint="put the line head,relation,tail before all others",
    )


def _not_utf8(source: Source, number: int, raw: bytes, offset: int, error: UnicodeDecodeError) -> InputError:
    return InputError(
        f"byte 0x{raw[error.start]:02X} at offset {offset + error.start} is not UTF-8, expected text in UTF-8",
        place=source.place(number),
        hint=_encoding_hint(source, raw if number == 1 else b""),
    )


def _encoding_hint(source: Source, opening: bytes) -> str:
    if opening.startswith(b"\x1f\x8b"):
        return "this is gzip data: let the file name end in .gz"
    if opening.startswith(b"PAR1"):
        return "this is Parquet data: let the file name end in .parquet"
    encoding = "UTF-16" if opening.startswith((b"\xff\xfe", b"\xfe\xff")) else "LATIN1"
    return f"convert it, for example with iconv -f {encoding} -t UTF-8 {source.name}"


def _shown(line: str) -> str:
    """A line as an error message shows it: tabs visible, and not too long."""
    visible = line.rstrip("\r").replace("\t", "<TAB>")
    return visible if len(visible) <= _SHOWN else visible[:_SHOWN] + " ..."
