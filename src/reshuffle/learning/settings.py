"""All settings of a model and its training, flat, as a user writes them in TOML or passes them by name."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, get_args, get_type_hints

from reshuffle.errors import InputError, Place, ReshuffleError, did_you_mean
from reshuffle.model.architecture import Architecture
from reshuffle.model.evidence import LOCAL

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Redraw = Literal["once", "step", "call"]
Schedule = Literal["constant", "linear"]
Metric = Literal["hits@10", "mrr"]
Prior = Literal["equal", "examples"]
LossKind = Literal["margin", "softmax"]

Recipe = Literal["best", "paper"]
RECIPES = get_args(Recipe)

_RESULTS = ("paper", "validation")
"""Tables that may stand below settings: what the paper reports for them, and what a search measured."""


@dataclass(frozen=True)
class TrainingSettings:
    """How to train. The defaults are the paper's where it says; `redraw` and `hide_targets` it does not say.

    `recipes.py` has the better ones.
    """

    learning_rate: float = 0.01
    margin: float = 1.0
    num_negatives: int = 100
    batch_size: int = 1024
    max_epochs: int = 1000
    look_every: int = 10
    patience: int = 10
    relative_delta: float = 0.01
    redraw: Redraw = "step"
    hide_targets: bool = False
    drop_facts: float = 0.0  # with a channel per query: at most this share of the other facts is hidden, too
    loss: LossKind = "margin"
    epoch_steps: int = 0  # steps that make an epoch; 0: as many as a pass over all triples needs
    schedule: Schedule = "constant"  # "linear": the learning rate falls to a tenth over max_epochs
    max_gradient: float = 0.0  # longer gradients are shortened to this; 0: never
    evidence_decay: float = 0.001  # how strongly free weights of evidence are pulled to 0
    evidence_prior: Prior = "equal"  # "examples": divided by how many examples the relation has
    select_by: Metric = "hits@10"  # of the validation triples: what the best epoch is best in
    seed: int = 1


@dataclass(frozen=True)
class Settings:
    """The shape of the model and how to train it."""

    architecture: Architecture = field(default_factory=Architecture)
    training: TrainingSettings = field(default_factory=TrainingSettings)

    @classmethod
    def of(cls, recipe: str, **changes: Any) -> Settings:
        """Those of a recipe, with some changed.

        >>> Settings.of("best", num_slots=16).training.hide_targets
        True
        """
        if not isinstance(recipe, str):  # as a file or --set may have it
            raise ReshuffleError(f"setting 'recipe' is {recipe!r}; it must be one of {', '.join(RECIPES)}")
        return cls().changed(**{**recipe_changes(recipe), **changes})

    def changed(self, **changes: Any) -> Settings:
        """With some settings changed, by name; an unknown name or a value of the wrong kind is refused.

        `recipe` is a name, too: it sets all that belongs to the recipe, and what else is given is changed on top.

        >>> Settings().changed(num_slots=25, margin=2.0).architecture.num_slots
        25
        >>> Settings().changed(num_slot=25)
        Traceback (most recent call last):
          ...
        reshuffle.errors.ReshuffleError: unknown setting 'num_slot'; did you mean 'num_slots' or 'num_hops'?
        """
        if "recipe" in changes:
            return Settings.of(changes.pop("recipe"), **changes)
        architecture, training = self.architecture, self.training
        for name, value in changes.items():
            if name in _names(Architecture):
                architecture = replace(architecture, **{name: _checked(Architecture, name, value)})
            elif name in _names(TrainingSettings):
                training = replace(training, **{name: _checked(TrainingSettings, name, value)})
            else:
                raise ReshuffleError(
                    f"unknown setting '{name}'{did_you_mean(name, ['recipe', *setting_names()])}"
                )
        return Settings(architecture, training)

    def __str__(self) -> str:
        """The nearest recipe, and what is changed on it.

        >>> print(Settings.of("best", num_slots=16, seed=2))
        recipe 'best', num_slots=16, seed=2
        """
        changes = {recipe: self._changes_on(recipe) for recipe in RECIPES}
        recipe = min(RECIPES, key=lambda name: len(changes[name]))
        return ", ".join(
            [f"recipe '{recipe}'", *(f"{name}={value!r}" for name, value in changes[recipe].items())]
        )

    def _changes_on(self, recipe: str) -> dict[str, Any]:
        base = Settings.of(recipe).to_dict()
        return {name: value for name, value in self.to_dict().items() if value != base[name]}

    def to_dict(self) -> dict[str, Any]:
        """Flat: name to value."""
        return {
            name: getattr(part, name)
            for part in (self.architecture, self.training)
            for name in _names(type(part))
        }


def setting_names() -> list[str]:
    """Every setting there is."""
    return [*_names(Architecture), *_names(TrainingSettings)]


def _names(part: type[Architecture] | type[TrainingSettings]) -> list[str]:
    return [one.name for one in fields(part)]


def _checked(part: type, name: str, value: Any) -> Any:
    expected = get_type_hints(part)[name]
    choices = get_args(expected)
    if isinstance(value, list):
        value = tuple(value)
    if expected is float and type(value) is int:
        value = float(value)
    if choices and all(isinstance(choice, str) for choice in choices):
        if value not in choices:
            raise ReshuffleError(f"setting '{name}' is {value!r}; it must be one of {', '.join(choices)}")
    elif choices:
        _check_names(name, value, get_args(choices[0]))
    elif type(value) is not expected:
        raise ReshuffleError(f"setting '{name}' is {value!r}; it must be of type {expected.__name__}")
    check_range(name, value)
    return value


def _check_names(name: str, value: Any, known: Sequence[str]) -> None:
    """Several names; `known` are those there are, where not every name will do."""
    if type(value) is not tuple or not all(isinstance(one, str) for one in value):
        shown = list(value) if isinstance(value, tuple) else value
        raise ReshuffleError(f"setting '{name}' is {shown!r}; it must be a list of names")
    for one in value:
        if known and one not in known:
            raise ReshuffleError(f"setting '{name}' names {one!r}; it must be of {', '.join(known)}")


# --- recipes ---

_CHANGES: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "paper": MappingProxyType({}),
        # One setting for all data sets, chosen on training graphs (docs/explanation/accuracy.md). The last epoch is
        # kept: validation triples are about entities of the training graph, and would choose one too early.
        "best": MappingProxyType(
            {
                "initial": "head",
                "num_slots": 32,
                "num_layers": 6,
                "identity": False,
                "slot_weights": True,
                "evidence": ("unary", "proximity", "paths", "negative"),
                "direct_facts": "both",
                "hide_targets": True,
                "loss": "softmax",
                "batch_size": 64,
                "learning_rate": 0.01,
                "schedule": "linear",
                "max_gradient": 1.0,
                "evidence_decay": 50.0,
                "evidence_prior": "examples",
                "epoch_steps": 100,
                "max_epochs": 16,
                "look_every": 16,
                "select_by": "mrr",
                "relative_delta": 0.0,
            }
        ),
    }
)


def recipe_changes(name: str) -> Mapping[str, Any]:
    """What a recipe sets; everything else is as the paper has it."""
    if name not in RECIPES:
        raise ReshuffleError(
            f"unknown recipe '{name}'{did_you_mean(name, RECIPES)}\n  hint: one of {', '.join(RECIPES)}"
        )
    return _CHANGES[name]


# --- ranges ---

LEAST: Mapping[str, int] = MappingProxyType(
    {
        "num_slots": 0,  # constraints of no rules have none; training asks for one
        "num_channels": 1,
        "num_layers": 0,
        "probability": 0,
        "margin": 0,
        "num_negatives": 1,
        "batch_size": 1,
        "max_epochs": 0,
        "look_every": 1,
        "patience": 1,
        "relative_delta": 0,
        "num_hops": 0,
        "drop_facts": 0,
        "epoch_steps": 0,
        "max_gradient": 0,
        "evidence_decay": 0,
        "seed": 0,
    }
)
MOST: Mapping[str, int] = MappingProxyType({"probability": 1, "drop_facts": 1, "seed": 2**63 - 1})
POSITIVE = frozenset({"learning_rate"})


def check_range(name: str, value: object) -> None:
    """Refuse a number that makes no sense; NaN, which compares with nothing, is one."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return
    if not math.isfinite(value):
        raise _refused(name, value, "a finite number")
    if name in POSITIVE and value <= 0:
        raise _refused(name, value, "more than 0")
    if value < LEAST.get(name, value):
        raise _refused(name, value, f"at least {LEAST[name]}")
    if value > MOST.get(name, value):
        raise _refused(name, value, f"at most {MOST[name]}")


