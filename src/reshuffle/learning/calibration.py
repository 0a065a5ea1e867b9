"""Calibrated confidences: the probability that a candidate is true, fitted on validation triples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reshuffle.evaluation.logistic import logistic
from reshuffle.evaluation.reliability import AS_MANY_OTHERS, BEST, weights_of_answers
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

_MOST_SCORES = 20_000_000  # of all questions together


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

    Each triple asks two questions, (h, r, ?) and (?, r, t), to the model on the training facts. The best candidates
    that are no training facts are examples: their feature is the log-odds of their share of the question, and they
    are true if they are validation triples. Other triples are unknown as well, so true ones that were not asked about
    count more. So a confidence says how likely a candidate is true *if the question has an answer that is not known
    yet*; for a question that has none it says too much.
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
        features, own, true = (np.concatenate(column) for column in zip(*examples, strict=True))
        there = ~np.isnan(features)
        weights = weights_of_answers(there, own, true, times=AS_MANY_OTHERS)
        return logistic_of(features[there], true[there], weights[there])


def _examples(
    model: ModelOnGraph,
    facts: NDArray[np.int64],
    valid: NDArray[np.int64],
    chosen: NDArray[np.int64],
    side: Side,
    report: Report,
    shares: Shares,
) -> tuple[Features, Labels, Labels]:  # triple candidate
    """Of the best candidates of each triple's question: the feature, nan where there are fewer; whether it makes the
    triple; whether it makes this or another validation triple.
    """
    columns = [0, 1, 2] if side == "tail" else [2, 1, 0]  # who is asked about, the relation, the answer
    width = len(model.graph.relations)
    keys = chosen[:, columns[0]] * width + chosen[:, 1]
    asked, first, which = np.unique(keys, return_index=True, return_inverse=True)
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
    scores = shares.joined(model.totals(anchors[rows], relations[rows], None, side=side, report=report))
    best = np.argsort(-np.where(known, -np.inf, scores), axis=1, kind="stable")[:, :BEST]
    features = np.take_along_axis(log_odds(scores, known), best, axis=1)[which]
    right = np.take_along_axis(true, best, axis=1)[which]
    return features, best[which] == chosen[:, columns[2], None], right


def logistic_of(features: Features, labels: Labels, weights: Features | None = None) -> Calibration:
    """Slope and intercept of greatest likelihood, pulled a little towards 1 and 0."""
    columns = np.stack([features, np.ones_like(features)], axis=1)
    (slope, intercept), _ = logistic(columns, labels, np.array([1.0, 0.0]), weights=weights)
    return Calibration(float(slope), float(intercept))
