"""`Reshuffle`: hyperparameters in the constructor, data in `fit`."""

from __future__ import annotations

import copy
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from reshuffle.errors import Place, ReshuffleError
from reshuffle.evaluation.baselines.types import TypeBaseline
from reshuffle.kg import Vocabulary
from reshuffle.kg.coerce import as_graph
from reshuffle.kg.completion import INVERSE_SUFFIX
from reshuffle.kg.io.files import made_directory
from reshuffle.learning.calibration import fit_calibration
from reshuffle.learning.coerce import as_facts, as_valid
from reshuffle.learning.devices import chosen_device
from reshuffle.learning.injection import injection_of, starting_points
from reshuffle.learning.model_files import StoredModel, load_model, save_model
from reshuffle.learning.restoring import restored_model
from reshuffle.learning.settings import Settings
from reshuffle.learning.soft_matrices import soft_matrices
from reshuffle.learning.training.examples import examples_of
from reshuffle.learning.training.loop import run_training
from reshuffle.learning.training.trainer import Trainer
from reshuffle.model.answers.confidence import Calibration
from reshuffle.model.answers.model_answers import ModelAnswers
from reshuffle.model.exporting import export_matrices
from reshuffle.model.hardening import all_names, hard_logits, harden, hardened, identity_names
from reshuffle.model.reshuffle import ReshuffleModel
from reshuffle.progress import SILENT, UNHEARD
from reshuffle.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from reshuffle.constraints import OrderingConstraints
    from reshuffle.extraction.matrices import SoftMatrices
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.kg.coerce import Triples
    from reshuffle.kg.splits import GraphSplit
    from reshuffle.learning.injection import Injection, InjectMode
    from reshuffle.learning.recipes import Recipe
    from reshuffle.learning.training.trainer import Epoch, History
    from reshuffle.model.channels.registry import Kind
    from reshuffle.progress import Notes, Progress
    from reshuffle.rules.coerce import Rules

_TYPES = "types.confidences"
_CALIBRATION = "calibration"


