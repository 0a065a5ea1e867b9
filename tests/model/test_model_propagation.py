"""Layers and products against one message at a time, forward and backward."""

from __future__ import annotations

import naive_model
import numpy as np
import pytest
import torch

from reshuffle.model.propagation import MessageGraph, products, propagate

ENTITIES, RELATIONS, SLOTS, CHANNELS = 9, 3, 5, 6  # 5 slots: one beyond a whole block of four


def world(seed: int, *, identities: int = 1, count: int = 25) -> tuple[np.ndarray, MessageGraph]:
    triples = naive_model.random_triples(seed, entities=ENTITIES - 2, relations=RELATIONS, count=count)
    graph = MessageGraph.build(
        triples, num_entities=ENTITIES, num_relations=RELATIONS, num_identities=identities
    )
    return triples, graph


def parameters(seed: int, *, identities: int = 1) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    count = 2 * RELATIONS + identities
    matrices = torch.rand(count, SLOTS, SLOTS, generator=generator, requires_grad=True)
    states = torch.rand(ENTITIES, SLOTS, CHANNELS, generator=generator, requires_grad=True)
    return matrices, states, torch.rand(ENTITIES, SLOTS, CHANNELS, generator=generator)


def gradients(result: torch.Tensor, weights: torch.Tensor, *wanted: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return torch.autograd.grad((result * weights).sum(), wanted)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("identities", "hidden"), [(1, ()), (0, ()), (2, ()), (1, (0, 3, 7))])
def test_layers_and_their_gradients_are_those_of_one_message_at_a_time(
    seed: int, identities: int, hidden: tuple[int, ...]
) -> None:
    triples, graph = world(seed, identities=identities)
    matrices, states, weights = parameters(seed, identities=identities)
    edges = naive_model.edges_of(
        triples, entities=ENTITIES, relations=RELATIONS, identities=identities, hidden=frozenset(hidden)
    )
    shown = graph.hiding(torch.tensor(hidden)) if hidden else None
    fast = propagate(states, matrices, graph, num_layers=3, edge_messages=shown)
    slow = naive_model.propagate(states, matrices, edges, layers=3)
    torch.testing.assert_close(fast, slow)
    for one, other in zip(
        gradients(fast, weights, matrices, states), gradients(slow, weights, matrices, states), strict=True
    ):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_entities_that_have_nothing_send_nothing_and_get_their_gradient_all_the_same(seed: int) -> None:
    triples, graph = world(seed, identities=0)
    matrices, _, weights = parameters(seed, identities=0)
    states = torch.zeros(ENTITIES, SLOTS, CHANNELS)
    states[seed % 4, :, 0] = 1.0  # one head in one channel: most entities are silent in the first layers
    states[(seed + 3) % 7, 2, 3] = 0.5
    states.requires_grad_()
    edges = naive_model.edges_of(
        triples, entities=ENTITIES, relations=RELATIONS, identities=0, hidden=frozenset()
    )
    fast = propagate(states, matrices, graph, num_layers=2)
    slow = naive_model.propagate(states, matrices, edges, layers=2)
    assert (fast.flatten(1) == 0).all(1).any()
    torch.testing.assert_close(fast, slow)
    for one, other in zip(
        gradients(fast, weights, matrices), gradients(slow, weights, matrices), strict=True
    ):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_a_tie_leaves_the_gradient_with_the_state_itself() -> None:
    graph = MessageGraph.build(np.array([[0, 0, 1]]), num_entities=2, num_relations=1, num_identities=0)
    matrices = torch.ones(2, 1, 1, requires_grad=True)
    states = torch.ones(2, 1, 1, requires_grad=True)
    layer = propagate(states, matrices, graph, num_layers=1)
    to_matrices, to_states = torch.autograd.grad(layer.sum(), (matrices, states))
    assert to_matrices.abs().sum() == 0
    assert to_states.flatten().tolist() == [1, 1]


def test_each_distinct_message_is_computed_once_and_every_edge_finds_its_own() -> None:
    triples = np.array([[0, 0, 1], [0, 0, 2], [0, 1, 1], [3, 0, 1]])
    graph = MessageGraph.build(triples, num_entities=5, num_relations=2, num_identities=0)
    assert (
        graph.num_messages == 6
    )  # from (0, r0), (3, r0), (0, r1), and inverses from (1, r0), (2, r0), (1, r1)
    assert graph.relations.tolist() == sorted(graph.relations.tolist())
    edges = {
        (int(graph.heads[message]), int(graph.relations[message]), int(tail))
        for message, tail in zip(graph.edge_messages, graph.edge_tails, strict=True)
    }
    assert edges == {(h, r, t) for h, r, t in triples.tolist()} | {
        (t, r + 2, h) for h, r, t in triples.tolist()
    }
    assert graph.starts.tolist() == [0, 3, 6, 7, 8, 8]  # entity 4 is isolated


@pytest.mark.parametrize(
    ("triples", "entities"),
    [([], 3), ([[0, 0, 0]], 1), ([[0, 0, 1]], 50)],
    ids=["no triples", "one entity", "fewer edges than entities"],
)
def test_small_graphs(triples: list[list[int]], entities: int) -> None:
    graph = MessageGraph.build(
        np.array(triples, dtype=np.int64).reshape(-1, 3),
        num_entities=entities,
        num_relations=1,
        num_identities=1,
    )
    matrices, states = torch.rand(3, 2, 2), torch.rand(entities, 2, 4)
    edges = naive_model.edges_of(
        np.array(triples).reshape(-1, 3), entities=entities, relations=1, identities=1
    )
    torch.testing.assert_close(
        propagate(states, matrices, graph, num_layers=2),
        naive_model.propagate(states, matrices, edges, layers=2),
    )


@pytest.mark.parametrize("slots", [1, 3, 4, 9])
def test_products_and_their_gradients(slots: int) -> None:
    generator = torch.Generator().manual_seed(slots)
    matrices = torch.randn(4, slots, slots, generator=generator, requires_grad=True)
    states = torch.randn(6, slots, 7, generator=generator, requires_grad=True)
    relations, rows = torch.tensor([0, 0, 1, 3, 3]), torch.tensor([5, 0, 0, 2, 5])
    weights = torch.randn(5, slots, 7, generator=generator)
    weights[1] = 0  # a product without gradient is skipped
    weights[2, 0] = 0
    fast = products(matrices, states, relations=relations, rows=rows)
    slow = torch.stack([matrices[r] @ states[s] for r, s in zip(relations, rows, strict=True)])
    torch.testing.assert_close(fast, slow)
    for one, other in zip(
        gradients(fast, weights, matrices, states), gradients(slow, weights, matrices, states), strict=True
    ):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)
