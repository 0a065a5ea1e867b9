"""Reading the triples of a file, whatever its format.

    .tsv, .txt, any other ending, and stdin    three columns separated by tabs
    .csv                                       RFC 4180 with a header, see `columns`
    .nt, .ttl, .rdf, .nq, .trig, .jsonld       RDF (extra `rdf`), see `rdf`; names of graphs are passed over
    .jsonl, .ndjson                            an object or an array per line, see `json_lines`
    .parquet                                   a table, see `columns`

Text formats may be compressed (`.gz` behind the ending). Names are taken as they are; blanks at the end of
a line, blank lines and a byte order mark are dropped. A relation may not end in `^-1`, which stands for the
inverse. Large TSV and CSV files go through `fast_delimited`. Small ones, and those with anything odd, are read here
line by line: slow, obvious, and able to say exactly what is wrong and where (`bad_lines`).
"""

from __future__ import annotations

import csv
import glob
import os
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from reshuffle.errors import InputError, Place
from reshuffle.kg.io.bad_lines import (
    COMMAS,
    TABS,
    bad_header,
    bad_row,
    inverse_relation,
    not_utf8,
    one_column,
    separator_of,
    shown_line,
    too_long,
)
from reshuffle.kg.io.columns import BY_COMMON_NAMES, COMMON_NAMES, WantedColumns, by_role
from reshuffle.kg.io.files import (
    BYTE_ORDER_MARK,
    ENDINGS,
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
    refuse_archive,
)
from reshuffle.kg.io.json_lines import read_json_lines
from reshuffle.kg.io.rdf import RDF, blank_nodes, read_rdf, with_nodes_apart
from reshuffle.kg.io.tables import joined, read_parquet
from reshuffle.kg.rows import COLUMNS, TripleColumns, numbered
from reshuffle.kg.vocabulary import INVERSE_SUFFIX
from reshuffle.progress import SILENT, UNHEARD
from reshuffle.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from reshuffle.kg.io.bad_lines import Separator
    from reshuffle.kg.io.columns import ChosenColumns
    from reshuffle.progress import Notes, Progress

# Below this many bytes the careful reader is done before the compiled one would be loaded.
_LARGE = 32_000_000
_NAMED = 3  # files that a note names

_HEADER_NOTE = "{}: the first line looks like a header and was read as a triple; delete it if it is one"
_LETTERS = ({"s", "p", "o"}, {"h", "r", "t"})  # names of columns; other letters are rather names of entities
_BLANKS = " \t\r"
_NUL = "\udc00"  # stands for NUL, which the csv module of Python 3.10 refuses; no UTF-8 decodes to it


def read_all(
    paths: Iterable[str | os.PathLike[str]],
    *,
    columns: Sequence[str] | None = None,
    form: Format | None = None,
    may_be_empty: bool = False,
    literals_suffice: bool = False,
    progress: Progress = SILENT,
    notes: Notes = UNHEARD,
) -> TripleColumns:
    """The distinct triples of files, folders and patterns together; `kg.read_graph` says what the options do."""
    parts: list[TripleColumns] = []
    taken: set[str] = set()
    for file in (files := _files_of(paths, notes)):
        own = form if file == STDIN or STDIN not in files else None  # beside stdin, endings say the formats
        part = read_triples(
            file,
            columns=columns,
            form=own,
            may_be_empty=may_be_empty,
            literals_suffice=literals_suffice,
            progress=progress,
            notes=notes,
        )
        if len(files) == 1:
            return part
        if (own or format_of(file)) in RDF:  # a blank node belongs to its file
            part = with_nodes_apart(part, taken)
            taken.update(blank_nodes(part))
        parts.append(part)
    triples = joined(parts)
    distinct = triples.distinct()
    if len(triples) > len(distinct):
        notes(f"{counted(len(triples) - len(distinct), 'triple')} of one file found in another, too")
    return distinct


def _files_of(paths: Iterable[str | os.PathLike[str]], notes: Notes) -> list[str]:
    """The files that the paths stand for, in the order given, those of a folder by name; none of them twice."""
    return list(dict.fromkeys(file for path in paths for file in _files(os.fspath(path), notes)))


