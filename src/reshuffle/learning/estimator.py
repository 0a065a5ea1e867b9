"""`Reshuffle`: hyperparameters in the constructor, data in `fit`."""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from reshuffle.deadlines import deadline_in
from reshuffle.errors import ReshuffleError
from reshuffle.evaluation.baselines.types import TypeBaseline
from reshuffle.extraction.soft_matrices import SoftMatrices
from reshuffle.kg import KnowledgeGraph
from reshuffle.kg.coerce import as_graph
from reshuffle.kg.io.files import made_directory
from reshuffle.kg.splits import GraphSplit, InductiveBenchmark, TransductiveBenchmark
from reshuffle.kg.vocabulary import base_relation
from reshuffle.learning.calibration import fit_calibration
from reshuffle.learning.injection import injection_of
from reshuffle.learning.listed import rule_list_of
from reshuffle.learning.model_files import StoredModel, load_model, save_model
from reshuffle.learning.settings import Settings
from reshuffle.learning.team import ALONE
from reshuffle.learning.training.examples import examples_of
from reshuffle.learning.training.loop import run_training
from reshuffle.learning.training.time_budget import limit
from reshuffle.learning.training.trainer import Trainer
from reshuffle.model.answers.model_answers import ModelAnswers
from reshuffle.model.answers.model_on_graph import ModelOnGraph
from reshuffle.model.exporting import export_matrices
from reshuffle.model.hardening import all_names, hard_logits, harden, hardened, identity_names
from reshuffle.model.reshuffle import ReshuffleModel
from reshuffle.pictures.notebook import drawn
from reshuffle.progress import SILENT, UNHEARD
from reshuffle.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from reshuffle.constraints import OrderingConstraints
    from reshuffle.kg.coerce import Triples
    from reshuffle.learning.injection import Injection, InjectMode
    from reshuffle.learning.recipes import Recipe
    from reshuffle.learning.team import Team
    from reshuffle.learning.training.history import Epoch, Glance, History
    from reshuffle.model.channels.registry import Kind
    from reshuffle.model.scoring import Calibration
    from reshuffle.progress import Notes, Progress
    from reshuffle.rulelist.rule_model import RuleModel
    from reshuffle.rules.parsing import Rules

_FOR_LIST = 0.4  # of the minutes that a training may take, at most: the list is often there sooner
_TO_TRAIN_ON = {InductiveBenchmark: "train", TransductiveBenchmark: "graph"}
_TO_STOP_BY = {GraphSplit: "valid", InductiveBenchmark: "train.valid", TransductiveBenchmark: "valid"}


