"""Section 7: hierarchy and intersection rules, alone (the paper's case) and mixed with paths (ours)."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import paper_printed as printed
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from paper_gnn import Network

from reshuffle.errors import NotExpressibleError
from reshuffle.rulegraphs import RuleGraph, build, compiled
from reshuffle.rulegraphs.checks import check_graph
from reshuffle.rules import IntersectionRule, RuleBase, parse_rules
from reshuffle.rules.entailment import Fact, closure, entails_rule
from strategies import fact_lists, hierarchy_intersection_bases

bases = hierarchy_intersection_bases()
facts_of_five = fact_lists(relations=5, entities=3, most=10)


def both_graphs(base: RuleBase) -> list[RuleGraph]:
    return [build(base), printed.intersection(base)]


def labels_between(graph: RuleGraph) -> dict[tuple[int, int], set[str]]:
    between: dict[tuple[int, int], set[str]] = {}
    for source, label, target in graph.edges:
        between.setdefault((source, target), set()).add(label)
    return between


@given(bases)
@settings(max_examples=120)
def test_printed_and_ours_meet_all_conditions(base: RuleBase) -> None:
    for graph in both_graphs(base):
        assert {str(check) for check in check_graph(graph, base).values()} == {"holds"}


@given(bases)
@settings(max_examples=120)
def test_ours_is_no_larger_than_the_printed_one(base: RuleBase) -> None:
    ours, theirs = both_graphs(base)
    assert ours.num_nodes <= theirs.num_nodes


@given(bases)
@settings(max_examples=100)
def test_an_edge_has_one_of_the_conjuncts_iff_the_intersection_is_entailed(base: RuleBase) -> None:
    """Lemmas 14 and 17 together: {r1 ... rp} meets every r-edge iff P entails r1 ∧ ... ∧ rp -> r."""
    for graph in both_graphs(base):
        between = labels_between(graph)
        for relation, size in itertools.product(base.relations, (1, 2)):
            edges = [labels for labels in between.values() if relation in labels]
            for parts in itertools.combinations(base.relations, size):
                meets_all = all(not labels.isdisjoint(parts) for labels in edges)
                assert meets_all == entails_rule(base, IntersectionRule(parts, relation))


@given(bases, facts_of_five, st.integers(0, 2**32 - 1))
@settings(max_examples=100)
def test_layer_1_is_the_last(base: RuleBase, facts: list[Fact], seed: int) -> None:
    """Lemma 16 and corollary 1: B_r Z^(m) = B_r Z^(0), and Z^(m) = Z^(1)."""
    network = Network(compiled(build(base)), facts)
    initial = np.random.default_rng(seed).random((*network.shape, 2))
    first = network.layer(initial)
    assert np.array_equal(network.layer(first), first)
    for matrix in network.matrices.values():
        assert np.array_equal(matrix @ first, matrix @ initial)


@given(bases, facts_of_five, st.integers(0, 2**32 - 1))
@settings(max_examples=100)
def test_equation_11_decides(base: RuleBase, facts: list[Fact], seed: int) -> None:
    """B_r Z_a^(m) ⪯ Z_b^(m) iff B_r Z_a^(0) ⪯ max(Z_b^(0), B_s Z_e^(0) for (e, s, b) in G)."""
    network = Network(compiled(build(base)), facts)
    initial = np.random.default_rng(seed).integers(0, 2, (*network.shape, 2)).astype(float)
    last = network.converged(initial)
    for head, relation, tail in network.triples(r for r in base.relations if r in network.matrices):
        a, b = network.number[head], network.number[tail]
        arriving = [initial[b]]
        arriving += [network.matrices[s] @ initial[e] for e, s, end in network.edges if end == b]
        direct = network.matrices[relation] @ initial[a] <= np.maximum.reduce(arriving)
        assert bool(direct.all()) == network.captures(last, (head, relation, tail))


@given(bases, facts_of_five, st.integers(0, 2**32 - 1))
@settings(max_examples=100)
def test_what_follows_is_captured(base: RuleBase, facts: list[Fact], seed: int) -> None:
    """Lemma 15, for random embeddings that capture the graph."""
    network = Network(compiled(build(base)), facts)
    states = network.converged(np.random.default_rng(seed).random((*network.shape, 3)))
    known = (triple for triple in closure(base, facts) if triple[1] in network.matrices)
    assert all(network.captures(states, triple) for triple in known)


def test_an_intersection_inside_a_path_is_refused_with_the_reason() -> None:
    base = parse_rules("a(X, Y) & b(X, Y) -> both(X, Y)\nboth(X, Y) & c(Y, Z) -> far(X, Z)")
    with pytest.raises(NotExpressibleError) as caught:
        build(base)
    assert caught.value.reason == (
        "no exact geometry: `both` depends on an intersection rule and occurs inside a longer path, where its "
        "conditions could be met through different middle entities: rule 2: both(X, Y) & c(Y, Z) -> far(X, Z)"
    )


def test_what_the_refusal_prevents() -> None:
    """With a clause per conjunct, a;c and b;c through different middles would give `far`."""
    base = parse_rules("a(X, Y) & b(X, Y) -> both(X, Y)\nboth(X, Y) & c(Y, Z) -> far(X, Z)")
    facts = [("x", "a", "y"), ("x", "b", "w"), ("y", "c", "z"), ("w", "c", "z")]
    assert ("x", "far", "z") not in closure(base, facts)
    naive = printed.Graph(base.relations)
    second = naive.fresh()
    naive.add(0, "far", second)
    for conjunct, end in (("a", naive.node_of["far"]), ("b", second)):
        middle = naive.fresh()
        naive.add(0, "both", middle)
        naive.add(0, conjunct, middle)
        naive.add(middle, "c", end)
    network = Network(compiled(naive.finished(base)), facts)
    states = network.converged(network.one_column_per_initial_value())
    assert network.captures(states, ("x", "far", "z"))


def test_conjuncts_may_be_recursive_paths() -> None:
    base = parse_rules(
        "hyp(X, Y) & hyp(Y, Z) -> hyp(X, Z)\nrel(X, Y) -> rel(Y, X)\nhyp(X, Y) & rel(X, Y) -> both(X, Y)"
    )
    facts = [("a", "hyp", "b"), ("b", "hyp", "c"), ("c", "rel", "a")]
    network = Network(compiled(build(base)), facts)
    states = network.converged(network.one_column_per_initial_value())
    captured = Counter(t[1] for t in network.triples(["hyp", "rel", "both"]) if network.captures(states, t))
    assert captured == {"hyp": 3, "rel": 2, "both": 1}
    assert network.captures(states, ("a", "both", "c"))
