"""The page of a training: epochs in `log.csv`, whether it is running, and settings. Needs no torch."""

from __future__ import annotations

import csv
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from reshuffle.locks import is_abandoned
from reshuffle.progress import SILENT

if TYPE_CHECKING:
    from pathlib import Path

    from reshuffle.progress import Progress, Report

LOG = "log.csv"
SETTINGS = "settings.toml"
_NO_SETTINGS = (  # what the file says of itself
    "digest",
    "relations",
    "arrays",
    "format",
    "version",
    "identities",
    "heads_through_inverse",
)
_LONGEST_VALUE = 200
_MOST_EPOCHS = 2_000  # points of a curve; of longer trainings every n-th epoch is shown


def training_page(directory: Path | None, *, progress: Progress = SILENT) -> dict[str, Any]:
    """The curves and settings of a model directory; empty where there is none."""
    if directory is None:
        return {"directory": None, "running": False, "epochs": [], "best": None, "settings": {}}
    with progress("reading the log", unit="epochs") as report:
        report(0)
        epochs = _epochs(directory / LOG, report)
    validated = [row for row in epochs if row["mrr"] is not None]
    best = max(validated, key=lambda row: float(row["mrr"]), default=None)
    step = -(-len(epochs) // _MOST_EPOCHS) or 1
    return {
        "directory": directory.name,
        "running": is_running(directory),
        "epochs": [row for row in epochs if (row["epoch"] - 1) % step == 0 or row["mrr"] is not None],
        "best": best,
        "settings": _settings(directory / SETTINGS),
    }


def has_training(directory: Path | None) -> bool:
    """Is there something to show: epochs, settings, or a training that has just begun?"""
    if directory is None:
        return False
    return any((directory / name).is_file() for name in (LOG, SETTINGS)) or is_running(directory)


def is_running(directory: Path) -> bool:
    """Does a process train in the directory now?"""
    lock = directory / "training.lock"
    return lock.exists() and not is_abandoned(lock)


def _epochs(log: Path, report: Report) -> list[dict[str, Any]]:
    """The rows of the log that are whole: the last one may be being written."""
    rows = []
    with suppress(OSError), log.open(encoding="utf-8", errors="replace", newline="") as file:
        for row in csv.DictReader(file):
            report(1)
            if None in row.values():
                continue
            with suppress(ValueError, TypeError, KeyError):
                numbers = {name: float(value) if value else None for name, value in row.items() if name}
                rows.append({**numbers, "epoch": int(row["epoch"]), "mrr": numbers["mrr"]})
    return rows


def _settings(path: Path) -> dict[str, str]:
    """The settings as they are written, a line each; tables go by their names. To look at, not to train by."""
    settings, table = {}, ""
    with suppress(OSError):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            name, equals, value = line.partition(" = ")
            if line.startswith("["):
                table = "" if line == "[settings]" else line.strip("[]") + "."
            elif equals and not line.startswith("#") and name not in _NO_SETTINGS:
                settings[table + name] = value[:_LONGEST_VALUE]
    return settings
