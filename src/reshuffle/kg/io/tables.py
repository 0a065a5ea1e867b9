"""Triples as tables with columns for head, relation and tail: Arrow, whatever hands out Arrow streams, and Parquet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from reshuffle.errors import InputError, Place
from reshuffle.kg.guards.bad_rows import REFUSED, content_of
from reshuffle.kg.guards.limits import check_table_size
from reshuffle.kg.io.columns import columns_of
from reshuffle.kg.io.files import no_triples
from reshuffle.kg.rows import COLUMNS, TripleColumns
from reshuffle.kg.vocabulary import INVERSE_SUFFIX, Vocabulary, named_like_an_inverse, refuse_inverse_names
from reshuffle.progress import UNHEARD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from reshuffle.kg.graph import KnowledgeGraph
    from reshuffle.kg.guards.bad_rows import BadRows
    from reshuffle.kg.io.columns import ChosenColumns, WantedColumns
    from reshuffle.kg.io.files import Source
    from reshuffle.progress import Notes

# Of Arrow's data sets, of Spark's frames, and of ADBC's cursors.
_OF_DATA_SETS = ("to_table", "toArrow", "fetch_arrow_table")
_OF_TABLES = ("__arrow_c_stream__", "collect_schema", "iloc", *_OF_DATA_SETS)
BLOCK = 1_000_000  # rows whose names are made at once


def from_table(
    given: Any,
    *,
    columns: Sequence[str] | None = None,
    place: Place | None = None,
    bad: BadRows = REFUSED,
    notes: Notes = UNHEARD,
) -> TripleColumns:
    """The triples of a table of any library; `notes` hears of columns that are skipped."""
    table, chosen = _pandas_part(given, columns) if hasattr(given, "iloc") else _part(given, columns, place)
    if chosen.passed_over is not None:
        notes(chosen.passed_over if place is None else f"{place}: {chosen.passed_over}")
    names = [
        _name_column(values, column, place)
        for values, column in zip(table.columns, chosen.names, strict=True)
    ]
    heads, relations, tails = _good_rows(names, chosen.names, place, bad)
    entity_names, ends = _factorize(pa.chunked_array([*heads.chunks, *tails.chunks], pa.large_string()))
    relation_names, relation_ids = _factorize(relations)
    return TripleColumns(
        ends[: len(heads)],
        relation_ids,
        ends[len(heads) :],
        Vocabulary(entity_names, kind="entity"),
        Vocabulary(relation_names, kind="relation"),
    )


def joined(parts: Sequence[TripleColumns]) -> TripleColumns:
    """All triples, one part after the other, over the names of all parts."""
    entities, entity_ids = _joined_names([part.entities for part in parts])
    relations, relation_ids = _joined_names([part.relations for part in parts])
    heads = [ids[part.heads] for ids, part in zip(entity_ids, parts, strict=True)]
    middle = [ids[part.relation_ids] for ids, part in zip(relation_ids, parts, strict=True)]
    tails = [ids[part.tails] for ids, part in zip(entity_ids, parts, strict=True)]
    literals = [part.literals for part in parts if part.literals is not None]
    return TripleColumns(
        np.concatenate(heads),
        np.concatenate(middle),
        np.concatenate(tails),
        entities,
        relations,
        joined(literals) if literals else None,
    )


def _joined_names(vocabularies: Sequence[Vocabulary]) -> tuple[Vocabulary, list[NDArray[np.int32]]]:
    """The names of all vocabularies, each once, and for each vocabulary the ids of its names."""
    chunks = [names.to_arrow() for names in vocabularies]
    names, ids = _factorize(pa.chunked_array(chunks, pa.large_string()))
    ends = np.cumsum([len(chunk) for chunk in chunks])
    return Vocabulary(names, kind=vocabularies[0].kind), np.split(ids, ends[:-1])


def to_arrow(graph: KnowledgeGraph) -> pa.Table:
    """The named triples, in the order of the graph."""
    return pa.Table.from_batches(name_batches(graph), schema=SCHEMA)


def reader_of(graph: KnowledgeGraph) -> pa.RecordBatchReader:
    """The named triples as a stream of blocks."""
    return pa.RecordBatchReader.from_batches(SCHEMA, name_batches(graph))


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


ROWS = 100_000
"""Triples of one block, where they become names one block after the other."""


def batch_of(rows: Sequence[tuple[str, str, str]]) -> pa.RecordBatch:
    """Named triples as one block."""
    return pa.record_batch([[row[column] for row in rows] for column in range(3)], schema=SCHEMA)


def batches_of(triples: Iterable[tuple[str, str, str]]) -> Iterator[pa.RecordBatch]:
    """Named triples in blocks, without holding them all."""
    remaining = iter(triples)
    while rows := list(islice(remaining, ROWS)):
        yield batch_of(rows)


def rows_of(batch: pa.RecordBatch) -> Iterator[tuple[str, str, str]]:
    """The triples of a block, one by one."""
    heads, relations, tails = (column.to_pylist() for column in batch.columns)
    return zip(heads, relations, tails, strict=True)


def batch_of_pairs(relation: str, heads: pa.Array, tails: pa.Array) -> pa.RecordBatch:
    """The named triples of one relation as a block."""
    relations = pa.repeat(pa.scalar(relation, pa.large_string()), len(heads))
    return pa.record_batch([heads, relations, tails], schema=SCHEMA)


def is_table(given: object) -> bool:
    """Does it hand out its columns by Arrow's stream interface, or is it a lazy frame or a data set that will?"""
    return any(hasattr(given, name) for name in _OF_TABLES) or _has_columns(given)


