"""Small graphs and models for the tests of predictions and reasons."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from reshuffle.kg import KnowledgeGraph
from reshuffle.model.answers.model_answers import ModelAnswers
from reshuffle.model.architecture import Architecture
from reshuffle.model.evidence.registry import EVIDENCE, LOCAL
from reshuffle.model.reshuffle import ReshuffleModel

RELATIONS = ("r", "s")


def random_graph(seed: int, *, entities: int = 7, count: int = 12) -> KnowledgeGraph:
    """Facts of two relations between few entities, some of them isolated pairs so that all relations are there."""
    chance = np.random.default_rng(seed)
    drawn = [
        (f"e{chance.integers(entities)}", RELATIONS[chance.integers(2)], f"e{chance.integers(entities)}")
        for _ in range(count)
    ]
    return KnowledgeGraph([*drawn, ("x", "r", "y"), ("x", "s", "y")])


def random_model(seed: int, **changes: Any) -> ReshuffleModel:
    """A model whose parameters are all noise."""
    shape = {"num_slots": 3, "num_layers": 2, "identity": False, "initial": "head", "num_hops": 3, **changes}
    model = ReshuffleModel(len(RELATIONS), Architecture(**shape), seed=seed)
    for parameter in model.parameters():
        parameter.data += 0.5 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(seed))
    return model.eval()


def random_answers(seed: int, **changes: Any) -> ModelAnswers:
    """With weights and evidence, unless told otherwise; without a channel per query, with what needs none."""
    by_query = changes.get("initial", "head") == "head"
    options = {"slot_weights": by_query, "evidence": EVIDENCE if by_query else LOCAL, **changes}
    return ModelAnswers(random_model(seed, **options), RELATIONS, random_graph(seed), seed=seed)
