"""Validation along the way: a curve that changes nothing."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

from reshuffle.kg import KnowledgeGraph
from reshuffle.learning.checkpoints import load_checkpoint, save_checkpoint
from reshuffle.learning.estimator import Reshuffle
from reshuffle.learning.training import glances
from reshuffle.learning.training.examples import examples_of
from reshuffle.learning.training.glances import POINTS
from reshuffle.learning.training.loop import run_training
from reshuffle.learning.training.objective import realistic_ranks
from reshuffle.learning.training.trainer import Trainer

if TYPE_CHECKING:
    from pathlib import Path

FACTS = KnowledgeGraph(
    [(f"p{n}", "parent", f"p{n + 1}") for n in range(40)]
    + [(f"p{n}", "grandparent", f"p{n + 2}") for n in range(39)]
)
SMALL = {
    "num_slots": 3,
    "num_layers": 2,
    "batch_size": 16,
    "max_epochs": 4,
    "epoch_steps": 12,
    "look_every": 4,
}


@pytest.fixture(params=["best", "paper"])
def recipe(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A recipe without chance in its validation and one with, and glances also for a tiny graph."""
    monkeypatch.setattr(glances, "_FEWEST", 2)
    monkeypatch.setattr(glances, "_SHARE", 2.0)
    return str(request.param)


def trainer(recipe: str, **changes: Any) -> Trainer:
    settings = Reshuffle(recipe=recipe, device="cpu", **{**SMALL, **changes}).settings  # type: ignore[arg-type]
    data = examples_of(FACTS, None, seed=1)[1]
    return Trainer(data, settings.architecture, settings.training, device=torch.device("cpu"))


def test_a_training_is_the_same_with_and_without(recipe: str) -> None:
    seen, blind = trainer(recipe), trainer(recipe)
    blind.glances = glances.Glances(blind.glances.total)
    told: list[object] = []
    run_training(seen, after_glance=told.append)
    run_training(blind)
    assert (
        len(seen.history.glances) == POINTS - 1 and not blind.history.glances
    )  # the last step has a validation
    assert told == seen.history.glances
    assert seen.history == blind.history
    for name, value in blind.model.state_dict().items():
        assert torch.equal(value, seen.model.state_dict()[name]), name


def test_a_training_that_was_cut_off_has_the_same_curve(recipe: str, tmp_path: Path) -> None:
    whole, cut, fresh = (trainer(recipe) for _ in range(3))
    run_training(whole)
    next(iter(cut.epochs()))
    save_checkpoint(cut, tmp_path / "c.safetensors")
    load_checkpoint(fresh, tmp_path / "c.safetensors")
    assert 0 < len(fresh.history.glances) < len(whole.history.glances)
    run_training(fresh)
    assert fresh.history.glances == whole.history.glances


def test_a_glance_that_was_cut_off_is_taken_again(recipe: str, tmp_path: Path) -> None:
    whole, cut, fresh = (trainer(recipe) for _ in range(3))
    run_training(whole)

    def interrupt(seen: object) -> None:
        cut.history.glances.remove(seen)  # type: ignore[arg-type] # as if it were not done yet
        save_checkpoint(cut, tmp_path / "c.safetensors")
        raise KeyboardInterrupt

    cut.after_glance = interrupt
    with pytest.raises(KeyboardInterrupt):
        list(cut.epochs())
    load_checkpoint(fresh, tmp_path / "c.safetensors")
    run_training(fresh)
    assert fresh.history.glances == whole.history.glances
    assert fresh.history == whole.history


def test_a_glance_is_the_mean_over_triples_of_a_sample_with_its_standard_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(glances, "_FEWEST", 2)
    one = trainer("best", max_epochs=16, look_every=16)
    queries = one.glances.queries
    assert queries is not None
    seen = glances.glance(one, 7)
    assert seen is not None and seen.step == 7
    ranks = realistic_ranks(one.objective.look(), queries, at_once=3).numpy()
    both = (1 / ranks).reshape(2, -1).mean(axis=0)
    assert seen.mrr == pytest.approx(both.mean())
    assert seen.mrr_error == pytest.approx(both.std(ddof=1) / math.sqrt(len(both)))
    anchors = np.concatenate([one.data.valid[:, 0], one.data.valid[:, 2]])
    assert set(queries.anchors.tolist()) <= set(anchors.tolist())


def test_there_is_none_where_it_would_cost_too_much_or_validations_are_as_frequent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(glances, "_FEWEST", 5)
    assert trainer("best").glances.queries is None  # 7 % of the queries of three steps are one triple
    assert trainer("best", max_epochs=16, look_every=16).glances.queries is not None
    assert trainer("best", max_epochs=16, look_every=1).glances.queries is None
