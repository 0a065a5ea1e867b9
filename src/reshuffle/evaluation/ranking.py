"""The one path from a scorer to ranks, for models, reasoners and baselines alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reshuffle.evaluation.negatives import ABSENT
from reshuffle.evaluation.ranks import Ranks, refuse_nan
from reshuffle.evaluation.scorer import SIDES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from reshuffle.evaluation.negatives import Negatives
    from reshuffle.evaluation.queries import KnownAnswers, Queries
    from reshuffle.evaluation.scorer import Scorer, Side
    from reshuffle.progress import Progress

_SCORES_AT_ONCE = 1 << 18  # a megabyte, so that a scorer's own temporaries stay small too


def sampled_ranks(scorer: Scorer, negatives: Negatives, *, progress: Progress) -> dict[Side, Ranks]:
    """Each true answer among its sampled candidates."""
    size = 1 + max(negatives.candidates[side].shape[1] for side in SIDES)
    with progress("ranking", total=2 * len(negatives.queries), unit="queries") as report:
        return {
            side: Ranks.joined(
                [
                    _among(scorer, negatives.queries[rows], negatives.candidates[side][rows], side)
                    for rows in _batches(len(negatives.queries), size, report)
                ]
            )
            for side in SIDES
        }


def full_ranks(
    scorer: Scorer, queries: Queries, known: KnownAnswers, *, progress: Progress
) -> dict[Side, Ranks]:
    """Each true answer among all entities that are no known answer."""
    width = scorer.graph.num_entities
    with progress("ranking", total=2 * len(queries), unit="queries") as report:
        return {
            side: Ranks.joined(
                [
                    _among_all(scorer, queries[rows], known, side)
                    for rows in _batches(len(queries), width, report)
                ]
            )
            for side in SIDES
        }


def _batches(count: int, width: int, report: Callable[[int], None]) -> Iterator[slice]:
    step = max(1, _SCORES_AT_ONCE // width)
    for start in range(0, count, step):
        yield slice(start, start + step)
        report(min(step, count - start))


def _among(scorer: Scorer, queries: Queries, wrong: NDArray[np.int32], side: Side) -> Ranks:
    true = queries.answers(side)[:, None]
    present = wrong != ABSENT
    # True and wrong answers are scored in one call, since scores of two calls need not be comparable.
    candidates = np.concatenate([true, np.where(present, wrong, true)], axis=1)
    scores = scorer.scores(queries.anchors(side), queries.relations, side=side, candidates=candidates)
    return Ranks.from_scores(scores[:, 0], scores[:, 1:], present)


def _among_all(scorer: Scorer, queries: Queries, known: KnownAnswers, side: Side) -> Ranks:
    anchors, relations, answers = queries.anchors(side), queries.relations, queries.answers(side)
    scores = scorer.scores(anchors, relations, side=side, candidates=None)
    refuse_nan(scores)
    true = scores[np.arange(len(queries)), answers]
    above = (scores > true[:, None]).sum(axis=1)
    tied = (scores == true[:, None]).sum(axis=1)
    negatives = np.full(len(queries), scores.shape[1])
    for row, query in enumerate(zip(anchors, relations, answers, strict=True)):
        filtered = scores[row, known.of(*query, side)]
        above[row] -= (filtered > true[row]).sum()
        tied[row] -= (filtered == true[row]).sum()
        negatives[row] -= len(filtered)
    return Ranks(1 + above, 1 + above + tied, negatives)
