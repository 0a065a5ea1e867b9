"""Shared by both Spark plans: answers in a data set that workers have written."""

from __future__ import annotations

import shutil
from abc import abstractmethod
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from reshuffle.kg import KnowledgeGraph, Triple
from reshuffle.kg.io.files import made_directory
from reshuffle.kg.io.tables import SCHEMA, name_batches, rows_of
from reshuffle.kg.vocabulary import base_relation, is_inverse
from reshuffle.reasoning.proofs import atom_triple
from reshuffle.reasoning.scaling.data_sets import (
    RelationFolders,
    check_folders,
    emptied,
    folder_of,
    is_data_set,
    relation_of,
    written_folder,
)
from reshuffle.reasoning.scaling.deduction import on_relations
from reshuffle.reasoning.scaling.duckdb_database import database
from reshuffle.reasoning.scaling.duckdb_engine import DuckDBAnswers
from reshuffle.reasoning.scaling.engine_interface import EngineAnswers
from reshuffle.rules.rule import SAME

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from reshuffle.reasoning.scaling.engine_interface import Deduction
    from reshuffle.reasoning.scaling.parquet_facts import ParquetFacts
    from reshuffle.rules.rule import Constraint


class SparkAnswers(EngineAnswers):
    """Answers that Spark derives into a folder, all at once."""

    def __init__(
        self,
        deduction: Deduction,
        facts: KnowledgeGraph | ParquetFacts,
        used: Sequence[str],
        folder: Path,
    ) -> None:
        """`used` are the relations of the facts, `folder` lies where all workers see it."""
        self._deduction, self._facts, self._folder = deduction, facts, folder
        self.deducing = on_relations(deduction, used)
        self.relations = self.deducing.names
        self._data_set: Path | None = None
        self._fact_set: Path | None = None

    @abstractmethod
    def derive_into(self, folder: Path) -> int:
        """Write what follows and is no fact to the folders of its relations; returns how many triples these are.

        What a run that was cut off has left in the folder may be used, or is removed.
        """

    def _derived(self) -> Path:
        if self._data_set is None:
            self._data_set = made_directory(self._folder / "derived")
            self.derive_into(self._data_set)
        return self._data_set

    def write(self, path: str | os.PathLike[str], *, with_facts: bool = False) -> int:
        """Write the triples, whole or not at all; workers write a data set themselves."""
        if not is_data_set(path):
            return super().write(path, with_facts=with_facts)
        check_folders(self.relations, str(path))
        with written_folder(path, aside=self._folder / "written") as aside:
            derived = self.derive_into(aside)
            if with_facts:
                for file in self._fact_files():
                    (aside / file.parent.name).mkdir(exist_ok=True)
                    shutil.copyfile(file, aside / file.parent.name / f"facts-{file.name}")
        return derived

    @property
    def num_facts(self) -> int:
        """The number of facts."""
        return sum(int(pq.read_metadata(file).num_rows) for file in self._fact_files())

    def _fact_files(self) -> list[Path]:
        """The facts as files of a data set; helper facts of class axioms are none."""
        if self._fact_set is None:
            self._fact_set = emptied(self._folder / "facts")
            self.facts_into(self._fact_set)
        return sorted(self._fact_set.rglob("*.parquet"))

    def facts_into(self, folder: Path) -> None:
        """Write the facts to the folders of their relations; those of a graph lie in the memory of this process."""
        assert isinstance(self._facts, KnowledgeGraph)
        hidden = [number for number, name in enumerate(self._facts.relations) if name in self.deducing.hidden]
        shown = np.flatnonzero(~np.isin(self._facts.relation_ids, hidden))
        with RelationFolders(folder) as folders:
            for batch in name_batches(self._facts, shown):
                folders.write(batch)

    def batches(self, *, in_order: bool = False, with_facts: bool = False) -> Iterator[pa.RecordBatch]:
        """The triples as blocks of names; they are sorted in the memory of this process."""
        files = [*self._files(), *(self._fact_files() if with_facts else ())]
        blocks = (block for file in files for block in _blocks(file, relation_of(file.parent.name)))
        if not in_order:
            yield from blocks
            return
        table = pa.Table.from_batches(blocks, schema=SCHEMA)
        yield from table.sort_by([(name, "ascending") for name in SCHEMA.names]).to_batches()

    def _files(self, relation: str | None = None) -> list[Path]:
        root = self._derived() if relation is None else self._derived() / folder_of(relation)
        return sorted(root.rglob("*.parquet"))

    # --- single triples -----------------------------------------------------------------------------

    def behind(self, head: str, relation: str, tail: str) -> list[tuple[str, str, str]] | None:
        """Facts from which the triple follows; DuckDB looks for them, since one triple is no work for a cluster."""
        work = emptied(self._folder / "one-triple")
        with database(work, None) as connection:
            answers = DuckDBAnswers(connection, self._deduction, work)
            answers.load(self._facts, None)
            return answers.behind(head, relation, tail)

    def forbidden_pairs(self, most: int) -> Iterator[tuple[Constraint, Triple, Triple]]:
        """Up to `most` pairs of triples for each disjointness that they break; those of its relations are held."""
        for constraint in self.deducing.disjointness:
            first, second = base_relation(constraint.first), base_relation(constraint.second)
            turned = is_inverse(constraint.first) != is_inverse(constraint.second)
            if second == SAME:
                loops = sorted(head for head, tail in self._pairs(first) if head == tail)
                for entity in loops[:most]:
                    yield constraint, Triple(entity, first, entity), Triple(entity, SAME, entity)
                continue
            held = self._pairs(second)
            pairs = (
                (head, tail, (tail, head) if turned else (head, tail)) for head, tail in self._pairs(first)
            )
            for head, tail, other in islice((pair for pair in pairs if pair[2] in held), most):
                yield constraint, Triple(head, first, tail), Triple(other[0], second, other[1])
        for apart in self.deducing.disjoint_ends:
            leading = [self._leading_to(*side) for side in apart.sides]
            for entity in sorted(leading[0] & leading[1])[:most]:
                one, two = (atom_triple(relation, entity, end) for relation, end in apart.sides)
                yield apart, one, two

    def _leading_to(self, relation: str, end: str) -> set[str]:
        """The entities that lead to one by a relation, or by an inverse one."""
        pairs = self._pairs(base_relation(relation))
        if is_inverse(relation):
            return {tail for head, tail in pairs if head == end}
        return {head for head, tail in pairs if tail == end}

    def _pairs(self, relation: str) -> set[tuple[str, str]]:
        """All pairs of a relation that hold."""
        graph = self._facts if isinstance(self._facts, KnowledgeGraph) else self._facts.graph()
        found = {(head, tail) for head, name, tail in graph if name == relation}
        for file in self._files(relation):
            found.update(
                (head, tail) for block in _blocks(file, relation) for head, _, tail in rows_of(block)
            )
        return found


def _blocks(file: Path, relation: str) -> Iterator[pa.RecordBatch]:
    for batch in pq.ParquetFile(file).iter_batches():
        names = pa.array([relation], pa.large_string()).take(pa.array([0] * len(batch), pa.int8()))
        head, tail = (batch.column(name).cast(pa.large_string()) for name in ("head", "tail"))
        yield pa.record_batch([head, names, tail], schema=SCHEMA)
