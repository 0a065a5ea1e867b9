"""Scores against one triple at a time, forward and backward, and at the boundary of what is captured."""

from __future__ import annotations

import naive_model
import pytest
import torch

from reshuffle.model.kernels import cpu
from reshuffle.model.scoring import all_tail_scores, head_scores, pair_scores, tail_scores

ENTITIES, SLOTS, CHANNELS, QUERIES, WIDTH = 8, 5, 7, 4, 6


def world(seed: int) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return {
        "matrices": torch.rand(3, SLOTS, SLOTS, generator=generator, requires_grad=True),
        "states": torch.rand(ENTITIES, SLOTS, CHANNELS, generator=generator, requires_grad=True),
        "relations": torch.randint(3, (QUERIES,), generator=generator),
        "anchors": torch.randint(ENTITIES, (QUERIES,), generator=generator),
        "candidates": torch.randint(ENTITIES, (QUERIES, WIDTH), generator=generator),
        "weights": torch.rand(QUERIES, WIDTH, generator=generator),
    }


def assert_same(fast: torch.Tensor, slow: torch.Tensor, given: dict[str, torch.Tensor]) -> None:
    torch.testing.assert_close(fast, slow)
    for name in ("matrices", "states"):
        one, other = (
            torch.autograd.grad((result * given["weights"]).sum(), given[name], retain_graph=True)[0]
            for result in (fast, slow)
        )
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def one_by_one(given: dict[str, torch.Tensor], *, heads: bool) -> torch.Tensor:
    rows = []
    for query in range(QUERIES):
        matrix, anchor = (
            given["matrices"][given["relations"][query]],
            given["states"][given["anchors"][query]],
        )
        others = [given["states"][candidate] for candidate in given["candidates"][query]]
        pairs = [(other, anchor) if heads else (anchor, other) for other in others]
        rows.append(torch.stack([naive_model.score(matrix, head, tail) for head, tail in pairs]))
    return torch.stack(rows)


@pytest.mark.parametrize("seed", range(5))
def test_tail_scores(seed: int) -> None:
    given = world(seed)
    bodies = torch.bmm(given["matrices"][given["relations"]], given["states"][given["anchors"]])
    fast = tail_scores(bodies, given["states"], given["candidates"])
    assert_same(fast, one_by_one(given, heads=False), given)
    everyone = all_tail_scores(bodies.detach(), given["states"].detach())
    torch.testing.assert_close(everyone.gather(1, given["candidates"]), fast.detach())
    pairs = pair_scores(bodies[:, None], given["states"][given["candidates"]])
    assert_same(pairs, one_by_one(given, heads=False), given)


@pytest.mark.parametrize("seed", range(5))
def test_head_scores(seed: int) -> None:
    given = world(seed)
    targets = given["states"][given["anchors"]]
    fast = head_scores(given["matrices"], given["relations"], given["states"], given["candidates"], targets)
    assert_same(fast, one_by_one(given, heads=True), given)


def test_no_queries_and_one_query() -> None:
    given = world(0)
    nothing = torch.empty(0, dtype=torch.long)
    targets = given["states"][nothing]
    assert head_scores(
        given["matrices"], nothing, given["states"], nothing.view(0, WIDTH), targets
    ).shape == (0, WIDTH)
    assert tail_scores(targets, given["states"], nothing.view(0, WIDTH)).shape == (0, WIDTH)
    body = given["states"][:1] * 0.5
    assert tail_scores(body, given["states"], torch.tensor([[0]])).item() == 0.0


@pytest.mark.parametrize("excess", [1e-30, 1e-22, 1e-10, 0.5])
def test_the_score_is_0_iff_captured_even_where_squares_underflow(excess: float) -> None:
    states = torch.zeros(2, 3, 4)
    bodies = torch.zeros(1, 3, 4)
    bodies[0, 1, 2] = excess
    for scores in (
        tail_scores(bodies, states, torch.tensor([[0, 1]])),
        all_tail_scores(bodies, states),
        pair_scores(bodies, states)[None],
    ):
        assert scores.shape == (1, 2)
        assert (scores < 0).all()
        torch.testing.assert_close(scores, torch.full((1, 2), -excess), rtol=1e-5, atol=0.0)
    assert (tail_scores(bodies, states + excess, torch.tensor([[0, 1]])) == 0).all()
    assert (all_tail_scores(bodies, states + excess) == 0).all()
    assert (pair_scores(bodies, states + excess) == 0).all()


def test_a_captured_triple_has_no_gradient_and_it_is_a_number() -> None:
    states = torch.ones(2, 3, 4, requires_grad=True)
    bodies = torch.ones(1, 3, 4, requires_grad=True)
    for scores in (tail_scores(bodies, states, torch.tensor([[0, 1]])), pair_scores(bodies, states)):
        for gradient in torch.autograd.grad(scores.sum(), (bodies, states)):
            assert (gradient == 0).all()


def test_infinite_states_make_no_score_look_captured() -> None:
    states = torch.full((2, 3, 4), torch.inf)
    assert tail_scores(states[:1], states, torch.tensor([[0, 1]])).isnan().all()
    assert all_tail_scores(states[:1], states).isnan().all()


@pytest.mark.parametrize(("queries", "width", "pairs"), [(5, 7, 30), (3, 40, 6), (1, 1, 1), (4, 3, 0)])
def test_pulls_on_products_go_on_to_matrices_and_heads(queries: int, width: int, pairs: int) -> None:
    torch.manual_seed(pairs)
    matrices, heads, bodies = torch.rand(3, 5, 5), torch.rand(6, 5, 4), torch.rand(queries, 20)
    relations, rows = torch.randint(3, (pairs,)), torch.randint(6, (pairs,)).sort().values
    states = cpu.products(matrices, relations, heads, rows).flatten(1)
    width = width if pairs else 0
    candidates, weights = torch.randint(max(1, pairs), (queries, width)), torch.rand(queries, width).round()
    wanted, found = torch.ones(6, 5, 4), torch.ones(6, 5, 4)
    of_bodies, pulled = cpu.pulls(bodies, states, candidates, weights)
    of_matrices = cpu.products_back(pulled.view(-1, 5, 4), matrices, relations, heads, rows, to_states=wanted)
    ours = cpu.product_pulls(
        bodies, states, candidates, weights, matrices, relations, heads, rows, to_states=found
    )
    for one, other in zip((*ours, found), (of_bodies, of_matrices, wanted), strict=True):
        torch.testing.assert_close(one, other)
