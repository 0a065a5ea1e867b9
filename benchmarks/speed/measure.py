"""What every speed benchmark needs: fresh processes with their peak memory, and the result file.

As a script it is the fresh process: `python -m benchmarks.speed.measure MODULE:FUNCTION [ARGUMENT...]`.
"""

from __future__ import annotations

import time

_STARTED = time.perf_counter()  # before any other import: what a library takes to load counts

import json  # noqa: E402
import os  # noqa: E402
import re  # noqa: E402
import resource  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402
from dataclasses import dataclass  # noqa: E402
from importlib import import_module  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import TYPE_CHECKING, Any  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Mapping

RESULTS = Path(__file__).parents[1] / "results" / "speed"


@dataclass(frozen=True)
class Measurement:
    """One run in a process of its own: wall time with all imports, and the peak of its resident memory."""

    seconds: float
    peak_megabytes: float
    value: Any  # what the function returned

    def to_dict(self) -> dict[str, Any]:
        """The measurement as it stands in a result file."""
        return {
            "seconds": round(self.seconds, 2),
            "peak_megabytes": round(self.peak_megabytes),
            "value": self.value,
        }

    def process_cost(self) -> dict[str, Any]:
        """Time and memory of the whole process, to stand beside times that the function took itself."""
        return {"whole_process": round(self.seconds, 2), "peak_megabytes": round(self.peak_megabytes)}


def run_fresh(
    function: str,
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    timeout: float | None = None,
) -> Measurement:
    """Call `"module:function"` with text arguments in a fresh process; its value must be JSON.

    After `timeout` seconds the process is ended and `subprocess.TimeoutExpired` raised.
    """
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.speed.measure", function, *arguments],
        check=True,
        stdout=subprocess.PIPE,
        env={**os.environ, **(environment or {})},
        timeout=timeout,
    )
    return Measurement(**json.loads(done.stdout.splitlines()[-1]))


def best_in_turns(contenders: Mapping[str, tuple[str, ...]], *, repeats: int = 3) -> dict[str, Measurement]:
    """The fastest run of each contender (a function and its arguments); they take turns."""
    best: dict[str, Measurement] = {}
    for number in range(repeats):
        for name, call in contenders.items():
            found = run_fresh(*call)
            print(
                f"  {number + 1}/{repeats} {name}: {found.seconds:.2f} s, {found.peak_megabytes:,.0f} MB",
                file=sys.stderr,
            )
            if name not in best or found.seconds < best[name].seconds:
                best[name] = found
    return best


def write_result(name: str, result: Mapping[str, Any]) -> Path:
    """Write `benchmarks/results/speed/NAME.json`, whole or not at all."""
    from benchmarks.result_files import write_document

    target = RESULTS / f"{name}.json"
    write_document(target, result)
    return target


def peak_megabytes() -> float:
    """The most memory this process has held.

    `ru_maxrss` would also count what the parent held when it started us, hence Linux is asked directly.
    """
    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8")
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / 2**20 if sys.platform == "darwin" else peak / 2**10
    found = re.search(r"VmHWM:\s*(\d+) kB", status)
    return int(found[1]) / 2**10 if found else float("nan")


def _child(function: str, *arguments: str) -> None:
    module, _, name = function.partition(":")
    value = getattr(import_module(module), name)(*arguments)
    seconds = time.perf_counter() - _STARTED
    print(json.dumps({"seconds": seconds, "peak_megabytes": peak_megabytes(), "value": value}))


if __name__ == "__main__":
    _child(*sys.argv[1:])