class Reshuffle:
    """Learns ordering constraints from triples.

    >>> from reshuffle import load_benchmark
    >>> bench = load_benchmark("families")
    >>> model = Reshuffle(num_slots=4, num_layers=2, rules_weight=0, epoch_steps=2, max_epochs=1).fit(bench.train)
    >>> sorted(model.on(bench.test.facts).judge(*next(iter(bench.test.queries))).evidence)
    ['far', 'negative', 'proximity', 'unary', 'ways']
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        recipe: Recipe = "best",
        device: str = "auto",
        **changes: Any,
    ) -> None:
        """`recipe` says where to start from, unless settings are given: "best", "best-0.1" or "paper".

        `changes` are single settings by name: num_slots, num_layers, learning_rate, seed, ... `fit` notes those that
        have no effect with the others.
        """
        self.settings = (settings or Settings.of(recipe)).changed(**changes)
        self.device = chosen_device(device)
        self.relations: tuple[str, ...] = ()
        self.identities: tuple[str, ...] = ()
        self.history: History | None = None
        self._model: ReshuffleModel | None = None
        self.injection: Injection | None = None
        self.listed: RuleModel | None = None
        """The rule list whose scores count beside the model's."""
        self._types: TypeBaseline | None = None
        self.calibration: Calibration | None = None
        self._heads_through_inverse = True
        self._stored_summary: dict[str, Any] = {}

    @property
    def model(self) -> ReshuffleModel:
        """The module with the parameters."""
        if self._model is None:
            raise ReshuffleError("this model has not been trained", hint="call fit(facts) first, or load one")
        return self._model

    def __repr__(self) -> str:
        return f"<Reshuffle: {self.settings}; {self._state()}>"

    def _repr_html_(self) -> str:
        return drawn(repr(self)[1:-1], *([] if self.history is None else self.history.scenes()))

    def _state(self) -> str:
        """How the model came about, in a few words."""
        if self._model is None:
            return "not trained"
        epochs = self.summary().get("epochs")
        made = "of given constraints" if epochs is None else f"trained for {counted(epochs, 'epoch')}"
        rules = None if self.injection is None else counted(len(self.injection.rules.taken), "injected rule")
        return ", ".join(
            [f"{made} on {counted(len(self.relations), 'relation')}", *([rules] if rules else [])]
        )

    def fit(  # noqa: PLR0913 - all but the data are options by name
        self,
        facts: Triples | GraphSplit,
        *,
        valid: Triples | None = None,
        inject: Rules | None = None,
        inject_mode: InjectMode = "frozen",
        inject_slots: int | None = None,
        minutes: float | None = None,
        directory: str | Path | None = None,
        resume: bool = False,
        progress: Progress = SILENT,
        notes: Notes = UNHEARD,
        after_epoch: Callable[[Epoch], None] = lambda _epoch: None,
        after_glance: Callable[[Glance], None] = lambda _glance: None,
        pieces: int = 1,
        team: Team = ALONE,
    ) -> Reshuffle:
        """Train on a graph; without validation triples 10 % of it are held out by seed, for early stopping.

        With a `directory`, logs and checkpoints go there, and `resume` continues a training that was cut off. `inject`
        are rules to start from, in at most `inject_slots` slots: "frozen" in a block of their own, or to "refine".
        With `minutes` the model is there after about so much time: its rule list first, then as many steps as fit.
        `after_epoch` is a callback, and `after_glance` one for the validations of a sample along the way, which
        `history.glances` keeps. `pieces`: the number of pieces of a step, each of which hides only its own targets
        from the graph; the processes of a `team` (docs/how-to/train.md) cut it so.
        """
        if minutes is not None and (resume or team.size > 1):
            raise ReshuffleError(
                "how many steps fit into some minutes depends on the machine and on what else it does",
                hint="give minutes without resume, and to one process",
            )
        deadline = deadline_in(minutes)
        split, held_out = _training_data(facts, valid)
        injection, settings = injection_of(
            inject, self.settings, mode=inject_mode, slots=inject_slots, notes=notes
        )
        for note in settings.notes(injected=injection is not None and inject_mode == "frozen"):
            notes(note)
        with progress("preparing"):
            graph, data = examples_of(
                split,
                held_out,
                seed=settings.training.seed,
                symmetric=settings.architecture.symmetric,
                also=() if injection is None else injection.rules.relations,
                notes=notes,
            )
            relations, num_slots = tuple(graph.relations), settings.architecture.num_slots
            trainer = Trainer(
                data,
                settings.architecture,
                settings.training,
                device=self.device,
                notes=notes,
                injected=None if injection is None else injection.block(relations),
                start=None if injection is None else injection.start(relations, num_slots),
                pieces=pieces,
                team=team,
            )
        folder = None if directory is None else Path(directory)
        listed, calibrating = None, None
        if deadline.is_set:
            allowed = max(1e-3, deadline.part(_FOR_LIST).seconds_left) / 60  # some rules are found in no time
            listed = rule_list_of(graph, settings, minutes=allowed, progress=progress, notes=notes)
            calibrating = limit(trainer, deadline)
            settings = replace(settings, training=trainer.settings)
        self.injection, self.settings = injection, settings
        run_training(
            trainer,
            directory=folder,
            resume=resume,
            progress=progress,
            after_epoch=after_epoch,
            after_glance=after_glance,
        )
        if not deadline.is_set:
            listed = rule_list_of(
                graph,
                settings,
                directory=folder if team.size == 1 else None,  # each process learns the same list
                resume=resume,
                progress=progress,
                notes=notes,
            )
        return self._taken(trainer, graph, progress, listed, calibrating)

    @classmethod
    def trained(
        cls, trainer: Trainer, graph: KnowledgeGraph, settings: Settings, *, listed: RuleModel | None = None
    ) -> Reshuffle:
        """The model of a training that was run elsewhere, on the facts of `graph`, with its rule list."""
        return cls(settings, device=str(trainer.device))._taken(trainer, graph, SILENT, listed)

    def _taken(
        self,
        trainer: Trainer,
        graph: KnowledgeGraph,
        progress: Progress,
        listed: RuleModel | None,
        calibrating: int | None = None,
    ) -> Reshuffle:
        """Take over what a trainer has learned, and calibrate its confidences, on at most `calibrating` triples."""
        self.listed = listed
        self._model, self.history = trainer.model.eval(), trainer.history
        self.relations = tuple(graph.relations)
        self.identities = identity_names(self.relations, trainer.model.num_identities)
        self._types = TypeBaseline.fit(graph)
        self.calibration = fit_calibration(
            self.on_graph(graph),
            trainer.data.valid,
            at_most=calibrating,
            progress=progress,
            shares=trainer.team,
        )
        return self

    def on_graph(self, graph: KnowledgeGraph) -> ModelOnGraph:
        """The model's tensors on a graph, for those who compute with them; `on` answers questions."""
        return ModelOnGraph(
            self.model,
            self.relations,
            graph,
            initial=self.model.architecture.initial,
            seed=self.settings.training.seed,
            through_inverse=self._heads_through_inverse,
            listed=self.listed,
        )

    def on(
        self,
        graph: Triples,
        *,
        seed: int | None = None,
        initial: Kind | None = None,
        notes: Notes = UNHEARD,
    ) -> ModelAnswers:
        """The model's answers about a graph, of the same relations and any entities.

        `notes` hears of facts that are skipped, since training never saw their relations.

        `initial`: another kind of initial states than in training; "private" answers without chance. Other kinds have
        other scores, for which there are no calibrated confidences.
        """
        return ModelAnswers(
            self.model,
            self.relations,
            graph if isinstance(graph, KnowledgeGraph) else as_graph(graph),
            seed=self.settings.training.seed if seed is None else seed,
            training_types=self._types,
            initial=initial,
            heads_through_inverse=self._heads_through_inverse,
            calibration=self.calibration if initial in (None, self.settings.architecture.initial) else None,
            listed=self.listed,
            source=copy.copy(self),  # a later fit of this one is another model
            notes=notes,
        )

    def summary(self) -> dict[str, Any]:
        """How the training went: epochs, the one that was kept, and its validation results."""
        if self.history is None:
            return dict(self._stored_summary)
        kept = {"epochs": len(self.history.epochs), "best_epoch": self.history.best_epoch}
        return {**kept, **_best_look(self.history)}

    # --- hard constraints -------------------------------------------------------------------------------------

    def harden(self) -> OrderingConstraints:
        """The ordering constraints nearest to the learned matrices."""
        return harden(self.model, self.relations, self.identities)

    def hardened(self, *, paths: bool = False) -> Reshuffle:
        """The same model with hard matrices; slot weights and evidence stay, confidences are of other scores.

        With `paths` the states that "paths" evidence looks at are those of the hard matrices, too.
        """
        twin = copy.copy(self)
        twin._model, twin.calibration = hardened(self.model, paths=paths), None
        return twin

    def soft_matrices(self) -> SoftMatrices:
        """The learned matrices as `extract_rules` takes them; with slot weights, also what one path adds to a score."""
        return _soft_matrices(self.model, self.relations, self.identities)

    @classmethod
    def from_constraints(
        cls,
        constraints: OrderingConstraints,
        *,
        strength: float = math.inf,
        device: str = "auto",
        **changes: Any,
    ) -> Reshuffle:
        """A model with the matrices of the constraints, exactly; a finite `strength` leaves them soft.

        Its initial states are private, so its answers are exact, after as many layers as `num_layers` says.
        """
        relations = _base_relations(constraints)
        identities = tuple(sorted(constraints.identities))
        fitting: dict[str, Any] = {"num_slots": constraints.num_slots, "identity": bool(identities)}
        self = cls(recipe="paper", device=device, **{"initial": "private", **changes, **fitting})
        _check_keeps_constraints(self.settings, strength)
        model = ReshuffleModel(len(relations), self.settings.architecture, num_identities=len(identities))
        logits = hard_logits(constraints, all_names(relations, identities), strength=strength)
        model.matrices.logits.data.copy_(logits)
        self._model, self.relations, self.identities = model.to(self.device).eval(), relations, identities
        # Constraints seldom say anything about inverses, and nothing said is met by every candidate.
        self._heads_through_inverse = False
        return self

    # --- files ------------------------------------------------------------------------------------------------

    def save(self, directory: str | Path) -> None:
        """Write `model.safetensors` and `settings.toml`."""
        save_model(
            StoredModel(
                self.relations,
                self.identities,
                self.settings,
                self.model,
                self._types,
                self.calibration,
                self._heads_through_inverse,
                self.summary(),
                self.injection,
                self.listed,
            ),
            directory,
        )

    def export(self, directory: str | Path) -> list[Path]:
        """Write the matrices and weights as Parquet with names (see `model/exporting.py`); `on(graph)` has states."""
        return export_matrices(self.model, self.relations, self.identities, made_directory(directory))

    @classmethod
    def load(cls, directory: str | Path, *, device: str = "auto") -> Reshuffle:
        """Read a model directory; the training data are not needed."""
        stored = load_model(directory)
        self = cls(stored.settings, device=device)
        self.relations, self.identities = stored.relations, stored.identities
        self._heads_through_inverse = stored.heads_through_inverse
        self._stored_summary, self.injection = stored.training, stored.injection
        self.listed = stored.listed
        self._types, self.calibration = stored.types, stored.calibration
        self._model = stored.model.to(self.device).eval()
        return self


