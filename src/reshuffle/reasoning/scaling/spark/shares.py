"""Spark with shares of the sources: each task runs the kernels of one machine on its share.

There are no rounds and nothing is exchanged. A task writes files of its own and reports their names; files that no
report names are of tasks that failed, and are removed. Then the folder gets its name. A report also lies in a file, so
that a run which was cut off leaves its shares to the next one.
"""

from __future__ import annotations

import json
import secrets
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from reshuffle.kg.io.files import flush_to_disk, written_whole
from reshuffle.progress import UNHEARD
from reshuffle.reasoning.scaling.data_sets import folder_of
from reshuffle.reasoning.scaling.spark.shared_graph import share_graph, shared_graph
from reshuffle.reasoning.scaling.spark.written_answers import SparkAnswers
from reshuffle.spark.workers import Workers, num_shares
from reshuffle.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reshuffle.kg import KnowledgeGraph
    from reshuffle.progress import Notes
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
        notes: Notes = UNHEARD,
    ) -> None:
        super().__init__(deduction, graph, list(graph.relations), folder)
        assert deduction.constraints is not None
        self._graph, self._memory, self._notes = graph, options.bytes, notes
        self.workers = Workers(session, folder, num_shares(session, options.spark))
        share_graph(folder, graph, deduction.constraints)

    def derive_into(self, folder: Path) -> int:
        """Run the tasks, and keep the files that their reports name."""
        done = [
            share
            for share in range(self.workers.shares)
            if _reported(folder, share, self.workers.shares) is not None
        ]
        if done:
            self._notes(f"going on after {len(done)} of {counted(self.workers.shares, 'share')}")
        task = partial(_write, str(self._folder), str(folder), self._memory)
        reported = self.workers.reports(task, "relation string, file string, triples long")
        named = {folder / folder_of(relation) / file for relation, file, _ in reported}
        for file in [*folder.rglob("*.parquet")]:
            if file not in named:
                file.unlink()
        for inner in [*folder.iterdir()]:
            if not any(inner.iterdir()):
                inner.rmdir()
        return sum(triples for _, _, triples in reported)

    def counts(self) -> dict[str, tuple[int, int]]:
        """Per relation, how many triples are derived and how many hold; none is stored."""
        totals: Counter[str] = Counter()
        task = partial(_count, str(self._folder), self._memory)
        for relation, pairs in self.workers.reports(task, "relation string, pairs long"):
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


def _write(folder: str, out: str, memory: int | None, share: slice) -> Iterator[dict[str, str | int]]:
    """A task: write the triples of its share to files with names of their own, unless they are there."""
    known = _reported(Path(out), share.start, share.step)
    if known is not None:
        yield from known
        return
    name = f"part-{share.start:05d}-{secrets.token_hex(4)}"
    rows: list[dict[str, str | int]] = []
    for relation, file, written in shared_graph(folder, memory).write(share, Path(out), name):
        flush_to_disk(file)
        rows.append({"relation": relation, "file": file.name, "triples": written})
    with written_whole(_report_file(Path(out), share.start, share.step)) as aside:
        aside.write_text(json.dumps(rows), encoding="utf-8")
    yield from rows


def _report_file(out: Path, share: int, shares: int) -> Path:
    return out.with_name(f"{out.name}-{share}-of-{shares}.json")


def _reported(out: Path, share: int, shares: int) -> list[dict[str, str | int]] | None:
    """What a task has told of a share, if its files are there; None if no task has come to its end."""
    path = _report_file(out, share, shares)
    if not path.exists():
        return None
    rows: list[dict[str, str | int]] = json.loads(path.read_text(encoding="utf-8"))
    files = (out / folder_of(str(row["relation"])) / str(row["file"]) for row in rows)
    return rows if out.exists() and all(file.exists() for file in files) else None


def _count(folder: str, memory: int | None, share: slice) -> Iterator[dict[str, str | int]]:
    """A task: count the pairs of its share."""
    for relation, total in shared_graph(folder, memory).counts(share):
        yield {"relation": relation, "pairs": total}
