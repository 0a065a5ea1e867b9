"""Mined rules: every count against brute force."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import fact_lists

if TYPE_CHECKING:
    from reshuffle.rules.entailment import Fact

from reshuffle.kg import KnowledgeGraph, inverse_name
from reshuffle.rules import PathRule
from reshuffle.rules.mining import Measures, measure, mine


def pairs_of(facts: set[Fact], relation: str) -> set[tuple[str, str]]:
    if relation.endswith("^-1"):
        return {(f, e) for e, r, f in facts if r == inverse_name(relation)}
    return {(e, f) for e, r, f in facts if r == relation}


def predicted(facts: set[Fact], body: tuple[str, ...]) -> set[tuple[str, str]]:
    joined = pairs_of(facts, body[0])
    for relation in body[1:]:
        joined = {(e, g) for e, f in joined for f2, g in pairs_of(facts, relation) if f == f2}
    return joined


def brute_force(
    facts: set[Fact], max_length: int
) -> dict[tuple[tuple[str, ...], str], tuple[int, int, int, int]]:
    relations = sorted({r for _, r, _ in facts})
    both = [*relations, *(inverse_name(relation) for relation in relations)]
    found = {}
    for length in range(1, max_length + 1):
        for body in itertools.product(both, repeat=length):
            pairs = predicted(facts, body)
            for head in relations:
                true = pairs_of(facts, head)
                support = len(pairs & true)
                if support and body != (head,):
                    known = sum(any(e == start for e, _ in true) for start, _ in pairs)
                    found[body, head] = (support, len(pairs), known, len(true))
    return found


@settings(max_examples=60, deadline=None)
@given(facts=fact_lists(relations=3, most=15), max_length=st.integers(1, 3))
def test_all_counts_are_exact(facts: list[Fact], max_length: int):
    mined = mine(KnowledgeGraph(facts), max_length=max_length, min_support=1)
    counted = {
        (rule.body, rule.head): (m.support, m.predictions, m.predictions_known, m.head_size)
        for rule, m in mined.measures.items()
    }
    assert counted == brute_force(set(facts), max_length)
    assert mined.skipped_bodies == 0


FAMILY = KnowledgeGraph(
    [
        ("a", "parent", "b"),
        ("b", "parent", "c"),
        ("d", "parent", "b"),
        ("a", "grand", "c"),
        ("d", "grand", "c"),
        ("b", "child", "a"),
    ]
)


def test_quality_and_order():
    rules = mine(FAMILY, max_length=2).rules.rules
    best = next(rule for rule in rules if rule.body == ("parent", "parent"))
    assert (best.head, best.quality.support, best.quality.predictions) == ("grand", 2, 2)
    assert best.quality.confidence == 2 / 7
    confidences = [rule.quality.confidence for rule in rules]
    assert confidences == sorted(confidences, reverse=True)


def test_all_measures_of_one_rule():
    rule, measures = next(
        (rule, m) for rule, m in mine(FAMILY).measures.items() if rule.body == ("parent", "parent")
    )
    assert rule.head == "grand"
    assert (measures.standard_confidence, measures.pca_confidence, measures.head_coverage) == (1, 1, 1)


def test_thresholds_leave_rules_out():
    assert all(rule.quality.support >= 3 for rule in mine(FAMILY, min_support=3).rules)
    confident = mine(FAMILY, min_support=1, min_confidence=0.25).rules
    assert all(rule.quality.confidence >= 0.25 for rule in confident)
    assert 0 < len(confident) < len(mine(FAMILY, min_support=1).rules)


def test_bodies_that_explode_are_skipped_and_counted():
    star = KnowledgeGraph([(f"e{number}", "r", "hub") for number in range(50)])
    assert mine(star, most_joined=2_500).skipped_bodies == 0
    limited = mine(star, most_joined=2_499)
    assert limited.skipped_bodies == 1  # r;r^-1 joins 50 x 50 pairs
    assert all(rule.body != ("r", "r^-1") for rule in limited.rules)


def test_an_empty_graph_has_no_rules():
    assert len(mine(KnowledgeGraph()).rules) == 0


@pytest.mark.parametrize("max_length", [1, 2, 3])
def test_bodies_are_no_longer_than_asked(max_length: int):
    lengths = {len(rule.body) for rule in mine(FAMILY, max_length=max_length, min_support=1).rules}
    assert max(lengths) == max_length


names = st.sampled_from(["r1", "r2", "r3", "r1^-1", "r2^-1", "strange"])
path_rules = st.builds(PathRule, st.lists(names, min_size=1, max_size=3).map(tuple), names)


@settings(max_examples=100, deadline=None)
@given(facts=fact_lists(relations=3, most=15), rules=st.lists(path_rules, max_size=6))
def test_given_rules_are_measured_by_brute_force(facts: list[Fact], rules: list[PathRule]):
    """Without support too, and with relations that the graph lacks."""
    measured = measure(KnowledgeGraph(facts), rules)
    known = set(facts)
    assert set(measured) == set(rules)
    for rule, found in measured.items():
        read = rule.reversed() if rule.head.endswith("^-1") else rule
        pairs, true = predicted(known, read.body), pairs_of(known, read.head)
        starts = {start for start, _ in true}
        from_known = sum(start in starts for start, _ in pairs)
        assert found == Measures(len(pairs & true), len(pairs), from_known, len(true))


def test_a_rule_that_joins_too_much_is_not_measured():
    graph = KnowledgeGraph([(f"e{i}", "r", "hub") for i in range(5)])
    fan, atom = PathRule(("r", "r^-1"), "r"), PathRule(("r^-1",), "r")
    longer = PathRule(("r", "r^-1", "r"), "r")
    assert set(measure(graph, [fan, atom, longer], most_joined=10)) == {atom}


def test_what_predicts_nothing_has_no_confidence():
    none = Measures(0, 0, 0, 0)
    assert (none.confidence, none.standard_confidence, none.pca_confidence, none.head_coverage) == (
        0,
        0,
        0,
        0,
    )
