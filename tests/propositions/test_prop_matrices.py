"""Section 4 and the first lemmas: ordering constraints, matrices, and what composes."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reshuffle.constraints import UNCONSTRAINED, OrderingConstraints
from reshuffle.rulegraphs import compiled
from reshuffle.rules import PathRule
from strategies import relation_names, rule_graphs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reshuffle.rulegraphs import RuleGraph

words = st.lists(st.one_of(relation_names(3), st.just("eq")), min_size=1, max_size=4)
seeds = st.integers(0, 2**32 - 1)


def with_all_labels(graph: RuleGraph) -> OrderingConstraints:
    """Compiled, and with an empty matrix for each of r1, r2, r3, eq that the random graph happens not to use."""
    constraints = compiled(graph)
    missing = [name for name in ("r1", "r2", "r3", "eq") if name not in constraints.relations]
    empty = np.full((len(missing), constraints.num_slots), UNCONSTRAINED, dtype=np.int32)
    sources = np.concatenate([constraints.sources, empty])
    return OrderingConstraints((*constraints.relations, *missing), sources, constraints.identities)


def mu(graph: RuleGraph, word: list[str], vector: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """The appendix's definition, coordinate by coordinate: what a path of this type carries from n_j to n_i."""
    image = np.zeros_like(vector)
    for j, i in itertools.product(range(graph.num_nodes), repeat=2):
        if has_path(graph, j, word, i):
            for t in range(k):
                image[i * k + t] = vector[j * k + t]
    return image


def has_path(graph: RuleGraph, source: int, word: list[str], target: int) -> bool:
    """A path of exactly this type, identities counted as any other label."""
    nodes = {source}
    for label in word:
        nodes = {end for start, other, end in graph.edges if other == label and start in nodes}
    return target in nodes


@given(rule_graphs(), relation_names(3), st.integers(1, 3), seeds)
def test_flattened_product_is_mu(graph: RuleGraph, relation: str, k: int, seed: int) -> None:
    states = np.random.default_rng(seed).random((graph.num_nodes, k))
    product = with_all_labels(graph).matrix(relation) @ states
    assert np.array_equal(product.ravel(), mu(graph, [relation], states.ravel(), k))


@given(rule_graphs(), words, st.integers(1, 2), seeds)
def test_mu_of_a_path_composes(graph: RuleGraph, word: list[str], k: int, seed: int) -> None:
    vector = np.random.default_rng(seed).random(graph.num_nodes * k)
    step_by_step = vector
    for relation in word:
        step_by_step = mu(graph, [relation], step_by_step, k)
    assert np.array_equal(mu(graph, word, vector, k), step_by_step)
    constraints = with_all_labels(graph)
    product = np.eye(graph.num_nodes)
    for relation in word:
        product = constraints.matrix(relation) @ product
    assert np.array_equal((product @ vector.reshape(-1, k)).ravel(), step_by_step)
    composed = constraints.composed(word)
    expected = np.where(product.any(axis=1), product.argmax(axis=1), UNCONSTRAINED)
    assert np.array_equal(composed, expected)


@given(rule_graphs())
def test_rows_are_one_hot_or_zero(graph: RuleGraph) -> None:
    constraints = compiled(graph)
    for relation in constraints.relations:
        matrix = constraints.matrix(relation)
        assert set(matrix.sum(axis=1)) <= {0, 1}
        assert matrix.max(initial=0) <= 1


@given(rule_graphs(), relation_names(3), st.integers(1, 3), seeds)
def test_channels_are_a_kronecker_product(graph: RuleGraph, relation: str, k: int, seed: int) -> None:
    """A_r = B_r ⊗ I_k: one matrix for all channels does what the small one does for each."""
    matrix = with_all_labels(graph).matrix(relation)
    states = np.random.default_rng(seed).random((graph.num_nodes, k))
    large = np.kron(matrix, np.eye(k))
    assert np.array_equal((matrix @ states).ravel(), large @ states.ravel())


@given(rule_graphs(), relation_names(3), seeds)
def test_region_by_constraints_and_by_matrix_agree_on_non_negative_vectors(
    graph: RuleGraph, relation: str, seed: int
) -> None:
    constraints = with_all_labels(graph)
    first, second = np.random.default_rng(seed).integers(0, 3, (2, graph.num_nodes))
    by_ordering = all(
        first[source] <= second[slot] for source, slot in constraints.constrained_slots(relation)
    )
    by_matrix = np.array_equal(np.maximum(constraints.matrix(relation) @ first, second), second)
    assert by_ordering == by_matrix


def test_with_negative_coordinates_the_matrix_asks_for_more() -> None:
    """Erratum: a zero row of A_r demands 0 <= f_i, which the ordering constraints do not."""
    constraints = constraints_of_example_1()
    e, f = np.zeros(3), np.array([-1.0, 0.0, 0.0])
    assert all(e[source] <= f[slot] for source, slot in constraints.constrained_slots("r1"))
    assert not np.array_equal(np.maximum(constraints.matrix("r1") @ e, f), f)


def constraints_of_example_1() -> OrderingConstraints:
    """I_r1 = {3}, I_r2 = {1, 2}, I_r3 = {1}; here slots count from 0."""
    sources = np.array([[-1, -1, 1], [2, 2, -1], [1, -1, -1]], dtype=np.int32)
    return OrderingConstraints(("r1", "r2", "r3"), sources)


def test_example_1_captured_triples() -> None:
    constraints = constraints_of_example_1()
    vectors = {"e": np.array([0, 0, 0]), "f": np.array([0, 0, 1]), "g": np.array([2, 2, 0])}

    def captured(head: str, relation: str, tail: str) -> bool:
        pairs = constraints.constrained_slots(relation)
        return all(vectors[head][source] <= vectors[tail][slot] for source, slot in pairs)

    assert captured("e", "r1", "f")
    assert captured("f", "r2", "g")
    assert captured("e", "r3", "g")  # what example 2 concludes; it prints (e, r3, f)
    assert not captured("g", "r1", "f")
    assert not captured("f", "r2", "e")
    assert not captured("g", "r3", "e")


def test_example_2_rule_by_composed_constraints() -> None:
    constraints = constraints_of_example_1()
    rule = PathRule(("r1", "r2"), "r3")
    assert constraints.captures_rule(rule)
    assert constraints.composed(["r1", "r2"]).tolist() == [1, 1, -1]
    assert not constraints.captures_rule(PathRule(("r2", "r1"), "r3"))
    assert not constraints.captures_rule(PathRule(("r1",), "r3"))
