"""The search for rules on Spark: tasks list the words of a share of the facts, and count pairs from a share of starts.

Which facts are looked at, which words are kept and where counting stops is decided in the process that asked, as on one
machine. So the rules and their measures are those of one machine, also where the budget cuts the work:

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
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from reshuffle.progress import SILENT
from reshuffle.rulelist.features import AT_ONCE, FeatureGraph
from reshuffle.rulelist.rule_finding import WalksHere, added
from reshuffle.spark.graph_files import mapped_array, mapped_graph
from reshuffle.spark.workers import workers_on

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from reshuffle.kg import KnowledgeGraph
    from reshuffle.progress import Progress
    from reshuffle.rulelist.rule_finding import Codes, Words
    from reshuffle.spark.spark_session import Spark
    from reshuffle.spark.workers import Workers


class _Words(NamedTuple):
    """Which words."""

    length: int
    hide: bool
    simple: bool


@contextmanager
def walks_on_spark(
    graph: KnowledgeGraph, spark: Spark, *, progress: Progress = SILENT
) -> Iterator[WalksOnSpark]:
    """Who counts the walks of a graph on the workers of Spark."""
    with workers_on(graph, spark, progress=progress) as workers:
        yield WalksOnSpark(workers, FeatureGraph(graph))


@dataclass(frozen=True)
class WalksOnSpark:
    """Counts walks on the workers of Spark (`rule_finding.WalkCounter`)."""

    workers: Workers
    features: FeatureGraph

    def words(
        self, facts: Sequence[NDArray[np.int64]], length: int, *, hide: bool, simple: bool
    ) -> Iterator[Words]:
        """The words of the facts of each relation: for each of them, those of all shares together."""
        inputs = self._saved(
            np.concatenate([np.zeros(0, np.int64), *facts]), np.cumsum([0, *map(len, facts)])
        )
        words = _Words(length, hide, simple)
        tables = self.workers.tables(partial(_words_of, inputs, words), shown="walks on Spark")
        columns = [_columns(table) for table in tables]
        for relation in range(len(facts)):
            yield added([_of_relation(relation, *some) for some in columns])

    def pairs(
        self, bodies: Sequence[Codes], starts: NDArray[np.int32], *, most: int, progress: Progress
    ) -> tuple[NDArray[np.int64], int]:
        """The pairs of the pieces that one machine counts."""
        del progress  # the tasks are told of as they end
        inputs = self._saved(_padded(bodies), starts)
        tables = self.workers.tables(partial(_pairs_of, inputs, most), shown="counting pairs")
        counts, work, done = np.zeros(len(bodies), dtype=np.int64), 0, 0
        for table in tables:
            (numbers,) = _columns(table)
            found, sizes = numbers[: len(bodies)], numbers[len(bodies) :]
            needed = _pieces_up_to(most - work, sizes)
            if needed < len(sizes):
                own = starts[done * AT_ONCE : (done + needed) * AT_ONCE]
                found, _ = WalksHere(self.features).pairs_in_pieces(bodies, own)
            counts, work, done = counts + found, work + int(sizes[:needed].sum()), done + needed
            if needed and work >= most:
                break
        return counts, min(done * AT_ONCE, len(starts))

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


def _words_of(inputs: _Inputs, asked: _Words, share: slice) -> pa.Table:
    """A task: the words of its share of the facts of each relation."""
    facts, bounds = inputs.arrays()
    own = [facts[first:last][share] for first, last in pairwise(bounds)]
    found = list(inputs.walks().words(own, asked.length, hide=asked.hide, simple=asked.simple))
    nothing = np.zeros(0, dtype=np.int64)
    relations = np.repeat(np.arange(len(found)), [len(words) for words, _ in found])
    words, counts = (np.concatenate([nothing, *column]) for column in zip(*found, strict=True))
    return pa.table({"relation": relations, "word": words, "count": counts})


def _of_relation(
    relation: int, relations: NDArray[np.int64], words: NDArray[np.int64], counts: NDArray[np.int64]
) -> Words:
    first, last = np.searchsorted(relations, [relation, relation + 1])
    return words[first:last], counts[first:last]


def _pairs_of(inputs: _Inputs, most: int, share: slice) -> pa.Table:
    """A task: the pairs of each body from its share of the starts, and behind them the pairs of each piece."""
    bodies, starts = inputs.arrays()
    pieces = -(-len(starts) // AT_ONCE)
    first, last = (pieces * number // share.step * AT_ONCE for number in (share.start, share.start + 1))
    codes = [tuple(code for code in row if code >= 0) for row in bodies.tolist()]
    counts, sizes = inputs.walks().pairs_in_pieces(codes, starts[first:last].astype(np.int32), most=most)
    return pa.table({"pairs": np.concatenate([counts, np.array(sizes, dtype=np.int64)])})


def _pieces_up_to(most: int, sizes: NDArray[np.int64]) -> int:
    """How many pieces are counted until so many pairs are reached, or all."""
    return min(int(np.searchsorted(np.cumsum(sizes), most)) + 1, len(sizes))


def _padded(bodies: Sequence[Codes]) -> NDArray[np.int32]:  # body step
    """The codes, with -1 behind the end."""
    padded = np.full((len(bodies), max(map(len, bodies), default=1)), -1, dtype=np.int32)
    for row, body in zip(padded, bodies, strict=True):
        row[: len(body)] = body
    return padded


def _columns(table: pa.Table) -> list[NDArray[np.int64]]:
    return [column.to_numpy() for column in table.columns]