def check_trainable(num_slots: int) -> None:
    """Without slots there is nothing to learn."""
    if num_slots < 1:
        raise _refused("num_slots", num_slots, "at least 1 to train")


def _refused(name: str, value: float, wanted: str) -> ReshuffleError:
    return ReshuffleError(f"setting '{name}' is {value!r}; it must be {wanted}")


def check_settings(architecture: Architecture, settings: TrainingSettings) -> None:
    """Refuse what no training can do, before anything is computed."""
    if architecture.initial == "private":
        raise ReshuffleError(
            "private initial states cannot be trained with: in one step only few entities would have a channel\n"
            "  hint: train with 'bits', and answer with model.on(graph, initial='private')"
        )
    if architecture.initial != "head" and architecture.slot_weights:
        raise ReshuffleError(
            "slot_weights need a channel per query\n"
            "  hint: train with initial = 'head', or with slot_weights = false"
        )
    if architecture.initial != "head" and settings.drop_facts:
        raise ReshuffleError(
            "drop_facts needs a channel per query\n"
            "  hint: train with initial = 'head', or with drop_facts = 0"
        )
    distant = [kind for kind in architecture.evidence if kind not in LOCAL]
    if architecture.initial != "head" and distant:
        raise ReshuffleError(
            f"evidence from {' and '.join(distant)} needs a channel per query\n"
            f"  hint: train with initial = 'head', or with evidence = {json.dumps(LOCAL)} alone"
        )
    for name in ("batch_size", "num_negatives", "look_every"):
        if getattr(settings, name) < 1:
            raise ReshuffleError(f"setting '{name}' is {getattr(settings, name)}; it must be at least 1")


