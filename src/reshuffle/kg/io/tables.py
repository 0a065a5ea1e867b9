"""Triples as tables with the columns head, relation and tail: Arrow, pandas, Parquet."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from reshuffle.errors import InputError, Place
from reshuffle.kg.io.files import no_triples
from reshuffle.kg.rows import COLUMNS, TripleColumns
from reshuffle.kg.vocabulary import Vocabulary, refuse_inverse_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from reshuffle.kg.graph import KnowledgeGraph
    from reshuffle.kg.io.files import Source

BLOCK = 1_000_000  # rows whose names are made at once


def from_arrow(
    table: pa.Table, *, columns: Sequence[str] = COLUMNS, place: Place | None = None
) -> TripleColumns:
    """The triples of a table; `columns` are the names of its head, relation and tail column."""
    _check_names(table.column_names, columns, place)
    heads, relations, tails = (_name_column(table, column, place) for column in columns)
    entity_names, ends = _factorize(pa.chunked_array([*heads.chunks, *tails.chunks], pa.large_string()))
    relation_names, relation_ids = _factorize(relations)
    return TripleColumns(
        ends[: len(heads)],
        relation_ids,
        ends[len(heads) :],
        Vocabulary(entity_names, kind="entity"),
        Vocabulary(relation_names, kind="relation"),
    )


def to_arrow(graph: KnowledgeGraph) -> pa.Table:
    """The named triples, in the order of the graph."""
    return pa.Table.from_batches(name_batches(graph), schema=SCHEMA)


SCHEMA = pa.schema([(column, pa.large_string()) for column in COLUMNS])


def name_batches(graph: KnowledgeGraph, order: NDArray[np.int64] | None = None) -> Iterator[pa.RecordBatch]:
    """The named triples in blocks, so that the names of a large graph are never all made at once, in an order."""
    entities, relations = graph.entities.to_arrow(), graph.relations.to_arrow()
    for start in range(0, len(graph), BLOCK):
        piece = slice(start, start + BLOCK) if order is None else order[start : start + BLOCK]
        yield pa.record_batch(
            [
                entities.take(pa.array(graph.heads[piece])),
                relations.take(pa.array(graph.relation_ids[piece])),
                entities.take(pa.array(graph.tails[piece])),
            ],
            schema=SCHEMA,
        )


def from_pandas(frame: Any, columns: Sequence[str]) -> pa.Table:
    """The named columns of a pandas data frame, those that it has, as an Arrow table."""
    kept = [column for column in columns if column in frame.columns]
    return pa.Table.from_pandas(frame[kept], preserve_index=False)


def read_parquet(source: Source, report: Callable[[int], None]) -> TripleColumns:
    """The triples of a Parquet file."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - slow to load, and only needed here

    with source.open(report) as stream:
        content = pa.py_buffer(stream.read())
    with refusing_damage(source.place()):
        file = pq.ParquetFile(pa.BufferReader(content))
        names = list(file.schema_arrow.names)
    _check_names(names, COLUMNS, source.place())
    with refusing_damage(source.place()):
        table = file.read(columns=[column for column in names if column in COLUMNS])
        table.validate(full=True)
    if not table.num_rows:
        raise no_triples(source, "at least one row")
    triples = from_arrow(table, place=source.place())
    refuse_inverse_names(triples.relations, place=source.place())
    return triples


@contextmanager
def refusing_damage(place: Place) -> Iterator[None]:
    """For reading Parquet alone: what a damaged file makes its reader raise, of whatever type, is our own error."""
    try:
        yield
    except MemoryError as error:
        raise InputError(
            "reading it takes more memory than there is",
            place=place,
            hint="a damaged file may name sizes that it has not; copy it again, or split it",
        ) from error
    except Exception as error:
        raise InputError(
            "found something else than Parquet, or only a part of it; expected a Parquet file",
            place=place,
            hint="copy or write it again; a text file should end in .tsv or .csv",
        ) from error


def write_parquet(batches: Iterator[pa.RecordBatch], path: Path) -> None:
    """Write blocks of named triples."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - slow to load, and only needed here

    with pq.ParquetWriter(path, SCHEMA) as writer:
        for batch in batches:
            writer.write_batch(batch)


def _factorize(names: pa.ChunkedArray) -> tuple[pa.Array, NDArray[np.int32]]:
    """The distinct names in order of first appearance, and the number of each."""
    encoded = names.dictionary_encode()
    if not encoded.num_chunks:
        return pa.array([], pa.large_string()), np.empty(0, dtype=np.int32)
    indices = [chunk.indices.to_numpy() for chunk in encoded.chunks]
    return encoded.chunk(encoded.num_chunks - 1).dictionary, np.concatenate(indices).astype(
        np.int32, copy=False
    )


def _check_names(found: Sequence[str], columns: Sequence[str], place: Place | None) -> None:
    if not set(columns) <= set(found):
        listed = ", ".join(found) if found else "none"
        raise InputError(
            f"found the columns {listed}; expected {', '.join(columns)}",
            place=place,
            hint="rename the columns that hold the head, the relation and the tail of each triple",
        )


def _name_column(table: pa.Table, column: str, place: Place | None) -> pa.ChunkedArray:
    values = table.column(column)
    kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    if not (_is_text(kind) or pa.types.is_integer(kind)) and len(values):
        raise InputError(
            f"found {kind} in the column {column}, expected text",
            place=place,
            hint="names are text; convert the column first",
        )
    names = values.cast(kind).cast(pa.large_string())
    bad = pc.index(pc.fill_null(pc.equal(names, ""), True), True).as_py()
    if bad >= 0:
        raise InputError(
            f"the {column} in row {bad + 1} is empty, expected a name in each of the 3 columns",
            place=place,
            hint="write the name, or delete the row",
        )
    return names


def _is_text(kind: pa.DataType) -> bool:
    return any(test(kind) for test in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view))
