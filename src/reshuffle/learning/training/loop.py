"""Runs a training with everything around it: progress, logs, checkpoints, and going on after a kill."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from reshuffle.errors import InputError, Place
from reshuffle.kg.io.files import made_directory
from reshuffle.learning.checkpoints import load_checkpoint, save_checkpoint
from reshuffle.learning.ranges import check_trainable
from reshuffle.learning.training.interrupts import interrupts_held_back
from reshuffle.learning.training.logs import TrainingLog
from reshuffle.learning.training.memory import keep_freed_memory, memory_in_use
from reshuffle.learning.training.trainer import DivergedError
from reshuffle.progress import SILENT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from reshuffle.learning.training.trainer import Epoch, Trainer
    from reshuffle.progress import Progress

CHECKPOINT = "checkpoint.safetensors"
SECONDS_BETWEEN = 60.0  # checkpoints, where looks are rare


def run_training(
    trainer: Trainer,
    *,
    directory: Path | None = None,
    resume: bool = False,
    progress: Progress = SILENT,
    after_epoch: Callable[[Epoch], None] = lambda _epoch: None,
) -> None:
    """Train to the end. With a directory, what happens is logged there and can be taken up again."""
    check_trainable(trainer.model.architecture.num_slots)
    if resume and directory is None:
        raise InputError(
            "resume = True, and no directory with a training to take up",
            hint="give directory=..., where its checkpoint is, or leave resume out",
        )
    if trainer.device.type == "cpu":
        keep_freed_memory()
    keeper = None if directory is None else _Keeper(trainer, directory, resume=resume)
    with progress("training", total=trainer.settings.max_epochs, unit="epoch") as report:
        report(len(trainer.history.epochs))
        told = ""
        trainer.after_step = lambda step: report(0, f"{told}step {step} of {trainer.steps_per_epoch}")
        started = time.perf_counter()
        try:
            for epoch in trainer.epochs():
                seconds, started = time.perf_counter() - started, time.perf_counter()
                if keeper is not None:
                    with interrupts_held_back():
                        keeper.keep(epoch, seconds)
                report(1, note := progress_note(trainer, epoch))
                told = f"{note}, "
                after_epoch(epoch)
        except DivergedError:
            if keeper is not None:
                keeper.tell_last_good()
            raise
        finally:
            if keeper is not None:
                with interrupts_held_back():
                    keeper.close()


def progress_note(trainer: Trainer, epoch: Epoch) -> str:
    """What stands beside the bar: loss, the best validation result so far, memory. Time left is the bar's business."""
    best, watched = trainer.patience.best, trainer.settings.select_by
    looked = "" if best is None else f"{watched} {best:.3f} (epoch {trainer.patience.best_epoch}), "
    return f"loss {epoch.loss:.4f}, {looked}{memory_in_use(trainer.device) / 2**30:.1f} GB"


class _Keeper:
    """Logs every epoch, and saves a checkpoint at every look and at least once a minute."""

    def __init__(self, trainer: Trainer, directory: Path, *, resume: bool) -> None:
        made_directory(directory)
        self._trainer, self._path = trainer, directory / CHECKPOINT
        if resume and self._path.exists():
            load_checkpoint(trainer, self._path)
        elif self._path.exists():
            raise InputError(
                "there is a training in this directory already",
                place=Place(str(directory)),
                hint="--resume continues it; or name another directory",
            )
        elif resume:  # the name may be mistyped
            trainer.notes(f"there is no checkpoint in {directory}: starting anew")
        self._log = TrainingLog(directory, last_epoch=len(trainer.history.epochs))
        self._saved, self._saved_epoch = time.monotonic(), len(trainer.history.epochs)

    def keep(self, epoch: Epoch, seconds: float) -> None:
        self._log.write(epoch, seconds)
        looked = epoch.hits_at_10 is not None
        if looked or self._trainer.finished or time.monotonic() - self._saved > SECONDS_BETWEEN:
            save_checkpoint(self._trainer, self._path)
            self._saved, self._saved_epoch = time.monotonic(), epoch.number

    def tell_last_good(self) -> None:
        """After a divergence: what is left of the training, and what can be done with it."""
        if not self._saved_epoch:
            self._trainer.notes("there is no checkpoint yet; a new training can start in the same directory")
            return
        self._trainer.notes(
            f"{self._path} holds epoch {self._saved_epoch}, the last good one that was saved: --resume with "
            f"max_epochs={self._saved_epoch} makes a model of it; other settings need another directory"
        )

    def close(self) -> None:
        self._log.close()
