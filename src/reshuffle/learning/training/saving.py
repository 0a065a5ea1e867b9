"""Save logs and checkpoints of a training in its directory.

A checkpoint is saved at the end of epochs, within an epoch after some time, and when a signal stops the training.
"""

from __future__ import annotations

import csv
import signal
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reshuffle.errors import InputError, Place, Terminated
from reshuffle.kg.io.files import full_disk_told, written_whole
from reshuffle.learning.checkpoints import load_checkpoint, save_checkpoint
from reshuffle.learning.training.history import COLUMNS, LOG, DivergedError
from reshuffle.locks import no_link
from reshuffle.packages import is_installed, package

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from reshuffle.learning.training.history import Epoch, History
    from reshuffle.learning.training.trainer import Trainer

SECONDS_BETWEEN = 30.0  # checkpoints: with the step at hand a kill costs less than a minute
CHECKPOINT = "checkpoint.safetensors"


@dataclass
class StopRequest:
    """Whether Ctrl-C (SIGINT) or SIGTERM has asked a training to stop."""

    number: int | None = None
    together: bool = False  # with others, who stop at the same step
    agreed: int | None = None

    @property
    def due(self) -> int | None:
        """The signal to follow now; processes that train together follow one when all have heard of it."""
        return self.agreed if self.together else self.number

    def agree(self, number: int) -> None:
        """Hear what all processes have agreed on; 0 is nothing."""
        self.agreed = number or None

    def follow(self) -> None:
        """Stop, where it was asked for."""
        if self.due is not None:
            raise Terminated if self.due == signal.SIGTERM else KeyboardInterrupt


@contextmanager
def stop_requests(*, together: bool = False) -> Iterator[StopRequest]:
    """Hear the first signal as a request; the second one does what it always does, at once.

    A program that has its own way with a signal keeps it. `together`: with other processes of torchrun, which sends
    SIGTERM right after Ctrl-C, and kills what has not stopped half a minute later.
    """
    request = StopRequest(together=together)
    usual: dict[int, Any] = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    # Only the main thread may say what happens on a signal.
    in_main_thread = threading.current_thread() is threading.main_thread()
    heard = [
        number for number, handler in usual.items() if in_main_thread and signal.getsignal(number) is handler
    ]

    def give_back() -> None:
        for number in heard:
            signal.signal(number, usual[number])

    def hear(number: int, _frame: Any) -> None:
        request.number = number if request.number is None else request.number
        if not together:
            give_back()

    for number in heard:
        signal.signal(number, hear)
    try:
        yield request
    finally:
        give_back()


class Saving:
    """Saves the checkpoints of a training in one file, and keeps its clock."""

    def __init__(
        self,
        trainer: Trainer,
        path: Path,
        request: StopRequest,
        *,
        seconds_between: float | None = None,
    ) -> None:
        self._trainer, self._path, self._request = trainer, path, request
        self._between = SECONDS_BETWEEN if seconds_between is None else seconds_between
        self._before, self._started = trainer.history.seconds, time.perf_counter()
        self._saved = time.monotonic()
        self.saved_epochs = len(trainer.history.epochs)
        trainer.between_pieces = self.save_or_stop

    @property
    def is_due(self) -> bool:
        """Is it time for the next checkpoint?"""
        return time.monotonic() - self._saved >= self._between

    def tick(self) -> float:
        """The seconds of training until now, pauses between runs left out; the history keeps them."""
        self._trainer.history.seconds = self._before + time.perf_counter() - self._started
        return self._trainer.history.seconds

    def save(self) -> None:
        """Write a checkpoint."""
        self.tick()
        save_checkpoint(self._trainer, self._path)
        self._saved, self.saved_epochs = time.monotonic(), len(self._trainer.history.epochs)

    def save_or_stop(self) -> None:
        """Between two pieces of work: save where it is time to, and stop with a checkpoint where that was asked for."""
        stopping = self._request.due is not None
        # A state that diverges must not take the place of the last good one.
        if (stopping or self.is_due) and self._trainer.is_sound:
            self.save()
        self._request.follow()


@contextmanager
def followed(trainer: Trainer) -> Iterator[StopRequest]:
    """Hear requests to stop; processes that train together tell each other of theirs with every step."""
    with stop_requests(together=trainer.team.size > 1) as request:
        trainer.asked_to_stop, trainer.told_to_stop = lambda: request.number or 0, request.agree
        trainer.between_pieces = request.follow
        yield request


@contextmanager
def recorded(trainer: Trainer, directory: Path, *, resume: bool) -> Iterator[Recorder]:
    """Record a training in a directory, where nobody else does so; `resume` takes up the one that is there."""
    with followed(trainer) as request:
        recorder = Recorder(trainer, directory, request, resume=resume)
        try:
            yield recorder
        except DivergedError:
            recorder.tell_last_good()
            raise
        finally:
            with interrupts_held_back():
                recorder.log.close()


class Recorder:
    """Logs every epoch, and saves a checkpoint after each validation, at the end, and by time."""

    def __init__(self, trainer: Trainer, directory: Path, request: StopRequest, *, resume: bool) -> None:
        self._trainer, self._path = trainer, directory / CHECKPOINT
        if resume and self._path.exists():
            load_checkpoint(trainer, self._path)
        elif self._path.exists():
            raise InputError(
                "this directory already has a training",
                place=Place(str(directory)),
                hint="--resume continues it; or name another directory",
            )
        elif resume:  # the name may be mistyped
            trainer.notes(f"there is no checkpoint in {directory}: starting from the beginning")
        self.log = TrainingLog(directory, trainer.history)
        self._saving = Saving(trainer, self._path, request)

    def record(self, epoch: Epoch) -> None:
        """Log an epoch, and save a checkpoint where it is time for one."""
        with interrupts_held_back():
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
            f"{self._path} holds epoch {epochs}, the last good epoch: --resume with "
            f"max_epochs={epochs} saves its model; other settings need another directory"
        )


class TrainingLog:
    """`log.csv` and `tensorboard/` in a directory; what is there of other epochs than those of the history is removed.

    TensorBoard events are written where tensorboard is installed.
    """

    def __init__(self, directory: Path, history: History) -> None:
        self._path = directory / LOG
        _tell_seconds(history, self._path)
        write_log(self._path, history)
        self._events = _Events(directory / "tensorboard", len(history.epochs))

    def write(self, epoch: Epoch) -> None:
        """Add one epoch."""
        with (
            full_disk_told(self._path),
            open(self._path, "a", newline="", encoding="utf-8", opener=no_link) as file,
        ):
            csv.writer(file).writerow(_row(epoch))
        self._events.write(epoch)

    def close(self) -> None:
        """Let TensorBoard write what it still holds."""
        self._events.close()


def write_log(path: Path, history: History) -> None:
    """Write the log of a history, whole: a kill must not cost the epochs that were logged."""
    with written_whole(path) as aside, aside.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([COLUMNS, *map(_row, history.epochs)])


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
        if not is_installed("tensorboard"):
            return
        events = package("torch.utils.tensorboard")

        # TensorBoard orders files by the second they were made in, and a short training is over sooner.
        if not last_epoch:
            for old in directory.glob("events.out.tfevents.*"):
                old.unlink()
        threading.excepthook = self._hear
        with full_disk_told(directory):
            self._writer = events.SummaryWriter(str(directory), purge_step=last_epoch + 1)

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
        """A failure to write is raised by the next write, so the thread need not print it."""
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
