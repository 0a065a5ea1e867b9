"""A model on disk: a directory with `model.safetensors` (arrays) and `settings.toml` (everything else).

Where rules were injected, `injected.json` holds their constraints and `injected.rules` the rules as a text.

Each file is written whole, and the settings name the digest of the arrays they belong to, so that a directory that was
being written when the power went is told from a good one. Nothing is ever unpickled.

| version | what is new |
| --- | --- |
| 2 | a hardened model keeps `path_matrices`, the soft matrices that its "paths" evidence sees |
| 3 | the settings have a digest of their own |

All of them are read; the last is written.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save_file

from reshuffle.constraints import OrderingConstraints
from reshuffle.errors import InputError, Place, ReshuffleError
from reshuffle.evaluation.baselines.types import TypeBaseline
from reshuffle.kg import Vocabulary
from reshuffle.kg.io.files import made_directory, written_whole
from reshuffle.learning.injection import MODES, ChosenRules, Injection
from reshuffle.learning.settings import Settings, read_toml
from reshuffle.model.reshuffle import ReshuffleModel, numbers_of
from reshuffle.model.scoring import Calibration
from reshuffle.rules import RuleBase, write_rules

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor

ARRAYS, SETTINGS = "model.safetensors", "settings.toml"
INJECTED, INJECTED_RULES = "injected.json", "injected.rules"
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

# Arrays beside the parameters of the model, and how the names of the arrays of its path matrices begin.
_TYPES, _CALIBRATION = "types.confidences", "calibration"
_PATH_MATRICES = "path_matrices."


@dataclass(frozen=True)
class StoredModel:
    """What a model directory holds."""

    relations: tuple[str, ...]
    identities: tuple[str, ...]
    settings: Settings
    model: ReshuffleModel
    types: TypeBaseline | None = None  # of the training facts
    calibration: Calibration | None = None
    heads_through_inverse: bool = True
    training: dict[str, Any] = field(default_factory=dict)  # how it came about; for people
    injection: Injection | None = None


def save_model(stored: StoredModel, directory: str | Path) -> None:
    """Write both files; those of an older model are replaced."""
    folder = made_directory(directory)
    arrays = dict(stored.model.state_dict())
    if stored.types is not None:
        arrays[_TYPES] = torch.from_numpy(stored.types.stored())
    if stored.calibration is not None:
        arrays[_CALIBRATION] = stored.calibration.to_array()
    with written_whole(folder / ARRAYS) as aside:
        save_file({name: array.contiguous().cpu() for name, array in arrays.items()}, aside)
        digest = _digest(aside)
    top: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSIONS[-1],
        "relations": stored.relations,
        "identities": stored.identities,
        "heads_through_inverse": stored.heads_through_inverse,
        "arrays": digest,
    }
    tables = {"settings": stored.settings.to_dict(), "training": stored.training}
    if stored.injection is not None:
        tables["injected"] = _save_injection(stored.injection, folder)
    top["digest"] = _digest_of_values({**top, **tables})
    with written_whole(folder / SETTINGS) as aside:
        aside.write_text(to_toml(top, tables), encoding="utf-8")


def load_model(directory: str | Path) -> StoredModel:
    """Read what `save_model` wrote; anything else is one clear error."""
    folder = Path(directory)
    for file in (folder / SETTINGS, folder / ARRAYS):
        if not file.is_file():
            raise InputError(
                f"not a model directory: it has no {file.name}",
                place=Place(str(directory)),
                hint="`reshuffle train FACTS -o DIR` writes one",
            )
    values = _read_values(folder / SETTINGS)
    arrays = _read_arrays(folder / ARRAYS, values["arrays"])
    relations, identities = tuple(values["relations"]), tuple(values["identities"])
    settings = _settings(values["settings"], Place(str(folder / SETTINGS)))
    injection = _load_injection(values["injected"], folder) if "injected" in values else None
    calibration, types = arrays.pop(_CALIBRATION, None), arrays.pop(_TYPES, None)
    return StoredModel(
        relations,
        identities,
        settings,
        _restored(arrays, settings, relations, len(identities), injection, Place(str(directory))),
        None
        if types is None
        else TypeBaseline.from_stored(Vocabulary(relations, kind="relation"), types.numpy()),
        Calibration.of_array(calibration),
        values["heads_through_inverse"],
        values["training"],
        injection,
    )


def _restored(
    arrays: dict[str, Tensor],
    settings: Settings,
    relations: tuple[str, ...],
    num_identities: int,
    injection: Injection | None,
    place: Place,
) -> ReshuffleModel:
    """A module of the shape that the settings ask for, with the parameters of the arrays."""
    model = ReshuffleModel(
        len(relations),
        settings.architecture,
        symmetric=numbers_of(settings.architecture.symmetric, relations),
        num_identities=num_identities,
        injected=None if injection is None else injection.block(relations),
    )
    if any(name.startswith(_PATH_MATRICES) for name in arrays):
        model.keep_path_matrices()
    try:
        model.load_state_dict(arrays)
    except RuntimeError as error:
        raise InputError(
            "the arrays do not have the shapes that the settings ask for",
            place=place,
            hint="the settings were changed after they were written; train the model again",
        ) from error
    return model


def _save_injection(injection: Injection, folder: Path) -> dict[str, Any]:
    """Write the rules and their constraints; the settings keep the mode and the digest of the constraints."""
    write_rules(injection.rules.taken, folder / INJECTED_RULES, format="text")
    injection.rules.constraints.save(folder / INJECTED)
    return {"mode": injection.mode, "constraints": _digest(folder / INJECTED)}


def _load_injection(notes: dict[str, Any], folder: Path) -> Injection:
    path = folder / INJECTED
    constraints = OrderingConstraints.load(path)
    if _digest(path) != notes.get("constraints") or notes.get("mode") not in MODES:
        raise InputError(
            f"these injected rules do not belong to the {SETTINGS} beside them",
            place=Place(str(path)),
            hint="one of the two was replaced, or writing them was interrupted; train the model again",
        )
    return Injection(ChosenRules(constraints.rules or RuleBase(()), constraints), notes["mode"])


def _digest(path: Path) -> str:
    """The digest of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _read_arrays(path: Path, digest: str) -> dict[str, Tensor]:
    content = path.read_bytes()
    try:
        arrays: dict[str, Tensor] = load(content)
    except SafetensorError as error:
        raise InputError(
            f"damaged or cut short ({error})", place=Place(str(path)), hint="train the model again"
        ) from error
    if hashlib.sha256(content).hexdigest() != digest:
        raise InputError(
            f"these arrays do not belong to the {SETTINGS} beside them",
            place=Place(str(path)),
            hint="one of the two was replaced, or writing them was interrupted; train the model again",
        )
    return arrays


