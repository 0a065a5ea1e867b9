"""A model on disk: a directory with `model.safetensors` (arrays) and `settings.toml` (everything else).

Where rules were injected, `injected.json` holds their constraints and `injected.rules` the rules as a text. Where a
rule list counts beside the model, `list.rules` holds it, in the text of rule models.

All files change at one moment. The settings name the digests of the arrays and of the injected rules. New files are
first written beside the old ones, with their digest in the name. Then the settings are replaced, and from then on the
new files are the model. At last they get the plain names of the old ones. A reader finds each file by its plain name or
by its digest, even after a kill. Nothing is ever unpickled.

| version | what is new |
| --- | --- |
| 2 | a hardened model keeps `path_matrices`, the soft matrices that its "paths" evidence sees |
| 3 | the settings have a digest of their own; a rule list may stand beside the model |

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
from safetensors.torch import load, save

from reshuffle.constraints import OrderingConstraints
from reshuffle.errors import InputError, Place, ReshuffleError
from reshuffle.evaluation.baselines.types import TypeBaseline
from reshuffle.kg import Vocabulary
from reshuffle.kg.io.files import flush_to_disk, made_directory, written_whole
from reshuffle.kg.io.toml import read_toml
from reshuffle.learning.injection import MODES, ChosenRules, Injection
from reshuffle.learning.settings import Settings
from reshuffle.locks import alone_in
from reshuffle.model.reshuffle import ReshuffleModel, numbers_of
from reshuffle.model.scoring import Calibration
from reshuffle.rulelist.model_text import model_text, parse_rule_model
from reshuffle.rules import RuleBase, write_rules

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor

    from reshuffle.rulelist.rule_model import RuleModel

ARRAYS, SETTINGS = "model.safetensors", "settings.toml"
INJECTED, INJECTED_RULES = "injected.json", "injected.rules"
LISTED = "list.rules"
FORMAT = "reshuffle-model"
VERSIONS = (1, 2, 3)
CUT_OR_EDITED = (
    "cut short or edited; train again or copy it again. Settings of a trained model cannot be changed: "
    "they say what its arrays mean"
)

_DIGITS = 16  # of a digest in the name of a file
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
_MATRICES = "matrices.logits"
# What a file may ask for, beyond all that was ever trained: some memory is taken before the arrays are compared.
_LARGEST = MappingProxyType(
    {"num_slots": 10_000, "num_layers": 10_000, "num_hops": 10_000, "num_channels": 1_000_000}
)


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
    listed: RuleModel | None = None


def save_model(stored: StoredModel, directory: str | Path) -> None:
    """Write the files; those of an older model are replaced, all at one moment."""
    folder = made_directory(directory)
    with alone_in(folder, "training"):
        parts = {ARRAYS: _arrays(stored)}
        if stored.injection is not None:
            parts[INJECTED] = stored.injection.rules.constraints.to_bytes()
        if stored.listed is not None:
            parts[LISTED] = model_text(stored.listed).encode()
        digests = {name: _digest(content) for name, content in parts.items()}
        for name, content in parts.items():
            with written_whole(folder / _beside(name, digests[name])) as aside:
                aside.write_bytes(content)
        with written_whole(folder / SETTINGS) as aside:
            aside.write_text(_settings_text(stored, digests), encoding="utf-8")
        _take_plain_names(folder, digests)
        if stored.injection is not None:
            write_rules(stored.injection.rules.taken, folder / INJECTED_RULES, format="text")


def _arrays(stored: StoredModel) -> bytes:
    arrays = dict(stored.model.state_dict())
    if stored.types is not None:
        arrays[_TYPES] = _halves_swapped(torch.from_numpy(stored.types.confidences))
    if (fitted := stored.calibration) is not None:
        arrays[_CALIBRATION] = torch.tensor([fitted.slope, fitted.intercept], dtype=torch.float64)
    return save({name: array.contiguous().cpu() for name, array in arrays.items()})


def _halves_swapped(confidences: Tensor) -> Tensor:  # role role
    """In files the roles of heads come first, in `TypeBaseline` those of tails; either way to the other."""
    return confidences.roll((len(confidences) // 2,) * 2, dims=(0, 1))


def _settings_text(stored: StoredModel, digests: Mapping[str, str]) -> str:
    top: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSIONS[-1],
        "relations": stored.relations,
        "identities": stored.identities,
        "heads_through_inverse": stored.heads_through_inverse,
        "arrays": digests[ARRAYS],
    }
    tables = {"settings": stored.settings.to_dict(), "training": stored.training}
    if stored.injection is not None:
        tables["injected"] = {"mode": stored.injection.mode, "constraints": digests[INJECTED]}
    if stored.listed is not None:
        tables["listed"] = {"rules": digests[LISTED]}
    top["digest"] = _digest_of_values({**top, **tables})
    return to_toml(top, tables)


def _beside(name: str, digest: str) -> str:
    """The name of a file until it has its plain one."""
    return f"{Path(name).stem}.{digest[:_DIGITS]}{Path(name).suffix}"


def _take_plain_names(folder: Path, digests: Mapping[str, str]) -> None:
    """Rename the files that the settings name now, and remove what is left of other models."""
    for name, digest in digests.items():
        (folder / _beside(name, digest)).replace(folder / name)
    for name in (ARRAYS, INJECTED, LISTED):
        for left in folder.glob(f"{Path(name).stem}.{'[0-9a-f]' * _DIGITS}{Path(name).suffix}"):
            left.unlink()
    for name, part in ((INJECTED, INJECTED), (INJECTED_RULES, INJECTED), (LISTED, LISTED)):
        if part not in digests:
            (folder / name).unlink(missing_ok=True)
    flush_to_disk(folder)


def _found(folder: Path, name: str, digest: str) -> Path:
    """The file that the settings name: by its plain name, or by its digest where saving was cut off."""
    beside = folder / _beside(name, digest)
    return beside if beside.is_file() else folder / name


def load_model(directory: str | Path) -> StoredModel:
    """Read what `save_model` wrote; anything else is one clear error."""
    folder = Path(directory)
    tried: set[tuple[int, int] | None] = set()
    while True:
        stamp = _stamp(folder)
        try:
            return _loaded(folder)
        except (InputError, FileNotFoundError):
            # Another process may be saving a model: then files are of two models, or get their plain names.
            if stamp in tried:
                raise
            tried.add(stamp)


def _stamp(folder: Path) -> tuple[int, int] | None:
    """What tells one file of settings from another."""
    try:
        found = (folder / SETTINGS).stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def _loaded(folder: Path) -> StoredModel:
    if not (folder / SETTINGS).is_file():
        raise _no_model(folder, SETTINGS)
    values = _read_values(folder / SETTINGS)
    arrays_path = _found(folder, ARRAYS, values["arrays"])
    if not arrays_path.is_file():
        raise _no_model(folder, ARRAYS)
    arrays = _read_arrays(arrays_path, values["arrays"])
    relations, identities = tuple(values["relations"]), tuple(values["identities"])
    settings = _settings(values["settings"], Place(str(folder / SETTINGS)))
    _check_arrays(arrays, settings.architecture.num_slots, len(relations), Place(str(folder / ARRAYS)))
    injection = _load_injection(values["injected"], folder) if "injected" in values else None
    calibration, types = arrays.pop(_CALIBRATION, None), arrays.pop(_TYPES, None)
    confidences = None if types is None else _halves_swapped(types).numpy()
    return StoredModel(
        relations,
        identities,
        settings,
        _restored(arrays, settings, relations, len(identities), injection, Place(str(folder))),
        None if confidences is None else TypeBaseline(Vocabulary(relations, kind="relation"), confidences),
        None if calibration is None else Calibration(*calibration.tolist()),
        values["heads_through_inverse"],
        values["training"],
        injection,
        _load_listed(values["listed"], folder) if "listed" in values else None,
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
            "the shapes of the arrays do not match the settings",
            place=place,
            hint="the settings were edited; train the model again",
        ) from error
    return model


def _no_model(folder: Path, missing: str) -> InputError:
    return InputError(
        f"not a model directory: it has no {missing}",
        place=Place(str(folder)),
        hint="`reshuffle train FACTS -o DIR` writes one",
    )


def _load_injection(notes: dict[str, Any], folder: Path) -> Injection:
    path = _found(folder, INJECTED, str(notes.get("constraints")))
    constraints = OrderingConstraints.load(path)
    if _digest(path.read_bytes()) != notes.get("constraints") or notes.get("mode") not in MODES:
        raise InputError(
            f"these injected rules do not match the {SETTINGS} in the same directory",
            place=Place(str(path)),
            hint="one of the files was replaced, or writing was interrupted; train the model again",
        )
    return Injection(ChosenRules(constraints.rules or RuleBase(()), constraints), notes["mode"])


def _load_listed(notes: dict[str, Any], folder: Path) -> RuleModel:
    path = _found(folder, LISTED, str(notes.get("rules")))
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(
            f"cannot be read: {error.strerror}", place=Place(str(path)), hint=CUT_OR_EDITED
        ) from error
    if _digest(content) != notes.get("rules"):
        raise InputError(
            f"this rule list does not match the {SETTINGS} in the same directory",
            place=Place(str(path)),
            hint="it was replaced or edited, or writing was interrupted. To edit rules, make a rule model: "
            "`reshuffle train FACTS -o DIR --recipe rules`, or `reshuffle distil`",
        )
    return parse_rule_model(content.decode(), file=str(path))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _read_arrays(path: Path, digest: str) -> dict[str, Tensor]:
    content = path.read_bytes()
    try:
        arrays: dict[str, Tensor] = load(content)
    except SafetensorError as error:
        raise InputError(
            f"damaged or cut short ({error})", place=Place(str(path)), hint="train the model again"
        ) from error
    if _digest(content) != digest:
        raise InputError(
            f"these arrays do not match the {SETTINGS} in the same directory",
            place=Place(str(path)),
            hint="one of the files was replaced, or writing was interrupted; train the model again",
        )
    return arrays


def _check_arrays(arrays: dict[str, Tensor], num_slots: int, num_relations: int, place: Place) -> None:
    """Refuse arrays of other shapes, and numbers that no training gives, before a model is made of them.

    So the matrices bound what the settings may ask for. The rows of hard matrices have logits of minus infinity, all
    but one; elsewhere a number that is not finite would come out as a score that is none.
    """
    roles = 2 * num_relations
    wanted = {_CALIBRATION: (2,), _TYPES: (roles, roles)}
    for name, array in arrays.items():
        is_matrix = name.endswith(_MATRICES)
        shape = (
            (len(array), num_slots, num_slots + 1)
            if is_matrix and array.ndim
            else wanted.get(name, array.shape)
        )
        if tuple(array.shape) != tuple(shape):
            raise InputError(
                "the shapes of the arrays do not match the settings: "
                f"{name} has {tuple(array.shape)}, expected {tuple(shape)}",
                place=place,
                hint=CUT_OR_EDITED,
            )
        highest = array.amax(dim=-1) if is_matrix and array.numel() else array
        if highest.isnan().any() or not highest.isfinite().all():
            raise InputError(
                f"the array {name} holds numbers that are not finite",
                place=place,
                hint="train the model again",
            )
    if _MATRICES not in arrays:
        raise InputError(f"there is no array {_MATRICES}", place=place, hint=CUT_OR_EDITED)


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
    for name, most in _LARGEST.items():
        if type(values.get(name)) is int and values[name] > most:
            raise InputError(
                f"{name} is {values[name]}; a model has at most {most}", place=place, hint=CUT_OR_EDITED
            )
    try:
        return Settings().changed(**values).as_a_whole()
    except ReshuffleError as error:
        raise InputError(
            str(error), place=place, hint=f"written by a newer reshuffle, or {CUT_OR_EDITED}"
        ) from error


def _check_version(values: dict[str, Any], place: Place) -> None:
    if values.get("format") != FORMAT:
        raise InputError(
            "not the settings of a model, or incomplete",
            place=place,
            hint="`reshuffle train FACTS -o DIR` writes a model",
        )
    version = values.get("version", "unknown")
    if type(version) is not int or version not in VERSIONS:
        raise InputError(
            f"a model of version {version}; this reshuffle reads versions {', '.join(map(str, VERSIONS))}",
            place=place,
            hint="train it again, or use the version of reshuffle that wrote it",
        )


def _check_kinds(values: dict[str, Any], place: Place) -> None:
    missing = [name for name in _KINDS if name not in values]
    if missing:
        raise InputError(f"cut short: {', '.join(missing)} missing", place=place, hint=CUT_OR_EDITED)
    tables: dict[str, tuple[type, str]] = {name: _TABLE for name in ("injected", "listed") if name in values}
    kinds = {**_KINDS, **tables}
    for name, (kind, wanted) in kinds.items():
        value = values[name]
        names = value if isinstance(value, list) else []
        if type(value) is not kind or not all(isinstance(one, str) for one in names):
            raise InputError(f"{name} is {value!r}; it must be {wanted}", place=place, hint=CUT_OR_EDITED)
        if len(set(names)) < len(names) or "" in names:
            raise InputError(f"{name} has a duplicate or empty name", place=place, hint=CUT_OR_EDITED)


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
