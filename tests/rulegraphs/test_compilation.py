"""Rule graphs to constraints and back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reshuffle.rulegraphs import Edge, RuleGraph, build, compiled, decompiled
from reshuffle.rules import RuleBase, parse_rules
from reshuffle.rules.classes import classify
from strategies import mixed_bases, regular_bases, rule_bases, rule_graphs


@given(st.one_of(regular_bases(levels=2), mixed_bases()))
@settings(max_examples=80)
def test_round_trip(base: RuleBase) -> None:
    graph = build(base)
    constraints = compiled(graph)
    back = decompiled(constraints)
    assert set(back.edges) == set(graph.edges)
    assert (back.num_nodes, back.identities, back.roots) == (graph.num_nodes, graph.identities, graph.roots)
    assert (back.rules, back.bound) == (base, None)
    again = compiled(back)
    assert again.to_dict() == constraints.to_dict()


@given(rule_bases(most_relations=3, most_rules=2), st.integers(0, 2))
@settings(max_examples=40)
def test_the_bound_travels(base: RuleBase, bound: int) -> None:
    constraints = compiled(build(base, bound=bound))
    assert constraints.bound == bound
    assert decompiled(constraints).bound == bound


@given(rule_graphs())
def test_an_entry_is_one_iff_there_is_an_edge(graph: RuleGraph) -> None:
    """Equation 7: b_ij = 1 iff there is an r-edge from n_j to n_i."""
    constraints = compiled(graph)
    edges = {tuple(edge) for edge in graph.edges}
    for relation in constraints.relations:
        matrix = constraints.matrix(relation)
        for i, j in np.ndindex(matrix.shape):
            assert bool(matrix[i, j]) == ((j, relation, i) in edges)


def test_two_incoming_edges_of_one_label_cannot_be_compiled() -> None:
    graph = RuleGraph(3, (Edge(0, "r", 2), Edge(1, "r", 2)))
    with pytest.raises(ValueError, match=r"^node 2 has two incoming r-edges, against \(R2\)$"):
        compiled(graph)


def test_symmetric_relations_share_their_matrix() -> None:
    """B_r = B_r_inv."""
    constraints = compiled(build(parse_rules("r(X, Y) -> r(Y, X)\nr(X, Y) & s(Y, Z) -> s(X, Z)")))
    assert np.array_equal(constraints.matrix("r"), constraints.matrix("r^-1"))
    assert not np.array_equal(constraints.matrix("s"), constraints.matrix("s^-1"))


@given(rule_bases(most_relations=4, most_rules=4))
@settings(max_examples=80)
def test_roots_are_entries_of_their_matrices(base: RuleBase) -> None:
    graph = build(base) if classify(base).faithful else build(base, bound=1)
    constraints = compiled(graph)
    for relation in base.relations:
        assert set(constraints.decisive_slots(relation)) <= set(constraints.constrained_slots(relation))
