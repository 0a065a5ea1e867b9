"""The degree of a rule by its definition, on hard matrices, and found in the right order."""

from __future__ import annotations

import numpy as np
import pytest
from extraction_worlds import all_rules, any_constraints, captured_by_trying, soft_matrices
from hypothesis import given, settings
from hypothesis import strategies as st

from reshuffle.errors import InputError, UnknownNameError
from reshuffle.extraction.hard import forward
from reshuffle.extraction.kernels import degree_bounds
from reshuffle.extraction.soft import Flows, degree, graded_by_degree
from reshuffle.extraction.soft_matrices import SoftMatrices
from reshuffle.kg import inverse_name
from reshuffle.rules import PathRule

bodies = st.lists(st.sampled_from(["r1", "r2"]), min_size=1, max_size=3).map(tuple)


@given(soft_matrices(free=False), bodies, st.sampled_from(["r1", "r2"]))
def test_without_free_moves_it_compares_with_the_product(soft, body, head):
    product = np.eye(soft.num_slots)
    for relation in body:
        product = soft.values[soft.id_of(relation)] @ product
    matrix = soft.values[soft.id_of(head)]
    missing = np.maximum(matrix - product, 0).sum(axis=1).max()
    expected = 1 - missing / matrix.sum(axis=1).max() if matrix.any() else 1
    assert degree(soft, PathRule(body, head)) == pytest.approx(expected)


@given(soft_matrices(free=False), bodies, st.integers(0, 2**32 - 1))
def test_what_the_degree_promises(soft, body, seed):
    """B_r Z_0 exceeds Z_n by at most (1 - degree) b_r max Z_0, for the least embeddings above a random Z_0."""
    start = np.random.default_rng(seed).uniform(size=soft.num_slots)
    end = start
    for relation in body:
        end = soft.values[soft.id_of(relation)] @ end
    head = soft.values[soft.id_of("r1")]
    excess, most = (head @ start - end).max(), head.sum(axis=1).max() * start.max()
    assert excess <= (1 - degree(soft, PathRule(body, "r1"))) * most + 1e-9


def frozen(soft: SoftMatrices, body: tuple[str, ...]) -> np.ndarray:
    """The model's own layers on the frozen body with private channels, until nothing changes much."""
    slots = soft.num_slots
    states = [np.eye(slots), *(np.zeros((slots, slots)) for _ in body)]
    for _ in range(200):
        messages = list(states)
        for place, relation in enumerate(body):
            step = soft.values[soft.id_of(relation)] @ states[place]
            messages[place + 1] = np.maximum(messages[place + 1], step)
            if (inverse := inverse_name(relation)) in soft.relation_ids:
                back = soft.values[soft.id_of(inverse)] @ states[place + 1]
                messages[place] = np.maximum(messages[place], back)
        for identity in soft.identities:
            for place, state in enumerate(states):
                loop = soft.values[soft.id_of(identity)] @ state
                messages[place] = np.maximum(messages[place], loop)
        states = messages
    return states[-1]


@given(soft_matrices(), bodies)
@settings(max_examples=100)
def test_what_arrives_does_so_in_the_models_layers_too(soft, body):
    assert (Flows(soft).of(body).arrived <= frozen(soft, body) + 1e-9).all()


@given(any_constraints(), st.data())
@settings(max_examples=300)
def test_on_hard_matrices_it_is_the_hard_answer(constraints, data):
    rules = list(all_rules(constraints, 2))
    rule = data.draw(st.sampled_from(rules))
    assert degree(SoftMatrices.of(constraints), rule) == float(constraints.captures_rule(rule))


@given(any_constraints(most_slots=3))
@settings(max_examples=60)
def test_on_hard_matrices_the_search_finds_what_is_captured(constraints):
    found = graded_by_degree(SoftMatrices.of(constraints), max_length=3, min_degree=1.0, most=10_000)
    assert found.cut is None
    assert set(found.grades) == captured_by_trying(constraints, 3)


def by_trying(soft: SoftMatrices, max_length: int) -> dict[PathRule, float]:
    grades: dict[PathRule, float] = {}
    for rule in all_rules(soft, max_length):
        if soft.values[soft.id_of(rule.head)].sum(axis=1).max() >= 0.5 and not rule.is_tautology:
            name = forward(rule)
            grades[name] = max(degree(soft, rule), grades.get(name, 0.0))
    return {rule: grade for rule, grade in grades.items() if grade > 0}


