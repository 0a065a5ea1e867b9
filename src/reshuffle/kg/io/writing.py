"""Writing triples to a file, in the format its ending names (see `reading`), whole or not at all.

Every name that a format can hold comes back as it was. A name that it cannot hold (a tab in TSV) is an
error, not a silent change. So is an ending that names no format.
"""

from __future__ import annotations

import gzip
import json
import os
from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from reshuffle.errors import InputError, Place
from reshuffle.kg.io.files import BYTE_ORDER_MARK, Format, check_writable, written_format, written_whole
from reshuffle.kg.io.prefixes import COMMON, Prefixes
from reshuffle.kg.io.rdf import RDF, pyoxigraph, to_term
from reshuffle.kg.io.rdf_writing import WITH_GRAPHS, write_rdf
from reshuffle.kg.io.tables import batches_of, name_batches, rows_of, write_parquet
from reshuffle.kg.vocabulary import text_array

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from reshuffle.kg.graph import KnowledgeGraph

_HEADER = b"head,relation,tail\n"
# What TSV cannot hold anywhere, and what it drops at the end of a line.
_UNFIT_FOR_TSV = r"^$|[\t\n]"
_UNFIT_AT_END = r"[ \r]$"
_NEEDS_QUOTES = r'[",\r\n]|^$|[ \t]$'


def write_graph(
    graph: KnowledgeGraph, path: str | os.PathLike[str], *, prefixes: Prefixes | None = None
) -> None:
    """Write all triples of a graph; entities without any triple have no place in a file of triples.

    Turtle, TriG and RDF/XML have those of the `prefixes` (the common ones unless given) that shorten a name.
    """
    if written_format(path) not in _GROUPED:
        _write(name_batches(graph), path)
        return
    known = (COMMON if prefixes is None else prefixes).used_in(chain(graph.relations, graph.entities))
    heads_together = np.lexsort((graph.tails, graph.relation_ids, graph.heads))
    _write(name_batches(graph, heads_together), path, prefixes=known)


def write_triples(
    triples: Iterable[tuple[str, str, str]],
    path: str | os.PathLike[str],
    *,
    prefixes: Prefixes | None = None,
) -> None:
    """Write named triples in the order given, without holding them all; RDF declares the prefixes given."""
    write_batches(batches_of(triples), path, prefixes=prefixes)


def write_batches(
    batches: Iterable[pa.RecordBatch], path: str | os.PathLike[str], *, prefixes: Prefixes | None = None
) -> None:
    """The same for blocks of named triples."""
    place = Place(os.fspath(path))
    _write((_checked(batch, place) for batch in batches), path, prefixes=prefixes or Prefixes())


def write_named_graphs(
    graphs: Mapping[str, Iterable[tuple[str, str, str]]],
    path: str | os.PathLike[str],
    *,
    prefixes: Prefixes | None = None,
) -> None:
    """Write several sets of named triples, each as a named graph of RDF."""
    place = Place(os.fspath(path))
    rows = (
        (*row, name)
        for name, triples in graphs.items()
        for batch in batches_of(triples)
        for row in _rows(_checked(batch, place), place)
    )
    with written_whole(path) as aside, _opened(aside, compressed=_is_packed(place)) as stream:
        write_rdf(rows, stream, written_format(path), place, (prefixes or Prefixes()).namespaces)


def tsv_text(rows: pa.RecordBatch, name: str) -> str:
    """Some lines of a TSV file, for the stream called `name`; refuses what such a file cannot hold."""
    place = Place(name)
    render = _tsv(place, hint="write them to a .csv or .parquet file with -o, or print them with --json")
    return b"".join(_pieces(render(_checked(rows, place)))).decode()


def check_triples_writable(path: str | os.PathLike[str], *, named_graphs: bool = False) -> None:
    """Can triples be written there? To be asked before work whose result would be lost otherwise."""
    check_writable(path)
    form, place = written_format(path), Place(os.fspath(path))
    if form in RDF:
        pyoxigraph(place)
    if named_graphs and form not in WITH_GRAPHS:
        raise InputError(
            f"{form.value} has no named graphs",
            place=place,
            hint="let the file name end in .nq, .trig or .jsonld",
        )


def _checked(batch: pa.RecordBatch, place: Place) -> pa.RecordBatch:
    """The block, unless a name is missing: Arrow would join such a line to nothing."""
    if any(column.null_count for column in batch.columns):
        raise _empty_name(place)
    return batch


def _write(
    batches: Iterator[pa.RecordBatch], path: str | os.PathLike[str], *, prefixes: Prefixes | None = None
) -> None:
    chosen, place = written_format(path), Place(os.fspath(path))
    with written_whole(path) as aside:
        if chosen is Format.PARQUET:
            write_parquet(batches, aside)
            return
        with _opened(aside, compressed=_is_packed(place)) as stream:
            if chosen in _GROUPED:
                rows = ((*row, None) for batch in batches for row in _rows(batch, place))
                write_rdf(rows, stream, chosen, place, {} if prefixes is None else prefixes.namespaces)
            else:
                _write_lines(batches, stream, chosen, place)


def _is_packed(place: Place) -> bool:
    return place.file.lower().endswith(".gz")


