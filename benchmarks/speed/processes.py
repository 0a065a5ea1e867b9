"""How much faster two processes train than one, on two cores, and whether they train the same model.

What counts is the time that the log of a training tells, without the start of Python. One process uses both cores as
well, by threads. The two ways take turns, and the median of each counts. The model of two processes is compared with
that of one process that cuts its batches in two.
"""

from __future__ import annotations

import csv
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.machine import describe
from benchmarks.speed.measure import write_result

DATASET, RECIPES, ALLOWED = "WN18RR-v1", ("best", "best-0.1"), 1.5
TURNS = 5
_SHORT = ("--device", "cpu", "--set", "epoch_steps=60", "--set", "max_epochs=1", "--set", "look_every=1")
_SOFT_ALONE = ("--set", "rules_weight=0")  # the list of rules is learned afterwards, and takes as long again


def run() -> None:
    """Measure and store; says where two processes are not fast enough."""
    runs = [measured(recipe) for recipe in RECIPES]
    write_result(
        "processes",
        {
            "what": f"60 steps and a validation on {DATASET}, by one process, and by two on the same two cores; "
            f"medians of {TURNS} turns",
            "command": "python -m benchmarks.speed processes",
            **describe(["reshuffle", "torch", "numba"]),
            "allowed_ratio": ALLOWED,
            "runs": runs,
        },
    )
    for one in runs:
        late = "" if one["ratio"] >= ALLOWED else ": TOO SLOW"
        print(f"{one['recipe']}: two processes are {one['ratio']} times as fast as one{late}")


def measured(recipe: str) -> dict[str, Any]:
    """One recipe: seconds of one process and of two, and how far the parameters of the same split differ."""
    with tempfile.TemporaryDirectory() as folder:
        # A single step first: what must be compiled is compiled there.
        _trained([sys.executable], Path(folder) / "first", recipe, "--set", "epoch_steps=1")
        turns = [_turn(recipe, Path(folder) / str(number)) for number in range(TURNS)]
        split, two = Path(folder) / "split", Path(folder) / "0" / "two"
        _trained([sys.executable], split, recipe, "--pieces", "2")
        difference = _difference(split, two)
    seconds = [median(column) for column in zip(*turns, strict=True)]
    found = {
        "recipe": recipe,
        "seconds_of_one": seconds[0],
        "seconds_of_two": seconds[1],
        "ratio": round(seconds[0] / seconds[1], 2),
        "turns": turns,
        "largest_difference": difference,
    }
    print(f"  {found}", file=sys.stderr)
    return found


def _turn(recipe: str, folder: Path) -> tuple[float, float]:
    """The seconds of one process, and then those of two."""
    single, several = [sys.executable], ["torchrun", "--nproc-per-node", "2"]
    return _trained(single, folder / "one", recipe), _trained(several, folder / "two", recipe)


def _trained(program: list[str], folder: Path, recipe: str, *options: str) -> float:
    """The seconds of a training by its own log."""
    command = [*program, "-m", "reshuffle", "-q", "train", DATASET, "-o", str(folder), "--recipe", recipe]
    subprocess.run([*command, *_SHORT, *_SOFT_ALONE, *options], check=True)
    with (folder / "log.csv").open() as lines:
        return round(float(list(csv.DictReader(lines))[-1]["seconds"]), 1)


def _difference(first: Path, second: Path) -> float:
    """The largest difference between two parameters of the same name and place."""
    from safetensors.numpy import load_file

    ours, theirs = (load_file(folder / "model.safetensors") for folder in (first, second))
    return max(float(abs(ours[name] - theirs[name]).max()) for name in ours if ours[name].size)
