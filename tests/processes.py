"""Processes of their own that start at once: copies of one that has imported torch and done nothing else.

A fresh interpreter takes three seconds until it trains. Each process that runs tests has one to copy.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

import reshuffle.progress

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    [
        "reshuffle.cli.main",
        "reshuffle.cli.verbs.train",
        "reshuffle.learning.estimator",
        "torch._dynamo",  # the first optimizer of a process imports it
        "torch.utils.tensorboard",
        "pytest",
    ]
)


class Running:
    """A process that calls a function of a module; a number that it gives is the exit status."""

    def __init__(self, function: Callable[..., object], *arguments: Any) -> None:
        self._said, writer = _CONTEXT.Pipe(duplex=False)
        with writer:
            self._process = _CONTEXT.Process(target=_called, args=(writer, function, arguments))
            self._process.start()

    @property
    def is_alive(self) -> bool:
        """It has not ended."""
        return self._process.is_alive()

    def send(self, number: int) -> None:
        """Send a signal."""
        assert self._process.pid is not None
        os.kill(self._process.pid, number)

    def ended(self) -> tuple[int | None, str]:
        """Its exit status, as `subprocess` tells it, and what it has said: a few lines, for which the pipe has room."""
        self._process.join(120)
        with self._said, open(self._said.fileno(), encoding="utf-8", closefd=False) as said:
            return self._process.exitcode, said.read()

    def killed(self) -> int | None:
        """Its exit status after kill -9."""
        self.send(signal.SIGKILL)
        return self.ended()[0]


def _called(writer: Connection, function: Callable[..., object], arguments: tuple[Any, ...]) -> None:
    for stream in (1, 2):
        os.dup2(writer.fileno(), stream)
    writer.close()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # tests may run where interrupts are ignored
    reshuffle.progress.SHORT = float("inf")  # a slow machine would have progress to tell
    status = function(*arguments)
    sys.exit(status if isinstance(status, int) else 0)


def slowly(function: Callable[..., object], *arguments: Any) -> object:
    """Call a function in which a training waits at each step: a few steps can be stopped in their midst."""
    from reshuffle.learning.training.trainer import Trainer

    step = Trainer._step

    def later(one: Any, batch: Any) -> Any:
        time.sleep(0.05)
        return step(one, batch)

    Trainer._step = later  # type: ignore[method-assign]
    return function(*arguments)
