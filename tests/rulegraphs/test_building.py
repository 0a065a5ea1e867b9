"""build: which construction, which refusal, which budget."""

from __future__ import annotations

import pytest

from reshuffle.errors import BudgetError, InputError, NotExpressibleError
from reshuffle.rulegraphs import RuleGraph, build, constraints_for
from reshuffle.rulegraphs.automata import relation_language
from reshuffle.rulegraphs.build import CONSTRUCTION_OF
from reshuffle.rulegraphs.checks import check_graph
from reshuffle.rulegraphs.constructions.intersection import clauses_of
from reshuffle.rulegraphs.constructions.regular import regular_graph
from reshuffle.rules import IntersectionRule, PathRule, RuleBase, parse_rules
from reshuffle.rules.classes import CLASSES, PathGrammar


def all_hold(graph: RuleGraph) -> bool:
    return {str(check) for check in check_graph(graph).values()} == {"holds"}


def test_every_class_has_a_construction() -> None:
    assert set(CONSTRUCTION_OF) == set(CLASSES)


@pytest.mark.parametrize(
    ("rules", "size"),
    [
        ("r(X, Y) & r(Y, Z) -> r(X, Z)", (2, 2)),  # transitive
        ("r(X, Y) -> r(Y, X)", (2, 2)),  # symmetric: two labels on one edge
        ("r(X, Y) & a(Y, Z) & r(Z, U) -> r(X, U)", (4, 3)),  # calls itself on both sides
        ("a(X, Y) & r(Y, Z) -> r(X, Z)", (4, 3)),  # right-recursive
        ("a(X, Y) -> b(X, Y)\nb(X, Y) -> a(X, Y)", (2, 2)),  # a cycle of one-atom rules
        ("a(X, Y) & b(X, Y) -> c(X, Y)", (5, 6)),  # two clauses, a and b
        ("a(X, Y) -> b(Y, X)", (5, 6)),
    ],
)
def test_sizes_of_what_people_write_first(rules: str, size: tuple[int, int]) -> None:
    graph = build(parse_rules(rules))
    assert all_hold(graph)
    assert (graph.num_nodes, len(graph.edges)) == size


def test_a_base_without_rules_has_an_empty_graph() -> None:
    graph = build(RuleBase(()))
    assert (graph.num_nodes, graph.edges) == (0, ())
    assert all_hold(graph)


# Deeper than Python's stack, at one frame per level or more.
DEEP = RuleBase(tuple(PathRule((f"r{n}", "a"), f"r{n + 1}") for n in range(1000)))


def test_deep_rule_bases_do_not_recurse() -> None:
    assert build(DEEP).num_nodes == 1002


def test_deep_languages_do_not_recurse() -> None:
    automaton = relation_language(PathGrammar(DEEP), ["r1000"])
    assert automaton.accepts(("r0", *["a"] * 1000))
    assert not automaton.accepts(("r0", *["a"] * 999))


def test_deep_bounds_do_not_recurse() -> None:
    graph = build(RuleBase((PathRule(("r", "r"), "r"),)), bound=1000)
    assert graph.num_nodes == 1003


def test_regular_graph_refuses_what_it_cannot_do() -> None:
    with pytest.raises(NotExpressibleError) as caught:
        regular_graph(RuleBase((PathRule(("a", "r", "a"), "r"),)))
    assert str(caught.value) == (
        "the recursion of `r` is outside the regular class\n"
        "  hint: classify() says why; a bound or the chase still answers"
    )


def test_node_budget() -> None:
    nested = RuleBase(tuple(PathRule((f"r{n}", f"r{n}"), f"r{n + 1}") for n in range(12)))
    with pytest.raises(BudgetError) as caught:
        build(nested, node_budget=500)
    assert str(caught.value) == (
        "the rule graph needs more than the 500 nodes it was allowed\n"
        "  hint: engine='chase' (--engine chase of infer and explain) answers exactly, without geometry; or allow "
        "more with node_budget= (--node-budget), or use fewer or shorter rules"
    )


