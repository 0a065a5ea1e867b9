"""Reading a graph from a file, whatever its format.

    .tsv, .txt, any other ending, and stdin    three columns separated by tabs
    .csv                                       RFC 4180 with the header head,relation,tail
    .nt, .ttl                                  N-Triples and Turtle (extra `rdf`), see `rdf`
    .parquet                                   the columns head, relation, tail

Text formats may be compressed (`.gz` behind the ending). Names are taken as they are; blanks at the end of
a line, blank lines and a byte order mark are dropped. A relation may not end in `^-1`, which stands for the
inverse.
"""

from __future__ import annotations

import enum
import os
from pathlib import PurePath
from typing import TYPE_CHECKING

from reshuffle.errors import InputError, Place
from reshuffle.kg.graph import COLUMNS, KnowledgeGraph
from reshuffle.kg.inverses import refuse_inverse_names
from reshuffle.kg.io.delimited import GZIP_ERRORS, NoTriplesError, no_triples, read_csv_rows, read_tsv_rows
from reshuffle.kg.io.files import STDIN, Source, find_source
from reshuffle.progress import SILENT, UNHEARD
from reshuffle.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reshuffle.progress import Notes, Progress

    Report = Callable[[int], None]

# Below this many bytes the careful reader is done before the compiled one would be loaded.
_LARGE = 32_000_000
_HEADERS = (COLUMNS, ("subject", "predicate", "object"))


class Format(enum.Enum):
    """How triples are written in a file."""

    TSV = "TSV"
    CSV = "CSV"
    N_TRIPLES = "N-Triples"
    TURTLE = "Turtle"
    PARQUET = "Parquet"


_FORMATS = {
    ".csv": Format.CSV,
    ".nt": Format.N_TRIPLES,
    ".ttl": Format.TURTLE,
    ".parquet": Format.PARQUET,
}


def format_of(path: str | os.PathLike[str]) -> Format:
    """The format a file name stands for; TSV unless the ending says otherwise.

    >>> format_of("facts.csv.gz"), format_of("train.txt")
    (<Format.CSV: 'CSV'>, <Format.TSV: 'TSV'>)
    """
    name = PurePath(path)
    ending = PurePath(name.stem).suffix if name.suffix.lower() == ".gz" else name.suffix
    chosen = _FORMATS.get(ending.lower(), Format.TSV)
    if chosen is Format.PARQUET and name.suffix.lower() == ".gz":
        raise InputError(
            "found a compressed Parquet file, expected a plain one: Parquet has its own compression",
            place=Place(os.fspath(path)),
            hint="gunzip it",
        )
    return chosen


def read_graph(
    path: str | os.PathLike[str],
    *,
    may_be_empty: bool = False,
    progress: Progress = SILENT,
    notes: Notes = UNHEARD,
) -> KnowledgeGraph:
    """The graph in a file, or on stdin for `-`.

    `notes` hears what was left out although nothing was wrong: duplicates, RDF literals; and of a first line that
    looks like a header, which TSV does not have. Whatever is wrong raises one `InputError` with the file, the line,
    and a way out. So does a file without triples, which mostly comes from a program that failed, unless it
    `may_be_empty`.
    """
    chosen = Format.TSV if path == STDIN else format_of(path)
    source = find_source(path)
    try:
        graph, rows = _read(source, chosen, progress, notes)
    except NoTriplesError:
        if not may_be_empty:
            raise
        notes(f"{source.name}: no triples")
        return KnowledgeGraph()
    refuse_inverse_names(graph.relations, place=source.place())  # text has been refused before, with the line
    if chosen is Format.TSV and _starts_with_header(graph):
        notes(
            f"{source.name}: the first line looks like a header and was read as a triple; delete it if it is one"
        )
    if rows > len(graph):
        notes(f"{source.name}: {counted(rows - len(graph), 'duplicate triple')} collapsed")
    return graph


def _starts_with_header(graph: KnowledgeGraph) -> bool:
    """Names are numbered as they appear, so the first line is the triple 0, 0, 1 of a graph that was just read."""
    if len(graph.entities) == 1 or not graph.has_ids(0, 0, 1):
        return False
    first = (graph.entities[0], graph.relations[0], graph.entities[1])
    return tuple(name.casefold() for name in first) in _HEADERS


def _read(source: Source, chosen: Format, progress: Progress, notes: Notes) -> tuple[KnowledgeGraph, int]:
    """The graph and its number of rows."""
    with progress(f"reading {source.name}", total=source.size, unit="B") as report:
        if chosen is Format.PARQUET:
            from reshuffle.kg.io.tables import read_parquet  # noqa: PLC0415 - not needed for text

            return read_parquet(source, report)
        if chosen in (Format.TSV, Format.CSV):
            return _read_delimited(source, chosen, report)
        return _read_rdf(source, chosen, report, notes)


def _read_delimited(source: Source, chosen: Format, report: Report) -> tuple[KnowledgeGraph, int]:
    if source.size >= _LARGE:
        tally = _Tally(report)
        read = _read_quickly(source, chosen, tally)
        if read is not None:
            return read
        report(-tally.done)  # from the start again, to see what is odd
    return read_carefully(source, chosen, report)


def _read_quickly(source: Source, chosen: Format, report: Report) -> tuple[KnowledgeGraph, int] | None:
    from reshuffle.kg.io.fast_delimited import read_fast  # noqa: PLC0415 - compiled code is slow to load

    separator = b"," if chosen is Format.CSV else b"\t"
    try:
        with source.open(report) as stream:
            return read_fast(stream, separator=separator, size=source.size)
    except GZIP_ERRORS:  # the careful reader knows the line
        return None


class _Tally:
    """Passes a progress report on and keeps the sum."""

    def __init__(self, report: Report) -> None:
        self._report, self.done = report, 0

    def __call__(self, count: int) -> None:
        self.done += count
        self._report(count)


def read_carefully(source: Source, chosen: Format, report: Report) -> tuple[KnowledgeGraph, int]:
    """The graph and its number of rows, line by line; raises at the first line that is wrong."""
    read_rows = read_csv_rows if chosen is Format.CSV else read_tsv_rows
    passed = _Counted(read_rows(source, report))
    graph = KnowledgeGraph(passed)
    if not passed.rows:
        expected = "head,relation,tail" if chosen is Format.CSV else "head<TAB>relation<TAB>tail"
        raise no_triples(source, f"lines such as {expected}")
    return graph, passed.rows


def _read_rdf(source: Source, chosen: Format, report: Report, notes: Notes) -> tuple[KnowledgeGraph, int]:
    from reshuffle.kg.io.rdf import RdfReader  # noqa: PLC0415 - an extra

    reader = RdfReader(source, chosen.value)
    passed = _Counted(reader.triples(report))
    graph = reader.named(KnowledgeGraph(passed))
    if reader.literals:
        notes(f"{source.name}: {counted(reader.literals, 'triple')} with a literal as tail skipped")
    if not passed.rows:
        skipped = (
            f"; {counted(reader.literals, 'triple')} in it with a literal as tail" if reader.literals else ""
        )
        raise no_triples(source, f"triples between IRIs or blank nodes{skipped}")
    return graph, passed.rows


class _Counted:
    """Counts the rows that pass."""

    def __init__(self, rows: Iterator[list[str]] | Iterator[tuple[str, str, str]]) -> None:
        self._rows, self.rows = rows, 0

    def __iter__(self) -> Iterator[tuple[str, str, str]]:
        for head, relation, tail in self._rows:
            self.rows += 1
            yield head, relation, tail
