"""The checks: what they say of graphs that break one condition each."""

from __future__ import annotations

import pytest

from reshuffle.errors import BudgetError
from reshuffle.rulegraphs import Edge, RuleGraph, build, checks
from reshuffle.rulegraphs import automata as languages
from reshuffle.rulegraphs.automata import (
    NondeterministicAutomaton,
    edge_language,
    relation_language,
    word_outside,
)
from reshuffle.rulegraphs.checks import Check, check_graph
from reshuffle.rules import IntersectionRule, PathRule, RuleBase, parse_rules
from reshuffle.rules.grammar import PathGrammar

COMPOSED = RuleBase((PathRule(("a", "b"), "c"),))
GOOD = [(0, "c", 1), (0, "a", 2), (2, "b", 1), (0, "b", 3)]
BOTH = RuleBase((IntersectionRule(("a", "b"), "c"),))


def graph(edges: list[tuple[int, str, int]], *, bound: int | None = None) -> RuleGraph:
    nodes = 1 + max(node for source, _, target in edges for node in (source, target))
    return RuleGraph(nodes, tuple(Edge(*edge) for edge in edges), frozenset({"eq"}), bound=bound)


def said(edges: list[tuple[int, str, int]], base: RuleBase, *, bound: int | None = None) -> dict[str, str]:
    """Only what does not hold."""
    found = check_graph(graph(edges, bound=bound), base)
    return {name: str(check) for name, check in found.items() if check.status != "holds"}


def test_a_good_graph() -> None:
    assert said(GOOD, COMPOSED) == {}
    assert list(check_graph(graph(GOOD), COMPOSED)) == ["R1", "R2", "R3", "R4"]


def test_r1() -> None:
    found = said(GOOD, RuleBase((*COMPOSED.given, PathRule(("d",), "c"))))
    assert found["R1"] == "violated: no edge is labelled d"
    assert found["R4"] == "violated: no edge is labelled d"


def test_r2() -> None:
    assert said([*GOOD, (4, "c", 1), (4, "a", 5), (5, "eq", 2)], COMPOSED) == {
        "R2": "violated: node 1 has incoming c-edges from nodes 0 and 4"
    }


def test_r3() -> None:
    assert said([(0, "c", 1), (0, "a", 2), (2, "b", 3)], COMPOSED) == {
        "R3": "violated: the c-edge from node 0 to node 1 has no a;b path beside it"
    }


def test_r3_with_identities_between_holds() -> None:
    assert (
        said([(0, "c", 1), (0, "a", 2), (2, "eq", 3), (3, "b", 4), (4, "eq", 1), (0, "b", 5)], COMPOSED) == {}
    )


def test_r4() -> None:
    assert said([*GOOD, (2, "a", 1)], COMPOSED) == {
        "R4": "violated: the c-edge from node 0 to node 1 has the path a;a, which does not entail c"
    }


def test_r4_the_empty_word() -> None:
    found = said([(0, "a", 0)], RuleBase((PathRule(("a", "a"), "a"),)))
    assert found == {
        "R4": "violated: the a-edge from node 0 to node 0 has the path the empty word, which does not entail a"
    }


def test_r4_needs_one_good_edge_only() -> None:
    assert said([*GOOD, (4, "c", 5), (4, "a", 6), (6, "b", 5), (6, "a", 5)], COMPOSED) == {}


def test_r4_of_a_language_that_is_not_visibly_regular_is_verified_up_to_a_length() -> None:
    base = RuleBase((PathRule(("a", "r", "a"), "r"), PathRule(("b",), "r")))
    bounded = build(base, bound=5)
    as_if_exact = RuleGraph(bounded.num_nodes, bounded.edges, bounded.identities, bounded.roots, base)
    found = {name: str(check) for name, check in check_graph(as_if_exact).items()}
    assert found == {"R1": "holds", "R2": "holds", "R3": "holds", "R4": "verified up to length 4"}


def test_r4_violated_beyond_regular_languages() -> None:
    base = RuleBase((PathRule(("a", "r", "a"), "r"),))
    edges = [(0, "r", 1), (0, "a", 0), (1, "a", 1), (2, "a", 3)]
    assert said(edges, base) == {
        "R4": "violated: the r-edge from node 0 to node 1 has the path r;a, which does not entail r"
    }


def test_r4m() -> None:
    """A loop with a partner, as the bounded construction makes them: a;d;b is too long for m = 1 only."""
    base = RuleBase((*COMPOSED.given, PathRule(("d",), "d")))
    collapsed = [*GOOD, (2, "d", 4), (4, "eq", 2), (0, "a", 5), (0, "d", 6)]
    assert said(collapsed, base, bound=1) == {}
    assert said(collapsed, base, bound=2) == {
        "R4m": "violated: the c-edge from node 0 to node 1 has the path a;d;b, which does not entail c"
    }


