"""Recorded steps: they are the steps, and only whole batches of a constant learning rate are recorded."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch

from reshuffle.kg import KnowledgeGraph
from reshuffle.learning import training
from reshuffle.learning.checkpoints import load_checkpoint, save_checkpoint
from reshuffle.learning.estimator import Reshuffle
from reshuffle.learning.examples import examples_of
from reshuffle.learning.training import Trainer

if TYPE_CHECKING:
    from collections.abc import Callable

FACTS = KnowledgeGraph(
    [(f"p{n}", "parent", f"p{n + 1}") for n in range(20)]
    + [(f"p{n}", "grandparent", f"p{n + 2}") for n in range(19)]
)
SMALL = {
    "recipe": "paper",
    "num_slots": 4,
    "num_channels": 6,
    "num_layers": 2,
    "num_negatives": 5,
    "batch_size": 30,
}


def trainer(device: str, **changes: Any) -> Trainer:
    settings = Reshuffle(device="cpu", **{**SMALL, "max_epochs": 4, "redraw": "call", **changes}).settings
    data = examples_of(FACTS, None, seed=1)[1]
    return Trainer(data, settings.architecture, settings.training, device=torch.device(device))


class Repeated:
    """What a CUDA graph does, on a machine without one: the step again."""

    made = 0
    memory = True

    def __init__(
        self, step: Callable[[torch.Tensor], torch.Tensor], batch: torch.Tensor, *, generator: torch.Generator
    ) -> None:
        if not self.memory:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory.")
        type(self).made += 1
        self.step, self.sizes = step, [len(batch)]
        self.generator = generator

    def __call__(self, batch: torch.Tensor) -> torch.Tensor:
        self.sizes.append(len(batch))
        return self.step(batch)


@pytest.mark.parametrize("memory", [True, False])
def test_whole_batches_are_recorded_once_and_the_rest_is_not(
    memory: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "CapturedStep", type("Fresh", (Repeated,), {"memory": memory}))
    plain, recorded = trainer("cpu"), trainer("cpu")
    recorded._may_capture = True  # as on a GPU
    curves = [[epoch.loss for epoch in one.epochs()] for one in (plain, recorded)]
    assert curves[0] == curves[1]
    assert (recorded._captured is not None) == memory == recorded._may_capture
    if recorded._captured is not None:
        assert recorded._captured.made == 1
        assert recorded._captured.generator is recorded.generator
        assert set(recorded._captured.sizes) == {30}
        assert len(recorded._captured.sizes) == 4 * (
            len(recorded.examples) // 30
        )  # the first one ran plainly


@pytest.mark.parametrize(
    "changes", [{"redraw": "once"}, {"schedule": "linear"}, {"evidence": ["unary"]}, {"recipe": "best"}]
)
def test_what_differs_from_step_to_step_is_not_recorded(changes: dict[str, Any]) -> None:
    one = trainer("cpu", **changes)
    assert not (one.objective.replayable and one.settings.schedule == "constant")
    assert trainer("cpu").objective.replayable


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU to record on")
def test_on_a_gpu_a_recorded_step_is_the_step() -> None:
    curves, stopped = [], trainer("cuda")
    for may in (False, True):
        one = trainer("cuda")
        one._may_capture = one._may_capture and may
        curves.append([epoch.loss for epoch in one.epochs()])
        assert (one._captured is not None) == may
    assert curves[1] == pytest.approx(curves[0], rel=1e-3)
    with tempfile.TemporaryDirectory() as folder:
        epochs = stopped.epochs()
        for _ in range(2):
            next(epochs)
        save_checkpoint(stopped, Path(folder) / "rest")
        going_on = trainer("cuda")
        load_checkpoint(going_on, Path(folder) / "rest")
        assert [epoch.loss for epoch in going_on.epochs()] == pytest.approx(curves[0][2:], rel=1e-3)
