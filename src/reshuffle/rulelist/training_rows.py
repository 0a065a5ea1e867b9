"""What a fit looks at: for each training question its candidates, their distances, and the walks that lead to them.

All of it is fixed before the first step, since scores are linear in the weights. A question is a fact asked from one
of its ends, with exactly that fact hidden. Its candidates are the answer, everyone whom a rule reaches, and a window
of a random order of all entities, which stands for the others; known answers are no candidates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from reshuffle.kg.rows import Rows, starts_of
from reshuffle.progress import SILENT
from reshuffle.rulelist.features import Questions, in_order, pieces_of
from reshuffle.rulelist.kernels.losses import choose_candidates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reshuffle.kg import KnowledgeGraph
    from reshuffle.progress import Progress
    from reshuffle.rulelist.features import FeatureGraph
    from reshuffle.rulelist.programs import Program

_AT_ONCE = 64  # questions of one task: each may have a million entries, and every core has a task
_TAUGHT_AT_ONCE = 256  # a teacher takes them one task after the other
_TAUGHT = 0.5  # how much of what is wanted comes from a teacher
_FIRST = 1024  # questions whose rows tell how much room all would take


@dataclass(frozen=True)
class Room:
    """How much of a graph a fit looks at."""

    window: int = 512
    """Entities of the random order for each question."""
    most_reached: int = 3_000
    """A body that leads from one entity to more than so many is left out for that entity, in training only."""
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
    targets: NDArray[
        np.float32
    ]  # candidate: the share that it should have; none where the answer should have all

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


class Teacher(Protocol):
    """A model that scores training questions, each with its own fact hidden."""

    def scores(self, questions: Questions) -> NDArray[np.float32]:  # question entity
        """The scores of all entities as answers."""
        ...


def _taught(scores: NDArray[np.float64], starts: NDArray[np.int64]) -> NDArray[np.float32]:  # candidate
    """The softmax of each question's scores, mixed with 1 for its first candidate, the answer."""
    sizes = np.diff(starts)
    scores = np.exp(scores - np.repeat(np.maximum.reduceat(scores, starts[:-1]), sizes))
    targets = _TAUGHT * scores / np.repeat(np.add.reduceat(scores, starts[:-1]), sizes)
    targets[starts[:-1]] += 1 - _TAUGHT
    taught: NDArray[np.float32] = targets.astype(np.float32)
    return taught


def questions_of(graph: KnowledgeGraph) -> Questions:
    """Every fact asked from its head and from its tail, but for facts that are the only one of one of their ends.

    Such a fact hidden, its end has none: distances and roles would learn to prefer who has no facts, and whoever is
    asked about has some.
    """
    inverse = graph.relation_ids + np.int32(len(graph.relations))
    both = Questions(
        np.concatenate([graph.heads, graph.tails]),
        np.concatenate([graph.relation_ids, inverse]),
        np.concatenate([graph.tails, graph.heads]),
    )
    degrees = np.bincount(both.anchors, minlength=graph.num_entities)
    several = np.flatnonzero((degrees[both.anchors] > 1) & (degrees[both.answers] > 1))
    return both.part(several) if len(several) else both


def training_rows(
    features: FeatureGraph,
    program: Program,
    *,
    room: Room,
    seed: int,
    teacher: Teacher | None = None,
    progress: Progress = SILENT,
) -> TrainingRows:
    """The rows of all questions about a graph, or of as many as there is room for, drawn by seed.

    With a teacher, half of what a question wants is the teacher's shares of the candidates, and half the answer.
    """
    chance = np.random.default_rng(seed)
    rows = _Rows(features, program, room, chance, teacher)
    questions = questions_of(features.graph)
    questions = questions.part(chance.permutation(len(questions.anchors)))
    parts: list[TrainingRows] = []
    with progress("features", total=len(questions.anchors), unit="questions") as report:
        first = questions.part(slice(0, _FIRST))
        parts += rows.of(first)
        report(len(first.anchors))
        rest = questions.part(slice(_FIRST, rows.affordable(parts)))
        parts += rows.of(rest)
        report(len(rest.anchors))
    return TrainingRows.joined(parts)


class _Rows:
    def __init__(
        self,
        features: FeatureGraph,
        program: Program,
        room: Room,
        chance: np.random.Generator,
        teacher: Teacher | None,
    ) -> None:
        self.features, self.program, self.room, self.teacher = features, program, room, teacher
        self.order = chance.permutation(features.graph.num_entities).astype(np.int32)
        self.window = min(room.window, len(self.order))
        self.chance = chance

    def affordable(self, parts: list[TrainingRows]) -> int:
        """How many questions there is room for, by those that are done."""
        done = max(1, sum(map(len, parts)))
        candidates = max(1, sum(len(part.entities) for part in parts))
        entries = max(1, sum(len(part.rules) for part in parts))
        return int(done * min(self.room.candidates / candidates, self.room.entries / entries))

    def of(self, questions: Questions) -> list[TrainingRows]:
        """The rows of some questions, in pieces, by all cores."""
        begins = self.chance.integers(0, len(self.order), len(questions.anchors))
        pieces = pieces_of(len(begins), _AT_ONCE if self.teacher is None else _TAUGHT_AT_ONCE)
        return list(in_order(lambda piece: self._piece(questions.part(piece), begins[piece]), pieces))

    def _piece(self, questions: Questions, begins: NDArray[np.int64]) -> TrainingRows:
        walks = self.features.walks(self.program, questions, most_reached=self.room.most_reached)
        known = self._known(questions)
        count, entries = len(questions.anchors), len(walks.rules)
        room = entries + count * (1 + self.window)
        starts, entry_starts = np.zeros(count + 1, dtype=np.int64), np.zeros(count + 1, dtype=np.int64)
        reached = np.zeros(count, dtype=np.int32)
        entities, distances = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.uint8)
        places, rules = np.empty(entries, dtype=np.int32), np.empty(entries, dtype=np.int32)
        logs = np.empty(entries, dtype=np.float32)
        out = (starts, reached, entities, distances, entry_starts, places, rules, logs)
        steps, windows = self.features.steps(questions), (begins, self.window)
        filled, kept = choose_candidates(
            questions, (known.starts, known.values), walks.arrays, steps, self.order, windows, out
        )
        others = len(self.order) - np.diff(known.starts) - reached
        boosts = np.log(np.maximum(others, 1) / np.maximum(np.diff(starts) - reached, 1))
        targets = np.zeros(0, dtype=np.float32)
        if self.teacher is not None:
            rows = np.repeat(np.arange(count), np.diff(starts))
            scores = self.teacher.scores(questions)[rows, entities[:filled]].astype(np.float64)
            in_window = np.arange(filled) - starts[rows] >= reached[rows]
            targets = _taught(scores + np.where(in_window, boosts[rows], 0.0), starts)
        return TrainingRows(
            questions.relations.astype(np.int64),
            starts,
            reached,
            entities[:filled].copy(),
            distances[:filled].copy(),
            entry_starts,
            places[:kept].copy(),
            rules[:kept].copy(),
            logs[:kept].copy(),
            boosts,
            targets,
        )

    def _known(self, questions: Questions) -> Rows:
        """The other answers that are facts."""
        rows = [
            (others := self.features.adjacency.of(anchor, relation))[others != answer]
            for anchor, relation, answer in zip(*questions, strict=True)
        ]
        return Rows(starts_of([len(row) for row in rows]), np.concatenate([np.zeros(0, np.int32), *rows]))