def _check_keeps_constraints(settings: Settings, strength: float) -> None:
    """Refuse what would make other matrices than those of the constraints."""
    if not strength > 0:  # NaN is not, either
        raise ReshuffleError(f"strength is {strength!r}; it must be more than 0")
    if settings.architecture.symmetric:
        raise ReshuffleError(
            "the constraints define which relations are symmetric; the setting 'symmetric' would change them",
            hint="leave it out",
        )
    if settings.architecture.row_function != "softmax":
        raise ReshuffleError(
            "the squared variant cannot be hardened: its rows are not distributions over slots",
            hint="leave out row_function, or give 'softmax'",
        )


def _base_relations(constraints: OrderingConstraints) -> tuple[str, ...]:
    """The relations that are neither identities, nor hidden, nor inverses of others."""
    silent = constraints.identities | constraints.hidden
    shown = [relation for relation in constraints.relations if relation not in silent]
    return tuple(dict.fromkeys(map(base_relation, shown)))


def _best_look(history: History) -> dict[str, float]:
    """The validation metrics of the epoch that was kept, where it was evaluated."""
    looks = [epoch for epoch in history.epochs if epoch.number == history.best_epoch]
    values = {"hits@10": looks[0].hits_at_10, "mrr": looks[0].mrr} if looks else {}
    return {name: value for name, value in values.items() if value is not None}


