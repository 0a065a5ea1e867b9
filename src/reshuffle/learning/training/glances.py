"""Validation along the way: a curve over a sample of the validation triples, with standard errors.

Regular validations select the epoch to keep; there may be only one, at the end. Glances only show progress: they select
nothing, and they use a random generator of their own, so the training is the same with and without them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from reshuffle.learning.training.history import Glance
from reshuffle.learning.training.objective import ValidationQueries
from reshuffle.model.propagation import threads_worth

if TYPE_CHECKING:
    from reshuffle.learning.training.trainer import Trainer

POINTS = 16
"""How many glances a training has, about."""
_SHARE = 0.07  # of the scores that training has made meanwhile; without gradients they cost up to six tenths
_FEWEST, _MOST = 20, 1000  # triples of a sample: with fewer the curve says nothing, with more it says no more


@dataclass(frozen=True)
class Glances:
    """When to validate along the way, and on what; `queries` is None where it is not worth it."""

    total: int  # steps of the training
    queries: ValidationQueries | None = None

    @classmethod
    def planned(cls, trainer: Trainer) -> Glances:
        """A few of them over the training, within a twentieth of its time; none where validations are as frequent."""
        settings, data = trainer.settings, trainer.data
        total = settings.max_epochs * trainer.steps_per_epoch
        scores = _SHARE * total / POINTS * trainer.objective.scores_per_step
        size = min(int(scores / (2 * max(1, data.num_entities))), _MOST, len(data.valid))
        if settings.look_every * POINTS <= settings.max_epochs or size < _FEWEST:
            return cls(total)
        drawn = ValidationQueries.drawn(data, most=size, seed=settings.seed, device=trainer.device)
        return cls(total, drawn)

    def is_due(self, step: int) -> bool:
        """Is one due after this step of the training?"""
        if self.queries is None:
            return False
        return step * POINTS // self.total > (step - 1) * POINTS // self.total


@torch.no_grad()
def glance(trainer: Trainer, step: int) -> Glance | None:
    """Rank the sample after a step; None where the scores make no sense, which the epoch's end tells."""
    queries = trainer.glances.queries
    assert queries is not None  # the caller has asked whether it is due
    chance = torch.Generator(trainer.device).manual_seed(trainer.settings.seed)
    with threads_worth(trainer.numbers_per_step):
        ranks = trainer.ranks_of(queries, chance)
    if bool(ranks.isnan().any()):
        return None
    # A triple's two queries are about the same fact, so that only triples count as independent.
    mrr, hits = ((values.reshape(2, -1).mean(0)) for values in (1 / ranks, (ranks <= 10).float()))
    errors = (float(values.std()) / math.sqrt(len(values)) for values in (mrr, hits))
    return Glance(step, float(mrr.mean()), float(hits.mean()), *errors)
