"""Features of questions: the number of walks of each rule to each entity, and distances.

Questions are arrays of ids: the anchor, the directed relation (r + R asks the inverse of r), and the answer whose fact
is hidden, or -1. Training, answers and other models use the same features: sparse rows
(question, entity, rule, number of walks).
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from reshuffle.kg import CompletedGraph, inverse_name
from reshuffle.kg.searching.steps import Edges, steps_between, steps_to_everyone
from reshuffle.reasoning.sharing import usable_cores
from reshuffle.rulelist.kernels.found_facts import count_found
from reshuffle.rulelist.kernels.walking import only_edge_hidden, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Future

    from numpy.typing import NDArray

    from reshuffle.kg import KnowledgeGraph
    from reshuffle.kg.rows import Adjacency
    from reshuffle.rulelist.programs import Program

_Piece = TypeVar("_Piece")
_Result = TypeVar("_Result")

MOST_STEPS = 6
"""Distances are told apart up to here; everyone beyond is "more"."""
NUM_DISTANCES = MOST_STEPS + 2
_BUFFER = 1 << 21
AT_ONCE = 512
"""Questions that are counted at a time (`counts_in_pieces`)."""
_LOOKED_UP_AT_ONCE = 1 << 13  # questions with an answer, which take far less time


class Questions(NamedTuple):
    """The given entity, the directed relation, and the answer to hide, or -1."""

    anchors: NDArray[np.int32]
    relations: NDArray[np.int32]
    answers: NDArray[np.int32]

    def part(self, rows: slice | NDArray[np.int64]) -> Questions:
        """Some of the questions."""
        return Questions(self.anchors[rows], self.relations[rows], self.answers[rows])


@dataclass(frozen=True)
class WalkRows:
    """Sparse rows: question q has the entries `starts[q] : starts[q + 1]`, in the order of the program's rows."""

    starts: NDArray[np.int64]  # question + 1
    rules: NDArray[np.int32]  # entry
    ends: NDArray[np.int32]  # entry: the entity that is reached
    counts: NDArray[np.float64]  # entry: by how many walks

    @property
    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
        """As kernels take them."""
        return self.starts, self.rules, self.ends, self.counts

    def part(self, question: int) -> WalkRows:
        """The rows of one question."""
        rows = slice(self.starts[question], self.starts[question + 1])
        starts = np.array([0, rows.stop - rows.start], dtype=np.int64)
        return WalkRows(starts, self.rules[rows], self.ends[rows], self.counts[rows])

    @classmethod
    def joined(cls, parts: list[WalkRows]) -> WalkRows:
        """One after the other."""
        shifts = np.cumsum([0, *(len(part.rules) for part in parts)])
        starts = [part.starts[:-1] + shift for part, shift in zip(parts, shifts, strict=False)]
        return cls(
            np.concatenate([*starts, shifts[-1:]]).astype(np.int64),
            np.concatenate([np.zeros(0, np.int32), *(part.rules for part in parts)]),
            np.concatenate([np.zeros(0, np.int32), *(part.ends for part in parts)]),
            np.concatenate([np.zeros(0, np.float64), *(part.counts for part in parts)]),
        )


