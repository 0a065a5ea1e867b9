"""The kinds of attack by name. To add one, write a file with its `PARTS`, and name the file here."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.attack.part import Part

_FILES = (
    "readers",
    "reasoning",
    "ontologies",
    "constants",
    "what_if",
    "requests",
    "slow_connections",
    "links",
    "bombs",
    "rule_lists",
    "copies",
    "kills",
)

PARTS: dict[str, Part] = {
    part.name: part for file in _FILES for part in import_module(f"benchmarks.attack.{file}").PARTS
}