def chosen_device(name: str) -> torch.device:
    """The device of that name; `auto` is a GPU where there is one."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise ReshuffleError(
            f"device '{name}' was requested, but torch finds no GPU",
            hint="leave --device out, or install a build of torch with CUDA",
        )
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise ReshuffleError(f"unknown device '{name}'", hint="auto, cpu or cuda") from error
    if device.type == "cuda" and device.index is not None:
        torch.cuda.set_device(device)  # kernels and recordings go to the current one
    return device


def _training_data(
    facts: Triples | GraphSplit, valid: Triples | None
) -> tuple[KnowledgeGraph | GraphSplit, KnowledgeGraph | None]:
    """What a caller hands over to learn from, as graphs; a slip is one clear error and not a missing attribute."""
    return (
        facts if isinstance(facts, GraphSplit) else as_graph(facts, parts=_TO_TRAIN_ON),
        None if valid is None else as_graph(valid, parts=_TO_STOP_BY),
    )


@torch.no_grad()
def _soft_matrices(
    model: ReshuffleModel, relations: Sequence[str], identities: Sequence[str]
) -> SoftMatrices:
    """All matrices with the names of their relations; with slot weights, also what one path adds to a score."""
    values = model.matrices().double().cpu().numpy()
    weighted = model.slot_logits is not None
    return SoftMatrices(
        all_names(relations, identities),
        values,
        frozenset(identities),
        starts=np.ones(values.shape[:2]) if weighted else None,
        weights=_worth_of_slots(model, values) if weighted else None,
    )


def _worth_of_slots(
    model: ReshuffleModel, values: NDArray[np.float64]
) -> NDArray[np.float64]:  # relation slot
    """How much slot x of the tail adds to a score: its weight as far as B_r asks for it, and its "paths" evidence.

    A query lights all slots of its head.
    """
    weights = np.zeros(values.shape[:2])
    learned = model.slot_weights().double().cpu().numpy()
    weights[: len(learned)] = learned * values.sum(axis=2)[: len(learned)]
    # The evidence of a hardened model goes by other matrices than these.
    evidence = model.evidence if model.path_matrices is None else None
    worth = None if evidence is None else evidence.worth_of_slots()
    if worth is not None:
        weights[: len(learned)] += worth.double().cpu().numpy()
    return weights
