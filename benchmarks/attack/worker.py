"""The process that runs cases, and its master's view of it: a case that kills it or never ends has failed."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import traceback
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.attack.registry import PARTS

if TYPE_CHECKING:
    from benchmarks.attack.part import Case, Counts

_START = 120  # seconds more for the first case of a part in a process, which compiles


@dataclass(frozen=True)
class Outcome:
    """What came of a case: what went wrong, or None, and what was counted."""

    failure: str | None
    counts: Counts = field(default_factory=dict)


class Worker:
    """Runs cases one after the other, in a process that is started anew after each that ended it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._begun: set[str] = set()

    def failure(self, part: str, case: Case) -> str | None:
        """What went wrong, or None."""
        return self.outcome(part, case).failure

    def outcome(self, part: str, case: Case) -> Outcome:
        """Run a case within its time."""
        process = self._process = self._process or _started()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps({"part": part, "case": case}) + "\n")
            process.stdin.flush()
        except BrokenPipeError:
            self.stop()
            return Outcome("the process ended between two cases")
        limit = PARTS[part].seconds + (0 if part in self._begun else _START)
        self._begun.add(part)
        if not select.select([process.stdout], [], [], limit)[0]:
            self.stop()
            return Outcome(f"no answer in {limit:.0f} seconds")
        line = process.stdout.readline()
        if not line:
            self.stop()
            return Outcome(f"the process ended with status {process.returncode}")
        return Outcome(**json.loads(line))

    def stop(self) -> None:
        """End the process, if there is one, and what it has started."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.communicate()  # closes its pipes
            self._process = None
            self._begun.clear()


def _started() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "benchmarks.attack.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )


def outcome(part: str, case: dict[str, Any]) -> Outcome:
    """Run one case in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            return Outcome(None, PARTS[part].run(case, Path(folder)) or {})
        except Exception:  # noqa: BLE001 - whatever it is, it is a failure
            return Outcome(traceback.format_exc()[-2000:])


def serve() -> None:
    """Answer each line of stdin by one line on a copy of stdout, which no case can write to."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        task = json.loads(line)
        answers.write(json.dumps(asdict(outcome(task["part"], task["case"]))) + "\n")
        answers.flush()


if __name__ == "__main__":
    serve()
