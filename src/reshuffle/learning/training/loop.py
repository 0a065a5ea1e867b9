"""Run a training with progress, and with logs and checkpoints if it has a directory."""

from __future__ import annotations

import ctypes
import resource
import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import torch

import reshuffle.progress
from reshuffle.errors import InputError
from reshuffle.kg.io.files import made_directory
from reshuffle.learning.checkpoints import load_checkpoint
from reshuffle.learning.training.saving import CHECKPOINT, followed, recorded
from reshuffle.learning.training.time_budget import seconds_per_step
from reshuffle.locks import alone_in
from reshuffle.progress import SILENT
from reshuffle.text import counted, duration

if TYPE_CHECKING:
    from collections.abc import Callable

    from reshuffle.learning.training.history import Epoch, Glance
    from reshuffle.learning.training.trainer import Trainer
    from reshuffle.progress import Progress

_STEPS_TO_ESTIMATE = 10
_LONG = 10.0  # seconds: what takes longer is announced
_MANY = 1 << 30  # numbers to compare: more take seconds on any device
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # as malloc.h numbers them


def run_training(
    trainer: Trainer,
    *,
    directory: Path | None = None,
    resume: bool = False,
    progress: Progress = SILENT,
    after_epoch: Callable[[Epoch], None] = lambda _epoch: None,
    after_glance: Callable[[Glance], None] = lambda _glance: None,
) -> None:
    """Train to the end. With a directory, the training is logged there and can be resumed."""
    if resume and directory is None:
        raise InputError(
            "resume = True needs a directory with an interrupted training",
            hint="give directory=... with its checkpoint, or leave out resume",
        )
    if trainer.device.type == "cpu":
        keep_freed_memory()
    trainer.progress, pace, recorder = progress, Pace(trainer), None
    with ExitStack() as held:
        if directory is not None and trainer.team.is_first:
            held.enter_context(alone_in(made_directory(directory), "training"))
            recorder = held.enter_context(recorded(trainer, directory, resume=resume))
        elif trainer.team.size > 1:
            held.enter_context(followed(trainer))
        if resume and trainer.team.size > 1 and directory is not None:
            take_up_together(trainer, directory / CHECKPOINT)
        pace.begin()
        report = held.enter_context(progress("training", total=trainer.settings.max_epochs, unit="epoch"))
        report(len(trainer.history.epochs))
        trainer.after_glance = after_glance
        trainer.after_step = lambda step: report(0, pace.after_step(step))
        for epoch in trainer.epochs():
            pace.told = note = progress_note(trainer, epoch)
            if recorder is not None:
                recorder.record(epoch)
            report(1, note)
            after_epoch(epoch)
            trainer.between_pieces()


def take_up_together(trainer: Trainer, path: Path) -> None:
    """Give all processes of a team the checkpoint that the first one has read, which others may not have on disk."""
    there = trainer.team.is_first and path.exists()
    content = trainer.team.told(path.read_bytes() if there else None)
    if content is None or trainer.team.is_first:
        return
    with TemporaryDirectory() as folder:
        copied = Path(folder) / path.name
        copied.write_bytes(content)
        load_checkpoint(trainer, copied)


