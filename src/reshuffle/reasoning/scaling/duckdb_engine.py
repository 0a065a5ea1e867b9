"""DuckDB as the engine: embedded, out of core, in the memory that it is allowed.

Facts become tables of ids, names are encoded once and inside DuckDB. Automata run as one recursive query per bucket of
sources (`machine_tables`), rules as one statement per round (`rule_tables`). What follows lies in the table `derived`.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from reshuffle.errors import BudgetError, MissingPackageError, UnknownNameError
from reshuffle.kg import KnowledgeGraph, Triple, inverse_name
from reshuffle.kg.io.tables import SCHEMA
from reshuffle.kg.vocabulary import base_relation, is_inverse
from reshuffle.reasoning.scaling.deduction import on_relations
from reshuffle.reasoning.scaling.engine_interface import EngineAnswers
from reshuffle.reasoning.scaling.fact_search import derivation_facts, path_facts
from reshuffle.reasoning.scaling.machine_tables import arrivals_query, steps_query
from reshuffle.reasoning.scaling.parquet_facts import ParquetFacts, quoted_text
from reshuffle.reasoning.sharing import spelled_bytes, usable_cores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from reshuffle.progress import Progress
    from reshuffle.reasoning.scaling.engine_interface import Deduction
    from reshuffle.reasoning.scaling.fact_search import Ids
    from reshuffle.reasoning.scaling.machine_tables import MachineTables
    from reshuffle.rules.rule import Disjointness

_BYTES_PER_ROW = 64  # of a pair that a recursive query has reached
_SHARE = 0.4  # of the memory, for what one bucket reaches
_FEWEST, _FIRST = 256, 64  # sources of a bucket; the first one holds one part in so many
_GROWTH = 16  # the most by which a bucket is larger than the one before
_LEAST_MEMORY = 100_000_000  # bytes that DuckDB itself needs
_ROWS = 1 << 17  # of one block of names
_NAMED_AT_ONCE = 8_000_000  # triples whose heads are looked up together


def duckdb() -> Any:
    """The package, which is an extra."""
    try:
        return import_module("duckdb")
    except ImportError as error:
        raise MissingPackageError("duckdb", extra="scale") from error


@contextmanager
def database(folder: Path, memory: int | None) -> Iterator[Any]:
    """A database in a folder of its own, where it also puts what does not fit into the memory."""
    connection = duckdb().connect(str(folder / "tables.duckdb"))
    try:
        run(connection, f"SET memory_limit = '{_limit(memory) // 1000}kB'")
        run(connection, f"SET temp_directory = {quoted_text(folder / 'spilled')}")
        run(connection, "SET preserve_insertion_order = false")
        run(connection, "SET enable_progress_bar = false")
        run(connection, f"SET threads = {usable_cores()}")
        yield connection
    finally:
        connection.close()


def _limit(memory: int | None) -> int:
    """What DuckDB may take: the memory that this process does not hold already, and a little less."""
    psutil = import_module("psutil")
    if memory is None:
        return int(psutil.virtual_memory().available * 0.6)
    return max(_LEAST_MEMORY, int(0.8 * (memory - psutil.Process().memory_info().rss)))


class DuckDBAnswers(EngineAnswers):
    """Facts in a database, and what follows from them."""

    def __init__(self, connection: Any, deduction: Deduction, *, progress: Progress) -> None:
        self._db, self._deduction, self._progress = connection, deduction, progress
        self._memory_limit = _LEAST_MEMORY
        self.rounds = self.buckets = 0
        self._derived: int | None = None

    def load(self, facts: KnowledgeGraph | ParquetFacts, memory: int | None) -> None:
        """Make the tables entity, relation and fact."""
        self._memory_limit = _limit(memory)
        with self._progress("loading", total=3, unit="tables") as report:
            relations = (
                self._take(facts) if isinstance(facts, KnowledgeGraph) else facts.load(self._db, report)
            )
        self.deducing = on_relations(self._deduction, relations)
        self.relations = self.deducing.names
        names = pa.table(
            {"id": pa.array(range(len(self.deducing.names)), pa.int32()), "name": self.deducing.names}
        )
        self._table("relation", names)
        self.num_entities = self._one("SELECT count(*) FROM entity")
        self.facts_of = dict(self._rows("SELECT relation, count(*) FROM fact GROUP BY relation"))

    def _take(self, graph: KnowledgeGraph) -> list[str]:
        ids = pa.array(range(graph.num_entities), pa.int32())
        self._table("entity", pa.table({"id": ids, "name": graph.entities.to_arrow()}))
        columns = {"relation": graph.relation_ids, "head": graph.heads, "tail": graph.tails}
        self._table("fact", pa.table({name: pa.array(column) for name, column in columns.items()}))
        return list(graph.relations)

    # --- all that follows ---------------------------------------------------------------------------

    def derive(self) -> int:
        """Fill the table derived with the triples that follow and are no facts; returns how many there are."""
        if self._derived is None:
            self._derived = self._fill()
        return self._derived

    def _fill(self) -> int:
        if self.deducing.machine is None:
            self._chase()
            visible = f"round > 0 AND relation < {len(self.deducing.names)}"
            self._do(f"CREATE VIEW derived AS SELECT relation, head, tail FROM held WHERE {visible}")
            return self._one("SELECT count(*) FROM derived")
        self._do("CREATE TABLE derived(relation INTEGER, head INTEGER, tail INTEGER)")
        return sum(self._in_buckets(tables, self._derive_bucket) for tables in self.deducing.machine_tables())

    def _derive_bucket(self, tables: MachineTables, low: int, high: int) -> int:
        arrivals = arrivals_query(tables).format(low=low, high=high)
        known = (
            "SELECT 1 FROM fact WHERE fact.relation = found.relation AND fact.head = found.head "
            f"AND fact.tail = found.tail AND fact.head >= {low} AND fact.head < {high}"
        )
        found = f"INSERT INTO derived SELECT * FROM ({arrivals}) found WHERE NOT EXISTS ({known})"
        return self._one(found)

    def counts(self) -> dict[str, tuple[int, int]]:
        """Per relation, how many triples are derived and how many hold; automata store none of them."""
        totals = dict(self.facts_of)
        if self.deducing.machine is None:
            self._chase()
            totals |= self._rows("SELECT relation, count(*) FROM held GROUP BY relation")
        else:
            for tables in self.deducing.machine_tables():
                totals |= dict.fromkeys(tables.relations, 0)
                self._in_buckets(tables, self._counting(totals))
        return {
            name: (totals.get(number, 0) - self.facts_of.get(number, 0), totals.get(number, 0))
            for name, number in self.deducing.relation_ids.items()
        }

    def _counting(self, totals: dict[int, int]) -> Callable[[MachineTables, int, int], int]:
        def count(tables: MachineTables, low: int, high: int) -> int:
            arrivals = arrivals_query(tables).format(low=low, high=high)
            found = self._rows(f"SELECT relation, count(*) FROM ({arrivals}) GROUP BY relation")
            for relation, rows in found:
                totals[relation] += rows
            return sum(rows for _, rows in found)

        return count

    def _in_buckets(self, tables: MachineTables, run: Callable[[MachineTables, int, int], int]) -> int:
        """Run the query on one range of sources after the other; where one is too large, on half of it."""
        for name, rows in (("arc", tables.arcs), ("goal", tables.goals), ("first", tables.first)):
            self._table(name, rows)
        self._do(f"CREATE OR REPLACE TABLE step AS {steps_query(tables, self.num_entities)}")
        low = total = 0
        size, most = max(_FEWEST, self.num_entities // _FIRST), self.num_entities
        with self._progress("deriving", total=self.num_entities, unit="entities") as report:
            while low < self.num_entities:
                high = min(self.num_entities, low + size)
                try:
                    found = run(tables, low, high)
                except duckdb().OutOfMemoryException as error:
                    size = most = (high - low) // 2
                    if not size:
                        raise self._too_small() from error
                    continue
                report(high - low)
                self.buckets += 1
                per_source = max(found, 1) * _BYTES_PER_ROW / (high - low)
                fits = int(_SHARE * self._memory_limit / per_source)
                low, total, size = high, total + found, max(1, min(fits, _GROWTH * size, most))
        return total

    def _too_small(self) -> BudgetError:
        return BudgetError(
            f"the answers of one entity do not fit into {spelled_bytes(self._memory_limit)}",
            hint="allow more with --memory (Python: memory=)",
        )

    def _chase(self) -> None:
        """Apply all rules, round by round, until nothing is new: the table held, with the round of each triple."""
        tables = self.deducing.rule_tables()
        for name, rows in tables.by_name.items():
            self._table(name, rows)
        self._do(
            f"CREATE TABLE held AS SELECT relation, head, tail, 0 AS round FROM ({tables.start_query()})"
        )
        query, added = tables.round_query(), 1
        with self._progress("deriving", unit="rounds") as report:
            while added and query is not None:
                self._do(f"CREATE OR REPLACE TABLE delta AS SELECT * FROM held WHERE round = {self.rounds}")
                added = self._one(
                    f"INSERT INTO held SELECT relation, head, tail, {self.rounds + 1} FROM ({query})"
                )
                self.rounds += 1
                report(1, f"{added:,} new")

    # --- names --------------------------------------------------------------------------------------

    def batches(self, *, in_order: bool = False) -> Iterator[pa.RecordBatch]:
        """The derived triples as blocks of names; in order of head, relation and tail where that is asked for."""
        many = self.derive()
        if in_order:
            yield from self._named("derived", "entity", "ORDER BY head, relation, tail")
            return
        parts = 1 + many // _NAMED_AT_ONCE
        for part in range(parts):
            low, high = (self.num_entities * each // parts for each in (part, part + 1))
            some = f"(SELECT * FROM derived WHERE head >= {low} AND head < {high})"
            yield from self._named(some, f"(SELECT * FROM entity WHERE id >= {low} AND id < {high})")

    def _named(self, triples: str, heads: str, order: str = "") -> Iterator[pa.RecordBatch]:
        query = (
            "SELECT h.name AS head, r.name AS relation, t.name AS tail "
            f"FROM {triples} d JOIN {heads} h ON h.id = d.head "
            f"JOIN entity t ON t.id = d.tail JOIN relation r ON r.id = d.relation {order}"
        )
        for batch in arrow_batches(self._db, query):
            yield batch.cast(SCHEMA)

    # --- single triples -----------------------------------------------------------------------------

    def behind(self, head: str, relation: str, tail: str) -> list[tuple[str, str, str]] | None:
        """Facts from which the triple follows, not more than one derivation needs; None where it does not follow."""
        number = self.deducing.relation_ids.get(relation)
        ends = [self._entity(head), self._entity(tail)]
        if number is None:
            raise UnknownNameError("relation", relation, self.relations)
        known = self._rows(
            f"SELECT head, tail FROM fact WHERE relation = {number} AND head = {ends[0]} AND tail = {ends[1]}"
        )
        if known:
            return [(head, relation, tail)]
        found = self._found(relation, number, *ends)
        return None if found is None else self._spelled(found)

    def _found(self, relation: str, number: int, head: int, tail: int) -> list[Ids] | None:
        machine, ids = self.deducing.machine, self.deducing.relation_ids
        run_here = partial(run, self._db)
        if machine is None:
            self.derive()
            return derivation_facts(run_here, number, head, tail)
        labels = {name: 2 * place for name, place in ids.items()}
        labels |= {inverse_name(name): 2 * place + 1 for name, place in ids.items()}
        clauses = machine.clauses_of.get(relation, ())
        found = [path_facts(run_here, machine.automata[place], labels, head, tail) for place in clauses]
        if not found or None in found:
            return None
        return [fact for facts in found for fact in facts or ()]

    def _entity(self, name: str) -> int:
        found = self._db.execute("SELECT id FROM entity WHERE name = ?", [name]).fetchall()
        if not found:
            raise UnknownNameError("entity", name, ())
        return int(found[0][0])

    def _spelled(self, facts: list[Ids]) -> list[tuple[str, str, str]]:
        ids = {entity for _, head, tail in facts for entity in (head, tail)}
        listed = ", ".join(map(str, ids)) or "NULL"
        names = dict(run(self._db, f"SELECT id, name FROM entity WHERE id IN ({listed})"))
        return [(names[head], self.relations[relation], names[tail]) for relation, head, tail in facts]

    def forbidden_pairs(self, most: int) -> Iterator[tuple[Disjointness, Triple, Triple]]:
        """Up to `most` pairs for each disjointness that they break: the constraint, and its two triples."""
        if not self.deducing.disjointness:
            return
        self.derive()
        everything = "(SELECT relation, head, tail FROM fact UNION ALL SELECT * FROM derived)"
        for constraint in self.deducing.disjointness:
            first, second = base_relation(constraint.first), base_relation(constraint.second)
            turned = is_inverse(constraint.first) != is_inverse(constraint.second)
            ends = ("b.tail", "b.head") if turned else ("b.head", "b.tail")
            numbers = [self.deducing.relation_ids[name] for name in (first, second)]
            pairs = run(
                self._db,
                f"SELECT DISTINCT h.name, t.name FROM {everything} a JOIN {everything} b "
                f"ON a.relation = {numbers[0]} AND b.relation = {numbers[1]} AND a.head = {ends[0]} "
                f"AND a.tail = {ends[1]} JOIN entity h ON h.id = a.head JOIN entity t ON t.id = a.tail LIMIT {most}",
            )
            for head, tail in pairs:
                other = (tail, second, head) if turned else (head, second, tail)
                yield constraint, Triple(head, first, tail), Triple(*other)

    # --- statements ---------------------------------------------------------------------------------

    def _table(self, name: str, rows: pa.Table) -> None:
        self._db.register("given", rows)
        self._do(f"CREATE OR REPLACE TABLE {name} AS SELECT * FROM given")
        self._db.unregister("given")

    def _do(self, statement: str) -> None:
        run(self._db, statement)

    def _rows(self, query: str) -> list[tuple[int, int]]:
        return [(int(first), int(second)) for first, second in run(self._db, query)]

    def _one(self, query: str) -> int:
        return int(run(self._db, query)[0][0])


def run(connection: Any, statement: str) -> list[tuple[Any, ...]]:
    """What a statement gives, fetched to its end: DuckDB runs one at a time on a connection."""
    rows: list[tuple[Any, ...]] = connection.execute(statement).fetchall()
    return rows


def arrow_batches(connection: Any, query: str) -> Iterator[pa.RecordBatch]:
    """What a query gives, as Arrow blocks; versions of DuckDB differ in the name of the method."""
    relation = connection.sql(query)
    if relation is not None:
        read = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader
        yield from read(_ROWS)
