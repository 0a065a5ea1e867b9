"""The training loop, on arrays of ids: it knows no names and no files."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from reshuffle.errors import ReshuffleError
from reshuffle.learning.loss import margin_ranking
from reshuffle.learning.memory import run_in_pieces
from reshuffle.learning.negatives import random_others
from reshuffle.learning.stopping import Patience
from reshuffle.learning.validation import ValidationQueries, realistic_ranks
from reshuffle.model.kernels.threads import all_threads_for
from reshuffle.model.reshuffle import Architecture, ReshuffleModel
from reshuffle.model.scoring import tail_scores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

Redraw = Literal["once", "step", "call"]


@dataclass(frozen=True)
class TrainingSettings:
    """How to train. The defaults are the paper's where it says; `redraw` and `hide_targets` it does not say."""

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
    """The loss is not a number any more."""

    def __init__(self, epoch: int, loss: float, learning_rate: float) -> None:
        self.epoch = epoch
        super().__init__(
            f"the loss became {loss} in epoch {epoch}, and no further epoch can mend that\n"
            f"  hint: lower the learning rate (learning_rate = {learning_rate:g}); "
            "with row_function = 'square' values also grow with every layer, so lower num_layers too"
        )


def _check(architecture: Architecture, settings: TrainingSettings) -> None:
    if architecture.initial == "private":
        raise ReshuffleError(
            "private initial states cannot be trained with: in one step only few entities would have a channel\n"
            "  hint: train with 'bits', and answer with model.on(graph, initial='private')"
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
        notes: Callable[[str], None] = lambda _text: None,
    ) -> None:
        """`notes` is told what a user should know, such as that memory ran out."""
        _check(architecture, settings)
        self.data, self.settings, self.device, self.notes = data, settings, device, notes
        self.model = ReshuffleModel(
            data.num_relations, architecture, seed=settings.seed, symmetric=data.symmetric
        ).to(device)
        self.graph = self.model.graph_of(data.triples, num_entities=data.num_entities)
        self.queries = ValidationQueries.build(
            data.valid, data.triples, num_entities=data.num_entities, num_relations=data.num_relations
        ).to(device)
        forward = torch.from_numpy(data.triples)
        inverse = torch.stack([forward[:, 2], forward[:, 1] + data.num_relations, forward[:, 0]], dim=1)
        self.examples = torch.cat([forward, inverse]).to(device)
        self.optimizer = torch.optim.Adam(
            self.model.parameters(), lr=settings.learning_rate, fused=device.type == "cuda"
        )
        self.generator = torch.Generator(device).manual_seed(settings.seed)
        self.draw_state = self.generator.get_state()
        self.patience = Patience(settings.patience, settings.relative_delta)
        self.best = {name: value.clone() for name, value in self.model.state_dict().items()}
        self.history = History()
        self.pieces = 1  # how many a batch is cut into

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
        if self.patience.best is not None:
            self.model.load_state_dict(self.best)
        self.history.best_epoch = self.patience.best_epoch or len(self.history.epochs)

    def _epoch(self, number: int) -> float:
        order = torch.randperm(len(self.examples), generator=self.generator, device=self.device)
        total = torch.zeros((), device=self.device)
        batches = order.split(self.settings.batch_size)
        for batch in batches:
            with all_threads_for(self._numbers_per_step):
                total += self._step(batch)
        loss = float(total / len(batches))
        # Parameters too: comparisons with NaN are false, so a maximum can hide it from the loss.
        if not (math.isfinite(loss) and all(bool(p.isfinite().all()) for p in self.model.parameters())):
            raise DivergedError(number, loss, self.settings.learning_rate)
        return loss

    @property
    def _numbers_per_step(self) -> int:
        """How many differences the negatives of a batch make."""
        examples = min(self.settings.batch_size, len(self.examples))
        architecture = self.model.architecture
        return examples * self.settings.num_negatives * architecture.num_slots * architecture.num_channels

    def _step(self, batch: Tensor) -> Tensor:
        loss, self.pieces = run_in_pieces(self._gradients, batch, pieces=self.pieces, notes=self.notes)
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

    def states(self, matrices: Tensor, edge_messages: Tensor | None = None) -> Tensor:
        """The states for one scoring call; with redraw "once" every call sees the same initial values."""
        if self.settings.redraw == "once":
            generator = torch.Generator(self.device)
            generator.set_state(self.draw_state)
        else:
            generator = self.generator
        return self.model.states(self.graph, matrices, generator, edge_messages=edge_messages)

    def loss(self, batch: Tensor) -> Tensor:
        """The margin ranking loss of a batch: half of it corrupted at the head, half at the tail."""
        settings, model = self.settings, self.model
        heads, relations, tails = self.examples[batch].T.contiguous()
        matrices = model.matrices()
        hidden = self.graph.hiding(batch % len(self.data.triples)) if settings.hide_targets else None
        states = self.states(matrices, hidden)
        bodies = model.bodies(matrices, states, heads, relations)
        positives = tail_scores(bodies, states, tails[:, None])
        half = len(batch) // 2
        if settings.redraw == "call":
            states = self.states(matrices, hidden)
            bodies = model.bodies(matrices, states, heads[half:], relations[half:])
        else:
            bodies = bodies[half:]
        others = [
            random_others(
                entities,
                settings.num_negatives,
                num_entities=self.data.num_entities,
                generator=self.generator,
            )
            for entities in (heads[:half], tails[half:])
        ]
        negatives = [
            model.head_scores(matrices, states, others[0], relations[:half], tails[:half]),
            tail_scores(bodies, states, others[1]),
        ]
        return margin_ranking(positives, torch.cat(negatives), margin=settings.margin)

    @torch.no_grad()
    def _look(self, epoch: Epoch) -> None:
        matrices = self.model.matrices()
        ranks = realistic_ranks(self.model, matrices, self.states(matrices), self.queries)
        epoch.hits_at_10 = float((ranks <= 10).float().mean())
        epoch.mrr = float((1 / ranks).mean())
        if self.patience.look(epoch.hits_at_10, epoch.number):
            self.best = {name: value.clone() for name, value in self.model.state_dict().items()}