def _has_columns(given: object) -> bool:
    """Is it a dictionary from names of columns to their values?"""
    return (
        isinstance(given, Mapping)
        and bool(given)
        and all(isinstance(name, str) for name in given)
        and all(isinstance(values, Iterable) and not isinstance(values, str) for values in given.values())
    )


def _pandas_part(frame: Any, columns: Sequence[str] | None) -> tuple[pa.Table, ChosenColumns]:
    """The three columns of a pandas frame; others may hold what Arrow cannot."""
    if not hasattr(frame, "columns"):  # a single column
        raise _no_table(frame)
    chosen = columns_of([str(name) for name in frame.columns], columns)
    try:
        return pa.Table.from_pandas(frame.iloc[:, list(chosen.places)], preserve_index=False), chosen
    except pa.ArrowException as error:
        raise InputError(
            f"the columns {', '.join(chosen.names)} hold values of several kinds ({error}), expected text",
            hint="convert them first, for example with frame.astype(str)",
        ) from error


def _part(given: Any, columns: Sequence[str] | None, place: Place | None) -> tuple[pa.Table, ChosenColumns]:
    table = _as_arrow(given)
    chosen = columns_of(table.column_names, columns, place=place)
    return table.select(list(chosen.places)), chosen


def _as_arrow(given: Any) -> pa.Table:
    if hasattr(given, "collect") and not hasattr(given, "__arrow_c_stream__"):  # a lazy frame
        given = given.collect()
    if isinstance(given, pa.RecordBatch):
        return pa.Table.from_batches([given])
    if isinstance(given, Mapping):
        return _of_columns(given)
    if hasattr(given, "__arrow_c_stream__") or isinstance(given, pa.Table):
        return pa.table(given)
    for method in _OF_DATA_SETS:
        if hasattr(given, method):
            return getattr(given, method)()
    raise _no_table(given)


def _of_columns(given: Mapping[str, Any]) -> pa.Table:
    try:
        return pa.table(given)
    except (pa.ArrowException, TypeError) as error:
        raise InputError(
            f"the columns do not form a table ({error})", hint="give lists of names that are equally long"
        ) from error


def _no_table(given: object) -> InputError:
    return InputError(
        f"found {type(given).__name__}, expected a table",
        hint="give a data frame, an Arrow table, or anything else with Arrow's stream interface, such as "
        "con.sql(query) of DuckDB; KnowledgeGraph(...) takes triples and dictionaries",
    )


