"""The explorer as a process of its own, for tests and pictures that visit it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
INTERRUPTED = 130


@contextmanager
def served(*options: str, cwd: Path) -> Iterator[str]:
    """The address of `reshuffle serve`, which Ctrl-C ends."""
    process = subprocess.Popen(
        [sys.executable, "-m", "reshuffle", "-q", "serve", *options, "--no-browser", "--port", "0"],
        stdout=subprocess.PIPE,
        cwd=cwd,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    assert process.stdout is not None
    try:
        with process.stdout:
            yield process.stdout.readline().strip()
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == INTERRUPTED
    finally:  # a test that failed leaves no server behind
        process.kill()
        process.wait()
