"""Counting walks: the words between the ends of facts, and the pairs that bodies join. All the work of finding rules
that grows with walks is here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from reshuffle.deadlines import NO_DEADLINE
from reshuffle.progress import SILENT
from reshuffle.rulelist.features import AT_ONCE, FeatureGraph, Questions, in_order, pieces_of
from reshuffle.rulelist.kernels.closed_paths import HIDDEN, SIMPLE, by_neighbour, closing_words
from reshuffle.rulelist.programs import Program

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from reshuffle.deadlines import Deadline
    from reshuffle.progress import Progress

Codes = tuple[int, ...]
_FACTS_AT_ONCE = 256  # of one task
_FLAGS = 4


class Words(NamedTuple):
    """Bodies, each as one number, ascending; and for how many facts each, by which walks."""

    words: NDArray[np.int64]
    counts: NDArray[np.int64]
    """[word, 3]: by walks that do without the fact and meet no entity twice; by those without the fact; by all."""


class WalkCounter(Protocol):
    """Who counts walks."""

    def words(self, facts: Sequence[NDArray[np.int64]], length: int, *, most: float) -> Iterator[Words]:
        """For the facts of each relation the words of that length between their ends; `most` steps for each fact."""
        ...

    def pairs(
        self, bodies: Sequence[Codes], asked: Questions, *, most: int, deadline: Deadline, progress: Progress
    ) -> tuple[NDArray[np.int64], int]:
        """How many pairs each body joins from the anchors of the first questions, up to `most` in all and until the
        deadline, and how many questions these are. A question's relation is the first code of the bodies that are
        walked from its anchor.
        """
        ...


@dataclass(frozen=True)
class WalksHere:
    """Counts walks in this process, by the cores that `features` may use."""

    features: FeatureGraph
    loops: bool = False
    """Whether a pair may be an entity with itself."""

    @cached_property
    def _edges(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
        """The edges of each entity, by neighbour."""
        codes, neighbours = by_neighbour(*self.features.edges, self.features.num_relations)
        return self.features.edges[0], codes, neighbours

    def words(self, facts: Sequence[NDArray[np.int64]], length: int, *, most: float) -> Iterator[Words]:
        """As `WalkCounter.words`, relation after relation, by all cores."""
        pieces = [(own[piece],) for own in facts for piece in pieces_of(len(own), _FACTS_AT_ONCE)]
        edges = self._edges

        def of(piece: tuple[NDArray[np.int64]]) -> Words:
            return added(list(self._words_of(edges, piece[0], length, most)))

        found = in_order(of, pieces, cores=self.features.cores)
        for own in facts:
            yield added([next(found) for _ in pieces_of(len(own), _FACTS_AT_ONCE)])

    def _words_of(
        self, edges: tuple[NDArray[np.generic], ...], facts: NDArray[np.int64], length: int, most: float
    ) -> Iterator[Words]:
        """The same in one thread, as many facts at a time as fit."""
        graph, room = self.features.graph, 1 << 20
        while len(facts):
            buffer = np.empty(room, dtype=np.int64)
            given = (graph.heads[facts], graph.relation_ids[facts], graph.tails[facts])
            done, bounds = closing_words(
                edges, self.features.num_relations, given, length, float(most), buffer
            )
            if done == 0:
                room *= 2
                continue
            yield _counted(buffer[: bounds[done]])
            facts = facts[done:]

    def pairs(
        self, bodies: Sequence[Codes], asked: Questions, *, most: int, deadline: Deadline, progress: Progress
    ) -> tuple[NDArray[np.int64], int]:
        """As `WalkCounter.pairs`."""
        counts, sizes = self.pairs_in_pieces(bodies, asked, most=most, deadline=deadline, progress=progress)
        return counts, min(len(sizes) * AT_ONCE, len(asked.anchors))

    def pairs_in_pieces(
        self,
        bodies: Sequence[Codes],
        asked: Questions,
        *,
        most: int | None = None,
        deadline: Deadline = NO_DEADLINE,
        progress: Progress = SILENT,
    ) -> tuple[NDArray[np.int64], list[int]]:
        """The counts, and how many pairs each piece of the questions has, up to the piece that reaches the limit."""
        program = Program.of_bodies(bodies, self.features.num_relations, loops=self.loops)
        counts, sizes = np.zeros(len(bodies), dtype=np.int64), list[int]()
        with progress("counting pairs", total=len(asked.anchors), unit="entities") as report:
            for piece, found in self.features.counts_in_pieces(program, asked, len(bodies)):
                counts += found
                sizes.append(int(found.sum()))
                report(piece.stop - piece.start)
                if (most is not None and sum(sizes) >= most) or deadline.is_over:
                    break
        return counts, sizes


def _counted(found: NDArray[np.int64]) -> Words:
    """Words of several facts with their flags, each once."""
    words, flags = np.divmod(found, _FLAGS)
    distinct, places = np.unique(words, return_inverse=True)
    shown = [(flags & SIMPLE) > 0, (flags & HIDDEN) > 0, np.ones(len(flags), dtype=np.bool_)]
    counts = [np.bincount(places, one, minlength=len(distinct)) for one in shown]
    return Words(distinct, np.stack(counts, axis=1).astype(np.int64))


def added(parts: Sequence[Words]) -> Words:
    """Words with their counts, of several parts: each word once, ascending, with the sum of its counts."""
    if len(parts) == 1:
        return parts[0]
    words = np.concatenate([np.zeros(0, dtype=np.int64), *(part.words for part in parts)])
    counts = np.concatenate([np.zeros((0, 3), dtype=np.int64), *(part.counts for part in parts)])
    distinct, places = np.unique(words, return_inverse=True)
    sums = [np.bincount(places, column, minlength=len(distinct)) for column in counts.T]
    return Words(distinct, np.stack(sums, axis=1).astype(np.int64))