def _files(path: str, notes: Notes) -> Iterator[str]:
    if path != STDIN and Path(path).is_dir():
        yield from _folder(path, notes)
    elif path != STDIN and glob.has_magic(path) and not Path(path).exists():
        yield from _matching(path, notes)
    else:
        yield path  # what is wrong with it, its reader says


def _matching(pattern: str, notes: Notes) -> Iterator[str]:
    found = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 - takes absolute patterns, too
    if not found:
        raise InputError(
            "no file matches this pattern",
            place=Place(pattern),
            hint="* stands for any text, ** for any folders",
        )
    for path in found:
        if Path(path).is_dir():
            yield from _folder(path, notes)
        else:
            yield path


def _folder(folder: str, notes: Notes) -> Iterator[str]:
    """The files of triples of a folder, by their endings; hidden ones and markers (`_SUCCESS`) are none."""
    inside = sorted(entry for entry in Path(folder).iterdir() if not entry.name.startswith((".", "_")))
    chosen = [entry for entry in inside if entry.is_file() and entry.name.lower().endswith(ENDINGS)]
    if not chosen:
        names = ", ".join(entry.name for entry in inside[:_NAMED]) + (", ..." if len(inside) > _NAMED else "")
        raise InputError(
            f"found a directory without files of triples{f', but with {names}' if names else ''}",
            place=Place(folder),
            hint=f"files of triples end in {', '.join(ENDINGS[:3])} and the like; name others one by one",
        )
    others = [entry.name + "/" * entry.is_dir() for entry in inside if entry not in chosen]
    if others:
        more = ", ..." if len(others) > _NAMED else ""
        notes(f"{folder}: passed over: {', '.join(others[:_NAMED])}{more}")
    yield from (str(entry) for entry in chosen)


def read_triples(
    path: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    form: Format | None = None,
    may_be_empty: bool = False,
    literals_suffice: bool = False,
    progress: Progress = SILENT,
    notes: Notes = UNHEARD,
) -> TripleColumns:
    """The distinct triples of a file, or of stdin for `-`, sorted."""
    form = form or (Format.TSV if path == STDIN else format_of(path))
    source = find_source(path)
    refuse_archive(source)
    try:
        with progress(f"reading {source.name}", total=source.size, unit="B") as report:
            triples = _read(source, form, WantedColumns(columns, notes), report, notes)
    except NoTriplesError as error:
        if not may_be_empty and (error.literals is None or not literals_suffice):
            raise
        if error.literals is None:
            notes(f"{source.name}: no triples")
        return replace(numbered([]), literals=error.literals)
    distinct = triples.distinct()
    if len(triples) > len(distinct):
        notes(f"{source.name}: {counted(len(triples) - len(distinct), 'duplicate triple')} collapsed")
    return distinct


def _read(
    source: Source, form: Format, columns: WantedColumns, report: Callable[[int], None], notes: Notes
) -> TripleColumns:
    if form is Format.PARQUET:
        return read_parquet(source, report, columns)
    if form in RDF:
        return read_rdf(source, form, report, notes)
    if form is Format.JSON_LINES:
        return read_json_lines(source, _numbered_lines(source, report), columns)
    quickly = _read_quickly(source, form, columns, report) if source.size >= _LARGE else None
    if quickly is None:
        if form is Format.CSV:
            return read_csv(source, report, columns)
        return read_tsv(source, report, columns)
    if form is Format.TSV and columns.wanted is None:
        _check_first(source, quickly.first(), notes)
    return quickly


def _read_quickly(
    source: Source, form: Format, columns: WantedColumns, report: Callable[[int], None]
) -> TripleColumns | None:
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
            between = "," if form is Format.CSV else "\t"
            has_header = form is Format.CSV or columns.wanted is not None
            header = (lambda line: columns.in_order(line.split(between))) if has_header else None
            triples = read_fast(stream, separator=between.encode(), header=header, size=source.size)
    except GZIP_ERRORS:  # the careful reader knows the line
        pass
    if triples is None:
        report(-done)
    return triples


# --- TSV and CSV, line by line ----------------------------------------------------------------------------


