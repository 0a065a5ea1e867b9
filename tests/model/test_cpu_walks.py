"""The CPU's own loops over walks and misses give what torch's operations give, gradients included."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from reshuffle.model.kernels.cpu_misses import weighted_misses
from reshuffle.model.kernels.cpu_walks import steps, walk_step
from reshuffle.model.propagation import EvidenceGraph, MessageGraph, propagate

ENTITIES, RELATIONS, WALK = 12, 3, 3

triples = st.lists(
    st.tuples(st.integers(0, ENTITIES - 1), st.integers(0, RELATIONS - 1), st.integers(0, ENTITIES - 1)),
    min_size=1,
    max_size=40,
    unique=True,
).map(lambda rows: np.array(rows, dtype=np.int64))


def walked_by_torch(
    there: torch.Tensor, weights: torch.Tensor, shares: torch.Tensor, graph: EvidenceGraph
) -> torch.Tensor:
    taken = weights.index_select(0, graph.relations) * shares[:, None]  # edge query
    moved = there.index_select(0, graph.heads) * taken
    return torch.zeros_like(there).index_add(0, graph.tails, moved)


@given(rows=triples, queries=st.integers(1, 40), seed=st.integers(0, 1000))
def test_walks_and_the_gradients_of_their_weights_are_those_of_torch(
    rows: np.ndarray, queries: int, seed: int
) -> None:
    graph = EvidenceGraph.build(
        rows, num_entities=ENTITIES, num_relations=RELATIONS, device=torch.device("cpu")
    )
    chance = torch.Generator().manual_seed(seed)
    shares = torch.rand(len(graph.edges), generator=chance)
    shares[torch.rand(len(shares), generator=chance) < 0.3] = 0  # hidden
    start = torch.zeros(ENTITIES, queries)
    heads = torch.randint(ENTITIES, (queries,), generator=chance)
    start[heads, torch.arange(queries)] = 1.0
    wanted = torch.rand(ENTITIES, queries, generator=chance)
    found = []
    for step in (walk_step, walked_by_torch):
        weights = torch.rand(WALK, 2 * RELATIONS, queries, generator=torch.Generator().manual_seed(seed))
        weights.requires_grad_()
        there, total = start, torch.zeros_like(start)
        for number in range(WALK):
            there = step(there, weights[number], shares, graph)
            total = total + torch.log(there / 1e-3 + 1)
        (total * wanted).sum().backward()
        assert weights.grad is not None
        found.append((total.detach(), weights.grad))
    assert torch.equal(found[0][0], found[1][0])
    torch.testing.assert_close(found[0][1], found[1][1])


@given(
    rows=triples,
    queries=st.sampled_from([1, 63, 64, 65, 130]),
    most=st.integers(1, 6),
    seed=st.integers(0, 99),
)
def test_steps_are_those_of_a_layer_that_halves(rows: np.ndarray, queries: int, most: int, seed: int) -> None:
    graph = MessageGraph.build(rows, num_entities=ENTITIES, num_relations=RELATIONS, num_identities=0)
    chance = torch.Generator().manual_seed(seed)
    heads = torch.randint(ENTITIES, (queries,), generator=chance)
    edges = graph.hiding(torch.arange(len(rows))[torch.rand(len(rows), generator=chance) < 0.3])
    reached = torch.zeros(ENTITIES, 1, queries)
    reached[heads, 0, torch.arange(queries)] = 1.0
    halves = torch.full((graph.num_relations, 1, 1), 0.5)
    reached = propagate(reached, halves, graph, num_layers=most, edge_messages=edges).squeeze(1)
    expected = -torch.log2(reached.clamp(min=2.0 ** -(most + 1))).T
    assert torch.equal(steps(heads, graph, edges, most=most), expected.long())


@pytest.mark.parametrize(("entities", "slots", "queries"), [(1, 1, 1), (7, 4, 3), (200, 16, 64)])
def test_misses_and_their_gradients_are_those_of_torch(entities: int, slots: int, queries: int) -> None:
    chance = torch.Generator().manual_seed(entities)
    bodies, weights = (torch.rand(slots, queries, generator=chance).requires_grad_() for _ in range(2))
    states = torch.rand(entities, slots, queries, generator=chance).requires_grad_()
    wanted = torch.rand(entities, queries, generator=chance)
    inputs = bodies, states, weights
    found = weighted_misses(bodies, states, weights)
    own = torch.autograd.grad((found * wanted).sum(), inputs)
    expected = (torch.relu(bodies - states) * weights).sum(1)
    theirs = torch.autograd.grad((expected * wanted).sum(), inputs)
    torch.testing.assert_close(found, expected)
    for mine, other in zip(own, theirs, strict=True):
        torch.testing.assert_close(mine, other)
