"""Section 5: a rule graph gives a faithful model. Completeness, soundness with one bit, soundness with chance."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from paper_gnn import Network

from reshuffle.rulegraphs import build, constraints_for
from reshuffle.rules import RuleBase, parse_rules
from reshuffle.rules.classes import classify
from reshuffle.rules.entailment import Fact, closure, entailed_words
from strategies import fact_lists, mixed_bases, regular_bases, rule_bases

small_bases = st.one_of(
    rule_bases(most_relations=3, most_rules=3),
    rule_bases(most_relations=2, most_rules=3, inverses=True),
    rule_bases(most_relations=4, most_rules=3, intersections=True),
    regular_bases(levels=2),
    mixed_bases(),
)


@st.composite
def faithful_cases(draw: st.DrawFn) -> tuple[RuleBase, list[Fact]]:
    """A base with exact geometry, and facts over its relations."""
    base = draw(small_bases)
    assume(classify(base).faithful)
    names = forward_relations(base)
    assume(names)
    renamed = {f"r{number}": name for number, name in enumerate(names, start=1)}
    facts = draw(fact_lists(relations=len(names), entities=3, most=7))
    assume(facts)
    return base, [(head, renamed[relation], tail) for head, relation, tail in facts]


def forward_relations(base: RuleBase) -> list[str]:
    """Those that facts may use: no inverses."""
    return sorted({relation.removesuffix("^-1") for relation in base.relations})


@given(faithful_cases(), st.integers(0, 2**32 - 1))
@settings(max_examples=150)
def test_every_embedding_that_captures_the_graph_captures_what_follows(
    case: tuple[RuleBase, list[Fact]], seed: int
) -> None:
    base, facts = case
    network = Network(constraints_for(base), facts)
    rng = np.random.default_rng(seed)
    entailed = closure(base, facts)
    for initial in (
        rng.random((*network.shape, 3)),
        rng.integers(0, 2, (*network.shape, 3)).astype(float),
        rng.exponential(size=(*network.shape, 1)) ** 4,  # some coordinates far above the others
    ):
        states = network.converged(initial)
        for lifted in (states, network.converged(np.maximum(states, rng.random(states.shape) * 2))):
            assert all(network.captures(lifted, fact) for fact in facts if fact[1] in network.matrices)
            missed = [triple for triple in entailed if not network.captures(lifted, triple)]
            assert missed == []


@given(faithful_cases())
@settings(max_examples=200)
def test_captured_for_all_single_bits_is_entailed(case: tuple[RuleBase, list[Fact]]) -> None:
    """Both directions at once: the columns are all initialisations with one bit, k = 1 each."""
    base, facts = case
    network = Network(constraints_for(base), facts)
    states = network.converged(network.one_column_per_initial_value())
    entailed = closure(base, facts)
    for triple in network.triples(forward_relations(base)):
        assert network.captures(states, triple) == (triple in entailed), triple


@given(faithful_cases(), st.data())
@settings(max_examples=100)
def test_one_bit_and_one_channel_reject_what_does_not_follow(
    case: tuple[RuleBase, list[Fact]], data: st.DataObject
) -> None:
    """Proposition 3 word for word: A_j = 1 in the source of one r-edge of a, zeros elsewhere, k = 1."""
    base, facts = case
    constraints = constraints_for(base)
    network = Network(constraints, facts)
    entailed = closure(base, facts)
    others = [t for t in network.triples(forward_relations(base)) if t not in entailed]
    assume(others)
    head, relation, tail = data.draw(st.sampled_from(others))
    rejecting = []
    for start, slot in constraints.constrained_slots(relation):
        states = network.converged(network.single_bit(head, start))
        if states[network.number[tail], slot, 0] == 0:
            rejecting.append((start, slot))
            assert not network.captures(states, (head, relation, tail))
    assert rejecting  # lemma 5: some slot of r is reached from `head` by no path
    assert set(rejecting) & set(constraints.decisive_slots(relation))  # and the roots alone show it


@given(faithful_cases())
@settings(max_examples=60)
def test_states_are_bounded_by_paths(case: tuple[RuleBase, list[Fact]]) -> None:
    """Lemmas 4 and 10, with equality: layer m holds what paths of at most m edges of the graph carry."""
    base, facts = case
    network = Network(constraints_for(base), facts)
    initial = network.one_column_per_initial_value()
    carried = initial.copy()  # what arrives by paths of length <= m
    arriving = {entity: [initial[entity]] for entity in range(network.shape[0])}  # by paths of length m
    for states in itertools.islice(network.layers(initial), 1, 3):
        arriving = {
            entity: [
                network.matrices[relation] @ image
                for head, relation, tail in network.edges
                if tail == entity
                for image in arriving[head]
            ]
            for entity in arriving
        }
        for entity, images in arriving.items():
            for image in images:
                carried[entity] = np.maximum(carried[entity], image)
        assert np.array_equal(states, carried)


@given(regular_bases(levels=2), st.integers(0, 2**32 - 1))
@settings(max_examples=100)
def test_a_head_is_bounded_by_its_body_paths(base: RuleBase, seed: int) -> None:
    """Lemma 3: mu_r ⪯ max of mu over paths whose eq-reduced type is an entailed body."""
    graph, constraints = build(base), constraints_for(base)
    vector = np.random.default_rng(seed).random(constraints.num_slots)
    for relation, bodies in entailed_words(base, max_length=3).items():
        head = constraints.matrix(relation) @ vector
        for body in bodies:
            carried = np.zeros(constraints.num_slots)
            for node in range(graph.num_nodes):
                ends = list(graph.ends(node, body))
                carried[ends] = np.maximum(carried[ends], vector[node])
            assert (head <= carried).all()


# --- chance ---------------------------------------------------------------------------------------------------

EPSILON = 0.1
TRIALS = 400
GRAPHS = {
    "a chain": (
        "r(X, Y) & r(Y, Z) -> r(X, Z)",
        [("a", "r", "b"), ("b", "r", "c"), ("d", "r", "c")],
        ("c", "r", "a"),
    ),
    "the wrong way": ("a(X, Y) & b(Y, Z) -> c(X, Z)", [("x", "a", "y"), ("y", "b", "z")], ("z", "c", "x")),
    "a missing middle": (
        "a(X, Y) & b(Y, Z) -> c(X, Z)",
        [("x", "a", "y"), ("w", "b", "z"), ("v", "c", "z")],
        ("x", "c", "z"),
    ),
    "one conjunct": (
        "a(X, Y) & b(X, Y) -> c(X, Y)",
        [("x", "a", "y"), ("z", "b", "y")],
        ("x", "c", "y"),
    ),
}


def share_captured(network: Network, triple: Fact, k: int, rng: np.random.Generator) -> list[float]:
    """In which share of the trials the triple is captured, layer by layer; k fair bits per slot."""
    initial = rng.integers(0, 2, (*network.shape, TRIALS * k)).astype(float)
    shares = []
    for states in network.layers(initial):
        image = network.matrices[triple[1]] @ states[network.number[triple[0]]]
        below = (image <= states[network.number[triple[2]]]).reshape(-1, TRIALS, k)
        shares.append(float(below.all(axis=(0, 2)).mean()))
    return shares


@pytest.mark.parametrize("name", GRAPHS)
def test_random_bits_capture_what_does_not_follow_with_probability_at_most_epsilon(name: str) -> None:
    text, facts, triple = GRAPHS[name]
    base = parse_rules(text)
    assert triple not in closure(base, facts)
    constraints = constraints_for(base)
    network = Network(constraints, facts)
    last = network.converged(network.one_column_per_initial_value())
    # Equation 10: A <= max(B, X1 ... Xp) in all k columns; p of the slot that separates best.
    arrivals = [
        int(last[network.number[triple[2]], slot].sum()) - 1
        for start, slot in constraints.constrained_slots(triple[1])
        if last[network.number[triple[2]], slot, network.number[triple[0]] * network.shape[1] + start] == 0
    ]
    smallest = min(arrivals)
    separates = 1 / 4  # λ = Pr[A > B] for fair bits
    k = math.ceil(separates ** -(smallest + 1) * math.log(1 / EPSILON))
    rng = np.random.default_rng(7)
    assert max(share_captured(network, triple, k, rng)) <= EPSILON
    assert max(share_captured(network, triple, 1, rng)) > EPSILON  # so the bound on k is not idle
