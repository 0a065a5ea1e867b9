"""Productions, components and their recursion."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reshuffle.rules import PathRule, RuleBase, parse_rules
from reshuffle.rules.classes import PathGrammar, Recursion
from reshuffle.rules.digraphs import reachable, strongly_connected
from reshuffle.rules.entailment import entailed_words
from strategies import rule_bases

if TYPE_CHECKING:
    from collections.abc import Sequence


def recursion_of(*rules: tuple[str, str]) -> dict[str, str]:
    base = RuleBase(tuple(PathRule(tuple(body.split(";")), head) for body, head in rules))
    grammar = PathGrammar(base)
    return {symbol: component.recursion.value for symbol, component in grammar.component_of.items()}


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ([("a;b", "x")], "left"),  # not recursive counts as left
        ([("x;a", "x")], "left"),
        ([("x;a", "y"), ("y;b", "x")], "left"),
        ([("a;x", "x")], "both"),
        ([("a;x", "y"), ("b;y", "x")], "right"),
        ([("x;x", "x")], "both"),
        ([("x;a;x", "x"), ("b;x", "x"), ("x;c", "x")], "both"),
        ([("a;x;b", "x")], "embedded"),
        ([("x;x;x", "x")], "embedded"),
        ([("x;a", "y"), ("b;y", "x")], "embedded"),
        ([("x;y", "x"), ("y;a", "x"), ("x", "y"), ("x;a", "y")], "embedded"),
    ],
)
def test_recursion(rules: Sequence[tuple[str, str]], expected: str) -> None:
    assert recursion_of(*rules)["x"] == expected


def test_relations_that_imply_each_other_are_one_symbol() -> None:
    grammar = PathGrammar(
        parse_rules("r(X, Y) -> r(Y, X)\nr(X, Y) & s(Y, Z) -> s(X, Z)").closed_under_reversal()
    )
    assert grammar.symbol_of["r"] == grammar.symbol_of["r^-1"]
    assert sorted(grammar.labels[grammar.symbol_of["r"]]) == ["r", "r^-1"]
    assert grammar.symbol_of["s"] != grammar.symbol_of["s^-1"]
    assert grammar.productions[grammar.symbol_of["r"]] == ()  # X => X is gone


def test_productions_are_distinct_and_remember_their_rule() -> None:
    rules = (
        PathRule(("a",), "b"),
        PathRule(("b",), "a"),
        PathRule(("a", "c"), "d"),
        PathRule(("b", "c"), "d"),
    )
    (production,) = PathGrammar(RuleBase(rules)).productions["d"]
    assert (production.body, production.rule) == (("a", "c"), rules[2])


def test_embedded_components_name_the_offender() -> None:
    grammar = PathGrammar(RuleBase((PathRule(("x", "a"), "x"), PathRule(("a", "x", "b"), "x"))))
    component = grammar.component_of["x"]
    assert component.recursion is Recursion.EMBEDDED
    assert component.offender is not None
    assert component.offender.body == ("a", "x", "b")


def test_components_come_after_those_they_depend_on() -> None:
    grammar = PathGrammar(RuleBase((PathRule(("a", "b"), "c"), PathRule(("c", "a"), "d"))))
    order = [component.symbols[0] for component in grammar.components]
    assert order.index("a") < order.index("c") < order.index("d")


@given(rule_bases(most_relations=3, most_rules=3), st.lists(st.sampled_from(["r1", "r2", "r3"]), max_size=4))
def test_derives_agrees_with_the_oracle(base: RuleBase, word: list[str]) -> None:
    grammar = PathGrammar(base)
    for relation, words in entailed_words(base, max_length=4).items():
        assert grammar.derives(grammar.symbol_of[relation], tuple(word)) == (tuple(word) in words)


def test_derives_knows_no_foreign_relation_and_no_empty_word() -> None:
    grammar = PathGrammar(RuleBase((PathRule(("a", "b"), "c"),)))
    assert grammar.derives("c", ("a", "b"))
    assert not grammar.derives("c", ("a", "z"))
    assert not grammar.derives("c", ())


@given(st.dictionaries(st.integers(0, 6), st.lists(st.integers(0, 6), max_size=3)))
def test_strongly_connected_components(raw: dict[int, list[int]]) -> None:
    calls = {str(n): [str(m) for m in raw.get(n, [])] for n in range(7)}
    reach = {node: reachable([node], calls) for node in calls}
    components = strongly_connected(calls)
    assert sorted(node for group in components for node in group) == sorted(calls)
    place = {node: index for index, group in enumerate(components) for node in group}
    for node, called in calls.items():
        for other in called:
            assert place[other] <= place[node]
    for first in calls:
        for second in calls:
            mutual = second in reach[first] and first in reach[second]
            assert (place[first] == place[second]) == (mutual or first == second)


@given(
    st.dictionaries(st.integers(0, 6), st.lists(st.integers(0, 6), max_size=3)), st.sets(st.integers(0, 6))
)
def test_reachable_nodes_are_the_least_set_that_edges_do_not_leave(
    following: dict[int, list[int]], starts: set[int]
) -> None:
    expected = set(starts)
    for _ in range(7):
        expected |= {node for source in expected for node in following.get(source, ())}
    assert reachable(starts, following) == expected


def test_long_chains_do_not_recurse() -> None:
    calls = {str(n): [str(n + 1)] for n in range(5000)} | {"5000": ["0"]}
    assert [len(group) for group in strongly_connected(calls)] == [5001]