def _rows(batch: pa.RecordBatch, place: Place) -> Iterator[tuple[str, str, str]]:
    for column in batch.columns:
        _refuse_empty(column, place)
    return rows_of(batch)


@contextmanager
def _opened(path: Path, *, compressed: bool) -> Iterator[BinaryIO]:
    with path.open("wb") as stream:
        if compressed:
            # The same triples give the same bytes: no time and no name in the header.
            with gzip.GzipFile(filename="", fileobj=stream, mode="wb", mtime=0) as packed:
                yield packed  # type: ignore[misc]
        else:
            yield stream


def _write_lines(batches: Iterator[pa.RecordBatch], stream: BinaryIO, chosen: Format, place: Place) -> None:
    if chosen is Format.CSV:
        stream.write(_HEADER)
    render = _RENDERERS[chosen](place)
    for number, batch in enumerate(batches):
        text = b"".join(_pieces(render(batch)))
        if not number and text.startswith(BYTE_ORDER_MARK.encode()) and chosen is Format.TSV:
            stream.write(BYTE_ORDER_MARK.encode())  # reading drops one
        stream.write(text)


def _pieces(lines: pa.Array) -> Iterator[memoryview]:
    """The bytes of all lines: an Arrow array of text holds them one after another."""
    _, offsets, text = lines.buffers()
    ends = memoryview(offsets).cast("q")
    yield memoryview(text)[ends[lines.offset] : ends[lines.offset + len(lines)]]


def _tsv(
    place: Place, hint: str = "let the file name end in .csv or .parquet"
) -> Callable[[pa.RecordBatch], pa.Array]:
    def render(batch: pa.RecordBatch) -> pa.Array:
        for column in batch.columns:
            _refuse(column, _UNFIT_FOR_TSV, place, hint)
        _refuse(batch.column("tail"), _UNFIT_AT_END, place, hint)
        return _joined(batch.columns, "\t", "\n")

    return render


def _refuse(names: pa.Array, pattern: str, place: Place, hint: str) -> None:
    matches = pc.match_substring_regex(names, pattern)
    # `pc.index` imports pandas, so it waits for a name that does not fit.
    position = pc.index(matches, True).as_py() if pc.any(matches).as_py() else -1
    if position >= 0:
        raise InputError(
            f"the name {names[position].as_py()!r} cannot be written as TSV, which has no quotes: expected names "
            "without tabs and line breaks, not empty, and no blank at the end of a tail",
            place=place,
            hint=hint,
        )


def _csv(place: Place) -> Callable[[pa.RecordBatch], pa.Array]:
    def render(batch: pa.RecordBatch) -> pa.Array:
        return _joined([_quoted(column, place) for column in batch.columns], ",", "\n")

    return render


def _quoted(names: pa.Array, place: Place) -> pa.Array:
    _refuse_empty(names, place)
    needy = pc.match_substring_regex(names, _NEEDS_QUOTES)
    if not pc.any(needy).as_py():
        return names
    quote = pa.scalar('"', names.type)
    doubled = pc.replace_substring(names, '"', '""')
    return pc.if_else(
        needy, pc.binary_join_element_wise(quote, doubled, quote, pa.scalar("", names.type)), names
    )


def _rdf(place: Place) -> Callable[[pa.RecordBatch], pa.Array]:
    pyoxigraph(place)
    terms: dict[tuple[str, bool], str] = {}

    def term(name: str, blank_nodes: bool) -> str:
        if (name, blank_nodes) not in terms:
            terms[name, blank_nodes] = to_term(name, blank_nodes=blank_nodes)
        return terms[name, blank_nodes]

    def render(batch: pa.RecordBatch) -> pa.Array:
        columns = []
        for column, blank_nodes in zip(batch.columns, (True, False, True), strict=True):
            _refuse_empty(column, place)
            columns.append(
                pa.array([term(name, blank_nodes) for name in column.to_pylist()], pa.large_string())
            )
        return _joined(columns, " ", " .\n")

    return render


def _refuse_empty(names: pa.Array, place: Place) -> None:
    if pc.any(pc.equal(names, "")).as_py():
        raise _empty_name(place)


def _empty_name(place: Place) -> InputError:
    return InputError(
        "a name is empty, expected a name for every head, relation and tail",
        place=place,
        hint="drop the triples with empty names first",
    )


def _joined(columns: list[pa.Array], separator: str, ending: str) -> pa.Array:
    between, end, nothing = text_array([separator, ending, ""])
    lines = pc.binary_join_element_wise(*columns, between)
    return pc.binary_join_element_wise(lines, end, nothing)


def _json_lines(place: Place) -> Callable[[pa.RecordBatch], pa.Array]:
    def render(batch: pa.RecordBatch) -> pa.Array:
        for column in batch.columns:
            _refuse_empty(column, place)
        lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in batch.to_pylist()]
        return pa.array(lines, pa.large_string())

    return render


_RENDERERS = {
    Format.TSV: _tsv,
    Format.CSV: _csv,
    Format.N_TRIPLES: _rdf,
    Format.JSON_LINES: _json_lines,
}
_GROUPED = tuple(form for form in RDF if form is not Format.N_TRIPLES)  # what pyoxigraph writes
