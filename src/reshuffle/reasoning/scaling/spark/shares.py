"""Spark with shares of the sources: each task runs the kernels of one machine on its share.

There are no rounds, and tasks exchange nothing. A task writes its own files and reports their names. Files without a
report come from failed tasks and are removed. Then the folder gets its final name. An interrupted run leaves its
finished shares to the next run (`spark/workers.py`).
"""

from __future__ import annotations

import secrets
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from reshuffle.kg.io.files import flush_to_disk
from reshuffle.progress import SILENT, UNHEARD
from reshuffle.reasoning.scaling.data_sets import keep_only
from reshuffle.reasoning.scaling.spark.shared_graph import share_graph, shared_graph
from reshuffle.reasoning.scaling.spark.written_answers import SparkAnswers
from reshuffle.spark.workers import Workers, num_shares

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reshuffle.kg import KnowledgeGraph
    from reshuffle.progress import Notes, Progress
    from reshuffle.reasoning.scaling.engine_interface import Deduction, Options


class ShareAnswers(SparkAnswers):
    """Answers from tasks that search from a share of the entities each."""

    def __init__(
        self,
        deduction: Deduction,
        graph: KnowledgeGraph,
        session: Any,
        options: Options,
        folder: Path,
        *,
        progress: Progress = SILENT,
        notes: Notes = UNHEARD,
    ) -> None:
        super().__init__(deduction, graph, list(graph.relations), folder)
        assert deduction.constraints is not None
        self._graph, self._memory = graph, options.bytes
        shares = num_shares(session, options.spark)
        self.workers = Workers(session, folder, shares, progress=progress, notes=notes)
        share_graph(folder, graph, deduction.constraints)

    def derive_into(self, folder: Path) -> int:
        """Run the tasks, and keep the files that their reports name."""
        task = partial(_write, str(self._folder), str(folder), self._memory, self.deducing.equality)
        columns = "relation string, file string, triples long"
        reported = self.workers.reports(task, columns, work=folder.name, shown="deriving")
        keep_only(folder, {self._folder / file for _, file, _ in reported})
        return sum(triples for _, _, triples in reported)

    def counts(self) -> dict[str, tuple[int, int]]:
        """Per relation, how many triples are derived and how many hold; none is stored."""
        totals: Counter[str] = Counter()
        task = partial(_count, str(self._folder), self._memory, self.deducing.equality)
        columns = "relation string, pairs long"
        for relation, pairs in self.workers.reports(task, columns, work="counts", shown="counting"):
            totals[relation] += pairs
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


def _write(
    folder: str, out: str, memory: int | None, without_loops: str | None, share: slice
) -> Iterator[dict[str, str | int]]:
    """A task: write the triples of its share to files with names of their own."""
    name = f"part-{share.start:05d}-{secrets.token_hex(4)}"
    shared = shared_graph(folder, memory)
    for relation, file, written in shared.write(share, Path(out), name, without_loops):
        flush_to_disk(file)
        yield {"relation": relation, "file": str(file.relative_to(folder)), "triples": written}


def _count(
    folder: str, memory: int | None, without_loops: str | None, share: slice
) -> Iterator[dict[str, str | int]]:
    """A task: count the pairs of its share."""
    for relation, total in shared_graph(folder, memory).counts(share, without_loops):
        yield {"relation": relation, "pairs": total}
