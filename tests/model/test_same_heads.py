"""Questions of one head share its channel, also in training: scores and gradients are those of questions apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from reshuffle.learning.settings import Settings
from reshuffle.learning.training.examples import TrainingData
from reshuffle.learning.training.trainer import Trainer, grouped_order
from reshuffle.model.channels.query import HeadChannels
from reshuffle.model.propagation import ModelGraph
from reshuffle.model.reshuffle import ReshuffleModel

HEADS, RELATIONS = [4, 1, 4, 4, 0, 1], [0, 1, 1, 3, 2, 1]


@pytest.mark.parametrize("slot_weights", [True, False])
def test_scores_and_gradients_are_those_of_single_questions(slot_weights: bool) -> None:
    chance = np.random.default_rng(3)
    triples = np.stack([chance.integers(0, 9, 30), chance.integers(0, 2, 30), chance.integers(0, 9, 30)], 1)
    architecture = Settings.of("best", num_slots=5, num_layers=2, slot_weights=slot_weights).architecture
    model = ReshuffleModel(2, architecture, seed=1)
    graph = ModelGraph(model, triples, 9)
    channels, hidden = HeadChannels(graph, graph.messages), torch.tensor([2, 5])
    weights = torch.rand(len(HEADS), 9, generator=torch.Generator().manual_seed(1))

    def gradients(asked: list[list[int]]) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        model.zero_grad()
        scores = torch.cat(
            [
                channels.scores(
                    model.matrices(),
                    torch.tensor(HEADS)[some],
                    torch.tensor(RELATIONS)[some],
                    hidden=hidden,
                ).total
                for some in asked
            ]
        )
        (scores * weights).sum().backward()
        found = {
            name: value.grad.clone() for name, value in model.named_parameters() if value.grad is not None
        }
        return scores.detach(), found

    together, gradients_together = gradients([list(range(6))])
    apart, gradients_apart = gradients([[place] for place in range(6)])
    torch.testing.assert_close(together, apart)
    assert "matrices.logits" in gradients_together
    for name, value in gradients_apart.items():
        torch.testing.assert_close(gradients_together[name], value, rtol=1e-4, atol=1e-6)


def trainer_of(**changes: Any) -> Trainer:
    triples = np.array([(n % 2, 0, n) for n in range(2, 42)])
    settings = Settings.of("best", batch_size=16, epoch_steps=5, num_slots=2, num_layers=1, **changes)
    data = TrainingData(triples, triples[:0], 42, 1)
    return Trainer(data, settings.architecture, settings.training, device=torch.device("cpu"))


def test_batches_of_large_graphs_have_several_questions_of_a_head(monkeypatch: pytest.MonkeyPatch) -> None:
    def most_of_a_head(trainer: Trainer) -> int:
        batch = trainer._batches()[0]
        return int(torch.unique_consecutive(trainer.examples[batch, 0], return_counts=True)[1].max())

    lone = {"lone_facts": True}  # each tail has one fact
    assert not trainer_of(**lone).shares_heads
    monkeypatch.setattr("reshuffle.learning.training.trainer.MANY_FACTS", 40)
    assert not trainer_of(**lone, drop_facts=0.0).shares_heads
    trainer = trainer_of(**lone)
    assert trainer.shares_heads and most_of_a_head(trainer) >= 5  # a quarter of the 20 facts of a head
    examples = torch.cat(trainer._batches())
    assert sorted(examples.tolist()) == list(range(80))


def test_examples_of_a_head_come_side_by_side() -> None:
    keys = torch.tensor([7, 3, 7, 7, 3, 7, 5])
    assert grouped_order(keys, torch.full((7,), 2)).tolist() == [0, 2, 1, 4, 3, 5, 6]
    assert grouped_order(keys, torch.ones(7, dtype=torch.long)).tolist() == list(range(7))
