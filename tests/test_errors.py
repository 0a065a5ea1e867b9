"""Hints, and near names as messages propose them."""

from __future__ import annotations

import pytest

from reshuffle.errors import (
    BudgetError,
    InputError,
    NotExpressibleError,
    Place,
    ReshuffleError,
    UnknownNameError,
    near_names,
)

TREATS = "http://ex.org/treats"


@pytest.mark.parametrize(
    ("name", "known", "near"),
    [
        ("speeks", ["speaks", "bornIn"], ["speaks"]),
        ("BORNIN", ["speaks", "bornIn"], ["bornIn"]),
        ("treats", ["http://ex.org/causes", TREATS], [TREATS]),
        ("Treat", [TREATS], [TREATS]),
        ("treats", ["http://ex.org/onto#treats"], ["http://ex.org/onto#treats"]),
        ("genre", ["/film/film/genre", "/film/actor/film"], ["/film/film/genre"]),
        ("treats", ["threats", TREATS], [TREATS, "threats"]),  # the same local name is nearer
        ("treats", ["http://a/treats", "http://b/treats"], ["http://a/treats", "http://b/treats"]),
        ("http://other.example/vocabulary/treats", ["treats", "causes"], ["treats"]),
        ("treats", ["http://ex.org/causes", "http://ex.org/"], []),
    ],
)
def test_near_names(name: str, known: list[str], near: list[str]) -> None:
    assert near_names(name, known) == near


def test_no_more_than_asked_for() -> None:
    assert near_names("treats", [f"http://{number}/treats" for number in range(9)], most=2) == [
        "http://0/treats",
        "http://1/treats",
    ]


def test_an_unknown_relation_proposes_the_iri_that_ends_so() -> None:
    error = UnknownNameError("relation", "treats", [TREATS])
    assert str(error) == "unknown relation 'treats'; did you mean 'http://ex.org/treats'?"


@pytest.mark.parametrize(
    ("error", "message", "hint"),
    [
        (ReshuffleError("it is odd", hint="even it"), "it is odd", "even it"),
        (BudgetError("too many", hint="allow more"), "too many", "allow more"),
        (NotExpressibleError("no geometry", remedy="use the chase"), "no geometry", "use the chase"),
        (
            InputError("bad", place=Place("f", 2), source="a b", hint="add one"),
            "f:2: bad\n    a b",
            "add one",
        ),
    ],
)
def test_the_hint_is_a_field_and_the_last_line(error: ReshuffleError, message: str, hint: str) -> None:
    assert error.hint == hint
    assert str(error) == f"{message}\n  hint: {hint}"


def test_no_hint_leaves_the_message_alone() -> None:
    assert str(ReshuffleError("it is odd")) == "it is odd"
    assert ReshuffleError("it is odd").hint is None
