"""What a graph rules out has no support there, and is all that is left out."""

from __future__ import annotations

import numpy as np
from extraction_worlds import soft_matrices
from hypothesis import given, settings
from hypothesis import strategies as st

from reshuffle.extraction import extract_rules
from reshuffle.extraction.measure import measured
from reshuffle.extraction.soft import Joins, graded_by_evidence
from reshuffle.extraction.soft_matrices import SoftMatrices
from reshuffle.kg import KnowledgeGraph

triples = st.tuples(st.sampled_from("abcdef"), st.sampled_from(["r1", "r2"]), st.sampled_from("abcdef"))
EVERYTHING = {"max_length": 3, "most_per_relation": 10_000, "budget": 10_000}


@given(soft_matrices(evidence=True), st.lists(triples, min_size=1, max_size=6))
@settings(max_examples=100)
def test_rules_that_have_support_are_not_ruled_out(soft, facts):
    graph = KnowledgeGraph(facts)
    everything = graded_by_evidence(soft, **EVERYTHING).grades
    left = graded_by_evidence(soft, **EVERYTHING, joins=Joins(soft, graph)).grades
    assert {rule: everything[rule] for rule in left} == left
    known = set(graph.relations) | {f"{name}^-1" for name in graph.relations}
    out = [rule for rule in everything if rule not in left and {rule.head, *rule.body} <= known]
    assert not any(counts.support for counts in measured(out, graph).values())


def test_each_of_the_three_looks_rules_something_out() -> None:
    names = ("r", "s", "t", "u")
    ones = np.ones((4, 1))
    soft = SoftMatrices(names, np.ones((4, 1, 1)), starts=ones, weights=ones)
    graph = KnowledgeGraph([("a", "r", "b"), ("b", "s", "c"), ("a", "t", "c"), ("x", "u", "y")])
    found = graded_by_evidence(soft, max_length=2, most_per_relation=100, joins=Joins(soft, graph)).grades
    assert [str(rule) for rule in found] == ["r(X, Y) & s(Y, Z) -> t(X, Z)"]


def test_a_graph_without_facts_rules_out_all() -> None:
    soft = SoftMatrices(("r",), np.ones((1, 1, 1)), starts=np.ones((1, 1)), weights=np.ones((1, 1)))
    assert len(extract_rules(soft, on=KnowledgeGraph([]))) == 0


def test_relations_without_facts_rule_out_all() -> None:
    soft = SoftMatrices(("r", "s"), np.ones((2, 1, 1)), starts=np.ones((2, 1)), weights=np.ones((2, 1)))
    joins = Joins(soft, KnowledgeGraph([("a", "r", "b"), ("b", "r", "c")]))
    assert [str(rule) for rule in graded_by_evidence(soft, **EVERYTHING, joins=joins).grades] == [
        "r(X, Y) & r(Y, Z) -> r(X, Z)",
        "r(X, Y) & r(Y, Z) & r(Z, Z1) -> r(X, Z1)",
    ]
