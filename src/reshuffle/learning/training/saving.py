"""When a training is saved: at the end of epochs, by time within them, and where a signal asks it to stop."""

from __future__ import annotations

import signal
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reshuffle.errors import Terminated
from reshuffle.learning.checkpoints import save_checkpoint

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from reshuffle.learning.training.trainer import Trainer

SECONDS_BETWEEN = 30.0  # checkpoints: with the step at hand a kill costs less than a minute
CHECKPOINT = "checkpoint.safetensors"


@dataclass
class StopRequest:
    """Whether Ctrl-C (SIGINT) or SIGTERM has asked a training to stop."""

    number: int | None = None

    def follow(self) -> None:
        """Stop, where it was asked for."""
        if self.number is not None:
            raise Terminated if self.number == signal.SIGTERM else KeyboardInterrupt


@contextmanager
def stop_requests() -> Iterator[StopRequest]:
    """Hear the first signal as a request; the second one does what it always does, at once.

    A program that has its own way with a signal keeps it.
    """
    request = StopRequest()
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
        request.number = number
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
        stopping = self._request.number is not None
        # A state that diverges must not take the place of the last good one.
        if (stopping or self.is_due) and self._trainer.is_sound:
            self.save()
        self._request.follow()
