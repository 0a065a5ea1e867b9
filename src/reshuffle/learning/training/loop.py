"""Runs a training with everything around it: progress, logs, checkpoints, and resuming after a kill."""

from __future__ import annotations

import csv
import ctypes
import resource
import signal
import sys
import threading
import time
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

import reshuffle.progress
from reshuffle.errors import InputError, Place
from reshuffle.kg.io.files import full_disk_told, made_directory, written_whole
from reshuffle.kg.io.locks import alone_in
from reshuffle.learning.checkpoints import load_checkpoint
from reshuffle.learning.training.history import DivergedError
from reshuffle.learning.training.saving import CHECKPOINT, Saving, stop_requests
from reshuffle.progress import SILENT
from reshuffle.text import counted, duration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reshuffle.learning.training.history import Epoch, History
    from reshuffle.learning.training.saving import StopRequest
    from reshuffle.learning.training.trainer import Trainer
    from reshuffle.progress import Progress

COLUMNS = ("epoch", "loss", "hits@10", "mrr", "seconds")

_STEPS_TO_ESTIMATE = 10
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # as malloc.h numbers them


def run_training(
    trainer: Trainer,
    *,
    directory: Path | None = None,
    resume: bool = False,
    progress: Progress = SILENT,
    after_epoch: Callable[[Epoch], None] = lambda _epoch: None,
) -> None:
    """Train to the end. With a directory, the training is logged there and can be resumed."""
    if resume and directory is None:
        raise InputError(
            "resume = True, and no directory with a training to take up",
            hint="give directory=..., where its checkpoint is, or leave resume out",
        )
    if trainer.device.type == "cpu":
        keep_freed_memory()
    if directory is None:
        _train(trainer, None, progress, after_epoch)
        return
    with alone_in(made_directory(directory), "training"), stop_requests() as request:
        _train(trainer, _Recorder(trainer, directory, request, resume=resume), progress, after_epoch)


def _train(
    trainer: Trainer, recorder: _Recorder | None, progress: Progress, after_epoch: Callable[[Epoch], None]
) -> None:
    trainer.progress = progress
    with progress("training", total=trainer.settings.max_epochs, unit="epoch") as report:
        report(len(trainer.history.epochs))
        pace = Pace(trainer)
        trainer.after_step = lambda step: report(0, pace.after_step(step))
        try:
            for epoch in trainer.epochs():
                pace.told = note = progress_note(trainer, epoch)
                if recorder is not None:
                    with interrupts_held_back():
                        recorder.record(epoch)
                report(1, note)
                after_epoch(epoch)
                trainer.between_pieces()
        except DivergedError:
            if recorder is not None:
                recorder.tell_last_good()
            raise
        finally:
            if recorder is not None:
                with interrupts_held_back():
                    recorder.log.close()


class Pace:
    """How far a training is, and how long it will take; a long one is introduced by a line of its own."""

    def __init__(self, trainer: Trainer) -> None:
        self._trainer, self._started, self._introduced = trainer, time.monotonic(), False
        self._steps, self._first = 0, 0.0
        self.told = ""
        """What was told of the last epoch."""

    def after_step(self, step: int) -> str:
        """The text beside the bar, after a step of an epoch."""
        now = time.monotonic()
        if not self._introduced and now - self._started >= reshuffle.progress.SHORT:
            self._introduced = True
            self._trainer.notes(introduction(self._trainer))
        self._steps += 1
        if self._steps == 1:  # it may have waited for kernels to be compiled
            self._first = now
        parts = [
            self.told,
            self._left(step, now - self._first),
            f"step {step} of {self._trainer.steps_per_epoch}",
        ]
        return ", ".join(part for part in parts if part)

    def _left(self, step: int, seconds: float) -> str:
        if self._steps <= _STEPS_TO_ESTIMATE:
            return ""
        trainer = self._trainer
        epochs = trainer.settings.max_epochs - len(trainer.history.epochs)
        left = (epochs * trainer.steps_per_epoch - step) * seconds / (self._steps - 1)
        return f"about {duration(left)} left"


def introduction(trainer: Trainer) -> str:
    """What is trained on, where, and how many steps it takes."""
    data, settings = trainer.data, trainer.settings
    return (
        f"training on {len(data.triples):,} facts of {counted(data.num_relations, 'relation')} and "
        f"{data.num_entities:,} entities, on {trainer.device}: at most {counted(settings.max_epochs, 'epoch')} "
        f"of {counted(trainer.steps_per_epoch, 'step')}"
    )


def progress_note(trainer: Trainer, epoch: Epoch) -> str:
    """The text beside the progress bar: loss, best validation result, memory; the bar itself has the time."""
    best, watched = trainer.patience.best, trainer.settings.select_by
    looked = "" if best is None else f"{watched} {best:.3f} (epoch {trainer.patience.best_epoch}), "
    return f"loss {epoch.loss:.4f}, {looked}{memory_in_use(trainer.device) / 2**30:.1f} GB"


