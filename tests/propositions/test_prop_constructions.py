"""Every construction on random rule bases of its class: (R1) to (R4), by the checks and without them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from paper_gnn import Network

from reshuffle.rulegraphs import build, compiled
from reshuffle.rulegraphs.build import labels_of
from reshuffle.rulegraphs.checks import check_graph
from reshuffle.rules import PathRule, RuleBase
from reshuffle.rules.classes import CLASSES, classify
from reshuffle.rules.entailment import closure, entailed_words
from strategies import (
    acyclic_bases,
    fact_lists,
    hierarchy_intersection_bases,
    left_regular_bases,
    mixed_bases,
    regular_bases,
    right_regular_bases,
    rule_bases,
)

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from reshuffle.rulegraphs import RuleGraph

PATH_CLASSES: dict[str, SearchStrategy[RuleBase]] = {
    "acyclic": acyclic_bases(),
    "left-regular": left_regular_bases(),
    "right-regular": right_regular_bases(),
    "regular": regular_bases(),
    "any": rule_bases(most_relations=5, most_rules=5),
    "inverses": rule_bases(most_relations=3, most_rules=3, inverses=True),
    "one-atom cycles": rule_bases(most_relations=4, most_rules=5, longest=1, inverses=True),
}
INTERSECTION_CLASSES: dict[str, SearchStrategy[RuleBase]] = {
    "hierarchy-intersection": hierarchy_intersection_bases(),
    "with inverses": hierarchy_intersection_bases(inverses=True),
    "mixed": mixed_bases(),
    "any": rule_bases(most_relations=4, most_rules=5, intersections=True),
}


def assert_rule_graph(base: RuleBase, *, max_length: int) -> None:
    """(R1) to (R4) by the checks, then from the definitions alone, for words up to a length."""
    graph = build(base)
    assert {name: str(check) for name, check in check_graph(graph).items()} == dict.fromkeys(
        ("R1", "R2", "R3", "R4"), "holds"
    )
    entailed = entailed_words(base, max_length=max_length)
    assert set(entailed) == set(labels_of(graph)) - graph.identities  # R1
    assert_r2(graph)
    for relation, words in entailed.items():
        edges = {(edge.source, edge.target) for edge in graph.by_label[relation]}
        languages = [set(graph.words(*edge, max_length=max_length)) for edge in edges]
        assert all(words <= language for language in languages)  # R3
        (root,) = graph.roots[relation]
        assert root in edges
        assert set(graph.words(*root, max_length=max_length)) == words  # R4


def assert_r2(graph: RuleGraph) -> None:
    arrivals = Counter((label, target) for _, label, target in graph.edges)
    assert not [place for place, count in arrivals.items() if count > 1]


@pytest.mark.parametrize("name", PATH_CLASSES)
@given(data=st.data())
@settings(max_examples=200)
def test_path_rules(name: str, data: st.DataObject) -> None:
    base = data.draw(PATH_CLASSES[name])
    assume(classify(base).faithful)
    assert_rule_graph(base, max_length=4)


@pytest.mark.slow
@pytest.mark.parametrize("name", PATH_CLASSES)
@given(data=st.data())
@settings(max_examples=1500)
def test_path_rules_many(name: str, data: st.DataObject) -> None:
    base = data.draw(PATH_CLASSES[name])
    assume(classify(base).faithful)
    assert_rule_graph(base, max_length=5)


def assert_agrees_with_the_oracle(base: RuleBase, facts: list[tuple[str, str, str]]) -> None:
    """Captured on all r-edges, for all one-bit initialisations, iff entailed."""
    graph = build(base)
    assert {check.status for check in check_graph(graph).values()} == {"holds"}
    assert_r2(graph)
    network = Network(compiled(graph), facts)
    states = network.converged(network.one_column_per_initial_value())
    entailed = closure(base, facts)
    for triple in network.triples(relations_of_rules(base)):
        assert network.captures(states, triple) == (triple in entailed), triple


def relations_of_rules(base: RuleBase) -> list[str]:
    """Those that facts may use: no inverses."""
    return sorted({relation.removesuffix("^-1") for relation in base.relations})


@st.composite
def intersection_cases(draw: st.DrawFn, name: str) -> tuple[RuleBase, list[tuple[str, str, str]]]:
    base = draw(INTERSECTION_CLASSES[name])
    assume(classify(base).faithful)
    names = relations_of_rules(base)
    assume(names)
    # Few entities and many facts, so that conjuncts meet.
    facts = draw(fact_lists(relations=len(names), entities=2, most=8))
    assume(facts)
    return base, [(head, names[int(relation[1:]) - 1], tail) for head, relation, tail in facts]


@pytest.mark.parametrize("name", INTERSECTION_CLASSES)
@given(data=st.data())
@settings(max_examples=150)
def test_intersections(name: str, data: st.DataObject) -> None:
    assert_agrees_with_the_oracle(*data.draw(intersection_cases(name)))


@pytest.mark.slow
@pytest.mark.parametrize("name", INTERSECTION_CLASSES)
@given(data=st.data())
@settings(max_examples=1500)
def test_intersections_many(name: str, data: st.DataObject) -> None:
    assert_agrees_with_the_oracle(*data.draw(intersection_cases(name)))


def test_the_random_bases_reach_every_class() -> None:
    """Otherwise the tests above would say less than their names."""
    seen = Counter[str]()
    for strategy in (*PATH_CLASSES.values(), *INTERSECTION_CLASSES.values()):

        @given(strategy)
        @settings(max_examples=40)
        def count(base: RuleBase) -> None:
            seen[classify(base).name] += 1

        count()
    assert set(seen) == {*CLASSES, "none"}
    assert all(seen[name] >= 10 for name in CLASSES)


@given(st.data())
@settings(max_examples=60)
def test_rules_that_share_head_and_last_atom_are_among_them(data: st.DataObject) -> None:
    """The case in which the printed acyclic construction breaks (R2), forced."""
    base = data.draw(acyclic_bases(relations=4, most_rules=2))
    first = next((rule for rule in base.path_rules if len(rule.body) > 1), None)
    assume(first is not None)
    twin = PathRule((f"q{len(first.body)}", *first.body[1:]), first.head)
    assert_rule_graph(RuleBase((*base.rules, twin)), max_length=4)
