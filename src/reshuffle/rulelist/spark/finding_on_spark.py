"""The search for rules on Spark: tasks list the words of a share of the facts, and count pairs from a share of starts.

The process that starts the search selects the facts and words and decides where counting stops, as on one machine. So
the rules and their measures are those of one machine, even if the budget limits the work:

- Words are counted by fact. A task takes every n-th fact of each relation, and the counts of all tasks are added up.
- Pairs are counted from the starts in their order, a piece after the other, until the budget is used up. A task takes
  neighbouring pieces, and stops at the budget, too. Pieces behind the one at which one machine stops do not count. So
  that few are counted in vain, pieces are handed out in rounds, as many as what is left of the budget is likely to
  allow. A deadline is looked at between rounds.
"""

from __future__ import annotations

import secrets
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
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
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from reshuffle.deadlines import Deadline
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.progress import Progress
    from reshuffle.rulelist.sampling.walk_counting import Codes
    from reshuffle.spark.spark_session import Spark
    from reshuffle.spark.workers import Workers

_GROWTH = 3  # times as many pieces as before all together, at most
_SPARE = 1.1  # a little more than is expected to be needed: another round takes longer


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
        """The pairs of the pieces that one machine counts, in rounds; with a deadline, until it is over."""
        del progress  # the tasks are told of as they end
        inputs = self._saved(_padded(bodies), asked.anchors, asked.relations)
        at_once = int(self.workers.session.sparkContext.defaultParallelism)
        counts, rounds = np.zeros(len(bodies), dtype=np.int64), _Rounds(len(asked.anchors), at_once)
        while span := rounds.following(most, deadline):
            left = most - rounds.work
            for sizes, found in self._round(len(bodies), partial(_pairs_of, inputs, span, left)):
                needed = _pieces_up_to(most - rounds.work, sizes)
                if needed < len(sizes):
                    own = asked.part(slice(rounds.done * AT_ONCE, (rounds.done + needed) * AT_ONCE))
                    found, _ = WalksHere(self.features).pairs_in_pieces(bodies, own)  # noqa: PLW2901 - a part of them
                counts += found
                rounds.count(sizes[:needed])
                if rounds.done and rounds.work >= most:
                    break
        return counts, min(rounds.done * AT_ONCE, len(asked.anchors))

    def _round(
        self, bodies: int, task: Callable[[slice], pa.Table]
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """For each share the pairs of its pieces, and those of each body."""
        for table in self.workers.tables(task, shown="counting pairs"):
            (numbers,) = _columns(table)
            yield numbers[bodies:], numbers[:bodies]

    def _saved(self, *arrays: NDArray[np.integer]) -> _Inputs:
        """The arrays in files with names of their own: a task of the job before may still be reading."""
        names = [f"input-{secrets.token_hex(4)}" for _ in arrays]
        for name, array in zip(names, arrays, strict=True):
            np.save(self.workers.folder / f"{name}.npy", array)
        return _Inputs(str(self.workers.folder), tuple(names))


@dataclass
class _Rounds:
    """Pieces that are handed out some at a time: shares of one round do not know what the others have counted.

    The first round is a piece for each core. The next ones are as large as what is left of the budget and of the time
    allows by the pace so far, but not too large, since pieces differ.
    """

    starts: int
    at_once: int
    done: int = 0
    """Pieces."""
    work: int = 0
    """Pairs."""
    _begun: float = field(default_factory=time.monotonic)

    def following(self, most: int, deadline: Deadline) -> slice | None:
        """The pieces of the next round; None where enough is counted, or there is no more time."""
        pieces = -(-self.starts // AT_ONCE)
        if self.done >= pieces or (self.done and self.work >= most):
            return None
        number = self._number(most, deadline)
        return slice(self.done, min(pieces, self.done + number)) if number else None

    def count(self, sizes: NDArray[np.int64]) -> None:
        """The next pieces are counted, and have so many pairs each."""
        self.done, self.work = self.done + len(sizes), self.work + int(sizes.sum())

    def _number(self, most: int, deadline: Deadline) -> int:
        if not self.done:
            return self.at_once
        needed = _SPARE * self.done * (most - self.work) / max(1, self.work)
        number = max(self.at_once, min(_GROWTH * self.done, int(needed)))
        if not deadline.is_set:
            return number
        return min(number, int(self.done * deadline.seconds_left / (time.monotonic() - self._begun)))


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


def _pairs_of(inputs: _Inputs, span: slice, most: int, share: slice) -> pa.Table:
    """A task: the pairs of each body from its share of some pieces, and behind them the pairs of each piece."""
    bodies, anchors, relations = inputs.arrays()
    pieces = span.stop - span.start
    first, last = (
        (span.start + pieces * number // share.step) * AT_ONCE for number in (share.start, share.start + 1)
    )
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
