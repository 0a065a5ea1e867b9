"""Sketches never miss, err as rarely as they say, and follow updates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from reshuffle import KnowledgeGraph, Reasoner
from reshuffle.errors import BudgetError, InputError, NotExpressibleError
from reshuffle.rules import PathRule, RuleBase
from reshuffle.rules.entailment import closure
from strategies import fact_lists, rule_bases

TRANSITIVE = RuleBase((PathRule(("r", "r"), "r"),))
BITS = 200_000  # bytes of memory in which only bits fit


def tree(size: int) -> KnowledgeGraph:
    return KnowledgeGraph((f"n{i}", "r", f"n{(i - 1) // 2}") for i in range(1, size))


def reasoner(base: RuleBase, *, memory: int | None = None) -> Reasoner:
    try:
        return Reasoner(base, memory=memory, engine="geometry")
    except (NotExpressibleError, BudgetError):
        assume(False)
        raise


@settings(max_examples=50)
@given(rule_bases(intersections=True, inverses=True), fact_lists(most=8), st.booleans())
def test_many_channels_answer_like_the_oracle(base, facts, as_bits):
    assume(facts)
    memory = None if not as_bits else 5 * 60 * 12 * 256
    try:
        sketch = reasoner(base, memory=memory).sketch(KnowledgeGraph(facts), channels=256)
    except BudgetError:
        assume(False)
    expected = closure(base, facts)
    assert {triple for triple in expected if not sketch.holds(*triple)} == set()
    found = set(sketch.triples()) | set(sketch.facts)
    assert expected <= found
    if sketch.density is None:  # a dozen values at most arrive anywhere: 256 channels leave a chance of 1e-9
        assert found == expected


@pytest.mark.parametrize("memory", [None, BITS])
def test_nothing_is_missed_and_the_measured_rate_keeps_the_bound(memory):
    graph = tree(400)
    sketch = Reasoner(TRANSITIVE, memory=memory).sketch(graph, channels=128)
    assert (sketch.density is None) == (memory is None)
    exact = Reasoner(TRANSITIVE).on(graph)
    entities = list(graph.entities)
    wrong = 0
    for head in entities[::7]:
        for tail in entities:
            if exact.holds(head, "r", tail):
                assert sketch.holds(head, "r", tail)
            else:
                wrong += sketch.holds(head, "r", tail)
    rate = wrong / (len(entities[::7]) * len(entities))
    assert rate <= 2 * sketch.bound_on_false_positives + 0.005
    assert abs(rate - sketch.measured_false_positives) < 0.02
    assert sketch.exactness.startswith("sketch: false positives ")


def test_tails_heads_and_counts_agree_with_holds():
    sketch = Reasoner(TRANSITIVE).sketch(tree(60), channels=8)
    entities = list(sketch.facts.entities)
    for entity in entities[:10]:
        assert set(sketch.tails(entity, "r")) == {e for e in entities if sketch.holds(entity, "r", e)}
        assert set(sketch.heads("r", entity)) == {e for e in entities if sketch.holds(e, "r", entity)}
    triples = list(sketch.triples())
    assert sketch.count() == len(triples) == sketch.counts()["r"].derived
    assert not set(triples) & set(sketch.facts)


def test_epsilon_chooses_the_channels():
    graph = tree(300)
    strict = Reasoner(TRANSITIVE).sketch(graph, epsilon=0.001)
    loose = Reasoner(TRANSITIVE).sketch(graph, epsilon=0.1)
    assert strict.channels > loose.channels
    assert strict.bound_on_false_positives <= 0.001 and loose.bound_on_false_positives <= 0.1
    assert loose.measured_false_positives <= 0.1


def test_too_little_memory_names_the_channels_and_the_bytes():
    with pytest.raises(
        BudgetError, match=r"rate of 1e-06 needs [\d,]+ channels, .* as packed bits; 60.0 kB are allowed"
    ):
        Reasoner(TRANSITIVE, memory=60_000).sketch(tree(300), epsilon=1e-6)


def test_the_same_seed_gives_the_same_sketch():
    one, two, other = (Reasoner(TRANSITIVE).sketch(tree(50), channels=3, seed=seed) for seed in (1, 1, 2))
    assert set(one.triples()) == set(two.triples()) != set(other.triples())


@pytest.mark.parametrize("memory", [None, BITS])
def test_updates(memory):
    sketch = Reasoner(TRANSITIVE, memory=memory).sketch(tree(400), channels=256)
    assert not sketch.holds("n0", "r", "n399")
    sketch.add([("n0", "r", "new"), ("new", "r", "n399")])
    assert sketch.holds("n0", "r", "n399") and sketch.holds("n5", "r", "new")
    sketch.remove([("n0", "r", "new")])
    assert not sketch.holds("n0", "r", "n399") and sketch.holds("new", "r", "n399")


def test_a_false_positive_has_no_proof():
    sketch = Reasoner(TRANSITIVE).sketch(tree(50), channels=1)
    exact = Reasoner(TRANSITIVE).on(tree(50))
    wrong = next(triple for triple in sketch.triples() if not exact.holds(*triple))
    assert not sketch.explain(*wrong)
    assert sketch.explain("n7", "r", "n0")


@pytest.mark.parametrize("options", [{}, {"channels": 4, "epsilon": 0.1}, {"channels": 0}, {"epsilon": 2.0}])
def test_bad_choices_are_refused(options):
    with pytest.raises(InputError):
        Reasoner(TRANSITIVE).sketch(tree(10), **options)


def test_one_layer_moves_values_by_one_fact():
    from reshuffle.reasoning.geometry.changing_graph import LiveGraph
    from reshuffle.reasoning.sketch.propagation import moves_of, propagate, random_states
    from reshuffle.rulegraphs import constraints_for

    constraints = constraints_for(TRANSITIVE)
    live = LiveGraph(KnowledgeGraph([("a", "r", "b"), ("b", "r", "c")]))
    ((start, leave),) = constraints.decisive_slots("r")
    states = random_states(3, 2, np.array([start], np.int32), channels=64, density=0.5, seed=1)
    initial = states[:, start].copy()
    assert propagate(live, moves_of(constraints, live.relations), states, layers=1) == 1
    assert states[1, leave] == initial[0]


def initial_bits(density: float) -> np.ndarray:
    """Rows of 100 channels for two of three slots of 2,000 entities."""
    from reshuffle.reasoning.sketch.propagation import random_states

    slots = np.array([0, 2], dtype=np.int32)
    states = random_states(2000, 3, slots, channels=100, density=density, seed=5)
    assert not states[:, 1].any()
    bits = np.unpackbits(states[:, slots].view(np.uint8), axis=2, bitorder="little")
    assert not bits[:, :, 100:].any()
    return bits[:, :, :100].reshape(-1, 100).astype(float)


@pytest.mark.parametrize("density", [0.5, 0.1, 0.01, 0.001])
def test_initial_bits_are_as_dense_as_asked(density):
    bits = initial_bits(density)
    assert abs(bits.mean() - density) < 5 * np.sqrt(density / bits.size)


@pytest.mark.parametrize("density", [0.5, 0.1])
def test_initial_bits_are_independent(density):
    bits = initial_bits(density)
    between_channels = np.corrcoef(bits.T) - np.eye(100)
    assert np.abs(between_channels).max() < 6 / np.sqrt(len(bits))
    between_rows = np.corrcoef(bits[:-1].ravel(), bits[1:].ravel())[0, 1]
    assert abs(between_rows) < 6 / np.sqrt(bits.size)
