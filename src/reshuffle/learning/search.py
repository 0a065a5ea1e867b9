"""Hyperparameter search over the paper's ranges, on the training graph's validation triples.

Every trial is a training of its own that leaves checkpoints, and the journal of the search is a file, so that a search
that was cut off goes on with the very trial it was at.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from reshuffle.errors import InputError, MissingPackageError, Place, ReshuffleError
from reshuffle.kg.files import made_directory, written_whole
from reshuffle.learning.estimator import Reshuffle
from reshuffle.learning.storage import to_toml
from reshuffle.learning.training import DivergedError
from reshuffle.progress import SILENT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from reshuffle.kg import KnowledgeGraph
    from reshuffle.kg.benchmarks.splits import GraphSplit
    from reshuffle.learning.settings import Settings
    from reshuffle.progress import Progress

RANGES: dict[str, tuple[int, ...] | tuple[float, ...]] = {
    "num_layers": (3, 4, 5),
    "num_slots": (20, 25, 30),
    "num_channels": (40, 60, 80),
    "margin": (0.5, 1.0, 2.0),
    "learning_rate": (0.005, 0.01),
}
"""The paper's, in its appendix on hyperparameter optimisation."""

METRIC = "hits@10"


@dataclass(frozen=True)
class Trial:
    """One setting of the searched parameters, and its validation Hits@10."""

    values: dict[str, Any]
    score: float

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {**self.values, METRIC: self.score}


@dataclass(frozen=True)
class Search:
    """What is searched, with what base settings, and where its files are."""

    facts: KnowledgeGraph | GraphSplit
    settings: Settings
    directory: Path
    device: str = "auto"
    notes: Callable[[str], None] = lambda _text: None

    def run(self, num_trials: int, *, progress: Progress = SILENT) -> list[Trial]:
        """Run until there are `num_trials` finished trials, those of earlier runs counted; best first."""
        study = self._study()
        with progress("searching", total=num_trials, unit="trial") as report:
            report(len(_finished(study)))
            while len(_finished(study)) < num_trials:
                study.optimize(self._objective, n_trials=1)
                report(1)
        trials = sorted(_finished(study), key=lambda trial: -trial.score)
        self._keep_best(trials[0])
        return trials

    def _study(self) -> Any:
        if find_spec("optuna") is None:
            raise MissingPackageError("optuna", extra="learn")
        import optuna  # noqa: PLC0415 - slow
        from optuna.storages.journal import JournalFileBackend  # noqa: PLC0415

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        journal = made_directory(self.directory) / "journal.log"
        storage = optuna.storages.JournalStorage(JournalFileBackend(str(journal)))
        study = optuna.create_study(
            study_name="reshuffle", storage=storage, direction="maximize", load_if_exists=True
        )
        self._check_same(study)
        # A seed that moves on with the search: one that starts anew would propose the same again.
        study.sampler = optuna.samplers.TPESampler(seed=self.settings.training.seed + len(study.trials))
        for trial in study.trials:
            if trial.state == optuna.trial.TrialState.RUNNING:  # cut off
                study.tell(trial.number, state=optuna.trial.TrialState.FAIL)
                study.enqueue_trial(trial.params)
        return study

    def _check_same(self, study: Any) -> None:
        """Scores of trials with other settings cannot be compared."""
        mine = {name: value for name, value in self.settings.to_dict().items() if name not in RANGES}
        mine = json.loads(json.dumps(mine))
        theirs = study.user_attrs.get("settings")
        if theirs is None:
            study.set_user_attr("settings", mine)
            return
        other = [
            f"{name} = {theirs[name]!r} (now {mine[name]!r})"
            for name in mine
            if theirs.get(name, mine[name]) != mine[name]
        ]
        if other:
            raise InputError(
                f"this search was started with other settings: {', '.join(other)}",
                place=Place(str(self.directory)),
                hint="use the settings it was started with, or start anew in another directory",
            )

    def _objective(self, trial: Any) -> float:
        values = {name: trial.suggest_categorical(name, choices) for name, choices in RANGES.items()}
        known = {_name(done.values): done.score for done in _finished(trial.study)}
        if _name(values) in known:  # the same training would give the same
            return known[_name(values)]
        model = Reshuffle(self.settings.changed(**values), device=self.device)
        try:
            model.fit(self.facts, directory=self.directory / _name(values), resume=True, notes=self.notes)
        except DivergedError as error:  # one bad setting must not end a night's search
            self.notes(f"{_name(values)}: counted as 0, since {error}")
            return 0.0
        score = model.summary().get(METRIC)
        if score is None:
            raise ReshuffleError("there are no validation triples to choose by\n  hint: give more facts")
        self.notes(f"{_name(values)}: validation hits@10 {score:.3f}")
        return float(score)

    def _keep_best(self, best: Trial) -> None:
        settings = self.settings.changed(**best.values)
        with written_whole(self.directory / "best.toml") as aside:
            text = to_toml(settings.to_dict(), {"validation": {METRIC: best.score}})
            aside.write_text(text, encoding="utf-8")


def _finished(study: Any) -> list[Trial]:
    return [Trial(trial.params, trial.value) for trial in study.trials if trial.state.name == "COMPLETE"]


def _name(values: dict[str, Any]) -> str:
    return "-".join(f"{name}={value}" for name, value in sorted(values.items()))