@dataclass(frozen=True)
class FeatureGraph:
    """A graph, ready for walks. It is never changed, so that threads may share it."""

    graph: KnowledgeGraph
    cores: int | None = None
    """That may be used at once; None for all."""

    @cached_property
    def adjacency(self) -> Adjacency:
        """The out-edges of every entity over relations and inverses, sorted by (code, neighbour)."""
        return CompletedGraph(self.graph, num_identities=0).by_head

    @property
    def edges(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
        """The same as kernels take it."""
        rows = self.adjacency
        return rows.starts, rows.relations, rows.neighbours

    @cached_property
    def codes(self) -> dict[str, int]:
        """The code of each relation and of each inverse, by name."""
        names = list(self.graph.relations)
        return {name: code for code, name in enumerate([*names, *map(inverse_name, names)])}

    @property
    def num_relations(self) -> int:
        """R; codes go to 2 R."""
        return len(self.graph.relations)

    def walks(self, program: Program, questions: Questions, *, most_reached: int | None = None) -> WalkRows:
        """The rules that lead from each anchor, where to, and how often; all in one thread."""
        return WalkRows.joined(
            list(self._walked(program, questions, most_reached or self.graph.num_entities))
        )

    def _walked(self, program: Program, questions: Questions, most_reached: int) -> Iterator[WalkRows]:
        done, room = 0, _BUFFER
        while done < len(questions.anchors):
            rest = questions.part(slice(done, None))
            starts = np.zeros(len(rest.anchors) + 1, dtype=np.int64)
            rules, ends = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.int32)
            counts = np.empty(room, dtype=np.float64)
            fitted = walk(
                program.walks, self.edges, self.num_relations, rest, most_reached, starts, rules, ends, counts
            )
            if fitted == 0:
                room *= 2
                continue
            size = starts[fitted]
            yield WalkRows(
                starts[: fitted + 1], rules[:size].copy(), ends[:size].copy(), counts[:size].copy()
            )
            done += fitted

    def steps(self, questions: Questions) -> NDArray[np.uint8]:  # question entity
        """The number of steps from each anchor to each entity, `MOST_STEPS + 1` for all that are further."""
        return steps_to_everyone(
            self._undirected, questions.anchors, self._blocked(questions), most=MOST_STEPS
        )

    def steps_to(
        self, questions: Questions, bounds: NDArray[np.int64], entities: NDArray[np.int32]
    ) -> NDArray[np.uint8]:
        """The same for `entities[bounds[q] : bounds[q + 1]]` of each question q alone, which takes far less time."""
        blocked = self._blocked(questions)
        return steps_between(self._undirected, questions.anchors, blocked, bounds, entities, most=MOST_STEPS)

    @property
    def searched_at_once(self) -> int:
        """How many questions `steps_to` looks at in one pass over the graph."""
        return self._undirected.at_once

    @property
    def _undirected(self) -> Edges:
        return Edges(self.adjacency.starts, self.adjacency.neighbours)

    def _blocked(self, questions: Questions) -> NDArray[np.int32]:
        """Who must not be reached by the first step: answers whose hidden fact is the only one beside their anchor."""
        hidden: NDArray[np.int32] = only_edge_hidden(self.edges, questions)
        return hidden

    def counts_in_pieces(
        self,
        program: Program,
        questions: Questions,
        number: int,
    ) -> Iterator[tuple[slice, NDArray[np.int64]]]:
        """How many entities the rules lead to, for batches of questions, on all cores.

        Walks are not kept, and who has enough may stop.
        """

        def count(piece: slice) -> tuple[slice, NDArray[np.int64]]:
            counts = np.zeros(number, dtype=np.int64)
            for walks in self._walked(program, questions.part(piece), self.graph.num_entities):
                counts += np.bincount(walks.rules, minlength=number)
            return piece, counts

        yield from in_order(count, pieces_of(len(questions.anchors), AT_ONCE), cores=self.cores)

    def found_in_pieces(
        self, program: Program, questions: Questions, answers: NDArray[np.int32], number: int
    ) -> Iterator[tuple[slice, NDArray[np.int64]]]:
        """For batches of questions, on all cores, how many answers each of `number` rules leads to."""

        def count(piece: slice) -> tuple[slice, NDArray[np.int64]]:
            counts = np.zeros(number, dtype=np.int64)
            asked = questions.part(piece)
            count_found(program.walks, self.edges, self.num_relations, asked, answers[piece], counts)
            return piece, counts

        yield from in_order(count, pieces_of(len(answers), _LOOKED_UP_AT_ONCE), cores=self.cores)


def pieces_of(count: int, size: int) -> list[slice]:
    """Slices of at most `size` rows, which cover `count` rows."""
    return [slice(start, min(start + size, count)) for start in range(0, count, size)]


def in_order(
    task: Callable[[_Piece], _Result], pieces: Sequence[_Piece], *, cores: int | None = None
) -> Iterator[_Result]:
    """The results for the pieces in their order, computed by all cores, a few pieces ahead of who takes them.

    How many cores there are changes nothing but the time, and who takes slowly does not fill the memory.
    """
    cores = cores or usable_cores()
    with ThreadPoolExecutor(cores) as pool:
        waiting: deque[Future[_Result]] = deque()
        try:
            for piece in pieces:
                waiting.append(pool.submit(task, piece))
                if len(waiting) > 2 * cores:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for left in waiting:
                left.cancel()
