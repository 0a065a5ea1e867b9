"""Every format that a table of results goes out in, by the ending of the file. To add one, write a function here.

The formats of facts (`kg/io`) are others: they have no header, and are read again. A table with columns head, relation
and tail goes out as RDF, too, without its other columns.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reshuffle.errors import InputError, Place
from reshuffle.kg.io.files import check_writable, written_format, written_whole
from reshuffle.kg.io.writing import check_triples_writable, write_triples
from reshuffle.pictures.markup import page, sortable, table_html
from reshuffle.text import json_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from reshuffle.results.table import Table

_TRIPLE = ("head", "relation", "tail")
_BETWEEN = " | "  # of several values in one cell of a file of lines


def check_table_writable(path: str, *, more: tuple[str, ...] = ()) -> None:
    """Can a table be written there? To be asked before work whose result would be lost otherwise.

    `more` are endings that the caller writes itself.
    """
    check_writable(path, endings=(*FORMATS, *TRIPLE_ENDINGS, *more))
    if Path(path).suffix in TRIPLE_ENDINGS and Path(path).suffix not in more:
        check_triples_writable(path)


def write_table(table: Table, path: str) -> None:
    """Write a table, whole or not at all; the ending names the format."""
    ending = Path(path).suffix
    if ending in TRIPLE_ENDINGS:
        _write_triples(table, path)
        return
    if ending not in FORMATS:
        hint = f"tables go to {', '.join((*FORMATS, *TRIPLE_ENDINGS))}"
        raise InputError(f"found the ending '{ending}'", place=Place(path), hint=hint)
    with written_whole(path) as aside:
        FORMATS[ending](table, aside)


def _parquet(table: Table, aside: Path) -> None:
    from pyarrow import parquet  # noqa: PLC0415 - slow to load, and only needed here

    with parquet.ParquetWriter(aside, table.schema()) as writer:
        for batch in table.batches():
            writer.write_batch(batch)


def _arrow(table: Table, aside: Path) -> None:
    import pyarrow as pa  # noqa: PLC0415 - slow to load, and only needed here

    with pa.OSFile(str(aside), "wb") as file, pa.ipc.new_file(file, table.schema()) as writer:
        for batch in table.batches():
            writer.write_batch(batch)


def _csv(table: Table, aside: Path) -> None:
    _separated(table, aside, ",")


def _tsv(table: Table, aside: Path) -> None:
    _separated(table, aside, "\t")


def _separated(table: Table, aside: Path, delimiter: str) -> None:
    names = [column.name for column in table.columns]
    with aside.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        writer.writerow(names)
        writer.writerows([_flat(row.get(name)) for name in names] for row in table.rows())


def _flat(value: Any) -> Any:
    return _BETWEEN.join(map(str, value)) if isinstance(value, list | tuple) else value


def _json(table: Table, aside: Path) -> None:
    aside.write_text(json_text(list(table.rows())) + "\n", encoding="utf-8")


def _json_lines(table: Table, aside: Path) -> None:
    with aside.open("w", encoding="utf-8") as file:
        for row in table.rows():
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def _markdown(table: Table, aside: Path) -> None:
    named = {column.name: column.heading for column in table.columns}
    rows = [list(named.values()), ["---"] * len(named)]
    rows += [[_in_markdown(row.get(name)) for name in named] for row in table.rows()]
    aside.write_text("".join(f"| {' | '.join(cells)} |\n" for cells in rows), encoding="utf-8")


def _in_markdown(value: Any) -> str:
    text = "" if value is None else str(_flat(value))
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")


def _html(table: Table, aside: Path) -> None:
    named = {column.name: column.heading for column in table.columns}
    cells = [[row.get(name) for name in named] for row in table.rows()]
    shown = sortable(table_html(list(named.values()), cells, most=None, total=len(cells)))
    aside.write_text(page(table.heading or "Table", shown), encoding="utf-8")


FORMATS: dict[str, Callable[[Table, Path], None]] = {
    ".csv": _csv,
    ".tsv": _tsv,
    ".parquet": _parquet,
    ".arrow": _arrow,
    ".json": _json,
    ".jsonl": _json_lines,
    ".md": _markdown,
    ".html": _html,
}
TRIPLE_ENDINGS = (".nt", ".ttl", ".rdf", ".nq", ".trig", ".jsonld")


def _write_triples(table: Table, path: str) -> None:
    if not set(_TRIPLE) <= {column.name for column in table.columns}:
        raise InputError(
            f"{written_format(path).value} holds triples, and these rows are none",
            place=Place(path),
            hint=f"let the file name end in {', '.join(FORMATS)}",
        )
    write_triples(((row["head"], row["relation"], row["tail"]) for row in table.rows()), path)
