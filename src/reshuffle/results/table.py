"""Rows by column, made when they are asked for: as text, as plain data, for data frames, in notebooks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

from reshuffle.kg.frames import ArrowFrames
from reshuffle.pictures.markup import SHOWN
from reshuffle.pictures.notebook import shown_rows
from reshuffle.text import table as aligned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import pyarrow as pa

    Row = dict[str, Any]

Kind = Literal["name", "text", "number", "count", "truth", "list"]
_NUMERIC = ("number", "count")
_BLOCK = 1 << 14  # rows that are in memory at a time


@dataclass(frozen=True)
class Column:
    """A column: its name in files, its kind, and how people see it."""

    name: str
    kind: Kind = "text"
    title: str | None = None
    """Above the column where people read it; the name unless given."""
    spell: Callable[[Any], str] | None = None
    """A value as text; the usual way unless given."""

    @property
    def heading(self) -> str:
        """Above the column where people read it."""
        return self.name if self.title is None else self.title

    def cell(self, value: Any, shown: Callable[[str], str]) -> object:
        """A value as the terminal shows it; `shown` formats names."""
        if self.kind == "name":
            return shown(value)
        if self.spell is not None:
            return self.spell(value)
        # A sum of nothing is the whole number 0, which should look like its neighbours.
        return float(value) if self.kind == "number" and type(value) is int else value


@dataclass(frozen=True)
class Table(ArrowFrames):
    """Rows by column. `produce` gives the rows each time somebody asks, so that long tables pass through.

    >>> table = Table((Column("rule"), Column("support", "count")), lambda: [{"rule": "a -> b", "support": 1200}])
    >>> print(table)
    rule    support
    a -> b    1,200
    """

    columns: tuple[Column, ...]
    produce: Callable[[], Iterable[Row]]
    heading: str = ""
    """What the rows are, in a few words."""
    printed: tuple[str, ...] = ()
    """The columns of the terminal in their order; all unless given."""
    ranked: bool = False
    """Does the order say something? Then people see the rank."""
    empty: str = ""
    """What is printed where there are no rows."""

    @classmethod
    def of(cls, rows: Sequence[Row], *, heading: str = "") -> Table:
        """Rows as they are; the values say the kinds of the columns."""
        names = dict.fromkeys(name for row in rows for name in row)
        kinds = {name: _kind_of([row.get(name) for row in rows]) for name in names}
        return cls(tuple(Column(name, kind) for name, kind in kinds.items()), lambda: rows, heading)

    def rows(self) -> Iterator[Row]:
        """The rows by column, in order."""
        return iter(self.produce())

    def with_column(self, column: Column, values: Callable[[], Iterable[Any]]) -> Table:
        """The table with a column more."""

        def longer() -> Iterator[Row]:
            for row, value in zip(self.rows(), values(), strict=True):
                yield {**row, column.name: value}

        return replace(self, columns=(*self.columns, column), produce=longer)

    def schema(self) -> pa.Schema:
        """The columns with their types, so that an empty table has them, too."""
        import pyarrow as pa  # noqa: PLC0415 - slow to load, and text needs none

        kinds = {
            "name": pa.large_string(),
            "text": pa.large_string(),
            "number": pa.float64(),
            "count": pa.int64(),
            "truth": pa.bool_(),
            "list": pa.list_(pa.large_string()),
        }
        return pa.schema([(column.name, kinds[column.kind]) for column in self.columns])

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows as Arrow blocks."""
        import pyarrow as pa  # noqa: PLC0415 - slow to load, and text needs none

        rows, schema = self.rows(), self.schema()
        while block := list(islice(rows, _BLOCK)):
            yield pa.RecordBatch.from_pylist(block, schema=schema)

    def to_arrow(self) -> pa.Table:
        """The rows as an Arrow table."""
        import pyarrow as pa  # noqa: PLC0415 - slow to load, and text needs none

        return pa.Table.from_batches(self.batches(), schema=self.schema())

    def write(self, path: str) -> None:
        """Write the rows as a file, whole or not at all; its ending names the format (`table_formats.FORMATS`)."""
        from reshuffle.results.table_formats import write_table  # noqa: PLC0415 - it imports this module

        write_table(self, path)

    def text(self, *, shown: Callable[[str], str] = str) -> str:
        """The rows under their headings; `shown` formats names."""
        named = {column.name: column for column in self.columns}
        columns = [named[name] for name in self.printed or named]
        cells = [[column.cell(row.get(column.name), shown) for column in columns] for row in self.rows()]
        if not cells:
            return self.empty
        align = "".join("r" if column.kind in _NUMERIC else "l" for column in columns)
        headings = [column.heading for column in columns]
        if self.ranked:
            align, headings = f"r{align}", ["rank", *headings]
            cells = [[str(place), *row] for place, row in enumerate(cells, start=1)]
        return aligned(headings, cells, align=align)

    def __str__(self) -> str:
        return self.text()

    def first(self, most: int | None = None) -> list[Row]:
        """The first rows, by the headings of their columns."""
        titles = {column.name: column.heading or column.name for column in self.columns}
        return [
            {titles[name]: value for name, value in row.items() if name in titles}
            for row in islice(self.rows(), most)
        ]

    def _repr_html_(self) -> str:
        return shown_rows(self.heading, self.first(SHOWN), total=sum(1 for _ in self.rows()))


def _kind_of(values: Iterable[Any]) -> Kind:
    """What kind of column has these values; missing ones say nothing."""
    types = {type(value) for value in values if value is not None}
    if types and types <= {bool}:
        return "truth"
    if types and types <= {int, float}:
        return "count" if types == {int} else "number"
    return "list" if types and types <= {list, tuple} else "text"