class _Recorder:
    """Logs every epoch, and saves a checkpoint after each validation, at the end, and by time."""

    def __init__(self, trainer: Trainer, directory: Path, request: StopRequest, *, resume: bool) -> None:
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
        self.log = TrainingLog(directory, trainer.history)
        self._saving = Saving(trainer, self._path, request)

    def record(self, epoch: Epoch) -> None:
        """Log an epoch, and save a checkpoint where it is time for one."""
        epoch.seconds = self._saving.tick()
        self.log.write(epoch)
        if epoch.hits_at_10 is not None or self._trainer.finished or self._saving.is_due:
            self._saving.save()

    def tell_last_good(self) -> None:
        """After a divergence: what is left of the training, and what can be done with it."""
        epochs = self._saving.saved_epochs
        if not epochs:
            self._path.unlink(missing_ok=True)  # of the epoch that diverged
            self._trainer.notes("there is no checkpoint yet; a new training can start in the same directory")
            return
        self._trainer.notes(
            f"{self._path} holds epoch {epochs}, the last good one that was saved: --resume with "
            f"max_epochs={epochs} makes a model of it; other settings need another directory"
        )


class TrainingLog:
    """`log.csv` and `tensorboard/` in a directory; what is there of other epochs than those of the history is removed.

    TensorBoard events are written where tensorboard is installed.
    """

    def __init__(self, directory: Path, history: History) -> None:
        self._path = directory / "log.csv"
        _tell_seconds(history, self._path)
        with (
            written_whole(self._path) as aside,  # a kill here must not cost the epochs that were logged
            aside.open("w", newline="", encoding="utf-8") as file,
        ):
            csv.writer(file).writerows([COLUMNS, *map(_row, history.epochs)])
        self._events = _Events(directory / "tensorboard", len(history.epochs))

    def write(self, epoch: Epoch) -> None:
        """Add one epoch."""
        with full_disk_told(self._path), self._path.open("a", newline="", encoding="utf-8") as file:
            csv.writer(file).writerow(_row(epoch))
        self._events.write(epoch)

    def close(self) -> None:
        """Let TensorBoard write what it still holds."""
        self._events.close()


def _values(epoch: Epoch) -> dict[str, float | None]:
    return {"loss": epoch.loss, "hits@10": epoch.hits_at_10, "mrr": epoch.mrr}


def _row(epoch: Epoch) -> list[Any]:
    """The column `seconds` counts from the start of the training, pauses left out."""
    values = ["" if value is None else value for value in _values(epoch).values()]
    return [epoch.number, *values, f"{epoch.seconds or 0.0:.3f}"]


def _tell_seconds(history: History, path: Path) -> None:
    """Give epochs of a checkpoint of version 1, which has no times, those of the log, as far as it can be read."""
    told = _logged_seconds(path) if any(epoch.seconds is None for epoch in history.epochs) else {}
    for epoch in history.epochs:
        if epoch.seconds is None:
            epoch.seconds = told.get(str(epoch.number), history.seconds)
        history.seconds = max(history.seconds, epoch.seconds)


def _logged_seconds(path: Path) -> dict[str, float]:
    found = {}
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []
    for cells in (line.split(",") for line in lines):
        if len(cells) == len(COLUMNS):
            with suppress(ValueError):  # the line of names, or one that was cut
                found[cells[0]] = float(cells[-1])
    return found


class _Events:
    """TensorBoard events, where tensorboard is installed."""

    def __init__(self, directory: Path, last_epoch: int) -> None:
        self._directory, self._writer, self._hook = directory, None, threading.excepthook
        if find_spec("tensorboard") is None:
            return
        from torch.utils.tensorboard import SummaryWriter  # noqa: PLC0415 - slow, and only where it is installed

        # TensorBoard orders files by the second they were made in, and a short training is over sooner.
        if not last_epoch:
            for old in directory.glob("events.out.tfevents.*"):
                old.unlink()
        threading.excepthook = self._hear
        with full_disk_told(directory):
            self._writer = SummaryWriter(str(directory), purge_step=last_epoch + 1)

    def write(self, epoch: Epoch) -> None:
        """Hand the values of an epoch over to TensorBoard's thread."""
        with full_disk_told(self._directory):
            for name, value in _values(epoch).items():
                if self._writer is not None and value is not None:
                    self._writer.add_scalar(name, value, epoch.number)

    def close(self) -> None:
        """Wait until the thread has written them; where it cannot, the log has them all."""
        if self._writer is not None:
            with suppress(OSError):
                self._writer.close()
        if threading.excepthook == self._hear:
            threading.excepthook = self._hook

    def _hear(self, failed: threading.ExceptHookArgs) -> None:
        """The thread hands a failure to write on to whoever writes next, and need not print it as well."""
        if not isinstance(failed.exc_value, OSError) or "tensorboard" not in type(failed.thread).__module__:
            self._hook(failed)


@contextmanager
def interrupts_held_back() -> Iterator[None]:
    """Ctrl-C waits while something is written: an interrupt that arrives here is raised at the end.

    TensorBoard hands its events to a thread. What an interrupt leaves half handed over, the thread never gets, and
    closing the log waits for it.
    """
    before = signal.getsignal(signal.SIGINT)
    # Only the main thread is interrupted, and only it may say what happens then.
    if not callable(before) or threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[tuple[Any, ...]] = []
    signal.signal(signal.SIGINT, lambda *details: arrived.append(details))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if arrived:
            before(*arrived[0])


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
