"""Reading the triples of a file, whatever its format.

    .tsv, .txt, any other ending, and stdin    three columns separated by tabs
    .csv                                       RFC 4180 with a header, see `columns`
    .nt, .ttl, .rdf, .nq, .trig, .jsonld       RDF (extra `rdf`), see `rdf`; names of graphs are skipped
    .jsonl, .ndjson                            an object or an array per line, see `json_lines`
    .parquet                                   a table, see `columns`

Text formats may be compressed (`.gz` behind the ending). Names are taken as they are; blanks at the end of
a line, blank lines and a byte order mark are dropped. A relation may not end in `^-1`, which stands for the
inverse. Large TSV and CSV files go through `fast_delimited`. Small ones, and those with anything odd, are read line by
line (`delimited`). A row without a triple is an error, or is skipped (`bad_rows`).
"""

from __future__ import annotations

import glob
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from reshuffle.errors import InputError, Place
from reshuffle.kg.guards.bad_lines import COMMAS, TABS
from reshuffle.kg.guards.bad_rows import REFUSED
from reshuffle.kg.io.columns import WantedColumns
from reshuffle.kg.io.delimited import check_first, numbered_lines, plain_row, read_csv, read_tsv
from reshuffle.kg.io.fast_delimited import read_fast
from reshuffle.kg.io.files import (
    ENDINGS,
    GZIP_ERRORS,
    STDIN,
    Format,
    NoTriplesError,
    Source,
    find_source,
    format_of,
    refuse_archive,
)
from reshuffle.kg.io.json_lines import read_json_lines
from reshuffle.kg.io.rdf import RDF, blank_nodes, read_rdf, with_nodes_apart
from reshuffle.kg.io.tables import joined, read_parquet
from reshuffle.kg.rows import TripleColumns, numbered
from reshuffle.progress import SILENT, UNHEARD
from reshuffle.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from reshuffle.kg.guards.bad_lines import Separator
    from reshuffle.kg.guards.bad_rows import BadRows
    from reshuffle.progress import Notes, Progress

# Below this many bytes the careful reader is done before the compiled one would be loaded.
_LARGE = 32_000_000
_MOST_HELD = 100_000  # bad lines that wait until the whole file is read
_NAMED = 3  # files that a note names


def read_all(  # noqa: PLR0913 - what `read_graph` is given
    paths: Iterable[str | os.PathLike[str]],
    *,
    columns: Sequence[str] | None = None,
    form: Format | None = None,
    may_be_empty: bool = False,
    literals_suffice: bool = False,
    bad: BadRows = REFUSED,
    progress: Progress = SILENT,
    notes: Notes = UNHEARD,
) -> TripleColumns:
    """The distinct triples of files, folders and patterns together; `kg.read_graph` says what the options do."""
    parts: list[TripleColumns] = []
    taken: set[str] = set()
    files = _files_of(paths, notes)
    bad.check_inputs(files)
    for file in files:
        own = form if file == STDIN or STDIN not in files else None  # beside stdin, endings say the formats
        part = read_triples(
            file,
            columns=columns,
            form=own,
            may_be_empty=may_be_empty,
            literals_suffice=literals_suffice,
            bad=bad,
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
        notes(f"{folder}: skipped: {', '.join(others[:_NAMED])}{more}")
    yield from (str(entry) for entry in chosen)


def read_triples(  # noqa: PLR0913 - all are options by name
    path: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    form: Format | None = None,
    may_be_empty: bool = False,
    literals_suffice: bool = False,
    bad: BadRows = REFUSED,
    progress: Progress = SILENT,
    notes: Notes = UNHEARD,
) -> TripleColumns:
    """The distinct triples of a file, or of stdin for `-`, sorted."""
    form = form or (Format.TSV if path == STDIN else format_of(path))
    source = find_source(path)
    refuse_archive(source)
    try:
        with progress(f"reading {source.name}", total=source.size, unit="B") as report:
            before = bad.count
            triples = _read(source, form, WantedColumns(columns, notes), report, notes, bad)
    except NoTriplesError as error:
        if bad.count > before and not may_be_empty:
            raise _all_bad(source, bad, bad.count - before) from error
        if not may_be_empty and (error.literals is None or not literals_suffice):
            raise
        if error.literals is None:
            notes(f"{source.name}: no triples")
        return replace(numbered([]), literals=error.literals)
    distinct = triples.distinct()
    if len(triples) > len(distinct):
        notes(f"{source.name}: {counted(len(triples) - len(distinct), 'duplicate triple')} collapsed")
    return distinct


def _all_bad(source: Source, bad: BadRows, count: int) -> InputError:
    """The error for a file of which nothing is left."""
    assert bad.first is not None
    return InputError(
        f"found no triples beside {counted(count, 'bad row')}",
        place=source.place(),
        hint=f"is the format right? The first bad row: {bad.first.place}: {bad.first.message}",
    )


def _read(
    source: Source,
    form: Format,
    columns: WantedColumns,
    report: Callable[[int], None],
    notes: Notes,
    bad: BadRows,
) -> TripleColumns:
    if form is Format.PARQUET:
        return read_parquet(source, report, columns, bad)
    if form in RDF:
        return read_rdf(source, form, report, notes, bad)
    if form is Format.JSON_LINES:
        return read_json_lines(source, numbered_lines(source, report, bad), columns, bad)
    quickly = _read_quickly(source, form, columns, report, bad) if source.size >= _LARGE else None
    if quickly is None:
        if form is Format.CSV:
            return read_csv(source, report, columns, bad)
        return read_tsv(source, report, columns, bad)
    if form is Format.TSV and columns.wanted is None:
        check_first(source, quickly.first(), notes)
    return quickly


def _read_quickly(
    source: Source, form: Format, columns: WantedColumns, report: Callable[[int], None], bad: BadRows
) -> TripleColumns | None:
    """The triples of a file without anything odd, or None, and then the progress is taken back."""
    done = 0

    def tally(count: int) -> None:
        nonlocal done
        done += count
        report(count)

    triples, cleaner = None, _Cleaner(source, COMMAS if form is Format.CSV else TABS)
    try:
        with source.open(tally) as stream:
            between = "," if form is Format.CSV else "\t"
            has_header = form is Format.CSV or columns.wanted is not None
            header = (lambda line: columns.in_order(line.split(between))) if has_header else None
            triples = read_fast(
                stream,
                separator=between.encode(),
                header=header,
                size=source.size,
                clean=cleaner.clean if bad.skips else None,
            )
    except GZIP_ERRORS:  # the careful reader knows the line
        pass
    if triples is None:
        report(-done)
    else:
        for error, line in cleaner.found:
            bad.add(error, line)
    return triples


class _Cleaner:
    """Takes the bad lines out of blocks that the fast reader stumbles over."""

    def __init__(self, source: Source, separator: Separator) -> None:
        self._source, self._separator = source, separator
        self.found: list[tuple[InputError, str]] = []

    def clean(self, text: bytes, first: int) -> bytes | None:
        """The good lines of a block, of which this is the number of the first; None where the fast reader gives up."""
        good = []
        try:
            lines = text.decode().removesuffix("\n").split("\n")
        except UnicodeDecodeError:
            return None
        for number, line in enumerate(lines, first):
            try:
                row = plain_row(self._source, number, line, self._separator)
                good += [] if row is None else [self._separator.text.join(row)]
            except InputError as error:  # noqa: PERF203 - each line for itself
                self.found.append((error, line))
        return None if len(self.found) > _MOST_HELD else "".join(f"{line}\n" for line in good).encode()