def read_tsv(
    source: Source,
    report: Callable[[int], None],
    columns: WantedColumns = BY_COMMON_NAMES,
) -> TripleColumns:
    """The triples of a TSV file; raises at the first line that is wrong. It has a header where columns are wanted."""
    has_header = columns.wanted is not None
    rows = _named_tsv_rows(source, report, columns) if has_header else _tsv_rows(source, report)
    first = next(rows, None)
    if first is None:
        raise no_triples(source, "lines such as head<TAB>relation<TAB>tail")
    if not has_header:
        _check_first(source, first, columns.notes)
    return numbered(chain([first], rows))


def _check_first(source: Source, first: Sequence[str], notes: Notes) -> None:
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
    source: Source, report: Callable[[int], None], columns: WantedColumns = BY_COMMON_NAMES
) -> TripleColumns:
    """The triples of a CSV file; raises at the first line that is wrong."""
    triples = numbered(_csv_rows(source, report, columns))
    if not len(triples):
        raise no_triples(source, "lines such as head,relation,tail")
    return triples


def _tsv_rows(source: Source, report: Callable[[int], None]) -> Iterator[list[str]]:
    """The lines of a TSV file: no quotes, no comments, blanks at the end of a line dropped."""
    for number, line in _numbered_lines(source, report):
        kept = line.rstrip(_BLANKS)
        if kept:
            row = kept.split("\t")
            if len(row) != 3 or "" in row:
                raise bad_row(source, number, line, TABS)
            if row[1].endswith(INVERSE_SUFFIX):
                raise inverse_relation(source, number, line, row)
            yield row


def _named_tsv_rows(
    source: Source, report: Callable[[int], None], columns: WantedColumns
) -> Iterator[list[str]]:
    """The lines of a TSV file below its header, of which the named columns are kept."""
    chosen, width = None, 3
    for number, line in _numbered_lines(source, report):
        if not line.rstrip(_BLANKS):
            continue
        row = line.rstrip("\r").split("\t")
        if chosen is None:
            row = [name.strip() for name in row]
            chosen, width = columns.chosen(row, source.place(number)), len(row)
            continue
        row[-1] = row[-1].rstrip(_BLANKS)
        yield _kept(source, number, line, TABS, row, chosen, width)


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


def _csv_rows(source: Source, report: Callable[[int], None], columns: WantedColumns) -> Iterator[list[str]]:
    """The records of a CSV file: RFC 4180, with a header that names the columns."""
    lines = _CsvLines(source, report)
    chosen, width = None, 3
    try:
        for row in csv.reader(lines, strict=True):
            if not row:
                continue
            if chosen is None:
                chosen, width = _csv_header(source, lines, row, columns), len(row)
                continue
            kept = _kept(source, lines.number, lines.last, COMMAS, row, chosen, width)
            yield [name.replace(_NUL, "\0") for name in kept] if lines.has_nul else kept
    except csv.Error as error:
        raise InputError(
            f"found quotes that do not pair up ({error}), expected CSV as in RFC 4180",
            place=source.place(lines.number),
            source=shown_line(lines.last),
            hint='a name with commas, quotes or line breaks stands in quotes, and quotes in it are doubled: "a ""b"""',
        ) from error


def _csv_header(source: Source, lines: _CsvLines, row: list[str], columns: WantedColumns) -> ChosenColumns:
    try:
        return columns.chosen(row, source.place(lines.number))
    except InputError:
        if len(row) == 1 and (separator := separator_of(lines.last)) is not None:
            raise one_column(source, lines.number, lines.last, separator) from None
        if columns.wanted is None and len(row) == 3 and {*_named_by(row)} != {*COLUMNS}:
            raise bad_header(source, lines.number, lines.last) from None
        raise


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
            kept = line + "\n" if inside_quotes else line.rstrip(_BLANKS)
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
                    raise too_long(source, number)
                try:
                    line = raw.decode()
                except UnicodeDecodeError as error:
                    raise not_utf8(source, number, raw, offset, error) from error
                offset += len(raw)
                if number == 1:
                    line = line.removeprefix(BYTE_ORDER_MARK)
                yield number, line.removesuffix("\n")
    except GZIP_ERRORS as error:
        raise broken_gzip(source, error, line=number + 1) from error
