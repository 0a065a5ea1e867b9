"""Hyperparameter search over the paper's ranges, on the training graph's validation triples.

Every trial is a training of its own that leaves checkpoints, and the journal of the search is a file, so that a search
that was cut off goes on with the very trial it was at.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from reshuffle.errors import InputError, MissingPackageError, Place, ReshuffleError
from reshuffle.kg.io.files import made_directory, written_whole
from reshuffle.learning.checkpoints import fingerprint
from reshuffle.learning.estimator import Reshuffle
from reshuffle.learning.model_files import to_toml
from reshuffle.learning.training.examples import examples_of
from reshuffle.learning.training.history import DivergedError
from reshuffle.learning.training.saving import CHECKPOINT
from reshuffle.learning.training.trainer import check_settings
from reshuffle.locks import alone_in
from reshuffle.progress import SILENT, UNHEARD

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from reshuffle.kg import KnowledgeGraph
    from reshuffle.kg.splits import GraphSplit
    from reshuffle.learning.settings import Settings
    from reshuffle.learning.training.examples import TrainingData
    from reshuffle.progress import Notes, Progress

RANGES: dict[str, tuple[int, ...] | tuple[float, ...]] = {
    "num_layers": (3, 4, 5),
    "num_slots": (20, 25, 30),
    "num_channels": (40, 60, 80),
    "margin": (0.5, 1.0, 2.0),
    "learning_rate": (0.005, 0.01),
}
"""The ranges of the paper's appendix on hyperparameter optimisation."""

METRIC = "hits@10"
_JOURNAL = "journal.log"


class _Searched:
    """The value of a setting that is searched, where settings are compared."""

    def __repr__(self) -> str:
        return "searched"