class Pace:
    """How far a training is, and how long it will take; a long one is introduced by a line of its own."""

    def __init__(self, trainer: Trainer) -> None:
        self._trainer, self._started, self._introduced = trainer, time.monotonic(), False
        self._steps, self._first, self._estimated = 0, 0.0, False
        self.told = ""
        """What was told of the last epoch."""

    def begin(self) -> None:
        """Introduce a training that will surely take its time."""
        trainer = self._trainer
        steps = trainer.settings.max_epochs * trainer.steps_per_epoch
        if steps * trainer.numbers_per_step >= _MANY:
            self._introduce()
            if trainer.device.type == "cpu" and trainer.team.size == 1 and not trainer.deadline.is_set:
                self._estimate()

    def _estimate(self) -> None:
        """Tell how long the steps will take before the first one: on a CPU that is long to wait for."""
        trainer = self._trainer
        epochs = trainer.settings.max_epochs - len(trainer.history.epochs)
        done = 0 if trainer.underway is None else trainer.underway.steps
        steps = epochs * trainer.steps_per_epoch - done
        self._estimated = True
        if steps > _STEPS_TO_ESTIMATE:
            self._announce(steps, steps * seconds_per_step(trainer))

    def _introduce(self) -> None:
        self._introduced = True
        self._trainer.notes(introduction(self._trainer))

    def after_step(self, step: int) -> str:
        """The text beside the bar, after a step of an epoch."""
        now = time.monotonic()
        if not self._introduced and now - self._started >= reshuffle.progress.SHORT:
            self._introduce()
        self._steps += 1
        if self._steps == 1:  # it may have waited for kernels to be compiled
            self._first = now
        parts = [
            self.told,
            glance_note(self._trainer),
            self._left(step, now - self._first),
            f"step {step} of {self._trainer.steps_per_epoch}",
        ]
        return ", ".join(part for part in parts if part)

    def _left(self, step: int, seconds: float) -> str:
        if self._steps <= _STEPS_TO_ESTIMATE:
            return ""
        trainer = self._trainer
        epochs = trainer.settings.max_epochs - len(trainer.history.epochs)
        steps = epochs * trainer.steps_per_epoch - step
        left = steps * seconds / (self._steps - 1)
        if not self._estimated:
            self._estimated = True
            self._announce(steps, left)
        return f"about {duration(left)} left"

    def _announce(self, steps: int, left: float) -> None:
        settings = self._trainer.settings
        most = "at most " if settings.look_every < settings.max_epochs else ""  # early stopping
        if left >= _LONG and self._introduced:  # of short work nothing is told, however slow the machine
            told = f"{most}{counted(steps, 'step')} to come"
            self._trainer.notes(f"{told}: about {duration(left)}, then validation and calibration")


def introduction(trainer: Trainer) -> str:
    """What is trained on, where, and how many steps it takes."""
    data, settings, validated = trainer.data, trainer.settings, len(trainer.queries) // 2
    sample = f"; validation on {validated:,} of {len(data.valid):,} triples"
    return (
        f"training on {len(data.triples):,} facts of {counted(data.num_relations, 'relation')} and "
        f"{data.num_entities:,} entities, on {trainer.device}: at most {counted(settings.max_epochs, 'epoch')} "
        f"of {counted(trainer.steps_per_epoch, 'step')}{sample if validated < len(data.valid) else ''}"
    )


def glance_note(trainer: Trainer) -> str:
    """The last validation along the way, with its standard error; a validation that came since is told instead."""
    history = trainer.history
    if not history.glances or (history.epochs and history.epochs[-1].mrr is not None):
        return ""
    seen = history.glances[-1]
    return f"validation mrr {seen.mrr:.3f} ± {seen.mrr_error:.3f}"


def progress_note(trainer: Trainer, epoch: Epoch) -> str:
    """The text beside the progress bar: loss, best validation result, memory; the bar itself has the time."""
    best, watched = trainer.patience.best, trainer.settings.select_by
    looked = "" if best is None else f"{watched} {best:.3f} (epoch {trainer.patience.best_epoch}), "
    return f"loss {epoch.loss:.4f}, {looked}{memory_in_use(trainer.device) / 2**30:.1f} GB"


# --- memory -------------------------------------------------------------------------------------------------------


def memory_in_use(device: torch.device) -> int:
    """The bytes in use, of the GPU where the work is there, else of this process."""
    if device.type == "cuda":
        return torch.cuda.memory_allocated(device)
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:  # not Linux: the most it ever was
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024
    return pages * resource.getpagesize()


def keep_freed_memory() -> None:
    """Ask the C library to keep what is freed: taking it anew, page by page, is a tenth of a step on the CPU."""
    with suppress(OSError, AttributeError):  # only glibc has it
        library = ctypes.CDLL(None)
        library.mallopt(_MMAP_THRESHOLD, 1 << 30)
        library.mallopt(_TRIM_THRESHOLD, (1 << 31) - 1)
