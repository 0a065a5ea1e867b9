"""Pieces of counting that are handed out to the workers of Spark, some at a time."""

from __future__ import annotations

import time

import numpy as np
import pytest

from reshuffle.deadlines import NO_DEADLINE, Deadline
from reshuffle.rulelist.features import AT_ONCE
from reshuffle.rulelist.spark import finding_on_spark
from reshuffle.rulelist.spark.finding_on_spark import _Rounds


def handed_out(rounds: _Rounds, sizes: list[int], most: int) -> list[int]:
    """The sizes of the rounds until enough is counted."""
    found = []
    while span := rounds.following(most, NO_DEADLINE):
        assert span.start == rounds.done
        found.append(span.stop - span.start)
        rounds.count(np.array(sizes[span]))
    return found


@pytest.mark.parametrize(
    ("pieces", "most", "expected"),
    [(100, 1000, [2, 6, 24, 68]), (100, 100, [2, 6, 2]), (3, 1000, [2, 1]), (0, 1000, []), (9, 0, [2])],
)
def test_rounds_grow_up_to_what_the_budget_is_likely_to_allow(
    pieces: int, most: int, expected: list[int]
) -> None:
    assert handed_out(_Rounds(pieces * AT_ONCE, 2), [10] * pieces, most) == expected


def test_pieces_without_any_pair_do_not_end_the_work() -> None:
    assert sum(handed_out(_Rounds(50 * AT_ONCE - 1, 4), [0] * 50, 10)) == 50


def test_a_round_takes_no_longer_than_there_is_time(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = _Rounds(1000 * AT_ONCE, 2)
    now = time.monotonic()
    monkeypatch.setattr(finding_on_spark.time, "monotonic", lambda: now)
    over = Deadline(now)
    assert rounds.following(10_000, over) == slice(0, 2)  # one round in any case
    rounds.count(np.array([10, 10]))
    rounds._begun = now - 4
    assert rounds.following(10_000, Deadline(now + 8)) == slice(2, 6)  # two seconds for each piece
    assert rounds.following(10_000, Deadline(now + 1)) is None
    assert rounds.following(10_000, over) is None