class Reshuffle:
    """Learns ordering constraints from triples.

    >>> from reshuffle import load_benchmark
    >>> bench = load_benchmark("families")
    >>> model = Reshuffle(num_slots=4, num_layers=2, epoch_steps=2, max_epochs=1).fit(bench.train)
    >>> sorted(model.on(bench.test.facts).judge(*next(iter(bench.test.queries))).evidence)
    ['negative', 'paths', 'proximity', 'unary']
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        recipe: Recipe = "best",
        device: str = "auto",
        **changes: Any,
    ) -> None:
        """`recipe` says where to start from, unless settings are given: "best", or "paper" for the paper's own model.

        `changes` are single settings by name: num_slots, num_layers, learning_rate, seed, ... The channels of the best
        recipe belong to queries, so that `num_channels` matters to the paper's alone.
        """
        self.settings = (settings or Settings.of(recipe)).changed(**changes)
        self.device = chosen_device(device)
        self.relations: tuple[str, ...] = ()
        self.identities: tuple[str, ...] = ()
        self.history: History | None = None
        self._model: ReshuffleModel | None = None
        self.injection: Injection | None = None
        self._types: TypeBaseline | None = None
        self.calibration: Calibration | None = None
        self._heads_through_inverse = True
        self._stored_summary: dict[str, Any] = {}

    @property
    def model(self) -> ReshuffleModel:
        """The module with the parameters."""
        if self._model is None:
            raise ReshuffleError(
                "this model has not been trained\n  hint: call fit(facts) first, or load one"
            )
        return self._model

    def __repr__(self) -> str:
        return f"<Reshuffle: {self.settings}; {self._state()}>"

    def _state(self) -> str:
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
        directory: str | Path | None = None,
        resume: bool = False,
        progress: Progress = SILENT,
        notes: Notes = UNHEARD,
        after_epoch: Callable[[Epoch], None] = lambda _epoch: None,
    ) -> Reshuffle:
        """Train on a graph; without validation triples 10 % of it are held out by seed.

        With a `directory`, logs and checkpoints go there, and `resume` takes up a training that was cut off. `inject`
        are rules to start from, in at most `inject_slots` slots: "frozen" in a block of their own, or to "refine".
        """
        self.injection, self.settings = injection_of(
            inject, self.settings, mode=inject_mode, slots=inject_slots, notes=notes
        )
        seed = self.settings.training.seed
        graph, data = examples_of(
            as_facts(facts),
            as_valid(valid),
            seed=seed,
            symmetric=self.settings.architecture.symmetric,
            also=() if self.injection is None else self.injection.rules.relations,
            notes=notes,
        )
        trainer = Trainer(
            data,
            self.settings.architecture,
            self.settings.training,
            device=self.device,
            notes=notes,
            **starting_points(self.injection, tuple(graph.relations), self.settings),
        )
        run_training(
            trainer,
            directory=None if directory is None else Path(directory),
            resume=resume,
            progress=progress,
            after_epoch=after_epoch,
        )
        return self._taken(trainer, graph)

    @classmethod
    def trained(cls, trainer: Trainer, graph: KnowledgeGraph, settings: Settings) -> Reshuffle:
        """Of a training that was run elsewhere, on the facts of `graph`."""
        return cls(settings, device=str(trainer.device))._taken(trainer, graph)

    def _taken(self, trainer: Trainer, graph: KnowledgeGraph) -> Reshuffle:
        self._model, self.history = trainer.model.eval(), trainer.history
        self.relations = tuple(graph.relations)
        self.identities = identity_names(self.relations, trainer.model.num_identities)
        self._types = TypeBaseline.fit(graph)
        self.calibration = fit_calibration(self.on(graph), trainer.data.valid)
        return self

    def on(
        self,
        graph: Triples,
        *,
        seed: int | None = None,
        initial: Kind | None = None,
        notes: Notes = UNHEARD,
    ) -> ModelAnswers:
        """The model's answers about a graph, of the same relations and any entities.

        `notes` hears of facts that are passed over, since training never saw their relations.

        `initial`: another kind of initial states than in training; "private" answers without chance. Other kinds have
        other scores, for which there are no calibrated confidences.
        """
        return ModelAnswers(
            self.model,
            self.relations,
            as_graph(graph),
            seed=self.settings.training.seed if seed is None else seed,
            training_types=self._types,
            initial=initial,
            heads_through_inverse=self._heads_through_inverse,
            calibration=self.calibration if initial in (None, self.settings.architecture.initial) else None,
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
        return soft_matrices(self.model, self.relations, self.identities)

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
        arrays = dict(self.model.state_dict())
        if self._types is not None:
            arrays[_TYPES] = torch.from_numpy(self._types.confidences)
        if self.calibration is not None:
            arrays[_CALIBRATION] = self.calibration.to_array()
        save_model(
            StoredModel(
                self.relations,
                self.identities,
                self.settings,
                arrays,
                self._heads_through_inverse,
                self.summary(),
                self.injection,
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
        arrays = dict(stored.arrays)
        self.calibration = Calibration.of_array(arrays.pop(_CALIBRATION, None))
        if _TYPES in arrays:
            known = Vocabulary(self.relations, kind="relation")
            self._types = TypeBaseline(known, arrays.pop(_TYPES).numpy())
        model = restored_model(stored, arrays, Place(str(directory)))
        self._model = model.to(self.device).eval()
        return self


def _check_keeps_constraints(settings: Settings, strength: float) -> None:
    """Refuse what would make other matrices than those of the constraints."""
    if not strength > 0:  # NaN is not, either
        raise ReshuffleError(f"strength is {strength!r}; it must be more than 0")
    if settings.architecture.symmetric:
        raise ReshuffleError(
            "constraints say themselves which relations are symmetric, and the setting 'symmetric' would change them\n"
            "  hint: leave it out"
        )
    if settings.architecture.row_function != "softmax":
        raise ReshuffleError(
            "the squared variant has no hard form: its rows are any non-negative numbers, not choices of one slot\n"
            "  hint: leave out row_function, or give 'softmax'"
        )


def _base_relations(constraints: OrderingConstraints) -> tuple[str, ...]:
    """The relations that are neither identities, nor hidden, nor inverses of others."""
    silent = constraints.identities | constraints.hidden
    shown = [relation for relation in constraints.relations if relation not in silent]
    bases = (name[: -len(INVERSE_SUFFIX)] if name.endswith(INVERSE_SUFFIX) else name for name in shown)
    return tuple(dict.fromkeys(bases))


def _best_look(history: History) -> dict[str, float]:
    looks = [epoch for epoch in history.epochs if epoch.number == history.best_epoch]
    values = {"hits@10": looks[0].hits_at_10, "mrr": looks[0].mrr} if looks else {}
    return {name: value for name, value in values.items() if value is not None}
