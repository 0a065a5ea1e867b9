"""The training data of a fit: for each question its candidates, their distances, and the walks to them.

All of it is computed before the first step, since scores are linear in the weights. A question is a fact asked from one
of its ends, with exactly that fact hidden. Its candidates are the answer, all entities that a rule reaches, and a
window of a random order of all entities, which represents the others. Known answers are no candidates.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from reshuffle.deadlines import NO_DEADLINE
from reshuffle.kg.rows import Rows, starts_of
from reshuffle.progress import SILENT
from reshuffle.rulelist.features import Questions, in_order, pieces_of
from reshuffle.rulelist.kernels.losses import choose_candidates
from reshuffle.rulelist.rejected_links import RejectedLinks

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from numpy.typing import NDArray

    from reshuffle.deadlines import Deadline
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.progress import Progress
    from reshuffle.rulelist.features import FeatureGraph
    from reshuffle.rulelist.programs import Program

_AT_ONCE = 64  # questions of one task: each may have a million entries, and every core has a task
_WORTH_KEEPING = 10.0  # seconds
_FIRST = 1024  # questions whose rows tell how much room all would take


@dataclass(frozen=True)
class Room:
    """How much of a graph a fit looks at."""

    window: int = 512
    """Entities of the random order for each question."""
    most_reached: int = 3_000
    """A body that leads from one entity to more entities than this is left out for it, in training only."""
    candidates: int = 60_000_000
    entries: int = 40_000_000
    """In all; where the questions have more, some are drawn by chance."""


@dataclass(frozen=True)
class TrainingRows:
    """Candidates and entries of questions, one question after the other, as the kernel takes them."""

    relations: NDArray[np.int64]  # question
    starts: NDArray[np.int64]  # question + 1: where its candidates begin
    reached: NDArray[np.int32]  # question: how many candidates are not from the window
    entities: NDArray[np.int32]  # candidate
    distances: NDArray[np.uint8]  # candidate
    entry_starts: NDArray[np.int64]  # question + 1
    places: NDArray[np.int32]  # entry: which of the question's candidates
    rules: NDArray[np.int32]  # entry
    logs: NDArray[np.float32]  # entry: log of the number of walks
    boosts: NDArray[np.float64]  # question: log of how many a candidate of the window stands for

    def __len__(self) -> int:
        return len(self.relations)

    @property
    def arrays(self) -> tuple[NDArray[np.generic], ...]:
        """As the kernel takes them."""
        return tuple(vars(self).values())

    @classmethod
    def joined(cls, parts: list[TrainingRows]) -> TrainingRows:
        """One after the other."""
        columns = {
            name: np.concatenate([getattr(part, name) for part in parts])
            for name in cls.__annotations__
            if name not in ("starts", "entry_starts")
        }
        for name in ("starts", "entry_starts"):
            columns[name] = starts_of(np.concatenate([np.diff(getattr(part, name)) for part in parts]))
        return cls(**columns)


def questions_of(graph: KnowledgeGraph, about: Collection[str] | None = None) -> Questions:
    """Every fact asked from its head and from its tail, except facts whose head or tail has no other fact.

    With such a fact hidden, that entity has none: distances and roles would learn to prefer entities without facts,
    and entities that are asked about later have some. `about` names the relations to ask about, None for all.
    """
    both = from_both_ends(graph)
    degrees = np.bincount(both.anchors, minlength=graph.num_entities)
    wanted = np.array([about is None or name in about for name in graph.relations], dtype=np.bool_)
    asked = wanted[both.relations % max(1, len(wanted))]
    several = np.flatnonzero(asked & (degrees[both.anchors] > 1) & (degrees[both.answers] > 1))
    return both.part(several if len(several) else np.flatnonzero(asked))


def from_both_ends(graph: KnowledgeGraph) -> Questions:
    """Every fact asked from its head, and behind them from its tail."""
    return both_ends_of(Questions(graph.heads, graph.relation_ids, graph.tails), len(graph.relations))


def both_ends_of(asked: Questions, num_relations: int) -> Questions:
    """Questions (h, r, ?) with their answers, and behind them (?, r, t)."""
    return Questions(
        np.concatenate([asked.anchors, asked.answers]),
        np.concatenate([asked.relations, asked.relations + np.int32(num_relations)]),
        np.concatenate([asked.answers, asked.anchors]),
    )


def training_rows(  # noqa: PLR0913 - each has a default, and all but two are keywords
    features: FeatureGraph,
    program: Program,
    *,
    room: Room,
    seed: int,
    about: Collection[str] | None = None,
    deadline: Deadline = NO_DEADLINE,
    parts: FeatureParts | None = None,
    rejected: RejectedLinks | None = None,
    counter: FeatureCounter | None = None,
    progress: Progress = SILENT,
) -> TrainingRows:
    """The rows of all questions about a graph, or of as many as there is room and time for, drawn by seed.

    `about` names the relations to ask about, None for all. `parts` keeps what is done, and has what was done before.
    `rejected` links count as several wrong answers. `counter` computes the pieces, by default this process.
    """
    chance = np.random.default_rng(seed)
    order = chance.permutation(features.graph.num_entities).astype(np.int32)
    rows = RowsOfQuestions(
        features, program, order, room.window, room.most_reached, rejected or RejectedLinks()
    )
    questions = questions_of(features.graph, about)
    questions = questions.part(chance.permutation(len(questions.anchors)))
    begins = chance.integers(0, len(order), len(questions.anchors))
    gathering = _Gathering(rows, questions, begins, counter or FeaturesHere(), parts, deadline, progress)
    gathering.up_to(_FIRST)
    gathering.up_to(min(_affordable(room, gathering.first), gathering.in_time))
    return TrainingRows.joined(gathering.found)


class FeatureParts(Protocol):
    """Keeps the rows of some questions at a time, so that a run that was cut off goes on behind them."""

    def found(self) -> list[TrainingRows]:
        """What is kept, in order."""
        ...

    def keep(self, rows: TrainingRows) -> None:
        """Keep the rows of the next questions."""
        ...


class _Gathering:
    """The rows that are done, of the first questions."""

    def __init__(
        self,
        rows: RowsOfQuestions,
        questions: Questions,
        begins: NDArray[np.int64],
        counter: FeatureCounter,
        parts: FeatureParts | None,
        deadline: Deadline,
        progress: Progress,
    ) -> None:
        self.rows, self.questions, self.begins, self.counter = rows, questions, begins, counter
        self.parts, self.deadline, self.progress = parts, deadline, progress
        self.found = [] if parts is None else parts.found()
        self._kept = len(self.found)
        self._seconds, self._timed = 0.0, 0

    def up_to(self, last: int) -> None:
        """Go on until `last` questions or all of them are done, or the deadline is over; one piece is always done."""
        done, last = sum(map(len, self.found)), min(last, len(self.questions.anchors))
        if done >= last or (self.found and self.deadline.is_over):
            return
        started, piece = time.monotonic(), slice(done, last)
        with self.progress("features", total=last, unit="questions") as report:
            report(done)
            asked = self.questions.part(piece), self.begins[piece]
            for rows in self.counter.pieces(self.rows, *asked, self.deadline):
                self.found.append(rows)
                report(len(rows))
                self._keep(self._seconds + time.monotonic() - started)
        self._seconds += time.monotonic() - started
        self._timed += sum(map(len, self.found)) - done

    def _keep(self, seconds: float) -> None:
        """Keep what would take long to compute again."""
        if self.parts is None or seconds < _WORTH_KEEPING:
            return
        for rows in self.found[self._kept :]:
            self.parts.keep(rows)
        self._kept = len(self.found)

    @property
    def first(self) -> list[TrainingRows]:
        """The rows of the questions that tell how much room all would take."""
        before = np.cumsum([0, *map(len, self.found)])
        return [rows for rows, place in zip(self.found, before, strict=False) if place < _FIRST]

    @property
    def in_time(self) -> int:
        """How many questions can be done until the deadline, by the pace so far."""
        if not self.deadline.is_set or not self._seconds:
            return len(self.questions.anchors)
        done = sum(map(len, self.found))
        return done + int(self.deadline.seconds_left * self._timed / self._seconds)


class FeatureCounter(Protocol):
    """Who computes the rows of questions."""

    def pieces(
        self, rows: RowsOfQuestions, questions: Questions, begins: NDArray[np.int64], deadline: Deadline
    ) -> Iterator[TrainingRows]:
        """The rows of some questions in pieces, in order; of as many as there is time for, but of one piece at least.

        `begins` says where in the random order the window of each question begins.
        """
        ...


class FeaturesHere:
    """Computes rows in this process, by all cores."""

    def pieces(
        self, rows: RowsOfQuestions, questions: Questions, begins: NDArray[np.int64], deadline: Deadline
    ) -> Iterator[TrainingRows]:
        """As `FeatureCounter.pieces`."""
        pieces = rows.pieces(len(begins))
        for found in in_order(lambda piece: rows.of(questions.part(piece), begins[piece]), pieces):
            yield found
            if deadline.is_over:
                break


@dataclass(frozen=True)
class RowsOfQuestions:
    """What rows depend on beside their questions."""

    features: FeatureGraph
    program: Program
    order: NDArray[np.int32]
    """All entities, in a random order."""
    window: int
    most_reached: int
    rejected: RejectedLinks

    def pieces(self, count: int) -> list[slice]:
        """How that many questions are cut: distances of the questions of a piece are searched for in one pass."""
        return pieces_of(count, self.features.searched_at_once)

    def of(self, questions: Questions, begins: NDArray[np.int64]) -> TrainingRows:
        """The rows of a piece, in one thread: candidates of a few questions at a time, and all distances together."""
        rows = TrainingRows.joined(
            [
                self._candidates(questions.part(piece), begins[piece])
                for piece in pieces_of(len(begins), _AT_ONCE)
            ]
        )
        rows = self.rejected.counted(rows, questions)
        return replace(rows, distances=self.features.steps_to(questions, rows.starts, rows.entities))

    def _candidates(self, questions: Questions, begins: NDArray[np.int64]) -> TrainingRows:
        """Rows without distances."""
        walks = self.features.walks(self.program, questions, most_reached=self.most_reached)
        known = self._known(questions)
        count, entries, window = len(questions.anchors), len(walks.rules), min(self.window, len(self.order))
        starts, entry_starts = np.zeros(count + 1, dtype=np.int64), np.zeros(count + 1, dtype=np.int64)
        reached = np.zeros(count, dtype=np.int32)
        entities = np.empty(entries + count * (1 + window), dtype=np.int32)
        places, rules = np.empty(entries, dtype=np.int32), np.empty(entries, dtype=np.int32)
        logs = np.empty(entries, dtype=np.float32)
        out = (starts, reached, entities, entry_starts, places, rules, logs)
        windows = begins, window
        filled, kept = choose_candidates(
            questions, (known.starts, known.values), walks.arrays, self.order, windows, out
        )
        others = len(self.order) - np.diff(known.starts) - reached
        return TrainingRows(
            questions.relations.astype(np.int64),
            starts,
            reached,
            entities[:filled].copy(),
            np.zeros(0, dtype=np.uint8),
            entry_starts,
            places[:kept].copy(),
            rules[:kept].copy(),
            logs[:kept].copy(),
            np.log(np.maximum(others, 1) / np.maximum(np.diff(starts) - reached, 1)),
        )

    def _known(self, questions: Questions) -> Rows:
        """The other answers that are facts."""
        rows = [
            (others := self.features.adjacency.of(anchor, relation))[others != answer]
            for anchor, relation, answer in zip(*questions, strict=True)
        ]
        return Rows(starts_of([len(row) for row in rows]), np.concatenate([np.zeros(0, np.int32), *rows]))


def _affordable(room: Room, parts: list[TrainingRows]) -> int:
    """How many questions there is room for, by those that are done."""
    done = max(1, sum(map(len, parts)))
    candidates = max(1, sum(len(part.entities) for part in parts))
    entries = max(1, sum(len(part.rules) for part in parts))
    return int(done * min(room.candidates / candidates, room.entries / entries))
