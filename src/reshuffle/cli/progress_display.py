"""Progress on stderr: a bar on a terminal, and elsewhere a plain line now and then. Short work shows nothing.

A thread looks twice a second at the work that is under way, so that there is news also of work that reports nothing.
"""

from __future__ import annotations

import sys
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Protocol

import reshuffle.progress
from reshuffle.text import duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reshuffle.machine_code import Compiling
    from reshuffle.progress import Report

SECONDS_BETWEEN_LINES = 20.0
_SECONDS_BETWEEN_TICKS = 0.5


_COMPILING = "compiling kernels (once)"


def _compiling() -> Compiling | None:
    """What hears of kernels that are compiled; None where nothing was compiled."""
    loaded = sys.modules.get("reshuffle.machine_code")
    return None if loaded is None else loaded.COMPILING


def _is_compiling() -> bool:
    heard = _compiling()
    return heard is not None and heard.is_under_way


def _seconds_compiling() -> float:
    heard = _compiling()
    return 0.0 if heard is None else heard.seconds


class Display(Protocol):
    """What shows one piece of work."""

    def advance(self, done: int, /, note: str = "") -> None:
        """Count units that are done."""
        ...

    def tick(self) -> None:
        """Time has passed."""
        ...

    def close(self, *, finished: bool) -> None:
        """The work is done, or has failed."""
        ...


@contextmanager
def shown(description: str, *, total: int | None, unit: str) -> Iterator[Report]:
    """Show a piece of work while it is under way."""
    display: Display = (Bar if sys.stderr.isatty() else Lines)(description, total, unit)
    finished = False
    try:
        with _TICKER.watching(display):
            yield display.advance
        finished = True
    finally:
        display.close(finished=finished)


class Bar:
    """A bar, gone when the work is done."""

    def __init__(self, description: str, total: int | None, unit: str) -> None:
        from tqdm import tqdm

        self._bar = tqdm(
            desc=description,
            total=total,
            unit=unit,
            unit_scale=True,
            delay=reshuffle.progress.SHORT,
            leave=False,
            miniters=0,  # a note may change while nothing more is done
        )
        self._note = ""

    def advance(self, done: int, /, note: str = "") -> None:
        """Count units that are done."""
        self._note = note or self._note
        self._bar.set_postfix_str(self._note, refresh=False)
        self._bar.update(done)

    def tick(self) -> None:
        """Let the time beside the bar go on."""
        if time.time() - self._bar.start_t >= reshuffle.progress.SHORT:
            self._bar.set_postfix_str(_COMPILING if _is_compiling() else self._note, refresh=False)
            self._bar.refresh()
            self._bar.last_print_t = time.time()  # else it would not know that there is something to clear

    def close(self, *, finished: bool) -> None:
        """Clear it."""
        del finished
        self._bar.close()


class Lines:
    """Lines that stay, at most one per interval over all work; work that had one gets one at its end."""

    _last = float("-inf")

    def __init__(self, description: str, total: int | None, unit: str) -> None:
        self._description, self._total, self._unit = description, total, unit.strip()
        self._started, self._done, self._note, self._told = time.monotonic(), 0, "", False
        self._compiled_before = _seconds_compiling()
        self._taken_up: int | None = None

    def advance(self, done: int, /, note: str = "") -> None:
        """Count units that are done."""
        if self._taken_up is None:  # what was done in an earlier run says nothing about the pace
            self._taken_up = done
        self._done, self._note = self._done + done, note or self._note

    def tick(self) -> None:
        """Print a line where it is time for one."""
        now = time.monotonic()
        if now - self._started < reshuffle.progress.SHORT or now - Lines._last < SECONDS_BETWEEN_LINES:
            return
        Lines._last, self._told = now, True
        seconds = now - self._started
        left = "" if "left" in self._note else self._left(seconds)
        last = _COMPILING if _is_compiling() else left
        self._print([self._amount(), self._note, last], otherwise=duration(seconds))

    def close(self, *, finished: bool) -> None:
        """Tell how long it took, where anything was told."""
        if self._told and finished:
            spent = _seconds_compiling() - self._compiled_before
            compiled = f", {duration(spent)} of it {_COMPILING}" if spent >= 1 else ""
            self._print([self._amount(), f"done in {duration(time.monotonic() - self._started)}{compiled}"])

    def _print(self, parts: list[str], *, otherwise: str = "") -> None:
        told = ", ".join(part for part in parts if part) or otherwise
        print(f"{self._description}: {told}", file=sys.stderr, flush=True)  # noqa: T201

    def _amount(self) -> str:
        if not self._done and self._total is None:
            return ""
        done = self._done if self._total is None else min(self._done, self._total)  # blocks may be larger
        size, unit = (1e6, "MB") if self._unit == "B" else (1, self._unit)
        if unit not in ("MB", "it") and not unit.endswith("s"):
            unit += "s"
        total = "" if self._total is None else f" of {self._total / size:,.0f}"
        return f"{done / size:,.0f}{total} {unit}"

    def _left(self, seconds: float) -> str:
        done = self._done - (self._taken_up or 0)
        if not self._total or done <= 0 or self._done >= self._total:
            return ""
        return f"about {duration(seconds / done * (self._total - self._done))} left"


class _Ticker:
    """A thread that tells the innermost work under way that time passes; it waits while there is none."""

    def __init__(self) -> None:
        self._under_way: list[Display] = []
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    @contextmanager
    def watching(self, display: Display) -> Iterator[None]:
        with self._changed:
            self._under_way.append(display)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True)
                self._thread.start()
            self._changed.notify()
        try:
            yield
        finally:
            with self._changed:  # not while it is being shown
                self._under_way.remove(display)

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._under_way:
                    self._changed.wait()
                with suppress(OSError, ValueError):  # nobody reads stderr any more
                    self._under_way[-1].tick()
            time.sleep(_SECONDS_BETWEEN_TICKS)


_TICKER = _Ticker()