def read_parquet(
    source: Source, report: Callable[[int], None], columns: WantedColumns, bad: BadRows = REFUSED
) -> TripleColumns:
    """The triples of a Parquet file."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - slow to load, and only needed here

    with source.open(report) as stream:
        content = pa.py_buffer(stream.read())
    with refusing_damage(source.place()):
        names = list(pq.ParquetFile(pa.BufferReader(content)).schema_arrow.names)
    chosen = columns.chosen(names, source.place())
    with refusing_damage(source.place()):
        # A long name that stands in many rows is read once.
        file = pq.ParquetFile(pa.BufferReader(content), read_dictionary=list(chosen.names))
    check_table_size(*_sizes(file.metadata), packed=len(content), place=source.place())
    with refusing_damage(source.place()):
        table = file.read(columns=list(chosen.names))
        table.validate(full=True)
    check_table_size(
        table.num_rows, sum(map(_bytes_decoded, table.columns)), packed=len(content), place=source.place()
    )
    if not table.num_rows:
        raise no_triples(source, "at least one row")
    triples = from_table(table, columns=chosen.names, place=source.place(), bad=bad)
    if not len(triples):
        raise no_triples(source, "a name in each column")
    refuse_inverse_names(triples.relations, place=source.place())
    return triples


def _sizes(metadata: Any) -> tuple[int, int]:
    """The rows and the bytes that the description of a Parquet file promises."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    return metadata.num_rows, sum(group.total_byte_size for group in groups)


def _bytes_decoded(values: pa.ChunkedArray) -> int:
    """The bytes of all names of a column, where a dictionary has each once."""
    if not pa.types.is_dictionary(values.type):
        return int(values.nbytes)
    total = 0
    for chunk in values.chunks:
        lengths = pc.fill_null(pc.binary_length(chunk.dictionary), 0).to_numpy(zero_copy_only=False)
        used = np.bincount(chunk.indices.drop_null().to_numpy(), minlength=len(lengths))
        total += int(used @ lengths.astype(np.int64))
    return total


@contextmanager
def refusing_damage(place: Place) -> Iterator[None]:
    """For reading Parquet alone: what a damaged file makes its reader raise, of whatever type, is our own error."""
    try:
        yield
    except MemoryError as error:
        raise InputError(
            "not enough memory to read it",
            place=place,
            hint="the file may be damaged: copy it again; or split it",
        ) from error
    except Exception as error:
        raise InputError(
            "not a Parquet file, or an incomplete one",
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


def _name_column(values: pa.ChunkedArray, column: str, place: Place | None) -> pa.ChunkedArray:
    kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    if not (_is_text(kind) or pa.types.is_integer(kind)) and len(values):
        raise InputError(
            f"found {kind} in the column {column}, expected text",
            place=place,
            hint="names are text; convert the column first",
        )
    return (_decoded(values) if pa.types.is_dictionary(values.type) else values).cast(pa.large_string())


def _good_rows(
    columns: Sequence[pa.ChunkedArray], names: Sequence[str], place: Place | None, bad: BadRows
) -> Sequence[pa.ChunkedArray]:
    """The columns without the rows in which a name is missing, or a relation is named like an inverse."""
    missing = [pc.fill_null(pc.equal(values, ""), True) for values in columns]
    for column, empty in zip(names, missing, strict=True):
        if (row := pc.index(empty, True).as_py()) >= 0 and not bad.skips:
            raise _missing_name(column, row, place)
    if not bad.skips:
        return columns
    inverses = pc.fill_null(pc.ends_with(columns[1], INVERSE_SUFFIX), False)
    wrong = pc.or_(pc.or_(pc.or_(*missing[:2]), missing[2]), inverses)
    for row in pc.indices_nonzero(wrong).to_pylist():
        content = [values[row].as_py() for values in columns]
        empty = [name for name, value in zip(names, content, strict=True) if not value]
        inverse = named_like_an_inverse(content[1], place=place) if not empty else None
        bad.add(inverse or _missing_name(empty[0], row, place), content_of(content), row=row + 1)
    return [values.filter(pc.invert(wrong)) for values in columns]


def _missing_name(column: str, row: int, place: Place | None) -> InputError:
    return InputError(
        f"the {column} in row {row + 1} is empty, expected a name in each of the 3 columns",
        place=place,
        hint="write the name, or delete the row",
    )


def _decoded(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """The values of categories, whose names Arrow cannot take as they are where they are views, as those of polars."""
    chunks = [
        pa.DictionaryArray.from_arrays(chunk.indices, chunk.dictionary.cast(pa.large_string()))
        for chunk in values.chunks
    ]
    return pa.chunked_array([chunk.dictionary_decode() for chunk in chunks], pa.large_string())


def _is_text(kind: pa.DataType) -> bool:
    return any(test(kind) for test in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view))
