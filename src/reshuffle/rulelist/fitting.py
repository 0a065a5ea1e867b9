"""The fit of a rule list: a softmax over all entities, a Gaussian prior around the confidences, Adam.

    loss = mean over questions of  -log softmax(scores)[answer]
         + prior / questions * 1/2 (sum over rules of (w - scale * -log(1 - confidence))^2 + v^2
                                    + sum over tables of (u_r - u)^2)

w and v are kept from falling below 0, so that more walks never lower a score. There is a scale for each length of
bodies, fitted as well: long bodies are many and say much the same, so that each one counts less. The tables of a
relation are held at common ones, u, which are fitted, too: a relation with few facts goes by what holds for all.
Everything is a function of the seed: parts of a batch are summed in a fixed order, however many threads there are.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from reshuffle.deadlines import NO_DEADLINE
from reshuffle.progress import SILENT
from reshuffle.reasoning.sharing import usable_cores
from reshuffle.rulelist.features import NUM_DISTANCES
from reshuffle.rulelist.kernels.losses import loss_and_gradient
from reshuffle.rulelist.type_tables import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from reshuffle.deadlines import Deadline
    from reshuffle.progress import Progress
    from reshuffle.rulelist.training_rows import TrainingRows
    from reshuffle.rulelist.type_tables import RoleCounts

    Array = NDArray[np.float64]

NUM_SCALES = 3
"""One for bodies of one atom, one for those of two, one for all that are longer."""

_PARTS = 16  # of a batch, each summed on its own: as many, however many cores there are
_MEAN, _SQUARES, _TINY = 0.9, 0.999, 1e-8  # Adam's


@dataclass(frozen=True)
class FitSettings:
    """How the weights are fitted."""

    steps: int = 300
    batch: int = 1024
    rate: float = 0.05
    """The learning rate of the first step; it falls linearly to 0."""
    prior: float = 3.0
    """How strongly weights are held at what the confidences say."""
    nonnegative: bool = True


@dataclass(frozen=True)
class Shape:
    """How many numbers of each kind are fitted; all lie in one array, in this order."""

    rules: int
    directed: int

    @property
    def parts(self) -> tuple[tuple[int, ...], ...]:
        """The scales, weights, count weights, distances, types, and what is common of the last two."""
        of_tables = (self.directed, NUM_DISTANCES), (self.directed, len(KINDS))
        common = (NUM_DISTANCES,), (len(KINDS),)
        return ((NUM_SCALES,), (self.rules,), (self.rules,), *of_tables, *common)

    def views(self, values: Array) -> tuple[Array, ...]:
        """The parts of an array of all numbers: views, not copies."""
        ends = np.cumsum([int(np.prod(part)) for part in self.parts])
        pieces = np.split(values, ends[:-1])
        return tuple(piece.reshape(part) for piece, part in zip(pieces, self.parts, strict=True))

    @property
    def size(self) -> int:
        """Of the array of all numbers."""
        return sum(int(np.prod(part)) for part in self.parts)


@dataclass
class FitState:
    """All that the next step depends on."""

    values: Array
    mean: Array
    squares: Array
    step: int = 0
    losses: list[float] = field(default_factory=list)

    @classmethod
    def first(cls, shape: Shape, priors: Array) -> FitState:
        """Weights as the confidences say, tables of zeros."""
        values = np.zeros(shape.size)
        scales, weights, *_ = shape.views(values)
        scales[:], weights[:] = 1.0, priors
        return cls(values, np.zeros(shape.size), np.zeros(shape.size))


@dataclass(frozen=True)
class Fit:
    """Fits the weights of rules to training rows."""

    rows: TrainingRows
    roles: RoleCounts
    log_shares: Array  # role role
    priors: Array  # rule: -log(1 - confidence)
    groups: NDArray[np.int64]  # rule: which scale is its own
    settings: FitSettings
    seed: int = 0

    @property
    def shape(self) -> Shape:
        """How many numbers there are."""
        return Shape(len(self.priors), len(self.log_shares))

    def run(
        self,
        state: FitState | None = None,
        *,
        deadline: Deadline = NO_DEADLINE,
        after_step: Callable[[FitState], None] = lambda _state: None,
        progress: Progress = SILENT,
    ) -> FitState:
        """All steps, or those that are left after `state`; with a deadline, as many as fit until then.

        The learning rate falls to 0 with the last of these.
        """
        state = state or FitState.first(self.shape, self.priors)
        started, first = time.monotonic(), state.step
        with (
            ThreadPoolExecutor(usable_cores()) as pool,
            progress("fitting", total=self.settings.steps, unit="steps") as report,
        ):
            report(state.step)
            for batch in self._batches(state.step):
                loss, gradient = self._gradient(state.values, batch, pool)
                last = self._last_step(state.step, state.step - first, started, deadline)
                self._move(state, gradient, last)
                state.losses.append(loss)
                report(1, note=f"loss {loss:.3f}")
                after_step(state)
                if state.step >= last:
                    break
        return state

    def _last_step(self, done: int, timed: int, started: float, deadline: Deadline) -> int:
        """How many steps there will be in all: `done` are over, the last `timed` of them since `started`."""
        if not deadline.is_set:
            return self.settings.steps
        pace = (time.monotonic() - started) / (timed + 1)  # with the one that is under way
        return min(self.settings.steps, done + 1 + int(deadline.seconds_left / max(pace, 1e-9)))

    def _batches(self, done: int) -> list[NDArray[np.int64]]:
        """The questions of each step that is left: all in a random order, then all in another."""
        chance, size = np.random.default_rng(self.seed), min(self.settings.batch, len(self.rows))
        whole = max(1, len(self.rows) // max(1, size))
        batches: list[NDArray[np.int64]] = []
        while len(batches) < self.settings.steps and size:
            batches += np.split(chance.permutation(len(self.rows))[: whole * size], whole)
        return batches[done : self.settings.steps]

    def _gradient(
        self, values: Array, batch: NDArray[np.int64], pool: ThreadPoolExecutor
    ) -> tuple[float, Array]:
        """The mean loss of a batch, and the gradient of loss and prior."""
        weights = self.shape.views(values)[1:5]

        def of_part(questions: NDArray[np.int64]) -> tuple[float, Array]:
            gradient = np.zeros_like(values)
            views = self.shape.views(gradient)[1:5]
            loss = loss_and_gradient(
                questions, self.rows.arrays, self.roles.arrays, self.log_shares, weights, views
            )
            return loss, gradient

        parts = list(pool.map(of_part, np.array_split(batch, _PARTS)))
        loss = sum(part for part, _ in parts) / len(batch)
        gradient = np.sum([part for _, part in parts], axis=0) / len(batch)
        return loss, gradient + self._pull(values)

    def _pull(self, values: Array) -> Array:
        """The gradient of the prior."""
        pull = values.copy()
        scales, weights, _, distances, types, *common = self.shape.views(pull)
        for table, mean in zip((distances, types), common, strict=True):
            table[:] -= mean
            mean[:] = -table.sum(axis=0)
        weights -= scales[self.groups] * self.priors
        scales[:] = -np.bincount(self.groups, weights * self.priors, minlength=NUM_SCALES)
        return pull * (self.settings.prior / max(1, len(self.rows)))

    def _move(self, state: FitState, gradient: Array, last: int) -> None:
        """One step of Adam, of `last` in all; weights that would be negative become 0."""
        rate = self.settings.rate * max(0.0, 1 - state.step / last)
        state.step += 1
        state.mean = _MEAN * state.mean + (1 - _MEAN) * gradient
        state.squares = _SQUARES * state.squares + (1 - _SQUARES) * gradient**2
        mean, squares = state.mean / (1 - _MEAN**state.step), state.squares / (1 - _SQUARES**state.step)
        state.values = state.values - rate * mean / (np.sqrt(squares) + _TINY)
        if self.settings.nonnegative:
            for part in self.shape.views(state.values)[:3]:
                np.maximum(part, 0, out=part)
