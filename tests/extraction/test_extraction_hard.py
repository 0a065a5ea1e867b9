"""Rules from hard constraints: exactly those that trying all bodies finds, and the round trip from rules to rules."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations, product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from extraction_worlds import any_constraints, captured_by_trying
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from reshuffle.constraints import OrderingConstraints
from reshuffle.errors import InputError
from reshuffle.extraction.hard import captured_intersections, captured_rules, forward, least
from reshuffle.rulegraphs import constraints_for
from reshuffle.rules import IntersectionRule, PathRule, RuleBase, parse_rules
from reshuffle.rules.classes import classify
from reshuffle.rules.entailment import entailed_words, entails_rule
from strategies import (
    acyclic_bases,
    hierarchy_intersection_bases,
    left_regular_bases,
    mixed_bases,
    regular_bases,
    right_regular_bases,
    rule_bases,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reshuffle.rules import Rule


@given(any_constraints(), st.integers(1, 3))
@settings(max_examples=300)
def test_the_rules_are_those_that_trying_all_bodies_finds(constraints, max_length):
    found = captured_rules(constraints, max_length=max_length)
    assert found.complete
    assert len(set(found.rules)) == len(found.rules)
    assert set(found.rules) == captured_by_trying(constraints, max_length)
    assert [len(rule.body) for rule in found.rules] == sorted(len(rule.body) for rule in found.rules)


@given(any_constraints())
def test_relations_that_nothing_constrains_are_named(constraints):
    silent = constraints.identities | constraints.hidden
    free = [
        name
        for name in constraints.relations
        if name not in silent and not constraints.constrained_slots(name)
    ]
    assert list(captured_rules(constraints, max_length=1).unconstrained) == free


def short_rules(base: RuleBase, max_length: int) -> Iterator[Rule]:
    names = sorted({name.removesuffix("^-1") for name in base.relations})
    if base.uses_inverses:
        names += [f"{name}^-1" for name in names]
    heads = [name for name in names if not name.endswith("^-1")]
    for length in range(1, max_length + 1):
        for body in product(names, repeat=length):
            yield from (PathRule(body, head) for head in heads)
    for size in range(2, max_length + 1):
        for body in combinations(names, size):
            yield from (IntersectionRule(body, head) for head in heads)


ALL_CLASSES = st.one_of(
    acyclic_bases(relations=4, most_rules=4),
    left_regular_bases(most_rules=3),
    right_regular_bases(),
    regular_bases(levels=2),
    hierarchy_intersection_bases(),
    hierarchy_intersection_bases(inverses=True),
    mixed_bases(),
    rule_bases(most_relations=3, most_rules=3, inverses=True),
)


@given(ALL_CLASSES, st.integers(0, 2**32 - 1))
@settings(max_examples=150)
def test_round_trip(base: RuleBase, seed: int) -> None:
    """extract(compile(build(P))) entails what P entails, up to the length: a sample of all short rules."""
    assume(classify(base).faithful and base.rules)
    found = captured_rules(constraints_for(base), max_length=3)
    assume(found.complete)
    extracted = RuleBase(found.rules)
    rules = list(short_rules(base, 3))
    chosen = np.random.default_rng(seed).permutation(len(rules))[:40]
    for rule in [*base.rules, *(rules[place] for place in chosen)]:
        if len(rule.body) <= 3:
            assert entails_rule(extracted, rule) == entails_rule(base, rule), str(rule)


@given(rule_bases(most_relations=3, most_rules=3, inverses=True), st.integers(0, 2))
@settings(max_examples=100)
def test_round_trip_of_bounded_constraints(base: RuleBase, bound: int) -> None:
    assume(base.rules)
    found = captured_rules(constraints_for(base, bound=bound), max_length=5)
    entailed = {
        forward(PathRule(word, head))
        for head, words in entailed_words(base, max_length=bound + 1).items()
        for word in words
        if word != (head,)
    }
    assert set(found.rules) == entailed


@given(any_constraints(relations=3, most_slots=3))
@settings(max_examples=150)
def test_intersections_are_those_that_trying_all_sets_finds(constraints):
    silent = constraints.identities | constraints.hidden
    names = [name for name in constraints.relations if name not in silent]
    roots = {name: constraints.constrained_slots(name) for name in names}
    heads = [name for name, pairs in roots.items() if len(pairs) >= 2]
    meets = {
        head: least(
            frozenset(body)
            for size in (1, 2, 3)
            for body in combinations(names, size)
            if constraints.captures_rule(IntersectionRule(body, head))
        )
        for head in heads
    }
    expected = {
        rule if not rule.head.endswith("^-1") else rule.reversed()
        for head, sets in meets.items()
        for body in sets
        if len(body) >= 2
        for rule in [IntersectionRule(tuple(body), head)]
    }
    found = list(captured_intersections(replace(constraints, roots=roots), most_conjuncts=3))
    assert len(set(found)) == len({(frozenset(rule.body), rule.head) for rule in found})
    assert {(frozenset(rule.body), rule.head) for rule in found} == {
        (frozenset(rule.body), rule.head) for rule in expected
    }


def test_roots_decide_where_there_are_some() -> None:
    """Slot 1 of r is constrained too, and no body meets it; the root alone counts."""
    sources = np.array([[-1, 0, 0], [-1, -1, 0]], dtype=np.int32)
    with_root = OrderingConstraints(("r", "s"), sources, roots={"r": ((0, 2),)})
    rules = captured_rules(with_root, max_length=1).rules
    assert rules == (PathRule(("s",), "r"), PathRule(("r",), "s"))
    assert captured_rules(OrderingConstraints(("r", "s"), sources), max_length=1).rules == (
        PathRule(("r",), "s"),
    )


def test_many_bodies_with_one_function_are_grown_once() -> None:
    """30 relations with the same matrix: 30^4 bodies, one prefix of each length."""
    names = tuple(f"r{number}" for number in range(30))
    sources = np.array([[0, 0]] * 30, dtype=np.int32)
    found = captured_rules(OrderingConstraints(names, sources), max_length=4, most_per_relation=50)
    assert not found.complete
    assert Counter(rule.head for rule in found.rules) == dict.fromkeys(names, 50)


def test_an_intersection_and_its_parts() -> None:
    base = parse_rules("a(X, Y) & b(Y, Z) -> c(X, Z)\nc(X, Y) & d(X, Y) -> e(X, Y)")
    assert [str(rule) for rule in captured_rules(constraints_for(base)).rules] == [
        "a(X, Y) & b(Y, Z) -> c(X, Z)",
        "c(X, Y) & d(X, Y) -> e(X, Y)",
    ]


def test_no_length_leaves_no_rule() -> None:
    with pytest.raises(InputError) as caught:
        captured_rules(constraints_for(parse_rules("a(X, Y) -> b(X, Y)")), max_length=0)
    assert str(caught.value) == "max_length=0 leaves no rule\n  hint: a body has 1 atom or more"


def test_prefixes_that_reach_the_same_may_differ_in_their_round_trips() -> None:
    sources = np.array([[1, -1, -1], [1, 2, -1], [1, -1, -1], [1, 2, 0]], dtype=np.int32)
    constraints = OrderingConstraints(("a", "b", "a^-1", "b^-1"), sources)
    assert set(captured_rules(constraints, max_length=3).rules) == captured_by_trying(constraints, 3)
