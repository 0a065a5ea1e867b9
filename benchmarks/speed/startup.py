"""Processor seconds of the first commands: `--help`, and `infer` on two facts and on 10,000.

Each is a process of its own, with no kernel on disk and with all of them. Medians of runs taken in turns, so that a
busy machine slows all alike.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from benchmarks.machine import describe
from benchmarks.speed.measure import write_result

if TYPE_CHECKING:
    from collections.abc import Mapping

REPEATS = 5
ALLOWED = {"--help": 0.3, "2 facts, no kernel on disk": 2.5, "2 facts": 0.6}
"""Processor seconds above those of the bare interpreter."""
_RULES = "r(X, Y) & s(Y, Z) -> t(X, Z)\nt(X, Y) & t(Y, Z) -> t(X, Z)\n"
_RUN = "from reshuffle.cli.main import entry_point; entry_point()"


def run() -> None:
    """Measure and store; says which takes longer than allowed."""
    with TemporaryDirectory() as folder:
        measured = _medians(Path(folder))
    write_result(
        "startup",
        {
            "what": "processor seconds of first commands above those of the bare interpreter, medians",
            "command": "python -m benchmarks.speed startup",
            **describe(["reshuffle", "numpy", "numba", "pyarrow"]),
            "repeats": REPEATS,
            "allowed": ALLOWED,
            "measured": measured,
        },
    )
    for name, seconds in measured.items():
        late = ": TOO SLOW" if seconds > ALLOWED.get(name, float("inf")) else ""
        print(f"{name}: {seconds} s{late}")


def _medians(folder: Path) -> dict[str, float]:
    rules = folder / "rules.txt"
    rules.write_text(_RULES, encoding="utf-8")
    commands: dict[str, tuple[str, ...]] = {"--help": ("--help",)}
    for count in (2, 10_000):
        facts = folder / f"{count}.tsv"
        facts.write_text("".join(_facts(count)), encoding="utf-8")
        for kept in (", no kernel on disk", ""):
            commands[f"{count:,} facts{kept}"] = ("infer", "-q", str(rules), str(facts))
    times: dict[str, list[float]] = {name: [] for name in ("bare", *commands)}
    full = {"NUMBA_CACHE_DIR": str(folder / "kernels")}
    for command in commands.values():  # once, so that kernels are on disk
        _cpu_seconds("-c", _RUN, *command, environment=full)
    for number in range(REPEATS):
        times["bare"].append(_cpu_seconds("-c", "pass"))
        for name, command in commands.items():
            empty = {"NUMBA_CACHE_DIR": str(folder / f"none-{number}-{len(name)}")}
            kernels = empty if name.endswith("on disk") else full
            times[name].append(_cpu_seconds("-c", _RUN, *command, environment=kernels))
    bare = statistics.median(times.pop("bare"))
    return {name: round(statistics.median(each) - bare, 2) for name, each in times.items()}


def _facts(count: int) -> list[str]:
    """Half of them lead to a hub each, half of them on from there."""
    pairs = range(count // 2)
    return [f"a{n}\tr\tb{n // 7}\n" for n in pairs] + [f"b{n // 7}\ts\tc{n}\n" for n in pairs]


def _cpu_seconds(*arguments: str, environment: Mapping[str, str] | None = None) -> float:
    before = _children()
    given: dict[str, Any] = {"env": {**os.environ, **(environment or {})}}
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, **given)
    return _children() - before


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
