"""The training loop, on arrays of ids: it knows no names and no files."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from reshuffle.errors import ReshuffleError
from reshuffle.learning.training.cuda_graph import CapturedStep
from reshuffle.learning.training.early_stopping import Patience
from reshuffle.learning.training.memory import run_in_pieces
from reshuffle.learning.training.objective import (
    LossKind,
    objective_of,
)
from reshuffle.learning.training.validation import ValidationQueries, ranks_within_memory
from reshuffle.model.channels.registry import channel_kind
from reshuffle.model.evidence.registry import LOCAL
from reshuffle.model.kernels import all_threads_for
from reshuffle.model.reshuffle import Architecture, ReshuffleModel
from reshuffle.progress import UNHEARD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from reshuffle.model.injected import InjectedBlock
    from reshuffle.progress import Notes

Redraw = Literal["once", "step", "call"]
Schedule = Literal["constant", "linear"]
Metric = Literal["hits@10", "mrr"]
Prior = Literal["equal", "examples"]

_WARM_UP = 20  # steps in which a scheduled learning rate rises to its height
_LAST_SHARE = 0.1  # of it that is left in the end


@dataclass(frozen=True)
class TrainingSettings:
    """How to train. The defaults are the paper's where it says; `redraw` and `hide_targets` it does not say.

    `recipes.py` has the better ones.
    """

    learning_rate: float = 0.01
    margin: float = 1.0
    num_negatives: int = 100
    batch_size: int = 1024
    max_epochs: int = 1000
    look_every: int = 10
    patience: int = 10
    relative_delta: float = 0.01
    redraw: Redraw = "step"
    hide_targets: bool = False
    drop_facts: float = 0.0  # with a channel per query: at most this share of the other facts is hidden, too
    loss: LossKind = "margin"
    epoch_steps: int = 0  # steps that make an epoch; 0: as many as a pass over all triples needs
    schedule: Schedule = "constant"  # "linear": the learning rate falls to a tenth over max_epochs
    max_gradient: float = 0.0  # longer gradients are shortened to this; 0: never
    evidence_decay: float = 0.001  # how strongly free weights of evidence are pulled to 0
    evidence_prior: Prior = "equal"  # "examples": divided by how many examples the relation has
    select_by: Metric = "hits@10"  # of the validation triples: what the best epoch is best in
    seed: int = 1


@dataclass(frozen=True)
class TrainingData:
    """Triples of ids [triple, (head relation tail)] of one graph, and held-out ones to stop by."""

    triples: NDArray[np.int64]
    valid: NDArray[np.int64]
    num_entities: int
    num_relations: int
    symmetric: tuple[int, ...] = ()  # relations that share one matrix with their inverse


@dataclass
class Epoch:
    """What one epoch showed."""

    number: int
    loss: float
    hits_at_10: float | None = None
    mrr: float | None = None


@dataclass
class History:
    """All epochs, and which one was kept."""

    epochs: list[Epoch] = field(default_factory=list)
    best_epoch: int = 0
    seconds: float = 0.0  # of training, over all the pieces it was done in

    def to_dict(self) -> dict[str, object]:
        """Plain data."""
        return asdict(self)


class DivergedError(ReshuffleError):
    """The loss, or what a look at the validation triples ranks by, is not a number any more."""

    def __init__(self, epoch: int, became: str, learning_rate: float) -> None:
        self.epoch = epoch
        super().__init__(
            f"{became} in epoch {epoch}, and no further epoch can mend that\n"
            f"  hint: lower the learning rate (learning_rate = {learning_rate:g}); "
            "with row_function = 'square' values also grow with every layer, so lower num_layers too"
        )


def check_settings(architecture: Architecture, settings: TrainingSettings) -> None:
    """Refuse what no training can do, before anything is computed."""
    channels = channel_kind(architecture.initial)
    if not channels.trainable:
        raise ReshuffleError(
            "private initial states cannot be trained with: in one step only few entities would have a channel\n"
            "  hint: train with 'bits', and answer with model.on(graph, initial='private')"
        )
    if not channels.per_query and architecture.slot_weights:
        raise ReshuffleError(
            "slot_weights need a channel per query\n"
            "  hint: train with initial = 'head', or with slot_weights = false"
        )
    if not channels.per_query and settings.drop_facts:
        raise ReshuffleError(
            "drop_facts needs a channel per query\n"
            "  hint: train with initial = 'head', or with drop_facts = 0"
        )
    distant = [kind for kind in architecture.evidence if kind not in LOCAL]
    if not channels.per_query and distant:
        raise ReshuffleError(
            f"evidence from {' and '.join(distant)} needs a channel per query\n"
            f"  hint: train with initial = 'head', or with evidence = {json.dumps(LOCAL)} alone"
        )
    for name in ("batch_size", "num_negatives", "look_every"):
        if getattr(settings, name) < 1:
            raise ReshuffleError(f"setting '{name}' is {getattr(settings, name)}; it must be at least 1")


class Trainer:
    """Trains one model; `epochs()` yields after each epoch so that the caller can report, save or stop."""

    def __init__(
        self,
        data: TrainingData,
        architecture: Architecture,
        settings: TrainingSettings,
        *,
        device: torch.device,
        notes: Notes = UNHEARD,
        injected: InjectedBlock | None = None,
        start: Tensor | None = None,
    ) -> None:
        """`notes` is told what a user should know, such as that memory ran out.

        `injected` are rules that stay as they are; `start` is added to the first logits [relation, slot, slot + 1].
        """
        check_settings(architecture, settings)
        self.data, self.settings, self.device, self.notes = data, settings, device, notes
        self.model = ReshuffleModel(
            data.num_relations,
            architecture,
            seed=settings.seed,
            symmetric=data.symmetric,
            num_identities=1 if start is None else max(1, len(start) - 2 * data.num_relations),
            injected=injected,
        ).to(device)
        self.start = start
        if start is not None:
            self.model.matrices.logits.data[: len(start)] += start.to(device)
        self.queries = ValidationQueries.build(
            data.valid, data.triples, num_entities=data.num_entities, num_relations=data.num_relations
        ).to(device)
        forward = torch.from_numpy(data.triples)
        inverse = torch.stack([forward[:, 2], forward[:, 1] + data.num_relations, forward[:, 0]], dim=1)
        self.examples = torch.cat([forward, inverse]).to(device)
        self.optimizer = torch.optim.Adam(
            self.model.parameters(),
            lr=settings.learning_rate,
            fused=device.type == "cuda",
            capturable=device.type == "cuda",
        )
        self.generator = torch.Generator(device).manual_seed(settings.seed)
        self.draw_state = self.generator.get_state()
        self.patience = Patience(settings.patience, settings.relative_delta)
        self.best = {name: value.clone() for name, value in self.model.state_dict().items()}
        self.history = History()
        self.pieces = 1  # how many a batch is cut into
        self.after_step: Callable[[int], None] = lambda _number: None
        self.objective = objective_of(self)
        self._captured: CapturedStep | None = None
        self._may_capture = device.type == "cuda" and self.steps_are_alike

    @property
    def steps_per_epoch(self) -> int:
        """A pass over all examples, or as many as the settings say."""
        return self.settings.epoch_steps or -(-len(self.examples) // self.settings.batch_size)

    @property
    def steps_are_alike(self) -> bool:
        """Can a step be recorded? A recording holds the learning rate as a number."""
        return self.objective.replayable and self.settings.schedule == "constant"

    @property
    def finished(self) -> bool:
        """Are the epochs used up, or the patience?"""
        return len(self.history.epochs) >= self.settings.max_epochs or self.patience.exhausted

    def epochs(self) -> Iterator[Epoch]:
        """Train until finished, and keep the best model; without validation triples that is the last."""
        while not self.finished:
            number = len(self.history.epochs) + 1
            epoch = Epoch(number, self._epoch(number))
            last = number == self.settings.max_epochs
            if len(self.data.valid) and (last or number % self.settings.look_every == 0):
                self._look(epoch)
            self.history.epochs.append(epoch)
            yield epoch
        self._captured = None  # it holds memory
        if self.patience.best is not None:
            self.model.load_state_dict(self.best)
        self.history.best_epoch = self.patience.best_epoch or len(self.history.epochs)

    def _epoch(self, number: int) -> float:
        total = torch.zeros((), device=self.device)
        batches = self._batches()
        for place, batch in enumerate(batches):
            self._set_learning_rate((number - 1) * self.steps_per_epoch + place)
            with all_threads_for(self._numbers_per_step):
                total += self._step(batch)
            self.after_step(place + 1)
        loss = float(total / len(batches))
        # Parameters too: comparisons with NaN are false, so a maximum can hide it from the loss.
        if not (math.isfinite(loss) and all(bool(p.isfinite().all()) for p in self.model.parameters())):
            raise DivergedError(number, f"the loss became {loss}", self.settings.learning_rate)
        return loss

    def _batches(self) -> tuple[Tensor, ...]:
        """Of one epoch: each example once, or where the settings give the number of steps, as often as those need."""
        size, count = self.settings.batch_size, len(self.examples)
        rounds = -(-self.settings.epoch_steps * size // count) if self.settings.epoch_steps else 1
        orders = [torch.randperm(count, generator=self.generator, device=self.device) for _ in range(rounds)]
        # Batches do not reach over the end of a round: in one batch every example is there once.
        batches = [batch for order in orders for batch in order.split(size)]
        return tuple(batches[: self.settings.epoch_steps or None])

    def _set_learning_rate(self, step: int) -> None:
        if self.settings.schedule == "constant":
            return
        done = step / (self.settings.max_epochs * self.steps_per_epoch)
        factor = min(1.0, (step + 1) / _WARM_UP) * (1 - (1 - _LAST_SHARE) * done)
        for group in self.optimizer.param_groups:
            group["lr"] = self.settings.learning_rate * factor

    @property
    def _numbers_per_step(self) -> int:
        """How many differences the negatives of a batch make."""
        examples = min(self.settings.batch_size, len(self.examples))
        architecture = self.model.architecture
        if channel_kind(architecture.initial).per_query:
            return examples * self.data.num_entities * architecture.num_slots
        return examples * self.settings.num_negatives * architecture.num_slots * architecture.num_channels

    def _step(self, batch: Tensor) -> Tensor:
        if not self._may_capture or len(batch) < min(self.settings.batch_size, len(self.examples)):
            return self._plain_step(batch)
        if self._captured is not None:
            return self._captured(batch)
        loss = self._plain_step(batch)
        self._capture(batch)
        return loss

    def _capture(self, batch: Tensor) -> None:
        if self.pieces > 1:  # memory is short, and a recording needs its own
            self._may_capture = False
            return
        try:
            self._captured = CapturedStep(self._whole_step, batch, generator=self.generator)
        except torch.cuda.OutOfMemoryError:
            self._may_capture = False

    def _plain_step(self, batch: Tensor) -> Tensor:
        loss, self.pieces = run_in_pieces(self._gradients, batch, pieces=self.pieces, notes=self.notes)
        return self._moved(loss)

    def _whole_step(self, batch: Tensor) -> Tensor:
        """Without a second try in pieces, which no recording could hold."""
        return self._moved(self._gradients([batch]))

    def _moved(self, loss: Tensor) -> Tensor:
        """Let the parameters follow their gradients."""
        if self.settings.max_gradient:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.max_gradient)
        self.optimizer.step()
        return loss

    def _gradients(self, parts: Sequence[Tensor]) -> Tensor:
        """The loss of a batch and its gradients, one part at a time."""
        self.optimizer.zero_grad(set_to_none=True)
        size = sum(map(len, parts))
        total = torch.zeros((), device=self.device)
        for part in parts:
            loss = self.loss(part) * (len(part) / size)
            loss.backward()
            total += loss.detach()
        return total

    def loss(self, batch: Tensor) -> Tensor:
        """The loss of examples, by position."""
        return self.objective.loss(batch)

    @torch.no_grad()
    def _look(self, epoch: Epoch) -> None:
        objective = self.objective
        ranks, objective.at_once = ranks_within_memory(
            objective.look, self.queries, at_once=objective.at_once, notes=self.notes
        )
        # The last step of an epoch comes after its loss, so that a look may be the first to see what it did.
        if bool(ranks.isnan().any()):
            raise DivergedError(epoch.number, "the validation scores became nan", self.settings.learning_rate)
        epoch.hits_at_10 = float((ranks <= 10).float().mean())
        epoch.mrr = float((1 / ranks).mean())
        watched = epoch.mrr if self.settings.select_by == "mrr" else epoch.hits_at_10
        if self.patience.look(watched, epoch.number):
            self.best = {name: value.clone() for name, value in self.model.state_dict().items()}
