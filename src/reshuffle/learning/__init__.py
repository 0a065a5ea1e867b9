"""Training: from triples to matrices (needs torch)."""

from __future__ import annotations

from importlib.util import find_spec

from reshuffle.errors import MissingPackageError

for _package in ("torch", "safetensors"):
    if find_spec(_package) is None:
        raise MissingPackageError(_package, extra="learn")
