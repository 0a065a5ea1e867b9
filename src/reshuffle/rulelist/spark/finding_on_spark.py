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

import math
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from reshuffle.rulelist.features import AT_ONCE, FeatureGraph, Questions
from reshuffle.rulelist.sampling.walk_counting import WalksHere, Words, added
from reshuffle.rulelist.spark.task_inputs import Inputs, features_of, saved
from reshuffle.rulelist.spark.task_rounds import Rounds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from reshuffle.deadlines import Deadline
    from reshuffle.progress import Progress
    from reshuffle.rulelist.sampling.walk_counting import Codes
    from reshuffle.spark.workers import Workers

_SPARE = 1.1  # a little more than is expected to be needed: another round takes longer


@dataclass(frozen=True)
class WalksOnSpark:
    """Counts walks on the workers of Spark (`walk_counting.WalkCounter`)."""

    workers: Workers
    features: FeatureGraph

    def words(self, facts: Sequence[NDArray[np.int64]], length: int, *, most: float) -> Iterator[Words]:
        """The words of the facts of each relation: for each of them, those of all shares together."""
        every, bounds = np.concatenate([np.zeros(0, np.int64), *facts]), np.cumsum([0, *map(len, facts)])
        inputs = saved(self.workers, every, bounds)
        tables = self.workers.tables(partial(_words_of, inputs, length, most), shown="walks on Spark")
        columns = [_columns(table) for table in tables]
        for relation in range(len(facts)):
            yield added([_of_relation(relation, *some) for some in columns])

    def pairs(
        self, bodies: Sequence[Codes], asked: Questions, *, most: int, deadline: Deadline, progress: Progress
    ) -> tuple[NDArray[np.int64], int]:
        """The pairs of the pieces that one machine counts, in rounds; with a deadline, until it is over."""
        del progress  # the tasks are told of as they end
        inputs = saved(self.workers, _padded(bodies), asked.anchors, asked.relations)
        rounds = Rounds(-(-len(asked.anchors) // AT_ONCE), self.workers.cores)
        counts, work = np.zeros(len(bodies), dtype=np.int64), 0
        while span := rounds.following(deadline, needed=_still_needed(rounds.done, work, most)):
            for sizes, found in self._round(len(bodies), partial(_pairs_of, inputs, span, most - work)):
                taken = _pieces_up_to(most - work, sizes)
                if taken < len(sizes):
                    own = asked.part(slice(rounds.done * AT_ONCE, (rounds.done + taken) * AT_ONCE))
                    found, _ = WalksHere(self.features).pairs_in_pieces(bodies, own)  # noqa: PLW2901 - a part of them
                counts += found
                work += int(sizes[:taken].sum())
                rounds.count(taken)
                if rounds.done and work >= most:
                    break
        return counts, min(rounds.done * AT_ONCE, len(asked.anchors))

    def _round(
        self, bodies: int, task: Callable[[slice], pa.Table]
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """For each share the pairs of its pieces, and those of each body."""
        for table in self.workers.tables(task, shown="counting pairs"):
            (numbers,) = _columns(table)
            yield numbers[bodies:], numbers[:bodies]


@lru_cache(maxsize=1)
def _walks(folder: str) -> WalksHere:
    """Walks over the graph of a folder, whose edges are sorted once in each process."""
    return WalksHere(features_of(folder))


def _words_of(inputs: Inputs, length: int, most: float, share: slice) -> pa.Table:
    """A task: the words of its share of the facts of each relation."""
    facts, bounds = inputs.arrays()
    own = [facts[first:last][share] for first, last in pairwise(bounds)]
    found = list(_walks(inputs.folder).words(own, length, most=most))
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


def _pairs_of(inputs: Inputs, span: slice, most: int, share: slice) -> pa.Table:
    """A task: the pairs of each body from its share of some pieces, and behind them the pairs of each piece."""
    bodies, anchors, relations = inputs.arrays()
    pieces = span.stop - span.start
    first, last = (
        (span.start + pieces * number // share.step) * AT_ONCE for number in (share.start, share.start + 1)
    )
    codes = [tuple(code for code in row if code >= 0) for row in bodies.tolist()]
    own, asked = anchors[first:last].astype(np.int32), relations[first:last].astype(np.int32)
    some = Questions(own, asked, np.full_like(own, -1))
    counts, sizes = _walks(inputs.folder).pairs_in_pieces(codes, some, most=most)
    return pa.table({"pairs": np.concatenate([counts, np.array(sizes, dtype=np.int64)])})


def _still_needed(done: int, work: int, most: int) -> float:
    """How many more pieces are likely to reach that number of pairs, by those that are done."""
    return _SPARE * done * (most - work) / max(1, work) if done else math.inf


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
