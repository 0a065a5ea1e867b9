"""Pieces of work that are handed out to the workers of Spark, some at a time."""

from __future__ import annotations

import time

import pytest

from reshuffle.deadlines import NO_DEADLINE, Deadline
from reshuffle.rulelist.spark import task_rounds
from reshuffle.rulelist.spark.finding_on_spark import _still_needed
from reshuffle.rulelist.spark.task_rounds import Rounds


def handed_out(rounds: Rounds, sizes: list[int], most: int) -> list[int]:
    """The sizes of the rounds until enough is counted."""
    found, work = list[int](), 0
    while span := rounds.following(NO_DEADLINE, needed=_still_needed(rounds.done, work, most)):
        assert span.start == rounds.done
        found.append(span.stop - span.start)
        work += sum(sizes[span])
        rounds.count(span.stop - span.start)
    return found


@pytest.mark.parametrize(
    ("pieces", "most", "expected"),
    [(100, 1000, [2, 6, 24, 68]), (100, 100, [2, 6, 2]), (3, 1000, [2, 1]), (0, 1000, []), (9, 0, [2])],
)
def test_rounds_grow_up_to_what_the_budget_is_likely_to_allow(
    pieces: int, most: int, expected: list[int]
) -> None:
    assert handed_out(Rounds(pieces, 2), [10] * pieces, most) == expected


def test_pieces_without_any_pair_do_not_end_the_work() -> None:
    assert sum(handed_out(Rounds(50, 4), [0] * 50, 10)) == 50


def test_a_round_takes_no_longer_than_there_is_time(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = Rounds(1000, 2)
    now = time.monotonic()
    monkeypatch.setattr(task_rounds.time, "monotonic", lambda: now)
    over = Deadline(now)
    assert rounds.following(over) == slice(0, 2)  # one round in any case
    rounds.count(2)
    rounds._begun = now - 4
    assert rounds.following(Deadline(now + 8)) == slice(2, 6)  # two seconds for each piece
    assert rounds.following(Deadline(now + 7)) == slice(2, 4)  # the third piece would let a core wait
    assert rounds.following(Deadline(now + 3)) is None
    assert rounds.following(over) is None


def test_a_round_has_no_more_pieces_than_may_be_lost() -> None:
    rounds, found = Rounds(100, 2, most=20), list[int]()
    while span := rounds.following(NO_DEADLINE):
        found.append(span.stop - span.start)
        rounds.count(found[-1])
    assert found == [2, 6, 20, 20, 20, 20, 12]
