"""Ranks and metrics, each against its definition spelled out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reshuffle.errors import InputError
from reshuffle.evaluation.metrics import bootstrap_interval, estimated_hits, summarised
from reshuffle.evaluation.ranks import Ranks


@given(true=st.integers(0, 3), wrong=st.lists(st.integers(0, 3), max_size=8), data=st.data())
def test_ranks_are_places_in_the_best_and_the_worst_order(
    true: int, wrong: list[int], data: st.DataObject
) -> None:
    present = data.draw(st.lists(st.booleans(), min_size=len(wrong), max_size=len(wrong)))
    shape = (1, len(wrong))
    ranks = Ranks.from_scores(
        np.array([true], dtype=np.float32),
        np.array(wrong, dtype=np.float32).reshape(shape),
        np.array(present, dtype=np.bool_).reshape(shape),
    )
    kept = [score for score, here in zip(wrong, present, strict=True) if here]
    best = sorted([(-true, 0), *((-score, 1) for score in kept)]).index((-true, 0)) + 1
    worst = sorted([(-true, 1), *((-score, 0) for score in kept)]).index((-true, 1)) + 1
    assert (ranks.optimistic[0], ranks.pessimistic[0]) == (best, worst)
    assert ranks.realistic[0] == (best + worst) / 2
    assert ranks.tied[0] == (true in kept)
    assert ranks.negatives[0] == len(kept)


def test_nan_is_refused_since_it_would_look_best() -> None:
    with pytest.raises(InputError, match="returned NaN for a candidate"):
        Ranks.from_scores(np.array([1.0]), np.array([[2.0, np.nan]]))
    with pytest.raises(InputError, match="returned NaN for a candidate"):
        Ranks.from_scores(np.array([np.nan]), np.array([[2.0, 1.0]]))


def test_metrics_by_hand() -> None:
    ranks = Ranks(np.array([1, 3, 11]), np.array([1, 4, 11]), np.array([20, 20, 20]))
    metrics = summarised(ranks, "realistic")
    assert metrics["hits@1"] == pytest.approx(1 / 3)
    assert metrics["hits@3"] == pytest.approx(1 / 3)  # 3.5 is not within 3
    assert metrics["hits@10"] == pytest.approx(2 / 3)
    assert metrics["mrr"] == pytest.approx((1 + 1 / 3.5 + 1 / 11) / 3)
    assert metrics["mean_rank"] == pytest.approx((1 + 3.5 + 11) / 3)
    assert metrics.tie_rate == pytest.approx(1 / 3)
    assert summarised(ranks, "optimistic")["hits@3"] == pytest.approx(2 / 3)


def test_the_estimate_is_the_mean_over_draws() -> None:
    above, total = 30, 100
    estimate = estimated_hits(np.array([above + 1.0]), np.array([total]), k=10, draws=49)[0]
    rng = np.random.default_rng(0)
    drawn = (rng.random((200_000, 49)) < above / total).sum(axis=1) < 10
    assert estimate == pytest.approx(drawn.mean(), abs=4 * math.sqrt(0.25 / 200_000))


def test_the_estimate_is_certain_at_the_ends() -> None:
    ends = estimated_hits(np.array([1.0, 101.0, 1.0]), np.array([100, 100, 0]), k=10, draws=49)
    assert ends.tolist() == [1.0, 0.0, 1.0]


def test_the_bootstrap_covers_the_mean_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    covered = 0
    for number in range(200):
        low, high = bootstrap_interval((rng.random(100) < 0.3).astype(np.float64), seed=number, resamples=400)
        covered += low <= 0.3 <= high
    assert 0.90 <= covered / 200 <= 0.99