BRANCHING = RuleBase((PathRule(("r", "s"), "r"), PathRule(("s", "r"), "s"), PathRule(("r", "r"), "s")))


def test_bounded_budget_says_how_large_it_would_have_become() -> None:
    with pytest.raises(BudgetError) as caught:
        build(BRANCHING, bound=6, node_budget=10)
    assert str(caught.value) == (
        "bound=6 unfolds into up to 4,101 nodes, and 10 are allowed\n"
        "  hint: give a smaller bound, or a larger node_budget= (--node-budget); or "
        "engine='chase' (--engine chase of infer and explain) answers exactly, without geometry"
    )
    unshared = build(BRANCHING, bound=6).unreduced_nodes
    assert unshared is not None
    assert unshared <= 4_101


def test_bounded_budget_beyond_all_counting() -> None:
    with pytest.raises(BudgetError) as caught:
        build(BRANCHING, bound=100_000, node_budget=50)
    assert str(caught.value) == (
        "bound=100000 unfolds into too many nodes, and 50 are allowed\n"
        "  hint: give a smaller bound, or a larger node_budget= (--node-budget); or "
        "engine='chase' (--engine chase of infer and explain) answers exactly, without geometry"
    )


def test_a_negative_bound_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        build(BRANCHING, bound=-1)
    assert str(caught.value) == (
        "a bound of -1 steps\n  hint: a bound is 0 (the facts and one-atom rules) or more"
    )


def test_clause_budget() -> None:
    """c_i needs one of two from each of many pairs: the clauses double with each."""
    rules = [IntersectionRule((f"a{n}", f"b{n}"), "c") for n in range(12)]
    with pytest.raises(BudgetError) as caught:
        build(RuleBase(tuple(rules)), node_budget=1000)
    assert str(caught.value) == (
        "the intersections that define `c` need more than 1,000 clauses\n"
        "  hint: engine='chase' (--engine chase of infer and explain) answers exactly, without geometry; or allow "
        "more with node_budget= (--node-budget)"
    )


def test_a_clause_that_says_less_is_dropped() -> None:
    base = RuleBase((IntersectionRule(("a", "b"), "c"), PathRule(("a",), "b")))
    assert [sorted(clause) for clause in clauses_of("c", base)] == [["a", "c"]]


def test_fresh_relations_are_hidden() -> None:
    base = RuleBase((PathRule(("a", "b", "c"), "r"),)).binarised()
    assert constraints_for(base).hidden == {"~1"}


def test_an_identity_never_takes_the_name_of_a_relation() -> None:
    base = RuleBase((PathRule(("eq", "a"), "r"), PathRule(("b", "a"), "r"), PathRule(("a", "a"), "a")))
    graph = build(base)
    assert graph.identities
    assert graph.identities.isdisjoint(base.relations)
    assert all_hold(graph)


@pytest.mark.parametrize(
    ("base", "bound", "verdict"),
    [
        (RuleBase((PathRule(("a", "b"), "c"),)), 10**9, "holds"),  # all words are short
        (RuleBase((PathRule(("a", "r", "a"), "r"),)), 300, "verified up to length 62"),  # few, but long ones
        (BRANCHING, 8, "holds"),
    ],
)
def test_large_bounds_are_checked_at_once(base: RuleBase, bound: int, verdict: str) -> None:
    assert str(check_graph(build(base, bound=bound))["R4m"]) == verdict


@pytest.mark.parametrize(
    "base", [RuleBase((PathRule(("a", "b"), "c"),)), RuleBase((PathRule(("a", "r", "a"), "r"),))]
)
def test_a_huge_bound_beyond_the_budget_is_refused_at_once(base: RuleBase) -> None:
    with pytest.raises(BudgetError, match="bound=1000000000 unfolds into"):
        build(base, bound=10**9, node_budget=3)
