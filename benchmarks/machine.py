"""What a computation ran on, as results tell it."""

from __future__ import annotations

import platform
import re
from pathlib import Path


def processor_name() -> str:
    """Its name where the system tells it, or else its kind."""
    try:
        found = re.search(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    except OSError:
        found = None
    return found[1] if found else platform.processor() or platform.machine()