@given(soft_matrices(), st.sampled_from([0.0, 0.3, 0.75]), st.integers(1, 30))
@settings(max_examples=100)
def test_the_search_gives_the_best_by_falling_degree(soft, floor, most):
    tried = {length: by_trying(soft, length) for length in (1, 2, 3)}
    grades = sorted((grade for grade in tried[3].values() if grade >= floor), reverse=True)
    found = graded_by_degree(soft, max_length=3, min_degree=floor, most=most)
    assert list(found.grades.values()) == pytest.approx(grades[:most])
    assert found.cut is None
    for rule, grade in found.grades.items():
        assert grade == pytest.approx(tried[len(rule.body)][rule])


@given(soft_matrices(), st.data())
@settings(max_examples=150)
def test_no_continuation_exceeds_the_bound_of_its_prefix(soft, data):
    letters = [soft.relations[place] for place in soft.letters]
    word = data.draw(st.lists(st.sampled_from(letters), min_size=2, max_size=4))
    head = data.draw(st.sampled_from(letters))
    flows = Flows(soft)
    matrix = soft.values[[soft.id_of(head)]]
    reached = degree(soft, PathRule(tuple(word), head))
    for length in range(1, len(word)):
        highest = flows.of(word[:length]).arrived.max(axis=0)
        assert degree_bounds(matrix, highest, flows.shares(), 0.0)[0] >= reached - 1e-9


def test_the_bound_knows_that_identities_fill_slots_that_no_letter_fills() -> None:
    halved, kept = [[0.5, 0.0], [0.0, 0.0]], [[1.0, 0.0], [0.0, 0.0]]
    head, down = [[0.0, 0.0], [0.5, 0.0]], [[0.0, 0.0], [1.0, 0.0]]
    soft = SoftMatrices(("a", "b", "r", "eq"), np.array([halved, kept, head, down]), frozenset({"eq"}))
    flows = Flows(soft)
    highest = flows.of(("a",)).arrived.max(axis=0)
    assert degree(soft, PathRule(("a", "b"), "r")) == 1.0
    assert degree_bounds(soft.values[[2]], highest, flows.shares(), 0.0)[0] == 1.0


@given(soft_matrices(), st.integers(0, 4))
@settings(max_examples=60)
def test_what_the_budget_cuts_off_is_not_above_the_cut(soft, budget):
    found = graded_by_degree(soft, max_length=3, most=10_000, budget=budget)
    everything = by_trying(soft, 3)
    assert set(found.grades) <= set(everything)
    missed = [grade for rule, grade in everything.items() if rule not in found.grades]
    assert max(missed, default=0.0) <= (found.cut or 0.0) + 1e-9


def test_a_relation_that_hardly_anything_constrains_is_no_head() -> None:
    soft = SoftMatrices(("a", "b"), np.array([[[0.25]], [[0.5]]]))
    assert degree(soft, PathRule(("b",), "a")) == 1.0
    assert graded_by_degree(soft, max_length=1).grades == {PathRule(("a",), "b"): 0.5}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.ones((1, 2)), "found matrices of shape (1, 2) for 1 relation"),
        (np.ones((1, 2, 2)), "found a matrix with negative entries or rows that sum to more than 1"),
        (-np.ones((1, 1, 1)), "found a matrix with negative entries or rows that sum to more than 1"),
    ],
)
def test_matrices_that_are_none(values, message) -> None:
    with pytest.raises(InputError) as caught:
        SoftMatrices(("r",), values)
    assert str(caught.value).splitlines()[0] == message


def test_an_unknown_relation_has_near_names() -> None:
    soft = SoftMatrices(("speaks",), np.ones((1, 1, 1)))
    with pytest.raises(UnknownNameError, match="did you mean 'speaks'"):
        degree(soft, PathRule(("speeks",), "speaks"))


def test_rows_of_single_precision_are_rounded_down() -> None:
    values = np.array([[[0.7, 0.3], [0.1, 0.9]]], dtype=np.float32) * np.float32(1.00001)
    soft = SoftMatrices(("r",), values)
    assert (soft.values.sum(axis=2) <= 1 + 1e-12).all()
