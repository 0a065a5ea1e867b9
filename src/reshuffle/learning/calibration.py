"""Calibrated confidences: a logistic regression on validation triples, at the end of a training.

Each validation triple asks two questions, (h, r, ?) and (?, r, t), to the model on the training facts. Every candidate
that is no training fact is an example: its feature is the log-odds of its share of the question (see
`model/answers/confidence.py`), and it is true if it is a validation triple. So a confidence says how likely a candidate
is true *if the question has an answer that is not known yet*; for a question that has none it says too much.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reshuffle.model.answers.confidence import Calibration, log_odds
from reshuffle.model.answers.predictions import Question

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reshuffle.evaluation.scorer import Side
    from reshuffle.model.answers.model_answers import ModelAnswers

    Features = NDArray[np.float64]
    Labels = NDArray[np.bool_]

_MOST_SCORES = 4_000_000  # of all questions together
_PULL = 1.0  # towards the shares themselves, as strong as a few examples: little data should not bend much
_STEPS = 50


def fit_calibration(answers: ModelAnswers, valid: NDArray[np.int64], *, seed: int = 0) -> Calibration | None:
    """A calibration from validation triples, as ids of the answers' graph; None where there are none."""
    most = max(1, _MOST_SCORES // max(1, 2 * answers.graph.num_entities))
    chosen = np.sort(np.random.default_rng(seed).permutation(len(valid))[:most])
    if not len(chosen):
        return None
    examples = [_examples(answers, valid, valid[chosen], side) for side in ("tail", "head")]
    features, labels = (np.concatenate(column) for column in zip(*examples, strict=True))
    return logistic(features, labels)


def _examples(
    answers: ModelAnswers, valid: NDArray[np.int64], chosen: NDArray[np.int64], side: Side
) -> tuple[Features, Labels]:
    """Feature and label of every candidate of each question that is no fact."""
    anchor, answer = (0, 2) if side == "tail" else (2, 0)
    asked = np.unique(chosen[:, [anchor, 1]], axis=0)
    scores = answers.scores(
        asked[:, 0].astype(np.int32), asked[:, 1].astype(np.int32), side=side, candidates=None
    )
    known = np.stack([Question(int(a), int(r), side).known(answers.graph) for a, r in asked])
    true = np.zeros_like(known)
    place = {(int(a), int(r)): number for number, (a, r) in enumerate(asked)}
    for triple in valid.tolist():
        if (row := place.get((triple[anchor], triple[1]))) is not None:
            true[row, triple[answer]] = True
    return log_odds(scores, known)[~known], true[~known]


def logistic(features: Features, labels: Labels) -> Calibration:
    """Slope and intercept of greatest likelihood, by Newton's method, pulled a little towards 1 and 0."""
    columns = np.stack([features, np.ones_like(features)], axis=1)
    found = start = np.array([1.0, 0.0])
    for _ in range(_STEPS):
        chances = 1 / (1 + np.exp(-np.clip(columns @ found, -60, 60)))
        gradient = columns.T @ (labels - chances) - _PULL * (found - start)
        curvature = (columns * (chances * (1 - chances))[:, None]).T @ columns + _PULL * np.eye(2)
        step = np.linalg.solve(curvature, gradient)
        found = found + step / max(
            1.0, float(np.abs(step).max())
        )  # far from the top Newton's steps are too long
        if np.abs(step).max() < 1e-9:
            break
    return Calibration(float(found[0]), float(found[1]))
