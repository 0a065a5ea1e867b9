"""Triples with the labels of their names beside them, as a table."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from reshuffle.errors import InputError, Place
from reshuffle.kg.io.tables import rows_of
from reshuffle.results.table import Column, Table
from reshuffle.results.table_formats import FORMATS, check_table_writable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa


_NAMES = ("head", "relation", "tail")


def check_labels_writable(path: str) -> None:
    """Refuse a file that has no columns for labels, before any work is done."""
    if Path(path).suffix not in FORMATS:
        raise InputError(
            "--with-labels writes a table, which has columns for labels",
            place=Place(path),
            hint=f"let the file name end in {', '.join(FORMATS)}",
        )
    check_table_writable(path)


def labelled(batches: Iterator[pa.RecordBatch], labels: Mapping[str, str]) -> Table:
    """The triples with three columns more; a name without a label has an empty one."""

    def rows() -> Iterator[dict[str, str]]:
        for triple in chain.from_iterable(map(rows_of, batches)):
            row = dict(zip(_NAMES, triple, strict=True))
            yield row | {f"{column}_label": labels.get(name, "") for column, name in row.items()}

    columns = (*(Column(name, "name") for name in _NAMES), *(Column(f"{name}_label") for name in _NAMES))
    return Table(columns, rows, heading="triples that follow")
