"""The most plausible missing links of a whole graph, without ever holding the scores of all pairs.

Questions (h, r, ?) are asked for every head h that plays the role already, some at a time, and only the best links so
far are kept. Scores of different questions are compared by

    plausibility = score + log(share),

where the share is the softmax of the scores over all tails of the question, known ones included: a question that has
its answers already leaves little for new ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from reshuffle.model.predicting import Prediction, Predictions, check_top
from reshuffle.model.questions import Question, learned_relation
from reshuffle.progress import SILENT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from reshuffle.kg import KnowledgeGraph
    from reshuffle.model.answering import ModelAnswers
    from reshuffle.progress import Progress

_MOST_SCORES = 1 << 21  # held at a time


@dataclass(frozen=True)
class _Links:
    """Links by id, and what their scores are made of; one row each."""

    ids: NDArray[np.int64]  # link (head relation tail)
    numbers: NDArray[
        np.float64
    ]  # link (plausibility, confidence, constraint score, injected, evidence by kind)

    def best(self, top: int) -> _Links:
        """The most plausible ones; equal ones by id, so that the order of the questions does not matter."""
        order = np.lexsort((*self.ids.T[::-1], -self.numbers[:, 0]))[:top]
        return _Links(self.ids[order], self.numbers[order])

    def and_also(self, other: _Links) -> _Links:
        return _Links(np.concatenate([self.ids, other.ids]), np.concatenate([self.numbers, other.numbers]))


def missing_links(
    answers: ModelAnswers, *, relation: str | None = None, top: int = 100, progress: Progress = SILENT
) -> Predictions:
    """The best links of a graph that are no facts, of one relation or of all."""
    check_top(top)
    wanted = None if relation is None else learned_relation(answers, relation)
    asked = _asked(answers, wanted)
    kept: _Links | None = None
    kinds: tuple[str, ...] = ()
    step = max(1, _MOST_SCORES // max(1, answers.graph.num_entities))
    with progress("missing links", total=len(asked), unit=" questions") as report:
        for start in range(0, len(asked), step):
            found, kinds = _best_of(answers, asked[start : start + step], top)
            kept = found if kept is None else kept.and_also(found).best(top)
            report(len(asked[start : start + step]))
    rows = () if kept is None else tuple(_predictions(answers, kept, kinds))
    return Predictions(rows, kinds)


def _asked(answers: ModelAnswers, wanted: int | None) -> NDArray[np.int64]:  # question (head relation)
    graph = answers.graph
    pairs = np.unique(np.stack([graph.heads, graph.relation_ids], axis=1).astype(np.int64), axis=0)
    if wanted is not None:
        pairs = pairs[pairs[:, 1] == wanted]
    asked: NDArray[np.int64] = pairs[answers.learned_relations[pairs[:, 1]]]
    return asked


def _best_of(answers: ModelAnswers, asked: NDArray[np.int64], top: int) -> tuple[_Links, tuple[str, ...]]:
    scored = answers.scored_all(asked[:, 0], asked[:, 1], side="tail")
    scores = scored.total.astype(np.float64)
    known = _known(answers.graph, asked)
    plausible = np.where(known, -np.inf, 2 * scores - _log_sums(scores))
    sure = np.full(scores.shape, np.nan)
    if answers.calibration is not None:
        sure = answers.calibration.confidences(scores, known)
    places = _highest(plausible.ravel(), top)
    places = places[np.isfinite(plausible.ravel()[places])]
    rows, tails = np.divmod(places, scores.shape[1])
    rules = np.full(scores.shape, np.nan) if scored.injected is None else scored.injected
    columns = [plausible, sure, scored.constraint, rules, *scored.evidence.values()]
    ids = np.column_stack([asked[rows], tails])
    numbers = np.stack([column[rows, tails] for column in columns], axis=1).astype(np.float64)
    return _Links(ids, numbers).best(top), tuple(scored.evidence)


def _known(graph: KnowledgeGraph, asked: NDArray[np.int64]) -> NDArray[np.bool_]:  # question entity
    return np.stack([Question(int(head), int(relation), "tail").known(graph) for head, relation in asked])


def _log_sums(scores: NDArray[np.float64]) -> NDArray[np.float64]:  # question 1
    highest = scores.max(axis=1, keepdims=True)
    sums: NDArray[np.float64] = highest + np.log(np.exp(scores - highest).sum(axis=1, keepdims=True))
    return sums


def _highest(values: NDArray[np.float64], top: int) -> NDArray[np.int64]:
    """Places of the `top` highest, and of all that equal the last: what is cut off must not depend on the batch."""
    if len(values) <= top:
        return np.arange(len(values))
    least = np.partition(values, len(values) - top)[len(values) - top]
    return np.flatnonzero(values >= least)


def _predictions(answers: ModelAnswers, links: _Links, kinds: tuple[str, ...]) -> Iterator[Prediction]:
    for ids, row in zip(links.ids.tolist(), links.numbers.tolist(), strict=True):
        head, relation, tail = ids
        _, sure, constraint, rules, *evidence = row
        triple = Question(head, relation, "tail").triple(answers.graph, tail)
        parts: dict[str, Any] = dict(zip(kinds, evidence, strict=True))
        yield Prediction(
            triple,
            constraint,
            parts,
            None if np.isnan(sure) else sure,
            answers=answers,
            injected=None if np.isnan(rules) else rules,
        )