def test_r4m_stops_where_words_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "_MOST_WORDS", 2)
    many = RuleBase(tuple(PathRule((f"a{n}", f"b{n}"), "c") for n in range(3)))
    assert str(check_graph(build(many, bound=1))["R4m"]) == "verified up to length 1"


def test_clause_form_of_r3() -> None:
    found = said([(0, "c", 1), (0, "a", 2), (0, "b", 3)], BOTH)
    assert found["R3∧"] == "violated: the c-edge from node 0 to node 1 has none of a, b beside it"


def test_clause_form_of_r4() -> None:
    edges = [(0, "c", 1), (0, "a", 1), (0, "a", 2), (0, "b", 3)]
    assert said(edges, BOTH) == {"R4∧": "violated: a meet all clauses of c"}
    both_clauses = [*edges, (0, "c", 4), (0, "b", 4)]
    assert said(both_clauses, BOTH) == {}
    assert list(check_graph(graph(both_clauses), BOTH)) == ["R1", "R2", "R3", "R3∧", "R4", "R4∧"]


def test_clause_form_of_r4_with_a_foreign_path() -> None:
    edges = [(0, "c", 1), (0, "a", 1), (0, "c", 3), (0, "b", 3), (0, "a", 2), (2, "b", 1), (0, "b", 4)]
    assert said(edges, BOTH) == {
        "R4∧": "violated: the a or c-edge from node 0 to node 1 has the path a;b, which does not entail a or c"
    }


def test_clause_form_of_r4_sees_conjuncts_behind_identities() -> None:
    edges = [(0, "c", 1), (0, "a", 2), (2, "eq", 1), (0, "c", 3), (0, "b", 3), (0, "b", 4)]
    assert said(edges, BOTH) == {}


def test_clause_form_of_r4_without_an_edge() -> None:
    assert said([(0, "a", 1), (0, "b", 2)], BOTH)["R4∧"] == "violated: no edge is labelled c"


def test_clause_form_of_r4_up_to_a_length(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the automata would grow too large, words are tried; never an error."""

    def too_large(*_: object) -> NondeterministicAutomaton:
        raise BudgetError("too large")

    monkeypatch.setattr(checks, "relation_language", too_large)
    base = parse_rules("a(X, Y) & b(X, Y) -> c(X, Y)\na(X, Y) & a(Y, Z) -> a(X, Z)")
    found = check_graph(build(base))
    assert {name: str(found[name]) for name in ("R4", "R4∧")} == {
        "R4": "verified up to length 4",
        "R4∧": "verified up to length 4",
    }


def test_checks_print_and_export() -> None:
    assert str(Check("holds")) == "holds"
    assert Check("holds").to_dict() == {"status": "holds"}
    assert Check("verified", length=4).to_dict() == {"status": "verified", "length": 4}
    assert Check("violated", witness="x").to_dict() == {"status": "violated", "witness": "x"}


def test_a_graph_without_rules_is_checked_against_none() -> None:
    assert {str(check) for check in check_graph(graph(GOOD)).values()} == {"holds"}


# --- automata -----------------------------------------------------------------------------------------------------


def test_automata_say_when_they_grow_too_large() -> None:
    grammar = PathGrammar(COMPOSED)
    with pytest.raises(BudgetError, match=r"^more than 0 pairs of state sets$"):
        word_outside(edge_language(graph(GOOD), 0, 1), relation_language(grammar, ["c"]), most_pairs=0)
    small = NondeterministicAutomaton(most_states=1)
    small.state()
    with pytest.raises(BudgetError, match=r"^the automaton of the grammar needs more than 1 states$"):
        small.state()


def test_a_language_that_is_not_visibly_regular_has_no_automaton() -> None:
    grammar = PathGrammar(RuleBase((PathRule(("a", "r", "a"), "r"),)))
    with pytest.raises(BudgetError, match=r"^`r` has no visibly regular language$"):
        languages.relation_language(grammar, ["r"])


def test_the_shortest_word_outside_is_found_first() -> None:
    inner = edge_language(graph([(0, "a", 1), (1, "a", 1), (1, "b", 1)]), 0, 1)
    outer = edge_language(graph([(0, "a", 1), (1, "a", 1)]), 0, 1)
    assert word_outside(inner, outer) == ("a", "b")
    assert word_outside(outer, inner) is None
