"""Matrices, initial states, bias: the parts that have parameters or chance."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from reshuffle.errors import ReshuffleError
from reshuffle.model.architecture import Architecture
from reshuffle.model.channels.private import states_of
from reshuffle.model.channels.query import states_by_query
from reshuffle.model.channels.registry import initial_states
from reshuffle.model.propagation import ModelGraph
from reshuffle.model.reshuffle import RelationMatrices, ReshuffleModel


def drawn(
    kind: str, shape: tuple[int, int, int] = (200, 5, 20), *, seed: int = 0, **options: object
) -> torch.Tensor:
    return initial_states(kind, shape, generator=torch.Generator().manual_seed(seed), **options)


@pytest.mark.parametrize(
    ("kind", "options", "share"),
    [("bits", {}, 0.5), ("bits", {"probability": 0.1}, 0.1), ("official", {}, 0.3085), ("shared", {}, 0.5)],
)
def test_bits_have_their_probability(kind: str, options: dict[str, float], share: float) -> None:
    states = drawn(kind, (2000, 5, 20), **options)
    assert set(states.unique().tolist()) == {0.0, 1.0}
    slack = 0.2 if kind == "shared" else 0.01  # 100 bits, or 200,000
    assert abs(states.mean().item() - share) < slack


def test_shared_states_are_the_same_for_all_and_the_others_are_not() -> None:
    for kind in ("bits", "official", "continuous", "shared"):
        states = drawn(kind)
        assert bool((states == states[:1]).all()) == (kind == "shared")
        assert states.is_contiguous()


def test_continuous_states_are_uniform() -> None:
    states = drawn("continuous")
    assert (states >= 0).all() and (states < 1).all()
    assert abs(states.mean().item() - 0.5) < 0.01
    assert len(states.unique()) > 0.99 * states.numel()


def test_private_channels_have_one_owner_each() -> None:
    states = drawn("private", (30, 4, 50))
    assert (states.sum(dim=(0, 1)) == 1).all()
    assert (states.sum(dim=2) <= 1).all()  # no two share an owner
    chosen = states_of(torch.tensor([[2, 0], [1, 1]]), (3, 2, 2))
    assert chosen.nonzero().tolist() == [[1, 1, 1], [2, 0, 0]]
    assert drawn("private", (2, 2, 9)).sum() == 4  # more channels than owners


def test_draws_are_a_function_of_the_seed() -> None:
    for kind in ("bits", "official", "continuous", "shared", "private"):
        assert torch.equal(drawn(kind, seed=1), drawn(kind, seed=1))
        assert not torch.equal(drawn(kind, seed=1), drawn(kind, seed=2))


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ReshuffleError, match="unknown kind of initial states 'bit'; did you mean 'bits'"):
        drawn("bit")


def test_rows_are_the_first_entries_of_a_softmax() -> None:
    matrices = RelationMatrices(3, 4, generator=torch.Generator().manual_seed(0))
    rows = matrices()
    assert rows.shape == (7, 4, 4)
    assert (rows > 0).all() and (rows.sum(-1) < 1).all()
    torch.testing.assert_close(rows[2, 1], torch.softmax(matrices.logits[2, 1], 0)[:-1])


def test_the_squared_variant_squares() -> None:
    matrices = RelationMatrices(1, 3, row_function="square", num_identities=0)
    torch.testing.assert_close(matrices(), matrices.logits[..., :-1] ** 2)
    assert matrices().shape == (2, 3, 3)


def test_symmetric_relations_share_one_matrix_with_their_inverse_and_its_gradient() -> None:
    matrices = RelationMatrices(3, 2, symmetric=[1])
    rows = matrices()
    assert torch.equal(rows[1], rows[4])
    assert not torch.equal(rows[0], rows[3])
    rows[4, 0, 0].backward()
    assert matrices.logits.grad[1].abs().sum() > 0
    assert matrices.logits.grad[4].abs().sum() == 0


def biased_model() -> ReshuffleModel:
    architecture = Architecture(num_slots=3, num_channels=4, num_layers=2, bias=True)
    return ReshuffleModel(2, architecture, seed=0)


def test_the_bias_enters_the_score_only_and_an_inverse_has_its_own() -> None:
    model = biased_model()
    graph = ModelGraph(model, np.array([[0, 0, 1], [1, 1, 2]]), 3).messages
    matrices = model.matrices()

    def states() -> torch.Tensor:
        return model.states(graph, matrices, torch.Generator().manual_seed(0))

    before = states()
    heads = torch.zeros(4, dtype=torch.long)
    bodies = model.bodies(matrices, before, heads, torch.arange(4))
    model.bias.data[2] = torch.tensor([1.0, 2.0, 3.0])  # the inverse of relation 0
    assert torch.equal(states(), before)
    added = model.bodies(matrices, before, heads, torch.arange(4)) - bodies
    torch.testing.assert_close(added[2], torch.tensor([1.0, 2.0, 3.0])[:, None].expand(3, 4))
    assert added[[0, 1, 3]].abs().max() == 0


def test_scores_of_heads_and_of_tails_agree_with_a_bias() -> None:
    model = biased_model()
    model.bias.data.uniform_(-1, 1, generator=torch.Generator().manual_seed(3))
    matrices, states = model.matrices(), torch.rand(5, 3, 4, generator=torch.Generator().manual_seed(4))
    heads, tails = torch.tensor([0, 1, 2]), torch.tensor([4, 3, 3])
    relations = torch.tensor([0, 2, 3])
    from reshuffle.model.scoring import pair_scores

    direct = pair_scores(model.bodies(matrices, states, heads, relations), states[tails])
    found = model.head_scores(matrices, states, heads[:, None], relations, tails)
    torch.testing.assert_close(found[:, 0], direct)
    torch.testing.assert_close(
        model.body(matrices, states[1], relations[1]),
        model.bodies(matrices, states, heads, relations)[1],
    )


def test_states_come_in_the_order_of_the_queries() -> None:
    states = torch.rand(5, 3, 2)
    by_query = states_by_query(states, torch.tensor([1, 0, 1]))
    assert torch.equal(by_query, torch.stack([states[:, :, channel] for channel in (1, 0, 1)], dim=2))
    assert states_by_query(states, None) is states
