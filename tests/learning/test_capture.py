"""Recorded steps: they are the steps, and only whole batches of a constant learning rate are recorded."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
import torch

from reshuffle.kg import KnowledgeGraph
from reshuffle.learning.checkpoints import load_checkpoint, save_checkpoint
from reshuffle.learning.estimator import Reshuffle
from reshuffle.learning.training import trainer as training
from reshuffle.learning.training.examples import examples_of
from reshuffle.learning.training.trainer import Trainer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
    sizes: ClassVar[list[int]] = []

    def __init__(
        self, step: Callable[[torch.Tensor], torch.Tensor], batch: torch.Tensor, *, generator: torch.Generator
    ) -> None:
        assert isinstance(generator, torch.Generator)
        type(self).made += 1
        if not self.memory:
            step(batch.new_empty(0))  # whatever a step does when memory runs out while it is recorded
        self.step = step

    def __call__(self, batch: torch.Tensor) -> torch.Tensor:
        self.sizes.append(len(batch))
        return self.step(batch)


@pytest.mark.parametrize("memory", [True, False])
def test_whole_batches_are_recorded_once_and_the_rest_is_not(
    memory: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh = type("Fresh", (Repeated,), {"memory": memory, "sizes": []})
    monkeypatch.setattr(training, "CapturedStep", fresh)
    plain, recorded = trainer("cpu"), trainer("cpu")
    recorded._may_capture = True  # as on a GPU
    real = recorded._gradients

    def short_of_memory(parts: Sequence[torch.Tensor]) -> torch.Tensor:
        if not len(parts[0]):
            raise torch.cuda.OutOfMemoryError("CUDA out of memory.")
        return real(parts)

    monkeypatch.setattr(recorded, "_gradients", short_of_memory)
    curves = [[epoch.loss for epoch in one.epochs()] for one in (plain, recorded)]
    assert curves[0] == curves[1]
    assert recorded._may_capture == memory
    assert (fresh.made, recorded.pieces) == (1, 1)
    # The first whole batch runs plainly, and so do all that are not whole.
    assert fresh.sizes == ([30] * (4 * (len(recorded.examples) // 30) - 1) if memory else [])
    assert recorded._captured is None  # it is given back in the end


@pytest.mark.parametrize(
    "changes",
    [
        {"redraw": "once"},
        {"schedule": "linear"},
        {"evidence": ["unary"]},
        {"num_slots": 65},
        {"recipe": "best"},
    ],
)
def test_what_differs_from_step_to_step_is_not_recorded(changes: dict[str, Any]) -> None:
    assert not trainer("cpu", **changes).steps_are_alike
    assert trainer("cpu").steps_are_alike


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU to record on")
def test_on_a_gpu_a_recorded_step_is_the_step() -> None:
    curves, stopped = [], trainer("cuda")
    for may in (False, True):
        one = trainer("cuda")
        one._may_capture = one._may_capture and may
        curves.append([epoch.loss for epoch in one.epochs()])
    assert curves[1] == pytest.approx(curves[0], rel=1e-3)
    with tempfile.TemporaryDirectory() as folder:
        epochs = stopped.epochs()
        for _ in range(2):
            next(epochs)
        save_checkpoint(stopped, Path(folder) / "rest")
        going_on = trainer("cuda")
        load_checkpoint(going_on, Path(folder) / "rest")
        assert [epoch.loss for epoch in going_on.epochs()] == pytest.approx(curves[0][2:], rel=1e-3)