# --- files ---


def read_settings(path: str | Path, base: Settings | None = None, *, recipe: str | None = None) -> Settings:
    """Settings from a TOML file of `name = value` lines; a `recipe` takes the place of the one the file names."""
    values = settings_in(path)
    if recipe is not None:
        values["recipe"] = recipe
    try:
        return (base or Settings()).changed(**values)
    except ReshuffleError as error:
        raise InputError(
            str(error), place=Place(str(path)), hint=f"the settings are recipe, {', '.join(setting_names())}"
        ) from error


def settings_in(path: str | Path) -> dict[str, Any]:
    """The settings that a TOML file gives, as they stand there."""
    values = read_toml(path)
    tables = [name for name, value in values.items() if isinstance(value, dict)]
    for table in tables:
        if table not in _RESULTS:
            raise InputError(
                f"settings stand at the top of the file, not under [{table}]",
                place=Place(str(path)),
                hint="move the lines of settings up, before the first table",
            )
    return {name: value for name, value in values.items() if name not in tables}


def setting_from_text(text: str) -> tuple[str, Any]:
    """`key=value` as typed on a command line; what is not a TOML value is taken as a word.

    >>> setting_from_text("margin=0.5"), setting_from_text("initial=official")
    (('margin', 0.5), ('initial', 'official'))
    """
    name, equals, value = text.partition("=")
    if not equals:
        raise ReshuffleError(f"'{text}' is not a setting\n  hint: write key=value, such as num_slots=30")
    try:
        return name.strip(), tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return name.strip(), value.strip()


def read_toml(path: str | Path, *, hint: str = "one `name = value` per line") -> dict[str, Any]:
    """A TOML file, or one clear error; `hint` says what to do about a file that is none."""
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", place=Place(str(path))) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"not TOML: {error}", place=Place(str(path)), hint=hint) from error
