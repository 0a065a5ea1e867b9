"""Calibrated confidences: the probability that a candidate is true, fitted on validation triples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reshuffle.evaluation.logistic import logistic
from reshuffle.model.scoring import Calibration, log_odds
from reshuffle.progress import SILENT
from reshuffle.work_shares import WHOLE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reshuffle.evaluation.scorer import Side
    from reshuffle.model.answers.model_on_graph import ModelOnGraph
    from reshuffle.progress import Progress, Report
    from reshuffle.work_shares import Shares

    Features = NDArray[np.float64]
    Labels = NDArray[np.bool_]

_MOST_SCORES = 4_000_000  # of all questions together


def fit_calibration(
    model: ModelOnGraph,
    valid: NDArray[np.int64],
    *,
    seed: int = 0,
    at_most: int | None = None,
    progress: Progress = SILENT,
    shares: Shares = WHOLE,
) -> Calibration | None:
    """A logistic regression on validation triples, as ids of the model's graph; None where there are none.

    Each triple asks two questions, (h, r, ?) and (?, r, t), to the model on the training facts. Every candidate that is
    no training fact is an example: its feature is the log-odds of its share of the question, and it is true if it is a
    validation triple. So a confidence says how likely a candidate is true *if the question has an answer that is not
    known yet*; for a question that has none it says too much.
    """
    graph = model.graph
    most = max(1, _MOST_SCORES // max(1, 2 * graph.num_entities))
    most = most if at_most is None else min(most, at_most)
    chosen = np.sort(np.random.default_rng(seed).permutation(len(valid))[:most])
    if not len(chosen):
        return None
    facts = np.stack([graph.heads, graph.relation_ids, graph.tails], axis=1).astype(np.int64)
    with progress("calibrating", total=2 * len(chosen), unit="queries") as report:
        examples = [
            _examples(model, facts, valid, valid[chosen], side, report, shares) for side in ("tail", "head")
        ]
        features, labels = (np.concatenate(column) for column in zip(*examples, strict=True))
        return logistic_of(features, labels)


def _examples(
    model: ModelOnGraph,
    facts: NDArray[np.int64],
    valid: NDArray[np.int64],
    chosen: NDArray[np.int64],
    side: Side,
    report: Report,
    shares: Shares,
) -> tuple[Features, Labels]:
    """Feature and label of every candidate of each question that is no fact."""
    columns = [0, 1, 2] if side == "tail" else [2, 1, 0]  # who is asked about, the relation, the answer
    width = len(model.graph.relations)
    asked, first = np.unique(chosen[:, columns[0]] * width + chosen[:, 1], return_index=True)
    anchors, relations = chosen[first][:, columns[:2]].astype(np.int32).T

    def answered_by(triples: NDArray[np.int64]) -> NDArray[np.bool_]:  # question entity
        mask = np.zeros((len(asked), model.graph.num_entities), dtype=np.bool_)
        anchor, relation, answer = triples[:, columns].T
        question = np.searchsorted(asked, anchor * width + relation).clip(max=len(asked) - 1)
        fits = asked[question] == anchor * width + relation
        mask[question[fits], answer[fits]] = True
        return mask

    known, true = answered_by(facts), answered_by(valid)
    report(len(chosen) - len(asked))  # the same questions again
    rows = shares.rows(len(asked))
    own = model.totals(anchors[rows], relations[rows], None, side=side, report=report)
    scores = shares.joined(own)
    return log_odds(scores, known)[~known], true[~known]


def logistic_of(features: Features, labels: Labels) -> Calibration:
    """Slope and intercept of greatest likelihood, pulled a little towards 1 and 0."""
    columns = np.stack([features, np.ones_like(features)], axis=1)
    (slope, intercept), _ = logistic(columns, labels, np.array([1.0, 0.0]))
    return Calibration(float(slope), float(intercept))
