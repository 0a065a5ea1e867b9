"""Spark with tables: rules, or automata read as rules, applied by one statement of joins per round.

The facts need not fit any machine. What a round adds is written to Parquet and read again: this cuts the plan that
Spark would otherwise repeat from the first round on, survives workers that die, and tells how many triples are new.
Spark splits partitions that a few entities make too large (adaptive execution). An interrupted run leaves the
tables it has written; the next run continues from those that Spark has marked as complete.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from reshuffle.errors import Place
from reshuffle.kg import KnowledgeGraph
from reshuffle.reasoning.scaling.data_sets import emptied, folder_of
from reshuffle.reasoning.scaling.parquet_facts import quoted_text
from reshuffle.reasoning.scaling.spark.written_answers import SparkAnswers
from reshuffle.rules.encoding import ANYTHING, HUB, KEPT
from reshuffle.spark.spark_session import without_pandas_warning

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from reshuffle.progress import Notes, Progress
    from reshuffle.reasoning.scaling.engine_interface import Deduction, Options
    from reshuffle.reasoning.scaling.parquet_facts import ParquetFacts
    from reshuffle.rules.encoding import Encoding

_PER_CORE = 2  # partitions of a shuffle; adaptive execution joins small ones
_DECODED = (
    "coalesce(try_url_decode(replace({0}, '+', '%2B')), {0})"  # by itself it makes blanks of plus signs
)


class TableAnswers(SparkAnswers):
    """Answers from rounds of joins."""

    def __init__(
        self,
        deduction: Deduction,
        facts: KnowledgeGraph | ParquetFacts,
        session: Any,
        options: Options,
        folder: Path,
        *,
        progress: Progress,
        notes: Notes,
    ) -> None:
        self._spark, self._progress, self._notes = session.newSession(), progress, notes  # with its own views
        parallel = session.sparkContext.defaultParallelism
        self._spark.conf.set("spark.sql.shuffle.partitions", str(options.partitions or _PER_CORE * parallel))
        self._folder = folder
        used = self._take(facts) if isinstance(facts, KnowledgeGraph) else self._encode(facts)
        super().__init__(deduction, facts, used, folder)
        self.rounds: int | None = None

    # --- facts as tables of ids ---------------------------------------------------------------------

    def _take(self, graph: KnowledgeGraph) -> list[str]:
        ids = pa.array(range(graph.num_entities), pa.int64())
        self._store("entity", pa.table({"id": ids, "name": graph.entities.to_arrow().cast(pa.string())}))
        columns = {"relation": graph.relation_ids, "head": graph.heads, "tail": graph.tails}
        self._store(
            "fact", pa.table({name: pa.array(column).cast(_TYPES[name]) for name, column in columns.items()})
        )
        return list(graph.relations)

    def _encode(self, facts: ParquetFacts) -> list[str]:
        """Number the names inside Spark. The numbers are written at once: computed again, they would be others."""
        self._read(facts).createOrReplaceTempView("given")
        empty = self._spark.sql(
            "SELECT count(*) AS n FROM given WHERE coalesce(head, '') = '' OR coalesce(tail, '') = '' "
            "OR coalesce(relation, '') = ''"
        ).first()["n"]
        facts.refuse(empty, facts.num_rows)
        if facts.encoding is not None:
            self._add_helpers(facts.encoding, facts.path)
        names = "SELECT head AS name FROM given UNION SELECT tail FROM given"
        self._put("entity", f"SELECT monotonically_increasing_id() AS id, name FROM ({names})")
        used = sorted(row[0] for row in self._spark.sql("SELECT DISTINCT relation FROM given").collect())
        ids = pa.table({"id": pa.array(range(len(used)), pa.int32()), "name": used})
        self._store("used", ids)
        self._put(
            "fact",
            "SELECT DISTINCT used.id AS relation, h.id AS head, t.id AS tail FROM given "
            "JOIN entity h ON h.name = given.head JOIN entity t ON t.name = given.tail "
            "JOIN used ON used.name = given.relation",
        )
        return used

    def _read(self, facts: ParquetFacts) -> Any:
        """The columns of the facts. Spark must not look for columns in the path: a folder above may be `head=5`.

        The relation is said by the last folder, and by nothing else.
        """
        read = self._spark.read.option("recursiveFileLookup", "true").parquet(*map(str, facts.files))
        folder = "regexp_extract(_metadata.file_path, '/relation=([^/]*)/[^/]*$', 1)"
        # Once as part of an address, once as the name of a folder.
        last = f"{_DECODED.format(_DECODED.format(folder))} AS relation"
        return read.selectExpr("head", "tail", last if facts.in_folders else "relation")

    def _add_helpers(self, encoding: Encoding, path: str) -> None:
        """Let the view of the given facts have the helper facts of rules with constants, too."""
        relations = [row[0] for row in self._spark.sql("SELECT DISTINCT relation FROM given").collect()]
        encoding.refuse_kept_names(relations, self._kept(), place=Place(path))
        self._store("helper", encoding.helper_table())
        queries = ["SELECT head, relation, tail FROM given", "SELECT head, relation, tail FROM helper"]
        if encoding.needs_entities:
            everyone = "SELECT head AS name FROM given UNION SELECT tail FROM given"
            queries.append(f"SELECT name, {quoted_text(ANYTHING)}, {quoted_text(HUB)} FROM ({everyone})")
        self._spark.sql(" UNION ALL ".join(queries)).createOrReplaceTempView("given")

    def _kept(self) -> set[str]:
        """The names of facts that are those of made-up entities."""
        starts = quoted_text(f"{KEPT}%")
        names = "SELECT head AS name FROM given UNION SELECT tail FROM given"
        return {
            row[0]
            for row in self._spark.sql(f"SELECT name FROM ({names}) WHERE name LIKE {starts}").collect()
        }

    def _store(self, name: str, rows: pa.Table) -> None:
        """A table of ours as a view of Spark's."""
        (self._folder / name).mkdir(exist_ok=True)
        pq.write_table(rows, self._folder / name / "part-0.parquet")
        self._view(name, [name])

    def _put(self, name: str, query: str) -> int:
        """Write what a query gives, unless it is there; make a view of it, and count its rows."""
        if not self._is_whole(name):
            self._spark.sql(query).write.mode("overwrite").parquet(self._url(name))
        self._view(name, [name])
        return sum(int(pq.read_metadata(file).num_rows) for file in (self._folder / name).glob("*.parquet"))

    def _is_whole(self, name: str) -> bool:
        return (self._folder / name / "_SUCCESS").exists()

    def _view(self, view: str, names: Sequence[str]) -> None:
        self._spark.read.parquet(*map(self._url, names)).createOrReplaceTempView(view)

    def _url(self, name: str) -> str:
        return (self._folder / name).as_uri()

    # --- rounds -------------------------------------------------------------------------------------

    def _chase(self) -> None:
        """Apply all rules until nothing is new; round n lies in the folder `round_n`."""
        if self.rounds is not None:
            return
        tables = self.deducing.rule_tables()
        for name, rows in tables.by_name.items():
            self._store(name, rows)
        query, number = tables.round_query(), 0
        added = self._put("round_0", tables.start_query())
        while query is not None and self._is_whole(f"round_{number + 1}"):
            number += 1
            added = self._put(f"round_{number}", query)
        if number:
            self._notes(f"going on after round {number}")
        with self._progress("deriving", unit="rounds") as report:
            if number:
                report(number)
            while added and query is not None:
                self._view("held", [f"round_{done}" for done in range(number + 1)])
                self._view("delta", [f"round_{number}"])
                number += 1
                added = self._put(f"round_{number}", query)
                report(1)
                self._notes(f"spark: round {number}, {added:,} new")
        self.rounds = number
        self._view("held", [f"round_{done}" for done in range(number + 1)])
        if number:
            self._view("later", [f"round_{done}" for done in range(1, number + 1)])
        else:
            self._spark.sql("SELECT * FROM held WHERE false").createOrReplaceTempView("later")

    def derive_into(self, folder: Path) -> int:
        """Run the rounds, and write what they derived to the folders of its relations."""
        self._chase()
        listed = f"some.relation < {len(self.relations)}"
        if (same := self.deducing.equality) is not None:
            listed += f" AND (some.relation <> {self.deducing.relation_ids[same]} OR some.head <> some.tail)"
        self._name_into("later", listed, folder)
        return sum(int(pq.read_metadata(file).num_rows) for file in folder.rglob("*.parquet"))

    def facts_into(self, folder: Path) -> None:
        """Write the facts to the folders of their relations, which workers do."""
        hidden = ", ".join(str(self.deducing.relation_ids[name]) for name in self.deducing.hidden)
        self._name_into("fact", f"some.relation NOT IN ({hidden})" if hidden else "true", folder)

    def _name_into(self, view: str, condition: str, folder: Path) -> None:
        """Give triples of ids their names, and write them to folders, first by number of the relation."""
        named = (
            f"SELECT some.relation AS relation, h.name AS head, t.name AS tail FROM {view} some "
            f"JOIN entity h ON h.id = some.head JOIN entity t ON t.id = some.tail WHERE {condition}"
        )
        with without_pandas_warning():
            self._spark.sql(named).write.partitionBy("relation").mode("append").parquet(
                emptied(folder).as_uri()
            )
        for entry in [*folder.iterdir()]:
            if entry.is_dir():
                entry.rename(folder / folder_of(self.relations[int(entry.name.removeprefix("relation="))]))
            else:
                entry.unlink()
        for left in folder.rglob(".*.crc"):
            left.unlink()

    def counts(self) -> dict[str, tuple[int, int]]:
        """Per relation, how many triples are derived and how many hold."""
        self._chase()
        totals, facts = self._counted("held"), self._counted("fact")
        if (same := self.deducing.equality) is not None:
            number = self.deducing.relation_ids[same]
            totals[number] = totals.get(number, 0) - self._counted("later", "head = tail").get(number, 0)
        return {
            name: (totals.get(number, 0) - facts.get(number, 0), totals.get(number, 0))
            for name, number in self.deducing.relation_ids.items()
        }

    def _counted(self, view: str, condition: str = "true") -> dict[int, int]:
        query = f"SELECT relation, count(*) FROM {view} WHERE {condition} GROUP BY relation"
        rows = self._spark.sql(query).collect()
        return {int(relation): int(count) for relation, count in rows}


_TYPES = {"relation": pa.int32(), "head": pa.int64(), "tail": pa.int64()}
