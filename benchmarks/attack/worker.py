"""A process that runs cases, and its master's view of it: a case that kills it or never ends has failed."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.attack.registry import PARTS

if TYPE_CHECKING:
    from benchmarks.attack.part import Case

_START = 120  # seconds more for the first case, which compiles


class Worker:
    """Runs cases one after the other, in a process that is started anew after each that ended it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def failure(self, part: str, case: Case) -> str | None:
        """What went wrong, or None."""
        first = self._process is None
        process = self._process = self._process or _started()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps({"part": part, "case": case}) + "\n")
        process.stdin.flush()
        limit = PARTS[part].seconds + (_START if first else 0)
        if not select.select([process.stdout], [], [], limit)[0]:
            self.stop()
            return f"no answer in {limit:.0f} seconds"
        line = process.stdout.readline()
        if not line:
            self.stop()
            return f"the process ended with status {process.returncode}"
        found: str | None = json.loads(line)
        return found

    def stop(self) -> None:
        """End the process, if there is one."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()  # closes its pipes
            self._process = None


def _started() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "benchmarks.attack.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def outcome(part: str, case: dict[str, Any]) -> str | None:
    """Run one case in a folder of its own; what went wrong, or None."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            PARTS[part].run(case, Path(folder))
        except Exception:  # noqa: BLE001 - whatever it is, it is a failure
            return traceback.format_exc()[-2000:]
    return None


def serve() -> None:
    """Answer each line of stdin by one line on a copy of stdout, which no case can write to."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        task = json.loads(line)
        answers.write(json.dumps(outcome(task["part"], task["case"])) + "\n")
        answers.flush()


if __name__ == "__main__":
    serve()