# --- settings.toml ------------------------------------------------------------------------------------------------


def _digest_of_values(values: Mapping[str, Any]) -> str:
    """The digest of all values but the digest itself, however they are laid out in the file."""
    others = {name: value for name, value in values.items() if name != "digest"}
    return hashlib.sha256(json.dumps(others, sort_keys=True, default=str).encode()).hexdigest()


def _read_values(path: Path) -> dict[str, Any]:
    """What the file says, checked before anything is made of it.

    The arrays of a model mean nothing without the settings they were trained with, and with others they would give
    other answers without a word. So the file holds a digest of what it says; comments and blank lines may be added.
    """
    values, place = read_toml(path, hint=CUT_OR_EDITED), Place(str(path))
    _check_version(values, place)
    _check_kinds(values, place)
    # An edited version must not get a file around the check.
    checked = "digest" in values or values["version"] >= _WITH_DIGEST
    if checked and values.get("digest") != _digest_of_values(values):
        raise InputError(
            "these are not the settings that the model was saved with", place=place, hint=CUT_OR_EDITED
        )
    return values


def _settings(values: dict[str, Any], place: Place) -> Settings:
    """The settings of the model; older files do not have all of them."""
    try:
        return Settings().changed(**values).as_a_whole()
    except ReshuffleError as error:
        raise InputError(
            str(error), place=place, hint=f"written by a newer reshuffle, or {CUT_OR_EDITED}"
        ) from error


def _check_version(values: dict[str, Any], place: Place) -> None:
    if values.get("format") != FORMAT:
        raise InputError(
            "not the settings of a model, or cut short",
            place=place,
            hint="`reshuffle train FACTS -o DIR` writes a model",
        )
    version = values.get("version", "unknown")
    if type(version) is not int or version not in VERSIONS:
        raise InputError(
            f"a model of version {version}; this reshuffle reads versions {', '.join(map(str, VERSIONS))}",
            place=place,
            hint="train it again, or use the reshuffle that wrote it",
        )


def _check_kinds(values: dict[str, Any], place: Place) -> None:
    missing = [name for name in _KINDS if name not in values]
    if missing:
        raise InputError(f"cut short: {', '.join(missing)} missing", place=place, hint=CUT_OR_EDITED)
    kinds = {**_KINDS, "injected": _TABLE} if "injected" in values else _KINDS
    for name, (kind, wanted) in kinds.items():
        value = values[name]
        names = value if isinstance(value, list) else []
        if type(value) is not kind or not all(isinstance(one, str) for one in names):
            raise InputError(f"{name} is {value!r}; it must be {wanted}", place=place, hint=CUT_OR_EDITED)


def to_toml(top: dict[str, Any], tables: dict[str, dict[str, Any]] | None = None) -> str:
    """TOML of plain values, lists of them, and one level of tables.

    >>> print(to_toml({"margin": 0.5, "names": ["a", "b"]}, {"best": {"epoch": 10}}))
    margin = 0.5
    names = ["a", "b"]
    <BLANKLINE>
    [best]
    epoch = 10
    <BLANKLINE>
    """
    parts = [_lines(top), *(f"[{name}]\n{_lines(values)}" for name, values in (tables or {}).items())]
    return "\n\n".join(parts) + "\n"


def _lines(values: dict[str, Any]) -> str:
    return "\n".join(f"{_key(name)} = {_value(value)}" for name, value in values.items())


def _key(name: str) -> str:
    return name if name.replace("_", "").isalnum() else _value(name)


def _value(value: Any) -> str:
    # JSON's numbers, strings, truth values and lists are TOML's, but for the one control character it leaves as it is.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
