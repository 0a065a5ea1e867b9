"""`settings.toml` of a model directory: checked before anything is made of it.

The arrays of a model mean nothing without the settings they were trained with, and with others they would give other
answers without a word. So the file holds a digest of what it says; comments and blank lines may be added.
"""

from __future__ import annotations

import hashlib
import json
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from reshuffle.errors import InputError, Place
from reshuffle.learning.settings import read_toml

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FORMAT = "reshuffle-model"
VERSIONS = (1, 2, 3)
CUT_OR_EDITED = (
    "cut short or edited; train again or copy it again. Settings of a trained model cannot be changed: "
    "they say what its arrays mean"
)

_WITH_DIGEST = 3  # the version that brought it
_KINDS: Mapping[str, tuple[type, str]] = MappingProxyType(
    {
        "relations": (list, "a list of names"),
        "identities": (list, "a list of names"),
        "heads_through_inverse": (bool, "true or false"),
        "arrays": (str, "the digest of the arrays, a text"),
        "settings": (dict, "a table"),
        "training": (dict, "a table"),
    }
)
_TABLE = (dict, "a table")


def digest_of(notes: Mapping[str, Any]) -> str:
    """Of all values but the digest itself, however they are laid out in the file."""
    values = {name: value for name, value in notes.items() if name != "digest"}
    return hashlib.sha256(json.dumps(values, sort_keys=True, default=str).encode()).hexdigest()


def read_notes(path: Path) -> dict[str, Any]:
    """What the file says, or one clear error."""
    notes, place = read_toml(path, hint=CUT_OR_EDITED), Place(str(path))
    _check_version(notes, place)
    _check_kinds(notes, place)
    # An edited version must not get a file around the check.
    if ("digest" in notes or notes["version"] >= _WITH_DIGEST) and notes.get("digest") != digest_of(notes):
        raise InputError(
            "these are not the settings that the model was saved with", place=place, hint=CUT_OR_EDITED
        )
    return notes


def _check_version(notes: dict[str, Any], place: Place) -> None:
    if notes.get("format") != FORMAT:
        raise InputError(
            "not the settings of a model, or cut short",
            place=place,
            hint="`reshuffle train FACTS -o DIR` writes a model",
        )
    version = notes.get("version", "unknown")
    if type(version) is not int or version not in VERSIONS:
        raise InputError(
            f"a model of version {version}; this reshuffle reads versions {', '.join(map(str, VERSIONS))}",
            place=place,
            hint="train it again, or use the reshuffle that wrote it",
        )


def _check_kinds(notes: dict[str, Any], place: Place) -> None:
    missing = [name for name in _KINDS if name not in notes]
    if missing:
        raise InputError(f"cut short: {', '.join(missing)} missing", place=place, hint=CUT_OR_EDITED)
    kinds = {**_KINDS, "injected": _TABLE} if "injected" in notes else _KINDS
    for name, (kind, wanted) in kinds.items():
        value = notes[name]
        names = value if isinstance(value, list) else []
        if type(value) is not kind or not all(isinstance(one, str) for one in names):
            raise InputError(f"{name} is {value!r}; it must be {wanted}", place=place, hint=CUT_OR_EDITED)
