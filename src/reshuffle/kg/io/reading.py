"""Reading the triples of a file, whatever its format.

    .tsv, .txt, any other ending, and stdin    three columns separated by tabs
    .csv                                       RFC 4180 with a header, see `columns`
    .nt, .ttl, .rdf, .nq, .trig, .jsonld       RDF (extra `rdf`), see `rdf`; names of graphs are passed over
    .jsonl, .ndjson                            an object or an array per line, see `json_lines`
    .parquet                                   a table, see `columns`

Text formats may be compressed (`.gz` behind the ending). Names are taken as they are; blanks at the end of
a line, blank lines and a byte order mark are dropped. A relation may not end in `^-1`, which stands for the
inverse. Large TSV and CSV files go through `fast_delimited`; where anything looks odd there, through `delimited`, line
by line, which gives the same triples or the place of what is wrong.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from reshuffle.kg.io.delimited import WantedColumns, check_first, numbered_lines, read_csv, read_tsv
from reshuffle.kg.io.expanding import files_of
from reshuffle.kg.io.files import (
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
    import os
    from collections.abc import Callable, Iterable, Sequence

    from reshuffle.progress import Notes, Progress

# Below this many bytes the careful reader is done before the compiled one would be loaded.
_LARGE = 32_000_000


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
    for file in (files := files_of(paths, notes)):
        part = read_triples(
            file,
            columns=columns,
            form=form,
            may_be_empty=may_be_empty,
            literals_suffice=literals_suffice,
            progress=progress,
            notes=notes,
        )
        if len(files) == 1:
            return part
        if (form or format_of(file)) in RDF:  # a blank node belongs to its file
            part = with_nodes_apart(part, taken)
            taken.update(blank_nodes(part))
        parts.append(part)
    triples = joined(parts)
    distinct = triples.distinct()
    if len(triples) > len(distinct):
        notes(f"{counted(len(triples) - len(distinct), 'triple')} of one file found in another, too")
    return distinct


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
        return read_parquet(source, report, columns.wanted, notes)
    if form in RDF:
        return read_rdf(source, form, report, notes)
    if form is Format.JSON_LINES:
        return read_json_lines(source, numbered_lines(source, report), columns.wanted, notes)
    quickly = _read_quickly(source, form, columns, report) if source.size >= _LARGE else None
    if quickly is None:
        if form is Format.CSV:
            return read_csv(source, report, columns)
        return read_tsv(source, report, columns, notes)
    if form is Format.TSV and columns.wanted is None:
        check_first(source, list(quickly.first()), notes)
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
