"""What both plans on Spark share: answers that lie in a data set, which workers have written."""

from __future__ import annotations

from abc import abstractmethod
from itertools import islice
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from reshuffle.kg import KnowledgeGraph, Triple
from reshuffle.kg.io.tables import SCHEMA
from reshuffle.kg.vocabulary import base_relation, is_inverse
from reshuffle.progress import SILENT
from reshuffle.reasoning.scaling.data_sets import (
    check_folders,
    folder_of,
    is_data_set,
    relation_of,
    written_folder,
)
from reshuffle.reasoning.scaling.deduction import on_relations
from reshuffle.reasoning.scaling.duckdb_engine import DuckDBAnswers, database
from reshuffle.reasoning.scaling.engine_interface import EngineAnswers, rows_of, write_blocks

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from reshuffle.reasoning.scaling.engine_interface import Deduction
    from reshuffle.reasoning.scaling.parquet_facts import ParquetFacts
    from reshuffle.rules.rule import Disjointness


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

    @abstractmethod
    def derive_into(self, folder: Path) -> int:
        """Write what follows and is no fact to the folders of its relations; returns how many triples these are."""

    def _derived(self) -> Path:
        if self._data_set is None:
            self._data_set = self._folder / "derived"
            self._data_set.mkdir()
            self.derive_into(self._data_set)
        return self._data_set

    def write(self, path: str | os.PathLike[str]) -> int:
        """Write the derived triples, whole or not at all; workers write a data set themselves."""
        if not is_data_set(path):
            return write_blocks(path, lambda in_order: self.batches(in_order=in_order), self.relations)
        check_folders(self.relations, str(path))
        with written_folder(path) as aside:
            return self.derive_into(aside)

    def batches(self, *, in_order: bool = False) -> Iterator[pa.RecordBatch]:
        """The derived triples as blocks of names; they are sorted in the memory of this process."""
        blocks = (block for file in self._files() for block in _blocks(file, relation_of(file.parent.name)))
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
        work = self._folder / "one-triple"
        work.mkdir(exist_ok=True)
        with database(work, None) as connection:
            answers = DuckDBAnswers(connection, self._deduction, progress=SILENT)
            answers.load(self._facts, None)
            return answers.behind(head, relation, tail)

    def forbidden_pairs(self, most: int) -> Iterator[tuple[Disjointness, Triple, Triple]]:
        """Up to `most` pairs for each disjointness that they break; the pairs of its two relations are held."""
        for constraint in self.deducing.disjointness:
            first, second = base_relation(constraint.first), base_relation(constraint.second)
            turned = is_inverse(constraint.first) != is_inverse(constraint.second)
            held = self._pairs(second)
            pairs = (
                (head, tail, (tail, head) if turned else (head, tail)) for head, tail in self._pairs(first)
            )
            for head, tail, other in islice((pair for pair in pairs if pair[2] in held), most):
                yield constraint, Triple(head, first, tail), Triple(other[0], second, other[1])

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
