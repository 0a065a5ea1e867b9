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

from reshuffle.errors import InputError, Place
from reshuffle.kg.io.files import made_directory, written_whole
from reshuffle.learning.checkpoints import load_checkpoint, save_checkpoint
from reshuffle.learning.training.trainer import DivergedError
from reshuffle.progress import SILENT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reshuffle.learning.training.trainer import Epoch, Trainer
    from reshuffle.progress import Progress

CHECKPOINT = "checkpoint.safetensors"
SECONDS_BETWEEN = 60.0  # checkpoints, where validation is rare
COLUMNS = ("epoch", "loss", "hits@10", "mrr", "seconds")

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
    recorder = None if directory is None else _Recorder(trainer, directory, resume=resume)
    with progress("training", total=trainer.settings.max_epochs, unit="epoch") as report:
        report(len(trainer.history.epochs))
        told = ""
        trainer.after_step = lambda step: report(0, f"{told}step {step} of {trainer.steps_per_epoch}")
        started = time.perf_counter()
        try:
            for epoch in trainer.epochs():
                seconds, started = time.perf_counter() - started, time.perf_counter()
                note = progress_note(trainer, epoch)
                if recorder is not None:
                    with interrupts_held_back():
                        recorder.record(epoch, seconds)
                report(1, note)
                told = f"{note}, "
                after_epoch(epoch)
        except DivergedError:
            if recorder is not None:
                recorder.tell_last_good()
            raise
        finally:
            if recorder is not None:
                with interrupts_held_back():
                    recorder.log.close()


def progress_note(trainer: Trainer, epoch: Epoch) -> str:
    """The text beside the progress bar: loss, best validation result, memory; the bar itself has the time."""
    best, watched = trainer.patience.best, trainer.settings.select_by
    looked = "" if best is None else f"{watched} {best:.3f} (epoch {trainer.patience.best_epoch}), "
    return f"loss {epoch.loss:.4f}, {looked}{memory_in_use(trainer.device) / 2**30:.1f} GB"


class _Recorder:
    """Logs every epoch, and saves a checkpoint after each validation and at least once a minute."""

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
        self.log = TrainingLog(directory, last_epoch=len(trainer.history.epochs))
        self._saved, self._saved_epoch = time.monotonic(), len(trainer.history.epochs)

    def record(self, epoch: Epoch, seconds: float) -> None:
        """Log an epoch that took some seconds, and save a checkpoint where it is time for one."""
        self.log.write(epoch, seconds)
        validated = epoch.hits_at_10 is not None
        if validated or self._trainer.finished or time.monotonic() - self._saved > SECONDS_BETWEEN:
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


class TrainingLog:
    """`log.csv` and `tensorboard/` in a directory; what is there of epochs after `last_epoch` is removed.

    TensorBoard events are written where tensorboard is installed.
    """

    def __init__(self, directory: Path, *, last_epoch: int = 0) -> None:
        self._path = directory / "log.csv"
        kept = _rows_until(self._path, last_epoch)
        self._seconds = float(kept[-1][-1]) if kept else 0.0
        with (
            written_whole(self._path) as aside,  # a kill here must not cost the epochs that were logged
            aside.open("w", newline="", encoding="utf-8") as file,
        ):
            csv.writer(file).writerows([COLUMNS, *kept])
        self._events = _events(directory / "tensorboard", last_epoch)

    def write(self, epoch: Epoch, seconds: float) -> None:
        """Add one epoch; the column `seconds` counts from the start of the training, pauses left out."""
        self._seconds += seconds
        values = {"loss": epoch.loss, "hits@10": epoch.hits_at_10, "mrr": epoch.mrr}
        row = [epoch.number, *("" if value is None else value for value in values.values())]
        with self._path.open("a", newline="", encoding="utf-8") as file:
            csv.writer(file).writerow([*row, f"{self._seconds:.3f}"])
        for name, value in values.items():
            if self._events is not None and value is not None:
                self._events.add_scalar(name, value, epoch.number)

    def close(self) -> None:
        """Let TensorBoard write what it still holds."""
        if self._events is not None:
            self._events.close()


def _rows_until(path: Path, last_epoch: int) -> list[list[str]]:
    """The whole rows of a log up to an epoch; a row that a kill cut short ends the list."""
    if not last_epoch or not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.reader(file) if len(row) == len(COLUMNS) and row[0].isdigit()]
    return [row for row in rows if int(row[0]) <= last_epoch]


def _events(directory: Path, last_epoch: int) -> Any:
    """A writer of TensorBoard events, where tensorboard is installed."""
    if find_spec("tensorboard") is None:
        return None
    from torch.utils.tensorboard import SummaryWriter  # noqa: PLC0415 - slow, and only where it is installed

    # TensorBoard orders files by the second they were made in, and a short training is over sooner.
    if not last_epoch:
        for old in directory.glob("events.out.tfevents.*"):
            old.unlink()
    return SummaryWriter(str(directory), purge_step=last_epoch + 1)


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
