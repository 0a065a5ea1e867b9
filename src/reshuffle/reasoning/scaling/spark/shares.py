"""Spark with shares of the sources: each task runs the kernels of one machine on its share, through `mapInArrow`.

There are no rounds and nothing is exchanged. Graph and constraints lie in files that every worker sees; a worker maps
them once. A task writes files of its own and reports their names. Spark runs failed tasks again and hands over one
report per share, so files of tasks that failed are named by none and are removed. Then the folder gets its name.
"""

from __future__ import annotations

import os
import secrets
import socket
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from reshuffle.reasoning.scaling.data_sets import folder_of
from reshuffle.reasoning.scaling.spark.shared_graph import share_graph, shared_graph
from reshuffle.reasoning.scaling.spark.spark_session import without_pandas_warning
from reshuffle.reasoning.scaling.spark.written_answers import SparkAnswers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from reshuffle.kg import KnowledgeGraph
    from reshuffle.reasoning.scaling.engine_interface import Deduction, Options

_REPORT = "share long, relation string, file string, triples long, worker string"
_PER_CORE = 4  # shares: searches differ in length


class ShareAnswers(SparkAnswers):
    """Answers from tasks that search from a share of the entities each."""

    def __init__(
        self, deduction: Deduction, graph: KnowledgeGraph, session: Any, options: Options, folder: Path
    ) -> None:
        super().__init__(deduction, graph, list(graph.relations), folder)
        assert deduction.constraints is not None
        self._graph, self._session = graph, session
        self._memory = options.bytes
        self.workers: set[str] = set()
        """The executors that have reported, by host and process."""
        self._shares = options.partitions or _PER_CORE * session.sparkContext.defaultParallelism
        share_graph(folder, graph, deduction.constraints)

    def derive_into(self, folder: Path) -> int:
        """Run the tasks, and keep the files that their reports name."""
        reported = self._run(partial(_write, str(self._folder), str(folder), self._shares, self._memory))
        named = {folder / folder_of(relation) / file for _, relation, file, *_ in reported}
        for file in [*folder.rglob("*.parquet")]:
            if file not in named:
                file.unlink()
        for inner in [*folder.iterdir()]:
            if not any(inner.iterdir()):
                inner.rmdir()
        return sum(triples for *_, triples, _ in reported)

    def counts(self) -> dict[str, tuple[int, int]]:
        """Per relation, how many triples are derived and how many hold; none is stored."""
        totals: Counter[str] = Counter()
        for _, relation, _, triples, _ in self._run(
            partial(_count, str(self._folder), self._shares, self._memory)
        ):
            totals[relation] += triples
        facts = Counter(dict(zip(self._graph.relations, self._facts_of(), strict=True)))
        machine = self.deducing.machine
        derivable = () if machine is None else machine.clauses_of
        return {
            name: (total - facts[name], total)
            for name in self.relations
            for total in [totals[name] if name in derivable else facts[name]]
        }

    def _facts_of(self) -> list[int]:
        counts: list[int] = np.bincount(
            self._graph.relation_ids, minlength=len(self._graph.relations)
        ).tolist()
        return counts

    def _run(self, task: Any) -> list[tuple[int, str, str, int, str]]:
        """The reports of all shares; each share is reported by one task that came to its end."""
        shares = self._session.range(0, self._shares, 1, self._shares)
        with without_pandas_warning():
            reported = [tuple(row) for row in shares.mapInArrow(task, _REPORT).collect()]
        self.workers |= {worker for *_, worker in reported}
        return reported


def _write(
    folder: str, out: str, shares: int, memory: int | None, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """A task: write the triples of its share to files with names of their own."""
    for share in _numbers(batches):
        name = f"part-{share:05d}-{secrets.token_hex(4)}"
        found = shared_graph(folder, memory).write(slice(share, None, shares), Path(out), name)
        yield from (_report(share, relation, file.name, written) for relation, file, written in found)


def _count(
    folder: str, shares: int, memory: int | None, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """A task: count the pairs of its share."""
    for share in _numbers(batches):
        for relation, total in shared_graph(folder, memory).counts(slice(share, None, shares)):
            yield _report(share, relation, "", total)


def _numbers(batches: Iterable[pa.RecordBatch]) -> Iterator[int]:
    for batch in batches:
        yield from batch.column(0).to_pylist()


def _report(share: int, relation: str, file: str, triples: int) -> pa.RecordBatch:
    return pa.record_batch(
        {
            "share": [share],
            "relation": [relation],
            "file": [file],
            "triples": [triples],
            "worker": [f"{socket.gethostname()}:{os.getppid()}"],
        }
    )
