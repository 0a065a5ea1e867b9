"""When, on what machine and with which versions a result was measured: no host name and no path."""

from __future__ import annotations

import datetime
import os
import platform
import re
from importlib import import_module, metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    import torch


def describe(packages: Iterable[str], *, gpu: bool = False) -> dict[str, Any]:
    """The date, the hardware, and the versions of Python and of some packages; with `gpu`, the GPU or None."""
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
        "hardware": hardware() | ({"gpu": _gpu_name()} if gpu else {}),
        "versions": versions(packages),
    }


def hardware() -> dict[str, Any]:
    """Processor, cores and memory."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {"cpu": processor_name(), "cores": os.cpu_count(), "memory_gigabytes": round(pages / 2**30)}


def versions(packages: Iterable[str]) -> dict[str, str]:
    """The versions of Python and of some packages."""
    return {"python": platform.python_version(), **{package: _version(package) for package in packages}}


def _version(package: str) -> str:
    """As installed, or where the package is only on the path, as its module says."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return str(import_module(package).__version__)


def device_name(device: torch.device) -> str:
    """The name of the GPU or of the processor that a training runs on."""
    import torch

    return torch.cuda.get_device_name(device) if device.type == "cuda" else processor_name()


def _gpu_name() -> str | None:
    import torch

    return torch.cuda.get_device_name() if torch.cuda.is_available() else None


def processor_name() -> str:
    """The processor's name where the system tells it, or else its kind."""
    try:
        found = re.search(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    except OSError:
        found = None
    return found[1] if found else platform.processor() or platform.machine()
