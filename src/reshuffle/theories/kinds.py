"""Load the theory at a path. Only this module decides which kind of theory a path holds."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from reshuffle.constraints import OPENING
from reshuffle.errors import InputError, Place, did_you_mean
from reshuffle.progress import UNHEARD
from reshuffle.rules.ontologies.ontology_reading import is_ontology
from reshuffle.theories.theory import Reading

if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike

    from reshuffle.kg.io.prefixes import Prefixes
    from reshuffle.progress import Notes
    from reshuffle.theories.theory import Theory

MODEL_RULES = "model.rules"
"""`rulelist.model_text.FILE`, which is slow to import."""


def _holds_list(path: Path) -> bool:
    return (path / MODEL_RULES).is_file() or (path.name == MODEL_RULES and path.is_file())


def _is_compiled(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(OPENING)) == OPENING


KINDS: dict[str, Callable[[Path], bool]] = {
    "weighted_rules": _holds_list,
    "networks": Path.is_dir,
    "constraint_files": _is_compiled,
    "ontology_files": is_ontology,
    "rule_files": lambda _: True,
}
"""The module of each kind, and how a path of it looks; the first that fits reads the path. What is slow is imported by
the module alone.
"""


def load(
    path: str | PathLike[str],
    *,
    skip_unsupported: bool = False,
    prefixes: Prefixes | None = None,
    device: str = "auto",
    notes: Notes = UNHEARD,
    full_names: bool = False,
) -> Theory:
    """The theory at a path: a rule file, an ontology, a rule list, compiled constraints or a trained network.

    `skip_unsupported` passes over rules of kinds that cannot be read, and says how many; `device` is where a network
    computes; `notes` hears what there is to say about the files. With `full_names`, classes that meet facts have IRIs
    in the place of CURIEs.
    """
    place = Path(path)
    if str(path) != "-" and not place.exists():
        raise InputError(
            f"there is no such file or directory{did_you_mean(place.name, _names_in(place.parent))}",
            place=Place(str(path)),
            hint="give a rule file, an ontology, compiled constraints, or a directory that `reshuffle train` wrote",
        )
    found: Theory = import_module(f"reshuffle.theories.{kind_at(place)}").read(
        place, Reading(skip_unsupported, prefixes, device, notes, full_names)
    )
    return found


def _names_in(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir()) if folder.is_dir() else []


def kind_at(path: Path) -> str:
    """Which of `KINDS` a path holds, without reading it."""
    return next(name for name, fits in KINDS.items() if fits(path))
