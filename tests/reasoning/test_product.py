"""Strongly connected components, against their definition."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reshuffle import Reasoner, parse_rules
from reshuffle.reasoning.geometry.all_pairs import ProductWalker
from reshuffle.reasoning.geometry.answers import GeometryAnswers
from reshuffle.reasoning.geometry.kernels.product import components, grouped
from reshuffle.rules.entailment import closure

SIZE = 7
edge_lists = st.lists(st.tuples(st.integers(0, SIZE - 1), st.integers(0, SIZE - 1)), max_size=14)


@given(edge_lists)
def test_two_nodes_are_in_one_component_iff_each_reaches_the_other(edges):
    sources, targets = np.array(edges, dtype=np.int32).reshape(-1, 2).T
    found = components(*grouped(np.ascontiguousarray(sources), np.ascontiguousarray(targets), SIZE))
    reach = np.eye(SIZE, dtype=bool)
    for source, target in edges:
        reach[source, target] = True
    for _ in range(SIZE):
        reach |= reach @ reach
    for one in range(SIZE):
        for two in range(SIZE):
            assert (found[one] == found[two]) == (reach[one, two] and reach[two, one])


def test_entities_on_a_directed_cycle_share_one_search() -> None:
    facts = [
        *((f"n{place}", "e", f"n{(place + 1) % 5}") for place in range(5)),
        ("a", "e", "n0"),
        ("n3", "e", "z"),
    ]
    rules = parse_rules("e(X, Y) -> p(X, Y)\np(X, Y) & e(Y, Z) -> p(X, Z)")
    answers = Reasoner(rules).on(facts)
    assert isinstance(answers, GeometryAnswers)
    walker = answers._all_pairs()._walker("p")
    assert isinstance(walker, ProductWalker)
    shares = dict(zip(answers.facts.entities, walker._product.shares.tolist(), strict=True))
    one = shares["n0"]
    assert one >= 0 and {name for name, share in shares.items() if share == one} == {
        "a",
        "n0",
        "n1",
        "n2",
        "n4",
    }
    held = closure(rules, facts)
    assert {*answers} | {*facts} == held
    assert answers.counts()["p"].total == sum(relation == "p" for _, relation, _ in held)
