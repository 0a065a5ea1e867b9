"""Runs cells within a given time, one after the other or several at a time in processes of their own."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any

from benchmarks.experiments import run_cell

from reshuffle.learning.estimator import chosen_device

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.cells import Bench, Cell

    from reshuffle.cli.console import Console


@dataclass(frozen=True)
class Outcome:
    """What became of a cell: finished, unfinished, failed or not started; and the exit status that tells it."""

    state: str
    status: int = 0


@dataclass(frozen=True)
class Schedule:
    """How cells are run: on which device, how many at a time, until when, and where trained models are kept."""

    bench: Bench
    console: Console
    device: str = "auto"
    jobs: int = 1
    end: float | None = None  # as `monotonic` tells it
    models: Path | None = None

    def run(self, cells: list[Cell]) -> list[Outcome]:
        """Run those that are not finished."""
        # The first goes on by an epoch even when the time is up, so that running again and again comes to an end.
        # All that is stored is looked at now, since one that is refused later would end what has begun.
        missing = [cell for cell in cells if self.bench.finished(cell) is None]
        if self.jobs == 1:
            return [self._ran(cell, is_first=cell in missing[:1]) for cell in cells]
        with ThreadPoolExecutor(self.jobs) as pool:
            return list(pool.map(lambda cell: self._ran(cell, is_first=cell in missing[:1]), cells))

    def _ran(self, cell: Cell, *, is_first: bool) -> Outcome:
        seconds = None if self.end is None else max(0.0, self.end - monotonic())
        stored = self.bench.has(cell)
        if seconds == 0 and not stored and not is_first:
            return Outcome("not started")
        if self.jobs > 1 and not stored:
            return self._in_process(cell, seconds)
        return self._here(cell, seconds)

    def _here(self, cell: Cell, seconds: float | None) -> Outcome:
        result = run_cell(
            cell,
            self.bench,
            device=chosen_device(self.device),
            seconds=seconds,
            progress=self.console.progress,
            models=self.models,
        )
        told = "not finished; run again to go on" if result is None else _headline(result)
        self.console.message(f"{cell.name}: {told}")
        return Outcome("unfinished" if result is None else "finished")

    def _in_process(self, cell: Cell, seconds: float | None) -> Outcome:
        command = [sys.executable, "-m", "reshuffle", "bench", "paper"]
        command += ["--dataset", cell.dataset, "--seeds", str(cell.seed)]
        command += ["--recipe", cell.recipe, "--variant", cell.variant, "--device", self.device]
        command += ["--settings", str(self.bench.settings), "--results", str(self.bench.results)]
        if seconds is not None:
            command += ["--minutes", str(seconds / 60)]
        if self.models is not None:
            command += ["--models", str(self.models)]
        if self.console.verbosity < 0:
            command.append("-q")
        status = subprocess.run(command, check=False).returncode
        if not status:
            return Outcome("finished" if self.bench.has(cell) else "unfinished")
        status = status if status > 0 else 128 - status  # a signal, as shells tell it
        self.console.error(f"{cell.name}: failed, with exit status {status}")
        return Outcome("failed", status)


def _headline(result: dict[str, Any]) -> str:
    """The first result of a cell in a line."""
    first = result["results"][0]
    return (
        f"{first['protocol']} hits@10 {first['metrics']['hits@10']:.3f} "
        f"(type baseline {first['type_baseline']['metrics']['hits@10']:.3f}), {result['training']['seconds']:.0f} s"
    )
