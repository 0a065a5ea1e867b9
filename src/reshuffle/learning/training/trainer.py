"""One training, without files: epochs, batches, steps, early stopping."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import torch
from torch import Tensor

from reshuffle.deadlines import NO_DEADLINE
from reshuffle.errors import ReshuffleError
from reshuffle.kg.rows import with_inverses
from reshuffle.learning.settings import refused
from reshuffle.learning.team import ALONE, added_up
from reshuffle.learning.training.cuda_graph import CapturedStep
from reshuffle.learning.training.glances import Glances, glance
from reshuffle.learning.training.history import DivergedError, Epoch, Glance, History, Patience, Underway
from reshuffle.learning.training.objective import ValidationQueries, objective_of, ranks_within_memory
from reshuffle.model.channels.registry import CHANNELS
from reshuffle.model.evidence.registry import LOCAL
from reshuffle.model.propagation import threads_worth
from reshuffle.model.reshuffle import ReshuffleModel
from reshuffle.progress import SILENT, UNHEARD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from reshuffle.learning.settings import TrainingSettings
    from reshuffle.learning.team import Team
    from reshuffle.learning.training.examples import TrainingData
    from reshuffle.model.architecture import Architecture
    from reshuffle.model.injected import InjectedBlock
    from reshuffle.progress import Notes, Progress

Result = TypeVar("Result")

_MOST_NUMBERS = 1 << 30  # of a piece of a batch on a CPU: 4 GB
MOST_VALIDATED = 5_000  # triples: a standard error of MRR of half a hundredth
_WARM_UP = 20  # steps in which a scheduled learning rate rises to its maximum
SAME_HEAD = 8  # questions of a head that come into a batch together, at most
MANY_FACTS = 50_000  # from this number on they do
_FACTS_FOR_ONE = 4  # facts of an entity for each that is asked for in one batch
_LAST_SHARE = 0.1  # the share of the maximum that is left in the end


class Trainer:
    """Trains one model; `epochs()` yields after each epoch so that the caller can report, save or stop."""

    def __init__(  # noqa: PLR0913 - all but the data and the settings are options by name
        self,
        data: TrainingData,
        architecture: Architecture,
        settings: TrainingSettings,
        *,
        device: torch.device,
        notes: Notes = UNHEARD,
        injected: InjectedBlock | None = None,
        start: Tensor | None = None,
        pieces: int = 1,
        team: Team = ALONE,
    ) -> None:
        """`notes` hears what a user should know, such as that memory ran out.

        `injected` are rules that stay as they are; `start` is added to the first logits [relation, slot, slot + 1].
        Each process of a `team` takes its share of a step, and cuts it into `pieces`: each piece hides its own targets.
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
        self.queries = ValidationQueries.drawn(data, most=MOST_VALIDATED, seed=settings.seed, device=device)
        self.examples = torch.from_numpy(with_inverses(data.triples, data.num_relations)).to(device)
        self.asked = torch.arange(len(self.examples), device=device)
        """The examples to train on, by position."""
        if not settings.lone_facts:
            self.asked = not_lone(self.examples, num_entities=data.num_entities)
        self.optimizer = torch.optim.Adam(
            self.model.parameters(),
            lr=settings.learning_rate,
            fused=device.type == "cuda",
            capturable=device.type == "cuda",
        )
        self.generator = torch.Generator(device).manual_seed(settings.seed)
        self.draw_state = self.generator.get_state()
        self.piece_chance: torch.Generator | None = None
        self.patience = Patience(settings.patience, settings.relative_delta)
        self.best: dict[str, Tensor] = {}  # the parameters to keep; those of the start until an epoch is done
        self.history = History()
        self.team = team
        self.deadline = NO_DEADLINE
        """No step begins after it."""
        self.pieces = max(
            pieces, self._pieces_for_memory()
        )  # how many a batch, or a process's share of it, is cut into
        self.is_split = self.pieces > 1 or team.size > 1
        self.asked_to_stop: Callable[[], int] = lambda: 0  # the signal that this process has got
        self.told_to_stop: Callable[[int], None] = lambda _signal: None  # what all processes have agreed on
        self.after_step: Callable[[int], None] = lambda _number: None
        self.after_glance: Callable[[Glance], None] = lambda _seen: None
        self.between_pieces: Callable[[], None] = lambda: None  # where the training can be saved, and stopped
        self.progress: Progress = SILENT  # of looks
        self.underway: Underway | None = None
        self.before_look: Tensor | None = None
        """The generator's state before a look that is under way: a checkpoint has it done again from its beginning."""
        self.steps_per_epoch = settings.epoch_steps or -(-len(self.asked) // settings.batch_size)
        self.objective = objective_of(self)
        self.glances = Glances.planned(self)
        # Whether a step can be recorded: a recording holds the learning rate as a number.
        self.steps_are_alike = self.objective.replayable and settings.schedule == "constant"
        self._captured: CapturedStep | None = None
        self._may_capture = device.type == "cuda" and self.steps_are_alike and not self.is_split

    @property
    def finished(self) -> bool:
        """Whether all epochs are done, or early stopping ends the training."""
        stale = self.patience.without > 0 and self.patience.exhausted
        late = self.deadline.is_over and bool(self.history.epochs)
        return len(self.history.epochs) >= self.settings.max_epochs or stale or late

    def epochs(self) -> Iterator[Epoch]:
        """Train until finished, and keep the best epoch; without validation triples that is the last."""
        if not self.best:
            self._keep()
        while not self.finished:
            number = len(self.history.epochs) + 1
            epoch = Epoch(number, self._epoch(number))
            if self._is_validated(number):
                self._look(epoch)
            self.history.epochs.append(epoch)
            self.underway = None
            if self.patience.best is None:  # the last whole epoch, should the next one be left unfinished
                self._keep()
            yield epoch
        self._captured = None  # it holds memory
        if self.patience.best is not None or self.underway is not None:
            self.model.load_state_dict(self.best)
        self.history.best_epoch = self.patience.best_epoch or len(self.history.epochs)

    def _epoch(self, number: int) -> float:
        """Train one epoch, or what is left of it; its mean loss."""
        batches, underway = self._begun()
        self._glance((number - 1) * self.steps_per_epoch + underway.steps)  # one that was cut off
        for batch in batches[underway.steps :]:
            if self.deadline.is_over and underway.steps:
                break
            self._set_learning_rate((number - 1) * self.steps_per_epoch + underway.steps)
            with threads_worth(self.numbers_per_step):
                underway.total += self._step(batch)
            underway.steps += 1
            self._glance((number - 1) * self.steps_per_epoch + underway.steps)
            self.after_step(underway.steps)
            self.between_pieces()
        loss = float(underway.total / max(1, underway.steps))
        # Parameters too: comparisons with NaN are false, so a maximum can hide it from the loss.
        if not self.is_sound:
            raise DivergedError(number, f"the loss became {loss}", self.settings.learning_rate)
        return loss

    def _begun(self) -> tuple[tuple[Tensor, ...], Underway]:
        """The batches of an epoch, and how far it is; those of an epoch that was cut off are drawn once more."""
        if self.underway is None:
            self.underway = Underway(self.generator.get_state(), torch.zeros((), device=self.device))
            return self._batches(), self.underway
        now = self.generator.get_state()
        self.generator.set_state(self.underway.start)
        batches = self._batches()
        self.generator.set_state(now)
        return batches, self.underway

    def _batches(self) -> tuple[Tensor, ...]:
        """The batches of one epoch: each example once, or as often as the number of steps in the settings needs."""
        size, count = self.settings.batch_size, len(self.asked)
        rounds = -(-self.settings.epoch_steps * size // count) if self.settings.epoch_steps else 1
        orders = [torch.randperm(count, generator=self.generator, device=self.device) for _ in range(rounds)]
        # Batches do not reach over the end of a round: in one batch every example is there once.
        shuffled = [self._side_by_side(self.asked[order]) for order in orders]
        batches = [batch for examples in shuffled for batch in examples.split(size)]
        return tuple(batches[: self.settings.epoch_steps or None])

    @property
    def shares_heads(self) -> bool:
        """Do batches have several questions of one head, which then share its channel?

        On large graphs, where steps take long. In a batch all its examples are hidden, so a head then has fewer facts:
        this suits trainings that leave facts out anyway.
        """
        per_query = CHANNELS[self.model.architecture.initial].per_query
        return per_query and self.settings.drop_facts > 0 and len(self.data.triples) >= MANY_FACTS

    def _side_by_side(self, shuffled: Tensor) -> Tensor:
        """The examples with some of one head next to each other: the more facts it has, the more."""
        if not self.shares_heads:
            return shuffled
        heads = self.examples[shuffled, 0]
        degrees = torch.bincount(heads, minlength=self.data.num_entities)
        together = (degrees // _FACTS_FOR_ONE).clamp(1, SAME_HEAD)[heads]
        return shuffled[grouped_order(heads, together)]

    def _set_learning_rate(self, step: int) -> None:
        if self.settings.schedule == "constant":
            return
        done = step / (self.settings.max_epochs * self.steps_per_epoch)
        factor = min(1.0, (step + 1) / _WARM_UP) * (1 - (1 - _LAST_SHARE) * done)
        for group in self.optimizer.param_groups:
            group["lr"] = self.settings.learning_rate * factor

    @property
    def numbers_per_step(self) -> int:
        """How many numbers a step compares, which decides how many threads are worth their start."""
        examples = min(self.settings.batch_size, len(self.asked))
        architecture = self.model.architecture
        if CHANNELS[architecture.initial].per_query:
            return examples * self.data.num_entities * architecture.num_slots
        return examples * self.settings.num_negatives * architecture.num_slots * architecture.num_channels

    def _pieces_for_memory(self) -> int:
        """How many pieces of a batch fit into a CPU's memory one after the other; a GPU says when its own is short."""
        architecture = self.model.architecture
        if self.device.type != "cpu" or not CHANNELS[architecture.initial].per_query:
            return 1
        # Of one query: a message along every edge, states and winners of all layers, and a few numbers per entity.
        edges, states = len(self.examples), self.data.num_entities * architecture.num_slots
        numbers = edges * architecture.num_slots + 2 * states * (2 + architecture.num_layers)
        batch = min(self.settings.batch_size, len(self.asked))
        return min(batch, -(-batch * numbers // _MOST_NUMBERS))

    def _step(self, batch: Tensor) -> Tensor:
        """Train on one batch, by a recording of such a step where there can be one; the loss."""
        if not self._may_capture or len(batch) < min(self.settings.batch_size, len(self.asked)):
            return self._plain_step(batch)
        if self._captured is not None:
            return self._captured(batch)
        loss = self._plain_step(batch)
        self._capture(batch)
        return loss

    def _capture(self, batch: Tensor) -> None:
        """Record a step, where there is memory for it."""
        if self.pieces > 1:  # memory is short, and a recording needs its own
            self._may_capture = False
            return
        try:
            # Without a second try in pieces, which no recording could hold.
            step = partial(self._plain_step, whole=True)
            self._captured = CapturedStep(step, batch, generator=self.generator)
        except torch.cuda.OutOfMemoryError:
            self._may_capture = False

    def _plain_step(self, batch: Tensor, *, whole: bool = False) -> Tensor:
        """Train on one batch, in pieces where memory asks for it, unless it is to be taken as a whole; the loss."""
        if whole:
            loss = self._gradients([batch])
        elif not self.is_split:
            loss, self.pieces = run_in_pieces(self._gradients, batch, pieces=self.pieces, notes=self.notes)
        else:
            loss = self._shared_gradients(batch)
        if self.settings.max_gradient:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.max_gradient)
        self.optimizer.step()
        return loss

    def _shared_gradients(self, batch: Tensor) -> Tensor:
        """The loss of a batch and its gradients, of which this process computes its share."""
        # One number of the common generator, so that it stays the same on all processes; each piece draws from its own.
        seed = int(torch.randint(1 << 62, (), generator=self.generator, device=self.device))
        shares = batch.chunk(self.team.size)
        own = shares[self.team.rank] if self.team.rank < len(shares) else batch[:0]
        step = partial(self._gradients, size=len(batch), seed=seed)
        loss, self.pieces = run_in_pieces(step, own, pieces=self.pieces, notes=self.notes)
        if self.team.size == 1:
            return loss
        loss, stop = added_up(self.team, list(self.model.parameters()), loss, self.asked_to_stop())
        self.told_to_stop(stop)
        return loss

    def gradients_of(self, batch: Tensor) -> None:
        """Compute what a step computes, and change nothing but the gradients and the generator."""
        _, self.pieces = run_in_pieces(self._gradients, batch, pieces=self.pieces, notes=self.notes)

    def _gradients(
        self, parts: Sequence[Tensor], *, size: int | None = None, seed: int | None = None
    ) -> Tensor:
        """The loss of a batch and its gradients, one part at a time; with a seed each part has chance of its own."""
        self.optimizer.zero_grad(set_to_none=True)
        size = sum(map(len, parts)) if size is None else size
        total = torch.zeros((), device=self.device)
        for number, part in enumerate(parts):
            if not len(part):
                continue
            if seed is not None:
                self.piece_chance = torch.Generator(self.device).manual_seed(
                    (seed + self.team.rank * self.pieces + number) % (1 << 62)
                )
            loss = self.loss(part) * (len(part) / size)
            loss.backward()
            total += loss.detach()
        self.piece_chance = None
        return total

    @property
    def chance(self) -> torch.Generator:
        """What a loss draws from."""
        return self.piece_chance or self.generator

    def loss(self, batch: Tensor) -> Tensor:
        """The loss of a batch of examples, given by position."""
        return self.objective.loss(batch)

    def _is_validated(self, number: int) -> bool:
        """Does an epoch end with a validation?"""
        last = number == self.settings.max_epochs
        return bool(len(self.data.valid)) and (last or number % self.settings.look_every == 0)

    def _glance(self, step: int) -> None:
        """Validate along the way where it is time to, and no validation comes at once."""
        epochs, within = divmod(step, self.steps_per_epoch)
        due = self.glances.is_due(step) and (within or not self._is_validated(epochs))
        due = due and step > max((seen.step for seen in self.history.glances[-1:]), default=0)
        if due and (seen := glance(self, step)) is not None:
            self.history.glances.append(seen)
            self.after_glance(seen)

    @torch.no_grad()
    def _look(self, epoch: Epoch) -> None:
        """Validate the model, and keep it where it is the best so far."""
        self.before_look = self.generator.get_state()
        ranks = self.ranks_of(self.queries, progress=self.progress)
        self.before_look = None
        # The last step of an epoch comes after its loss, so that a look may be the first to see what it did.
        if bool(ranks.isnan().any()):
            raise DivergedError(epoch.number, "the validation scores became nan", self.settings.learning_rate)
        epoch.hits_at_10 = float((ranks <= 10).float().mean())
        epoch.mrr = float((1 / ranks).mean())
        watched = epoch.mrr if self.settings.select_by == "mrr" else epoch.hits_at_10
        if self.patience.look(watched, epoch.number):
            self._keep()

    def ranks_of(
        self, queries: ValidationQueries, chance: torch.Generator | None = None, progress: Progress = SILENT
    ) -> Tensor:  # query
        """The ranks of the true answers; each process of a team computes its share."""
        rows, objective = self.team.rows(len(queries)), self.objective
        own, objective.at_once = ranks_within_memory(
            lambda: objective.look() if chance is None else objective.look(chance),
            queries if self.team.size == 1 else queries.part(rows),
            at_once=objective.at_once,
            notes=self.notes,
            progress=progress,
            between_pieces=self.between_pieces,
        )
        if self.team.size == 1:
            return own
        ranks = torch.zeros(len(queries), device=self.device)
        ranks[rows] = own
        self.team.add_up(ranks)
        return ranks

    def _keep(self) -> None:
        self.best = {name: value.clone() for name, value in self.model.state_dict().items()}

    @property
    def is_sound(self) -> bool:
        """Are losses and parameters finite? What is not is no state to go on with."""
        losses = [] if self.underway is None else [self.underway.total]
        return all(bool(tensor.isfinite().all()) for tensor in (*losses, *self.model.parameters()))


def grouped_order(keys: Tensor, together: Tensor) -> Tensor:  # position
    """An order in which the positions of a key come in groups of `together`, each after the first of its group.

    >>> grouped_order(torch.tensor([5, 8, 5, 5, 8]), torch.tensor([2, 1, 2, 2, 1]))
    tensor([0, 2, 1, 3, 4])
    """
    by_key = torch.sort(keys, stable=True).indices
    ordered = keys[by_key]
    rank = torch.arange(len(keys), device=keys.device) - torch.searchsorted(ordered, ordered)
    width = together[by_key]
    first = torch.arange(len(keys), device=keys.device) - rank % width  # of the group, in `by_key`
    return by_key[torch.sort(by_key[first], stable=True).indices]


def not_lone(examples: Tensor, *, num_entities: int) -> Tensor:  # position
    """The examples both of whose ends have another fact; all of them, where none is left."""
    # Every fact is asked from both of its ends, so that heads alone tell how many facts there are.
    degrees = torch.bincount(examples[:, 0], minlength=num_entities)
    several = ((degrees[examples[:, 0]] > 1) & (degrees[examples[:, 2]] > 1)).nonzero().flatten()
    return several if len(several) else torch.arange(len(examples), device=several.device)


def run_in_pieces(
    step: Callable[[Sequence[Tensor]], Result], batch: Tensor, *, pieces: int, notes: Notes
) -> tuple[Result, int]:
    """The result of `step` for a batch in pieces, and the number of pieces: twice as many while memory runs out."""
    while True:
        try:
            return step(batch.chunk(pieces)), pieces
        except torch.cuda.OutOfMemoryError as error:
            reason = str(error).split(". ", maxsplit=1)[0]
        # Outside of the handler, whose exception still holds the tensors that did not fit.
        if pieces >= len(batch):
            raise ReshuffleError(
                f"not enough GPU memory for a single triple: {reason}",
                hint="lower num_channels or num_slots, or train with --device cpu",
            )
        pieces *= 2
        torch.cuda.empty_cache()
        notes(f"out of GPU memory: continuing with batches in {pieces} pieces ({reason})")


def check_settings(architecture: Architecture, settings: TrainingSettings) -> None:
    """Refuse what no training can do, before anything is computed."""
    channels = CHANNELS[architecture.initial]
    if not channels.trainable:
        raise ReshuffleError(
            "training with private initial states is not possible: in one step only few entities would have a channel",
            hint="train with 'bits', and answer with model.on(graph, initial='private')",
        )
    if not channels.per_query and architecture.slot_weights:
        raise ReshuffleError(
            "slot_weights need a channel per query",
            hint="train with initial = 'head', or with slot_weights = false",
        )
    if not channels.per_query and settings.drop_facts:
        raise ReshuffleError(
            "drop_facts needs a channel per query", hint="train with initial = 'head', or with drop_facts = 0"
        )
    distant = [kind for kind in architecture.evidence if kind not in LOCAL]
    if not channels.per_query and distant:
        raise ReshuffleError(
            f"evidence from {' and '.join(distant)} needs a channel per query",
            hint=f"train with initial = 'head', or with evidence = {json.dumps(LOCAL)} alone",
        )
    for name in ("batch_size", "num_negatives", "look_every"):
        if getattr(settings, name) < 1:
            raise ReshuffleError(f"setting '{name}' is {getattr(settings, name)}; it must be at least 1")
    if architecture.num_slots < 1:
        raise refused("num_slots", architecture.num_slots, "at least 1 to train")
