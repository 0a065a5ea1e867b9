"""The evidence of a path by its formula, and the paths that say most."""

from __future__ import annotations

import numpy as np
import pytest
from extraction_worlds import all_rules, soft_matrices
from hypothesis import given, settings
from hypothesis import strategies as st

from reshuffle.errors import InputError
from reshuffle.extraction.hard import forward
from reshuffle.extraction.soft import evidence, graded_by_evidence
from reshuffle.extraction.soft_matrices import SoftMatrices
from reshuffle.rules import PathRule

bodies = st.lists(st.sampled_from(["r1", "r2"]), min_size=1, max_size=3).map(tuple)


@given(soft_matrices(free=False, evidence=True), bodies)
def test_it_is_the_weighted_sum_of_what_arrives(soft, body):
    vector = soft.starts[soft.id_of("r2")]
    for relation in body:
        vector = soft.values[soft.id_of(relation)] @ vector
    expected = (soft.weights[soft.id_of("r2")] * vector).sum()
    assert evidence(soft, PathRule(body, "r2")) == pytest.approx(expected)


def test_identities_offer_a_choice() -> None:
    """Slot 1 takes half of slot 0 by eq: a value may stay in slot 0, move, and both are read."""
    values = np.array([[[1.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.5, 0.0]]])
    ones = np.ones((2, 2))
    soft = SoftMatrices(
        ("r", "eq"), values, frozenset({"eq"}), starts=np.array([[1.0, 0], [0, 0]]), weights=ones
    )
    assert evidence(soft, PathRule(("r", "r"), "r")) == 1.5


def by_trying(soft: SoftMatrices, max_length: int) -> dict[str, list[tuple[PathRule, float]]]:
    """Per head, inverses included, all paths that say something, most first."""
    grades: dict[str, list[tuple[PathRule, float]]] = {}
    for rule in all_rules(soft, max_length):
        value = evidence(soft, rule)
        if value > 0 and not rule.is_tautology:
            grades.setdefault(rule.head, []).append((rule, value))
    return {head: sorted(pairs, key=lambda pair: -pair[1]) for head, pairs in grades.items()}


@given(soft_matrices(evidence=True), st.integers(1, 12), st.sampled_from([0.0, 0.5, 2.0]))
@settings(max_examples=100)
def test_the_search_gives_the_most_per_relation(soft, most, floor):
    found = graded_by_evidence(soft, max_length=3, most_per_relation=most, min_evidence=floor)
    assert found.cut is None
    everything = by_trying(soft, 3)
    wanted: dict[PathRule, float] = {}
    values = {}
    for head, pairs in everything.items():
        kept = [value for _, value in pairs if value >= floor][:most]
        values[head] = kept
        for rule, value in pairs:
            name = forward(rule)
            wanted[name] = max(value, wanted.get(name, 0.0))
    assert list(found.grades.values()) == sorted(found.grades.values(), reverse=True)
    for rule, grade in found.grades.items():
        assert grade <= wanted[rule] + 1e-9
    for head in ("r1", "r2"):
        if f"{head}^-1" not in soft.relations:
            grades = [grade for rule, grade in found.grades.items() if rule.head == head]
            assert grades == pytest.approx(values.get(head, []))


@given(soft_matrices(evidence=True), st.integers(1, 4))
@settings(max_examples=60)
def test_what_the_budget_cuts_off_is_not_above_the_cut(soft, budget):
    found = graded_by_evidence(soft, max_length=3, most_per_relation=10_000, budget=budget)
    for pairs in by_trying(soft, 3).values():
        missed = [value for rule, value in pairs if forward(rule) not in found.grades]
        assert max(missed, default=0.0) <= (found.cut or 0.0) + 1e-6


def test_without_weights_there_is_no_evidence() -> None:
    with pytest.raises(InputError, match="these matrices have no starts and weights"):
        evidence(SoftMatrices(("r",), np.ones((1, 1, 1))), PathRule(("r",), "r"))


def test_one_of_starts_and_weights_is_not_enough() -> None:
    with pytest.raises(InputError, match="found one of starts and weights"):
        SoftMatrices(("r",), np.ones((1, 1, 1)), starts=np.ones((1, 1)))


@pytest.mark.parametrize(
    ("weights", "message"),
    [(np.ones(1), "found weights of shape"), (-np.ones((1, 1)), "found negative or unbounded weights")],
)
def test_weights_of_the_wrong_kind(weights, message) -> None:
    with pytest.raises(InputError, match=message):
        SoftMatrices(("r",), np.ones((1, 1, 1)), starts=np.ones((1, 1)), weights=weights)
