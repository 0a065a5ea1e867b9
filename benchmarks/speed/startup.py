"""CPU seconds of `reshuffle --help` above the bare interpreter; the promise is less than 0.3.

Run it as a script; it prints one JSON object and exits with 1 when the promise is broken.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys

PROMISE_SECONDS = 0.3
REPEATS = 15
BARE = [sys.executable, "-c", "pass"]
HELP = [sys.executable, "-c", "from reshuffle.cli.main import entry_point; entry_point()", "--help"]


def cpu_seconds(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


def measure() -> dict[str, float]:
    """Medians of runs taken in turns, so that a busy machine slows both alike."""
    pairs = [(cpu_seconds(BARE), cpu_seconds(HELP)) for _ in range(REPEATS)]
    bare, with_help = (statistics.median(times) for times in zip(*pairs, strict=True))
    return {"bare": bare, "help": with_help, "above_bare": with_help - bare, "promise": PROMISE_SECONDS}


if __name__ == "__main__":
    measured = measure()
    print(json.dumps(measured))
    sys.exit(measured["above_bare"] >= PROMISE_SECONDS)
