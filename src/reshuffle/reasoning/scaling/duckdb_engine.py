"""The DuckDB engine: embedded, out of core, with a memory limit.

Facts become tables of ids, names are encoded once and inside DuckDB. Automata run as one recursive query per bucket of
sources (`machine_tables`), rules as one statement per round (`rule_tables`). The table `derived` holds the derived
triples.

Each bucket and each round is one transaction. So the database of an interrupted run records its progress, and the next
run continues from there.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from reshuffle.errors import BudgetError, UnknownNameError
from reshuffle.kg import KnowledgeGraph, Triple, inverse_name
from reshuffle.kg.io.files import flush_to_disk
from reshuffle.kg.io.tables import SCHEMA
from reshuffle.kg.vocabulary import base_relation, is_inverse
from reshuffle.progress import SILENT, UNHEARD
from reshuffle.reasoning.proofs import atom_triple
from reshuffle.reasoning.scaling.data_sets import (
    RelationFolders,
    check_folders,
    is_data_set,
    keep_only,
    written_folder,
)
from reshuffle.reasoning.scaling.deduction import on_relations
from reshuffle.reasoning.scaling.duckdb_database import (
    LEAST_MEMORY,
    arrow_batches,
    duckdb,
    interrupts_held_back,
    memory_limit,
    run,
)
from reshuffle.reasoning.scaling.engine_interface import EngineAnswers
from reshuffle.reasoning.scaling.fact_search import derivation_facts, path_facts
from reshuffle.reasoning.scaling.machine_tables import arrivals_query, counts_query, starts_query, steps_query
from reshuffle.reasoning.scaling.parquet_facts import ParquetFacts, quoted_text
from reshuffle.reasoning.sharing import spelled_bytes
from reshuffle.rules.rule import SAME
from reshuffle.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from reshuffle.progress import Notes, Progress
    from reshuffle.reasoning.scaling.engine_interface import Deduction
    from reshuffle.reasoning.scaling.fact_search import Ids
    from reshuffle.reasoning.scaling.machine_tables import MachineTables
    from reshuffle.rules.rule import Constraint, DisjointEnds

_BYTES_PER_ROW = 64  # of a pair that a recursive query has reached
_SHARE = 0.4  # of the memory, for what one bucket reaches
_FEWEST, _FIRST = 256, 64  # sources of a bucket; the first one holds one source in 64
_GROWTH = 16  # the most by which a bucket is larger than the one before
_BYTES_PER_NAMED = 150  # of a triple, while the heads of some triples are looked up together
_LEAST_NAMED = 1_000_000  # triples
_EVERYTHING = "(SELECT relation, head, tail FROM fact UNION ALL SELECT * FROM derived)"


class DuckDBAnswers(EngineAnswers):
    """Facts in a database, and what follows from them."""

    def __init__(
        self,
        connection: Any,
        deduction: Deduction,
        folder: Path,
        *,
        progress: Progress = SILENT,
        notes: Notes = UNHEARD,
    ) -> None:
        """`folder` is that of the database, where a data set is written before it gets its name."""
        self._db, self._deduction, self._folder = connection, deduction, folder
        self._progress, self._notes = progress, notes
        self._memory_limit = LEAST_MEMORY
        self.rounds = self.buckets = 0
        self._derived: int | None = None
        self._chased = False

    def load(self, facts: KnowledgeGraph | ParquetFacts, memory: int | None) -> None:
        """Make the tables entity, fact and relation, unless they are there."""
        self._memory_limit = memory_limit(memory)
        used = self._loaded() if self._has("relation") else self._load(facts)
        self.deducing = on_relations(self._deduction, used)
        self.relations = names = self.deducing.names
        if not self._has("relation"):  # the last one: it says that the others are whole
            of_facts = [number < len(used) for number in range(len(names))]
            ids = pa.array(range(len(names)), pa.int32())
            self._table("relation", pa.table({"id": ids, "name": names, "used": of_facts}))
        self.num_entities = self._one("SELECT count(*) FROM entity")
        self.facts_of = dict(self._rows("SELECT relation, count(*) FROM fact GROUP BY relation"))

    def _load(self, facts: KnowledgeGraph | ParquetFacts) -> list[str]:
        with self._progress("loading", total=3, unit="tables") as report:
            return self._take(facts) if isinstance(facts, KnowledgeGraph) else facts.load(self._db, report)

    def _loaded(self) -> list[str]:
        """The relations of the facts, by id, of a run that was cut off."""
        return [name for (name,) in run(self._db, "SELECT name FROM relation WHERE used ORDER BY id")]

    def _take(self, graph: KnowledgeGraph) -> list[str]:
        ids = pa.array(range(graph.num_entities), pa.int32())
        self._table("entity", pa.table({"id": ids, "name": graph.entities.to_arrow()}))
        columns = {"relation": graph.relation_ids, "head": graph.heads, "tail": graph.tails}
        self._table("fact", pa.table({name: pa.array(column) for name, column in columns.items()}))
        return list(graph.relations)

    # --- all that follows ---------------------------------------------------------------------------

    def derive(self) -> int:
        """Fill the table derived with the triples that follow and are no facts; returns how many are listed."""
        if self._derived is None:
            self._derived = self._fill() - self._unlisted()
        return self._derived

    @property
    def _loops(self) -> str | None:
        """The condition on triples that say that a name is the same as itself, where these are not listed."""
        same = self.deducing.equality
        return None if same is None else f"relation = {self.deducing.relation_ids[same]} AND head = tail"

    def _unlisted(self) -> int:
        """How many triples of the table derived are not listed."""
        return 0 if self._loops is None else self._one(f"SELECT count(*) FROM derived WHERE {self._loops}")

    def _fill(self) -> int:
        if self.deducing.machine is None:
            self._chase()
            visible = f"round > 0 AND relation < {len(self.deducing.names)}"
            self._do(
                f"CREATE OR REPLACE VIEW derived AS SELECT relation, head, tail FROM held WHERE {visible}"
            )
            return self._one("SELECT count(*) FROM derived")
        self._do("CREATE TABLE IF NOT EXISTS derived(relation INTEGER, head INTEGER, tail INTEGER)")
        self._do("CREATE TABLE IF NOT EXISTS bucket(part INTEGER, high INTEGER, found BIGINT)")
        for part, tables in enumerate(self.deducing.machine_tables()):
            low = self._one(f"SELECT coalesce(max(high), 0) FROM bucket WHERE part = {part}")
            if low:
                self._notes(f"going on after {low:,} of {self.num_entities:,} entities")
            self._in_buckets(tables, partial(self._derive_bucket, part), low)
        return self._one("SELECT coalesce(sum(found), 0) FROM bucket")

    def _derive_bucket(self, part: int, tables: MachineTables, low: int, high: int) -> int:
        """What follows with some sources, and a row that says so: both are stored, or none is."""
        arrivals = arrivals_query(tables).format(low=low, high=high)
        known = (
            "SELECT 1 FROM fact WHERE fact.relation = found.relation AND fact.head = found.head "
            f"AND fact.tail = found.tail AND fact.head >= {low} AND fact.head < {high}"
        )
        found = f"INSERT INTO derived SELECT * FROM ({arrivals}) found WHERE NOT EXISTS ({known})"
        self._do("BEGIN TRANSACTION")
        try:
            added = self._one(found)
            self._do(f"INSERT INTO bucket VALUES ({part}, {high}, {added})")
        except BaseException:
            self._do("ROLLBACK")
            raise
        self._do("COMMIT")
        return added

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
        if (same := self.deducing.equality) is not None:
            number = self.deducing.relation_ids[same]
            if totals.get(number, 0) > self.facts_of.get(number, 0):
                self.derive()
                totals[number] -= self._unlisted()
        return {
            name: (totals.get(number, 0) - self.facts_of.get(number, 0), totals.get(number, 0))
            for name, number in self.deducing.relation_ids.items()
        }

    def _counting(self, totals: dict[int, int]) -> Callable[[MachineTables, int, int], int]:
        def count(tables: MachineTables, low: int, high: int) -> int:
            found = self._rows(counts_query(tables).format(low=low, high=high))
            for relation, rows in found:
                totals[relation] += rows
            return sum(rows for _, rows in found)

        return count

    def _in_buckets(
        self, tables: MachineTables, run: Callable[[MachineTables, int, int], int], low: int = 0
    ) -> None:
        """Run the query on one range of sources after the other; where one is too large, on half of it."""
        if low >= self.num_entities:
            return
        given = {
            "first_arc": tables.first_arcs,
            "arc": tables.arcs,
            "goal": tables.goals,
            "first": tables.first,
        }
        for name, rows in given.items():
            self._table(name, rows)
        for name, query in (("start", starts_query), ("step", steps_query)):
            self._do(f"CREATE OR REPLACE TABLE {name} AS {query(tables, self.num_entities)}")
        size, most = max(_FEWEST, self.num_entities // _FIRST), self.num_entities
        with self._progress("deriving", total=self.num_entities, unit="entities") as report:
            report(low)
            while low < self.num_entities:
                high = min(self.num_entities, low + size)
                try:
                    with interrupts_held_back(self._notes):
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
                low, size = high, max(1, min(fits, _GROWTH * size, most))

    def _too_small(self) -> BudgetError:
        return BudgetError(
            f"the answers of one entity do not fit into {spelled_bytes(self._memory_limit)}",
            hint="increase --memory (Python: memory=)",
        )

    def _chase(self) -> None:
        """Apply all rules, round by round, until nothing is new: the table held, with the round of each triple."""
        if self._chased:
            return
        tables = self.deducing.rule_tables()
        for name, rows in tables.by_name.items():
            self._table(name, rows)
        start = f"SELECT relation, head, tail, 0 AS round FROM ({tables.start_query()})"
        self._do(f"CREATE TABLE IF NOT EXISTS held AS {start}")
        self.rounds = self._one("SELECT coalesce(max(round), 0) FROM held")
        if self.rounds:
            self._notes(f"going on after round {self.rounds}")
        query, added = tables.round_query(), 1
        with self._progress("deriving", unit="rounds") as report:
            while added and query is not None:
                self._do(f"CREATE OR REPLACE TABLE delta AS SELECT * FROM held WHERE round = {self.rounds}")
                added = self._one(
                    f"INSERT INTO held SELECT relation, head, tail, {self.rounds + 1} FROM ({query})"
                )
                self.rounds += 1
                report(1, f"{added:,} new")
        self._chased = True

    # --- names --------------------------------------------------------------------------------------

    def write(self, path: str | os.PathLike[str], *, with_facts: bool = False) -> int:
        """Write the triples, whole or not at all; the parts of a data set that a run has written stay."""
        if not is_data_set(path):
            return super().write(path, with_facts=with_facts)
        check_folders(self.relations, os.fspath(path))
        many, aside = self.derive(), self._folder / ("written_with_facts" if with_facts else "written")
        self._do("CREATE TABLE IF NOT EXISTS written_parts(folder TEXT, part INTEGER, parts INTEGER)")
        if not aside.exists():
            self._do("DELETE FROM written_parts")
        with written_folder(path, aside=aside):
            self._write_parts(aside, with_facts=with_facts)
            # Before the folder gets its name: rows tell of what lies in it.
            self._do("DELETE FROM written_parts")
        return many

    def _write_parts(self, aside: Path, *, with_facts: bool) -> None:
        """Write the parts of the triples that are not there yet, each to files of its own."""
        folder = quoted_text(aside.name)
        rows = run(self._db, f"SELECT part, parts FROM written_parts WHERE folder = {folder}")
        done = {f"part-{part}" for part, _ in rows}
        # A run with another memory goes on with the parts that were begun.
        parts = rows[0][1] if rows else self._num_parts(with_facts)
        keep_only(aside, {file for file in aside.rglob("*.parquet") if file.name.rpartition("-")[0] in done})
        if done:
            self._notes(f"going on after {counted(len(done), 'part')} of the output")
        for part, batches in enumerate(self._parts(parts, with_facts=with_facts)):
            if f"part-{part}" not in done:
                with RelationFolders(aside, name=f"part-{part}") as folders:
                    for batch in batches:
                        folders.write(batch)
                for file in {*folders.files, *(file.parent for file in folders.files)}:
                    flush_to_disk(file)
                self._do(f"INSERT INTO written_parts VALUES ({folder}, {part}, {parts})")

    def batches(self, *, in_order: bool = False, with_facts: bool = False) -> Iterator[pa.RecordBatch]:
        """The triples as blocks of names; in order of head, relation and tail where that is asked for."""
        if in_order:
            self.derive()
            yield from self._named(self._wanted(with_facts), "entity", "ORDER BY head, relation, tail")
            return
        for batches in self._parts(self._num_parts(with_facts), with_facts=with_facts):
            yield from batches

    def _num_parts(self, with_facts: bool) -> int:
        many = self.derive() + with_facts * self.num_facts
        return 1 + many // max(_LEAST_NAMED, self._memory_limit // _BYTES_PER_NAMED)

    def _parts(self, parts: int, *, with_facts: bool) -> Iterator[Iterator[pa.RecordBatch]]:
        """The triples by ranges of their heads, so that not all names are looked up together."""
        wanted = self._wanted(with_facts)
        for part in range(parts):
            low, high = (self.num_entities * each // parts for each in (part, part + 1))
            some = f"(SELECT * FROM {wanted} WHERE head >= {low} AND head < {high})"
            yield self._named(some, f"(SELECT * FROM entity WHERE id >= {low} AND id < {high})")

    def _wanted(self, with_facts: bool) -> str:
        """The table of the triples that are asked for."""
        listed = "derived" if self._loops is None else f"(SELECT * FROM derived WHERE NOT ({self._loops}))"
        if not with_facts:
            return listed
        hidden = ", ".join(str(self.deducing.relation_ids[name]) for name in self.deducing.hidden)
        shown = f"WHERE relation NOT IN ({hidden})" if hidden else ""
        return f"(SELECT * FROM {listed} UNION ALL SELECT relation, head, tail FROM fact {shown})"

    @property
    def num_facts(self) -> int:
        """The number of facts."""
        hidden = {self.deducing.relation_ids[name] for name in self.deducing.hidden}
        return sum(count for relation, count in self.facts_of.items() if relation not in hidden)

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

    def forbidden_pairs(self, most: int) -> Iterator[tuple[Constraint, Triple, Triple]]:
        """Up to `most` pairs of triples for each disjointness, of pairs or ends, that they break."""
        if self.deducing.disjointness or self.deducing.disjoint_ends:
            self.derive()
        for constraint in self.deducing.disjointness:
            first, second = base_relation(constraint.first), base_relation(constraint.second)
            turned = is_inverse(constraint.first) != is_inverse(constraint.second)
            ends = ("b.tail", "b.head") if turned else ("b.head", "b.tail")
            if second == SAME:
                for entity in self._in_loops(first, most):
                    yield constraint, Triple(entity, first, entity), Triple(entity, SAME, entity)
                continue
            numbers = [self.deducing.relation_ids[name] for name in (first, second)]
            pairs = run(
                self._db,
                f"SELECT DISTINCT h.name, t.name FROM {_EVERYTHING} a JOIN {_EVERYTHING} b "
                f"ON a.relation = {numbers[0]} AND b.relation = {numbers[1]} AND a.head = {ends[0]} "
                f"AND a.tail = {ends[1]} JOIN entity h ON h.id = a.head JOIN entity t ON t.id = a.tail LIMIT {most}",
            )
            for head, tail in pairs:
                other = (tail, second, head) if turned else (head, second, tail)
                yield constraint, Triple(head, first, tail), Triple(*other)
        for apart in self.deducing.disjoint_ends:
            for entity in self._of_both(apart, most):
                one, two = (atom_triple(relation, entity, end) for relation, end in apart.sides)
                yield apart, one, two

    def _in_loops(self, relation: str, most: int) -> list[str]:
        """Entities that a relation leads from to themselves, in order."""
        number = self.deducing.relation_ids[relation]
        found = f"SELECT head FROM {_EVERYTHING} a WHERE relation = {number} AND head = tail"
        named = f"SELECT name FROM entity WHERE id IN ({found}) ORDER BY name LIMIT {most}"
        return [name for (name,) in run(self._db, named)]

    def _of_both(self, ends: DisjointEnds, most: int) -> list[str]:
        """Entities that lead to both ends, in order."""
        found = " INTERSECT ".join(f"({self._leading_to(*side)})" for side in ends.sides)
        named = f"SELECT name FROM entity WHERE id IN ({found}) ORDER BY name LIMIT {most}"
        return [name for (name,) in run(self._db, named)]

    def _leading_to(self, relation: str, end: str) -> str:
        here, there = ("tail", "head") if is_inverse(relation) else ("head", "tail")
        number = self.deducing.relation_ids[base_relation(relation)]
        return (
            f"SELECT x.{here} FROM {_EVERYTHING} x JOIN entity c ON c.id = x.{there} "
            f"WHERE x.relation = {number} AND c.name = {quoted_text(end)}"
        )

    # --- statements ---------------------------------------------------------------------------------

    def _table(self, name: str, rows: pa.Table) -> None:
        self._db.register("given", rows)
        self._do(f"CREATE OR REPLACE TABLE {name} AS SELECT * FROM given")
        self._db.unregister("given")

    def _has(self, table: str) -> bool:
        return self._one(f"SELECT count(*) FROM duckdb_tables() WHERE table_name = '{table}'") > 0

    def _do(self, statement: str) -> None:
        run(self._db, statement)

    def _rows(self, query: str) -> list[tuple[int, int]]:
        return [(int(first), int(second)) for first, second in run(self._db, query)]

    def _one(self, query: str) -> int:
        return int(run(self._db, query)[0][0])
