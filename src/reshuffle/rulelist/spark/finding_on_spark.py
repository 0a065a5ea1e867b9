"""The search for rules on Spark: tasks list the words of a share of the facts, and count pairs from a share of starts.

The process that starts the search selects the facts and words and decides where counting stops, as on one machine. So
the rules and their measures are those of one machine, even if the budget limits the work:

- Words are counted by fact. A task takes every n-th fact of each relation, and the counts of all tasks are added up.
- Pairs are counted from the starts in their order, a piece after the other, until the budget is used up. A task takes
  neighbouring pieces, and stops at the budget, too. Pieces behind the one at which one machine stops do not count.
"""

from __future__ import annotations

import secrets
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from reshuffle.progress import SILENT
from reshuffle.rulelist.features import AT_ONCE, FeatureGraph, Questions
from reshuffle.rulelist.sampling.walk_counting import WalksHere, Words, added
from reshuffle.spark.graph_files import mapped_array, mapped_graph
from reshuffle.spark.workers import workers_on

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from reshuffle.deadlines import Deadline
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.progress import Progress
    from reshuffle.rulelist.sampling.walk_counting import Codes
    from reshuffle.spark.spark_session import Spark
    from reshuffle.spark.workers import Workers


@contextmanager
def walks_on_spark(
    graph: KnowledgeGraph, spark: Spark, *, progress: Progress = SILENT
) -> Iterator[WalksOnSpark]:
    """Who counts the walks of a graph on the workers of Spark."""
    with workers_on(graph, spark, progress=progress) as workers:
        yield WalksOnSpark(workers, FeatureGraph(graph))


@dataclass(frozen=True)
class WalksOnSpark:
    """Counts walks on the workers of Spark (`walk_counting.WalkCounter`)."""

    workers: Workers
    features: FeatureGraph

    def words(self, facts: Sequence[NDArray[np.int64]], length: int, *, most: float) -> Iterator[Words]:
        """The words of the facts of each relation: for each of them, those of all shares together."""
        inputs = self._saved(
            np.concatenate([np.zeros(0, np.int64), *facts]), np.cumsum([0, *map(len, facts)])
        )
        tables = self.workers.tables(partial(_words_of, inputs, length, most), shown="walks on Spark")
        columns = [_columns(table) for table in tables]
        for relation in range(len(facts)):
            yield added([_of_relation(relation, *some) for some in columns])

    def pairs(
        self, bodies: Sequence[Codes], asked: Questions, *, most: int, deadline: Deadline, progress: Progress
    ) -> tuple[NDArray[np.int64], int]:
        """The pairs of the pieces that one machine counts."""
        del (
            progress,
            deadline,
        )  # the tasks are told of as they end, and what they find does not depend on time
        inputs = self._saved(_padded(bodies), asked.anchors, asked.relations)
        tables = self.workers.tables(partial(_pairs_of, inputs, most), shown="counting pairs")
        counts, work, done = np.zeros(len(bodies), dtype=np.int64), 0, 0
        for table in tables:
            (numbers,) = _columns(table)
            found, sizes = numbers[: len(bodies)], numbers[len(bodies) :]
            needed = _pieces_up_to(most - work, sizes)
            if needed < len(sizes):
                own = asked.part(slice(done * AT_ONCE, (done + needed) * AT_ONCE))
                found, _ = WalksHere(self.features).pairs_in_pieces(bodies, own)
            counts, work, done = counts + found, work + int(sizes[:needed].sum()), done + needed
            if needed and work >= most:
                break
        return counts, min(done * AT_ONCE, len(asked.anchors))

    def _saved(self, *arrays: NDArray[np.integer]) -> _Inputs:
        """The arrays in files with names of their own: a task of the job before may still be reading."""
        names = [f"input-{secrets.token_hex(4)}" for _ in arrays]
        for name, array in zip(names, arrays, strict=True):
            np.save(self.workers.folder / f"{name}.npy", array)
        return _Inputs(str(self.workers.folder), tuple(names))


@dataclass(frozen=True)
class _Inputs:
    """Arrays in the folder of a graph."""

    folder: str
    names: tuple[str, ...]

    def arrays(self) -> list[NDArray[Any]]:
        return [mapped_array(self.folder, name) for name in self.names]

    def walks(self) -> WalksHere:
        return _walks(self.folder)


@lru_cache(maxsize=1)
def _walks(folder: str) -> WalksHere:
    """The graph of a folder, made ready for walks once in each process."""
    return WalksHere(FeatureGraph(mapped_graph(folder), cores=1))


def _words_of(inputs: _Inputs, length: int, most: float, share: slice) -> pa.Table:
    """A task: the words of its share of the facts of each relation."""
    facts, bounds = inputs.arrays()
    own = [facts[first:last][share] for first, last in pairwise(bounds)]
    found = list(inputs.walks().words(own, length, most=most))
    relations = np.repeat(np.arange(len(found)), [len(one.words) for one in found])
    words = np.concatenate([np.zeros(0, np.int64), *(one.words for one in found)])
    counts = np.concatenate([np.zeros((0, 3), np.int64), *(one.counts for one in found)])
    columns = {f"count {number}": column for number, column in enumerate(counts.T)}
    return pa.table({"relation": relations, "word": words, **columns})


def _of_relation(
    relation: int, relations: NDArray[np.int64], words: NDArray[np.int64], *counts: NDArray[np.int64]
) -> Words:
    first, last = np.searchsorted(relations, [relation, relation + 1])
    return Words(words[first:last], np.stack([column[first:last] for column in counts], axis=1))


def _pairs_of(inputs: _Inputs, most: int, share: slice) -> pa.Table:
    """A task: the pairs of each body from its share of the starts, and behind them the pairs of each piece."""
    bodies, anchors, relations = inputs.arrays()
    pieces = -(-len(anchors) // AT_ONCE)
    first, last = (pieces * number // share.step * AT_ONCE for number in (share.start, share.start + 1))
    codes = [tuple(code for code in row if code >= 0) for row in bodies.tolist()]
    own, asked = anchors[first:last].astype(np.int32), relations[first:last].astype(np.int32)
    some = Questions(own, asked, np.full_like(own, -1))
    counts, sizes = inputs.walks().pairs_in_pieces(codes, some, most=most)
    return pa.table({"pairs": np.concatenate([counts, np.array(sizes, dtype=np.int64)])})


def _pieces_up_to(most: int, sizes: NDArray[np.int64]) -> int:
    """The number of pieces to count until that number of pairs is reached, or all."""
    return min(int(np.searchsorted(np.cumsum(sizes), most)) + 1, len(sizes))


def _padded(bodies: Sequence[Codes]) -> NDArray[np.int32]:  # body step
    """The codes, with -1 behind the end."""
    padded = np.full((len(bodies), max(map(len, bodies), default=1)), -1, dtype=np.int32)
    for row, body in zip(padded, bodies, strict=True):
        row[: len(body)] = body
    return padded


def _columns(table: pa.Table) -> list[NDArray[np.int64]]:
    return [column.to_numpy() for column in table.columns]
