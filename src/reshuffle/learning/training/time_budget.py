"""How many steps of a training fit into some time: a step is tried, and forgotten, before the first one."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from reshuffle.learning.training.glances import Glances
from reshuffle.learning.training.objective import ValidationQueries
from reshuffle.model.propagation import threads_worth
from reshuffle.text import counted, duration

if TYPE_CHECKING:
    from reshuffle.deadlines import Deadline
    from reshuffle.learning.settings import TrainingSettings
    from reshuffle.learning.training.trainer import Trainer

_FOR_LOOKS = (
    0.25  # of the time, at most: for the validation of the model, and as much again for its calibration
)
_LOOK_PER_STEP = 0.5  # what a batch of questions costs that is only ranked
_FEWEST_LOOKED_AT = 20  # triples


@dataclass(frozen=True)
class Plan:
    """What fits into a time: steps, and triples to validate and to calibrate with."""

    steps: int
    looked_at: int

    @classmethod
    def within(cls, seconds: float, *, step: float, queries: int, steps: int, triples: int) -> Plan:
        """A plan for at most `steps` and `triples`; `step` are the seconds of one step, which has `queries`.

        >>> Plan.within(600, step=2, queries=64, steps=800, triples=5000)
        Plan(steps=225, looked_at=2400)
        >>> Plan.within(1, step=2, queries=64, steps=800, triples=5000)
        Plan(steps=1, looked_at=20)
        """
        look = 2 * _LOOK_PER_STEP * step / queries  # a triple asks two questions
        affordable = int(_FOR_LOOKS * seconds / 2 / look) if look else triples
        looked_at = min(triples, max(affordable, _FEWEST_LOOKED_AT))
        fitting = int((seconds - 2 * looked_at * look) / step) if step else steps
        return cls(min(steps, max(1, fitting)), looked_at)


def seconds_per_step(trainer: Trainer) -> float:
    """How long a step takes: gradients, computed and forgotten; twice, as the first may compile kernels."""
    state, seconds = trainer.generator.get_state(), 0.0
    batch = trainer.asked[: trainer.settings.batch_size]
    with threads_worth(trainer.numbers_per_step):
        for _ in range(2):
            began = time.perf_counter()
            trainer.gradients_of(batch)
            seconds = time.perf_counter() - began
    trainer.optimizer.zero_grad(set_to_none=True)
    trainer.generator.set_state(state)
    return seconds


def limit(trainer: Trainer, deadline: Deadline) -> int:
    """Shorten a training that has not begun, so that it ends in time; how many triples may calibrate the model."""
    step, settings = seconds_per_step(trainer), trainer.settings
    planned = settings.max_epochs * trainer.steps_per_epoch
    plan = Plan.within(
        deadline.seconds_left,
        step=step,
        queries=min(settings.batch_size, len(trainer.asked)),
        steps=planned,
        triples=len(trainer.queries) // 2,
    )
    trainer.deadline = deadline.part(1 - _FOR_LOOKS)
    trainer.settings = shortened(settings, plan.steps, per_epoch=trainer.steps_per_epoch)
    trainer.steps_per_epoch = trainer.settings.epoch_steps or trainer.steps_per_epoch
    trainer.queries = ValidationQueries.drawn(
        trainer.data, most=plan.looked_at, seed=settings.seed, device=trainer.device
    )
    trainer.glances = Glances.planned(trainer)
    if plan.steps < planned:
        whole = duration(planned * step)
        trainer.notes(
            f"there is time for {plan.steps:,} of {counted(planned, 'step')}; all of them take about {whole}"
        )
    return plan.looked_at


def shortened(settings: TrainingSettings, steps: int, *, per_epoch: int) -> TrainingSettings:
    """The settings for a training of at most `steps`, validated at its end; the learning rate falls as before."""
    if steps >= settings.max_epochs * per_epoch:
        return settings
    epochs = min(settings.max_epochs, steps) if settings.epoch_steps else max(1, steps // per_epoch)
    return replace(
        settings,
        epoch_steps=min(per_epoch, max(1, steps // epochs)),
        max_epochs=epochs,
        look_every=min(settings.look_every, epochs),
    )
