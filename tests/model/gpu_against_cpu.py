"""Prints `agree` where the kernels of both devices give the same; run by test_gpu_kernels.py."""

from __future__ import annotations

import sys

import numpy as np
import torch

from reshuffle.model.kernels import cpu
from reshuffle.model.propagation import MessageGraph

# Gradients are made of short numbers on a GPU; the interpreter has only long ones.
ROUGH = 5e-3 if torch.cuda.is_available() else 1e-4
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"  # the interpreter works on CPU tensors


def moved(value: object) -> object:
    return value.to(DEVICE) if isinstance(value, torch.Tensor) else value


def compare(name: str, *arguments: object, **options: object) -> None:
    from reshuffle.model.kernels import gpu

    ours = getattr(cpu, name)(*arguments, **options)
    theirs = getattr(gpu, name)(
        *map(moved, arguments), **{key: moved(value) for key, value in options.items()}
    )
    pairs = zip(ours, theirs, strict=True) if isinstance(ours, tuple) else [(ours, theirs)]
    for one, other in pairs:
        torch.testing.assert_close(
            one,
            other.cpu(),
            rtol=ROUGH if name.endswith("_back") else 1e-4,
            atol=1e-5,
            msg=lambda text: f"{name}: {text}",
        )


def main() -> None:
    from reshuffle.model.kernels import gpu

    torch.manual_seed(0)
    states, messages = torch.rand(7, 300), torch.rand(5, 300)
    starts = torch.tensor([0, 2, 2, 5, 6, 8, 8, 9])
    edges = torch.tensor([0, 4, 1, 5, 2, 3, 5, 0, 1])  # 5: hidden
    compare("segment_max", messages, states, starts, edges)
    compare("segment_max", messages, states[:2], torch.tensor([0, 21, 40]), torch.randint(6, (40,)))
    graph = MessageGraph.build(
        np.array([[0, 0, 1], [0, 0, 2], [3, 1, 1]]), num_entities=7, num_relations=2, num_identities=1
    )
    cubes, own = states.view(7, 5, 60), torch.rand(5, 5, 5)
    sent = cpu.products(own, graph.relations, cubes, graph.heads).flatten(1)
    hiding = graph.hiding(torch.tensor([1]))
    winner = cpu.segment_max(sent, states, graph.starts, hiding)[1]
    moved_graph = graph.to(torch.device(DEVICE))
    for wants in (True, False):
        ours = cpu.segment_max_back(torch.ones(7, 300), winner, own, cubes, graph, wants_states=wants)
        theirs = gpu.segment_max_back(
            *map(moved, (torch.ones(7, 300), winner, own, cubes)), moved_graph, wants_states=wants
        )
        for one, other in zip(ours, theirs, strict=True):
            assert (one is None) == (other is None) == (not wants and one is None)
            if one is not None:
                torch.testing.assert_close(one, other.cpu(), rtol=ROUGH, atol=1e-4)
    bodies, candidates = torch.rand(4, 300), torch.randint(7, (4, 9))
    compare("norms", bodies, states, candidates)
    compare("norms", states[:4] + 1e-25, states, torch.arange(4)[:, None])
    compare("norms", torch.full((2, 300), 1e-25), torch.zeros(7, 300), candidates[:2])  # squares underflow
    compare("all_norms", torch.full((2, 300), 1e-25), torch.zeros(7, 300))
    infinite = torch.full((2, 300), torch.inf)
    assert gpu.norms(moved(infinite), moved(infinite), moved(candidates[:2, :1] * 0)).isnan().all()
    compare("pulls", bodies, states, candidates, torch.rand(4, 9).round())
    compare("all_norms", bodies, states)
    matrices, relations, rows = torch.rand(3, 5, 5), torch.tensor([0, 0, 1, 2]), torch.tensor([1, 6, 1, 0])
    compare("products", matrices, relations, cubes, rows)
    given = (torch.rand(4, 5, 60), matrices, relations, cubes, rows)
    compare("products_back", *given, to_states=None)
    ours, theirs = torch.zeros(7, 5, 60), torch.zeros(7, 5, 60, device=DEVICE)
    cpu.products_back(*given, to_states=ours)
    gpu.products_back(*map(moved, given), to_states=theirs)
    torch.testing.assert_close(ours, theirs.cpu(), rtol=ROUGH, atol=1e-5)
    pairs = torch.tensor([0, 1, 1, 6])  # sorted
    made, asked = cpu.products(matrices, relations, cubes, pairs).flatten(1), torch.randint(4, (4, 9))
    given = (bodies, made, asked, torch.rand(4, 9).round(), matrices, relations, cubes, pairs)
    ours, theirs = torch.zeros(7, 5, 60), torch.zeros(7, 5, 60, device=DEVICE)
    one = cpu.product_pulls(*given, to_states=ours)
    other = gpu.product_pulls(*map(moved, given), to_states=theirs)
    for mine, its in zip((*one, ours), (*other, theirs), strict=True):
        torch.testing.assert_close(mine, its.cpu(), rtol=ROUGH, atol=1e-4)
    for slots in (1, 100):  # the smallest tile, and more slots than a tile has
        wide = (torch.rand(3, slots, slots) / slots, relations, torch.rand(7, slots, 9), rows)
        compare("products", *wide)
        compare("products_back", torch.rand(4, slots, 9), *wide, to_states=None)
    one_hot = torch.eye(5)[torch.randint(5, (3, 5))]
    taken = gpu.products(*map(moved, (one_hot, relations, cubes, rows))).cpu()
    assert torch.equal(taken, cpu.products(one_hot, relations, cubes, rows))  # to the last bit
    compare_head_scores(slots=5, channels=60)
    compare_head_scores(slots=20, channels=7)


def compare_head_scores(*, slots: int, channels: int) -> None:
    """Scores and gradients of corrupted heads, with more candidates than a program takes."""
    from reshuffle.model.scoring import _HeadScores, _HeadScoresOnGpu

    relations, candidates = torch.tensor([0, 2, 2, 1]), torch.randint(7, (4, 30))
    given = [
        torch.rand(3, slots, slots) / slots,
        torch.rand(7, slots, channels),
        torch.rand(4, slots, channels) / 2,
    ]
    weights, found = torch.rand(4, 30).round(), []
    for way, device in ((_HeadScores, "cpu"), (_HeadScoresOnGpu, DEVICE)):
        matrices, states, targets = leaves = [
            value.to(device).requires_grad_() for value in map(torch.clone, given)
        ]
        scores = way.apply(matrices, relations.to(device), states, candidates.to(device), targets)
        scores.mul(weights.to(device)).sum().backward()
        found.append([scores.detach().cpu(), *(leaf.grad.cpu() for leaf in leaves)])
    for one, other in zip(*found, strict=True):
        assert bool(one.any())
        torch.testing.assert_close(one, other, rtol=ROUGH, atol=ROUGH)


if __name__ == "__main__":
    main()
    sys.stdout.write("agree\n")