_SEARCHED = _Searched()


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
    """What is searched, with what base settings, and where its files are.

    `fixed` names settings that are as the base settings have them, in every trial.
    """

    facts: KnowledgeGraph | GraphSplit
    settings: Settings
    directory: Path
    fixed: Collection[str] = ()
    device: str = "auto"
    notes: Notes = UNHEARD

    @property
    def ranges(self) -> dict[str, tuple[int, ...] | tuple[float, ...]]:
        """The settings that are searched, with their values."""
        return {name: choices for name, choices in RANGES.items() if name not in self.fixed}

    def run(self, num_trials: int, *, progress: Progress = SILENT) -> list[Trial]:
        """Run until there are `num_trials` finished trials, with those of earlier runs; all of them, best first."""
        self._check()
        data = self._data()
        # Another search would take the trial at hand for one that was cut off.
        with alone_in(made_directory(self.directory), "search", leave_file=True) as surely:
            if surely:
                self._remove_stale_lock()
            study = self._study(data)
            with progress("searching", total=num_trials, unit="trial") as report:
                report(len(_finished(study)))
                while len(_finished(study)) < num_trials:
                    # Not study.optimize: it would print every error, and call an interrupted trial a failed one.
                    trial = study.ask()
                    study.tell(trial, self._score(trial, progress))
                    report(1)
            trials = sorted(_finished(study), key=lambda trial: -trial.score)
            self._keep_best(trials[0])
        return trials

    def _check(self) -> None:
        """Refuse what no trial could do, before there is a journal; and say what is not searched."""
        if find_spec("optuna") is None:
            raise MissingPackageError("optuna", extra="learn")
        if not self.ranges:
            raise ReshuffleError(
                f"there is nothing to search: {', '.join(RANGES)} are all given",
                hint="leave out what is to be searched, or use train",
            )
        check_settings(self.settings.architecture, self.settings.training)
        if not self.settings.training.max_epochs:
            raise ReshuffleError("setting 'max_epochs' is 0; it must be at least 1 to search")
        given = {name: value for name, value in self.settings.to_dict().items() if name in self.fixed}
        for name in (name for name in RANGES if name in given):
            self.notes(f"{name} = {given[name]} is given, and not searched")
        for note in self.settings.without_effect({*self.fixed, *self.ranges}):
            self.notes(note)

    def _data(self) -> TrainingData:
        """The data that every trial trains on."""
        seed, symmetric = self.settings.training.seed, self.settings.architecture.symmetric
        _, data = examples_of(self.facts, None, seed=seed, symmetric=symmetric)
        if not len(data.valid):
            raise ReshuffleError(
                "there are no validation triples to choose by",
                hint="a tenth of the facts is held out; give at least ten, or a benchmark",
            )
        return data

    def _remove_stale_lock(self) -> None:
        """Remove the lock of the journal's own that a search left behind: optuna would wait for it, in silence."""
        lock = self.directory / f"{_JOURNAL}.lock"
        if lock.is_symlink() or lock.exists():
            lock.unlink()
            self.notes(f"{lock}: removed; a search that was cut off had left it")

    def _study(self, data: TrainingData) -> Any:
        import optuna  # noqa: PLC0415 - slow

        study = _opened(self.directory / _JOURNAL)
        self._check_same(study, data)
        # A seed that moves on with the search: one that starts anew would propose the same again.
        study.sampler = optuna.samplers.TPESampler(seed=self.settings.training.seed + len(study.trials))
        for trial in study.trials:
            if trial.state == optuna.trial.TrialState.RUNNING:  # cut off
                study.tell(trial.number, state=optuna.trial.TrialState.FAIL)
                study.enqueue_trial(trial.params)
        return study

    def _check_same(self, study: Any, data: TrainingData) -> None:
        """Scores of trials with other settings or on other triples cannot be compared."""
        fixed = {name: value for name, value in self.settings.to_dict().items() if name not in self.ranges}
        before = study.user_attrs.get("settings")
        if before is None:
            study.set_user_attr("settings", json.loads(json.dumps(fixed)))
        elif other := self.settings.differences(
            {**dict.fromkeys(RANGES, _SEARCHED), **before}, replaced=dict.fromkeys(self.ranges, _SEARCHED)
        ):
            raise InputError(
                f"this search was started with other settings: {', '.join(other)}",
                place=Place(str(self.directory)),
                hint="use the settings it was started with, or start anew in another directory",
            )
        digest = fingerprint(data)
        if study.user_attrs.get("data") is None:
            study.set_user_attr("data", digest)
        elif study.user_attrs["data"] != digest:
            raise InputError(
                "this search was started with other triples",
                place=Place(str(self.directory)),
                hint="give the facts it was started with, or start anew in another directory",
            )

    def _score(self, trial: Any, progress: Progress) -> float:
        """The validation Hits@10 of one training."""
        values = {name: trial.suggest_categorical(name, choices) for name, choices in self.ranges.items()}
        known = {_name(done.values): done.score for done in _finished(trial.study)}
        if _name(values) in known:  # the same training would give the same
            return known[_name(values)]
        settings = self.settings.changed(
            **values
        ).as_a_whole()  # what has no effect was told before the first trial
        model = Reshuffle(settings, device=self.device)
        directory = self.directory / _name(values)
        cut_off = (directory / CHECKPOINT).exists()
        try:
            model.fit(self.facts, directory=directory, resume=cut_off, progress=progress, notes=self.notes)
        except DivergedError as error:  # one bad setting must not end a night's search
            self.notes(f"{_name(values)}: counted as 0, since {error}")
            return 0.0
        score = float(model.summary()[METRIC])
        self.notes(f"{_name(values)}: validation hits@10 {score:.3f}")
        return score

    def _keep_best(self, best: Trial) -> None:
        settings = self.settings.changed(**best.values)
        with written_whole(self.directory / "best.toml") as aside:
            text = to_toml(settings.to_dict(), {"validation": {METRIC: best.score}})
            aside.write_text(text, encoding="utf-8")


def _opened(journal: Path) -> Any:
    """The study that the journal tells of, or a new one."""
    import optuna  # noqa: PLC0415 - slow
    from optuna.storages.journal import JournalFileBackend  # noqa: PLC0415

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    if journal.exists():
        _mend(journal)
    try:
        storage = optuna.storages.JournalStorage(JournalFileBackend(str(journal)))
        return optuna.create_study(
            study_name="reshuffle", storage=storage, direction="maximize", load_if_exists=True
        )
    except (
        AssertionError,
        LookupError,
        TypeError,
        ValueError,
    ) as error:  # JSON, but nothing that optuna wrote
        raise _damaged(Place(str(journal)), "this is no journal of a search") from error


def _mend(journal: Path) -> None:
    """Cut off a last line that was being written when the power went; what it told of is done again.

    Other damage is told here, line by line: optuna would pass over a bad last line and write on after it.
    """
    content = journal.read_bytes()
    *lines, rest = content.split(b"\n")
    if rest:
        os.truncate(journal, len(content) - len(rest))
    for number, line in enumerate(lines, start=1):
        if not _is_json(line):
            raise _damaged(Place(str(journal), number), "this line is not JSON")


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def _damaged(place: Place, reason: str) -> InputError:
    return InputError(
        f"damaged: {reason}",
        place=place,
        hint="remove this file and give the same command again: trainings in the directory are not repeated",
    )


def _finished(study: Any) -> list[Trial]:
    return [Trial(trial.params, trial.value) for trial in study.trials if trial.state.name == "COMPLETE"]


def _name(values: dict[str, Any]) -> str:
    return "-".join(f"{name}={value}" for name, value in sorted(values.items()))
