"""Reading the triples of a file, whatever its format.

    .tsv, .txt, any other ending, and stdin    three columns separated by tabs
    .csv                                       RFC 4180 with the header head,relation,tail
    .nt, .ttl                                  N-Triples and Turtle (extra `rdf`), see `rdf`
    .parquet                                   the columns head, relation, tail

Text formats may be compressed (`.gz` behind the ending). Names are taken as they are; blanks at the end of
a line, blank lines and a byte order mark are dropped. A relation may not end in `^-1`, which stands for the
inverse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reshuffle.kg.io.delimited import read_csv, read_tsv
from reshuffle.kg.io.files import GZIP_ERRORS, STDIN, Format, NoTriplesError, Source, find_source, format_of
from reshuffle.kg.io.rdf import read_rdf
from reshuffle.kg.io.tables import read_parquet
from reshuffle.kg.triples import COLUMNS, TripleColumns, numbered
from reshuffle.progress import SILENT, UNHEARD
from reshuffle.text import counted

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from reshuffle.progress import Notes, Progress

# Below this many bytes the careful reader is done before the compiled one would be loaded.
_LARGE = 32_000_000
_HEADERS = (COLUMNS, ("subject", "predicate", "object"))


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
    if form is Format.TSV and tuple(name.casefold() for name in triples.first()) in _HEADERS:
        notes(
            f"{source.name}: the first line looks like a header and was read as a triple; delete it if it is one"
        )
    distinct = triples.distinct()
    if len(triples) > len(distinct):
        notes(f"{source.name}: {counted(len(triples) - len(distinct), 'duplicate triple')} collapsed")
    return distinct


def _read(source: Source, form: Format, report: Callable[[int], None], notes: Notes) -> TripleColumns:
    if form is Format.PARQUET:
        return read_parquet(source, report)
    if form in (Format.N_TRIPLES, Format.TURTLE):
        return read_rdf(source, form, report, notes)
    quickly = _read_quickly(source, form, report) if source.size >= _LARGE else None
    if quickly is not None:
        return quickly
    return read_csv(source, report) if form is Format.CSV else read_tsv(source, report)


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
