"""Whoever waits is told for what: of many relations, each quick, too."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from reshuffle.kg import KnowledgeGraph
from reshuffle.reasoning import Reasoner
from reshuffle.rules import parse_rules

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reshuffle.progress import Report


def test_preparing_and_counting_are_told_relation_by_relation() -> None:
    told: dict[str, list[int]] = {}

    @contextmanager
    def progress(description: str, *, total: int | None = None, unit: str = "it") -> Iterator[Report]:
        assert total is not None and unit
        told[description] = [total, 0]

        def report(done: int, /, note: str = "") -> None:
            told[description][1] += done

        yield report

    rules = parse_rules("r(X, Y) & s(Y, Z) -> t(X, Z)\nt(X, Y) -> u(X, Y)")
    answers = Reasoner(rules).on(KnowledgeGraph([("a", "r", "b"), ("b", "s", "c")]), progress=progress)
    assert told == {"preparing": [4, 4]}
    counts = answers.counts()
    assert {name: (count.derived, count.total) for name, count in counts.items()} == {
        "r": (0, 1), "s": (0, 1), "t": (1, 1), "u": (1, 1)
    }  # fmt: skip
    assert told["counting"] == [4, 4]
    assert told["counting t"][0] == told["counting t"][1] > 0
