"""Facts that lie in Parquet files, one or many, and are not loaded into Python."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from reshuffle.errors import InputError, Place
from reshuffle.kg import KnowledgeGraph, refuse_inverse_names
from reshuffle.kg.io.tables import refusing_damage
from reshuffle.kg.rows import COLUMNS
from reshuffle.reasoning.scaling.data_sets import files_of, relation_of
from reshuffle.rules.class_axioms import TYPE
from reshuffle.rules.encoding import ANYTHING, HUB, KEPT
from reshuffle.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from reshuffle.rules.encoding import Encoding


def quoted_text(text: str | os.PathLike[str]) -> str:
    """A text as SQL writes it.

    >>> quoted_text("a'b")
    "'a''b'"
    """
    return "'" + os.fspath(text).replace("'", "''") + "'"


@dataclass(frozen=True)
class ParquetFacts:
    """A Parquet file, or a folder of them: with the columns head, relation and tail, or with a folder per relation."""

    path: str
    files: tuple[Path, ...]
    in_folders: bool
    """Do folders `relation=...` say the relation?"""
    encoding: Encoding | None = None
    """What asks for helper facts, which the facts get where they are loaded."""

    @classmethod
    def at(cls, path: str | os.PathLike[str]) -> ParquetFacts:
        """The facts of a file or a folder, of which the first file is looked at."""
        import pyarrow.parquet as pq  # noqa: PLC0415 - slow to load

        files = tuple(files_of(path))
        place = Place(os.fspath(path))
        with refusing_damage(Place(str(files[0]))):
            found = pq.read_schema(files[0])
        in_folders = "relation" not in found.names and all(_is_partition(file, Path(path)) for file in files)
        for column in COLUMNS:
            if column == "relation" and in_folders:
                continue
            if column not in found.names or not _is_text(found.field(column).type):
                raise InputError(
                    f"found the columns {', '.join(found.names) or 'none'}; expected {', '.join(COLUMNS)}, all text",
                    place=place,
                    hint="rename the columns that hold the head, the relation and the tail of each triple",
                )
        return cls(os.fspath(path), files, in_folders)

    def with_helpers_of(self, encoding: Encoding) -> ParquetFacts:
        """The same facts, with the helper facts of rules with constants."""
        return replace(self, encoding=encoding)

    @property
    def num_rows(self) -> int:
        """The number of facts, duplicates included."""
        import pyarrow.parquet as pq  # noqa: PLC0415

        return sum(int(pq.read_metadata(file).num_rows) for file in self.files)

    def graph(self) -> KnowledgeGraph:
        """The facts as a graph in memory, without helper facts."""
        return KnowledgeGraph.from_arrow(pa.concat_tables(map(self._table, self.files)))

    def _table(self, file: Path) -> pa.Table:
        import pyarrow.parquet as pq  # noqa: PLC0415

        with refusing_damage(Place(str(file))):
            return self._named(pq.ParquetFile(file).read(), file)

    def _named(self, read: pa.Table, file: Path) -> pa.Table:
        """The columns as text, with the relation that a folder says."""
        if self.in_folders:
            name = pa.array([relation_of(file.parent.name)])
            read = read.append_column("relation", name.take(pa.array(np.zeros(len(read), np.int32))))
        return pa.table({column: read[column].cast(pa.large_string()) for column in COLUMNS})

    def _blocks(self, columns: Sequence[str]) -> Iterator[tuple[Path, pa.Table]]:
        import pyarrow.parquet as pq  # noqa: PLC0415

        for file in self.files:
            with refusing_damage(Place(str(file))):
                for block in pq.ParquetFile(file).iter_batches(columns=columns):
                    yield file, pa.Table.from_batches([block])

    def relations(self) -> list[str]:
        """The relations of the facts; no other column is read."""
        if self.in_folders:
            return sorted({relation_of(file.parent.name) for file in self.files})
        found = {
            name for _, block in self._blocks(["relation"]) for name in block["relation"].unique().to_pylist()
        }
        return sorted(name for name in found if name is not None)

    def some(self, relations: Collection[str], types: Collection[str]) -> KnowledgeGraph:
        """The facts of some relations, and those that give one of some types, as a graph in memory."""
        named = [pa.array(list(names), pa.large_string()) for names in (relations, types)]
        kept = []
        for file, block in self._blocks(["head", "tail"] if self.in_folders else COLUMNS):
            table = self._named(block, file)
            typed = pc.and_(pc.equal(table["relation"], TYPE), pc.is_in(table["tail"], named[1]))
            kept.append(table.filter(pc.or_(pc.is_in(table["relation"], named[0]), typed)))
        return KnowledgeGraph.from_arrow(pa.concat_tables(kept))

    def graph_with_helpers(self) -> KnowledgeGraph:
        """The facts as a graph in memory, with the helper facts of rules with constants."""
        graph = self.graph()
        if self.encoding is None:
            return graph
        self.encoding.refuse_kept_names(graph.relations, graph.entities, place=Place(self.path))
        if not self.encoding.needs_entities:
            return graph | self.encoding.helpers
        names = graph.entities.to_arrow().cast(pa.large_string())
        same = pa.array(np.zeros(len(names), np.int32))
        columns = names, *(pa.array([name], pa.large_string()).take(same) for name in (ANYTHING, HUB))
        everyone = KnowledgeGraph.from_arrow(pa.table(dict(zip(COLUMNS, columns, strict=True))))
        return graph | self.encoding.helpers | everyone

    def load(self, connection: Any, report: Callable[[int], None]) -> list[str]:
        """Make the tables entity and fact in DuckDB; returns the relations by id."""
        source = self._source()
        with refusing_damage(Place(self.path)):
            wrong = connection.execute(
                f"SELECT count(*) FILTER (WHERE coalesce(head, '') = '' OR coalesce(tail, '') = '' "
                f"OR coalesce(relation, '') = ''), count(*) FROM {source}"
            ).fetchall()
        self.refuse(*wrong[0])
        report(1)
        found = connection.execute(f"SELECT DISTINCT relation FROM {source} ORDER BY relation").fetchall()
        relations = [name for (name,) in found]
        refuse_inverse_names(relations, place=Place(self.path))
        names = f"SELECT head AS name FROM {source} UNION SELECT tail FROM {source}"
        connection.execute(
            "CREATE OR REPLACE TABLE entity AS "
            f"SELECT CAST(row_number() OVER () - 1 AS INTEGER) AS id, name FROM ({names})"
        ).fetchall()
        if self.encoding is not None:
            kept = f"SELECT name FROM entity WHERE starts_with(name, {quoted_text(KEPT)})"
            entities = {name for (name,) in connection.execute(kept).fetchall()}
            self.encoding.refuse_kept_names(relations, entities, place=Place(self.path))
        report(1)
        # An enumeration, not a join: DuckDB 2.0 fails now and then where a small table is joined below another join.
        kinds = ", ".join(map(quoted_text, relations))
        connection.execute(
            "CREATE OR REPLACE TABLE fact AS SELECT DISTINCT "
            f"CAST(enum_code(CAST(f.relation AS ENUM({kinds}))) AS INTEGER) AS relation, h.id AS head, t.id AS tail "
            f"FROM {source} f JOIN entity h ON h.name = f.head JOIN entity t ON t.name = f.tail"
        ).fetchall()
        if self.encoding is not None:
            relations = _add_helpers(connection, self.encoding, relations)
        report(1)
        return relations

    def _source(self) -> str:
        """What SQL reads the facts from. DuckDB must not look for columns in the path: a folder above these files may
        be called `head=5`. The relation is said by the last folder, and by nothing else.
        """
        listed = ", ".join(map(quoted_text, self.files))
        if not self.in_folders:
            return f"read_parquet([{listed}], hive_partitioning = false)"
        last = r"url_decode(regexp_extract(filename, '[/\\]relation=([^/\\]*)[/\\][^/\\]*$', 1))"
        read = f"read_parquet([{listed}], hive_partitioning = false, filename = true)"
        return f"(SELECT head, tail, {last} AS relation FROM {read})"

    def refuse(self, empty: int, rows: int) -> None:
        """Refuse facts of which some names are missing, or of which there are none."""
        if not rows:
            raise InputError(
                "found no triples, expected at least one row",
                place=Place(self.path),
                hint="check that the program that wrote it finished",
            )
        if empty:
            raise InputError(
                f"found {counted(empty, 'row')} with an empty or missing name, expected a name in each column",
                place=Place(self.path),
                hint="fill in the names, or leave these rows out",
            )


def _is_partition(file: Path, root: Path) -> bool:
    """Does the file lie in a folder of a relation, below the folder that was named?"""
    return root in file.parent.parents and file.parent.name.startswith("relation=")


def _add_helpers(connection: Any, encoding: Encoding, relations: list[str]) -> list[str]:
    """Add helper facts to the tables entity and fact of DuckDB; returns the relations by id, theirs at the end."""
    helpers = encoding.helper_table()
    used = {*helpers["relation"].unique().to_pylist(), *((ANYTHING,) if encoding.needs_entities else ())}
    everything = [*relations, *sorted(used)]
    ids = pa.array(range(len(everything)), pa.int32())
    tables = {"helper": helpers, "helper_relation": pa.table({"id": ids, "name": everything})}
    for name, table in tables.items():
        connection.register(name, table)
    given = connection.execute("SELECT count(*) FROM entity").fetchall()[0][0]
    names = f"SELECT head AS name FROM helper UNION SELECT tail FROM helper UNION SELECT {quoted_text(HUB)}"
    number = f"CAST({given} + row_number() OVER () - 1 AS INTEGER)"
    hub = f"SELECT id FROM entity WHERE name = {quoted_text(HUB)}"
    statements = [
        f"INSERT INTO entity SELECT {number}, name FROM ({names} EXCEPT SELECT name FROM entity)",
        "INSERT INTO fact SELECT r.id, h.id, t.id FROM helper f JOIN helper_relation r ON r.name = f.relation "
        "JOIN entity h ON h.name = f.head JOIN entity t ON t.name = f.tail",
    ]
    if encoding.needs_entities:  # rules may name some of the entities of the facts, too
        everyone = f"SELECT {everything.index(ANYTHING)}, id, ({hub}) FROM entity WHERE id < {given}"
        statements.append(f"INSERT INTO fact {everyone} EXCEPT SELECT * FROM fact")
    for statement in statements:
        connection.execute(statement).fetchall()
    for name in tables:
        connection.unregister(name)
    return everything


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))
