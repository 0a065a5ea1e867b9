"""All settings of a model and its training, flat, as a user writes them in TOML or passes them by name.

Each setting is declared once, as a field of `Architecture` or `TrainingSettings`: its type, default, range, help, and
the settings with which it has an effect. Settings start from a recipe (`reshuffle.learning.recipes`), and single ones
can be changed on it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, get_args, get_type_hints

from reshuffle.errors import InputError, Place, ReshuffleError, did_you_mean
from reshuffle.kg.io.toml import read_toml
from reshuffle.learning.recipes import RECIPES
from reshuffle.model.architecture import Architecture, Condition, about, random_channels

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from reshuffle.model.architecture import SettingInfo

Redraw = Literal["once", "step", "call"]
LossKind = Literal["margin", "softmax"]
Schedule = Literal["constant", "linear"]
Metric = Literal["hits@10", "mrr"]
Prior = Literal["equal", "examples"]

INJECTED = "injected"
"""No setting, but `evidence_decay` also holds for the weights of injected rules."""

_RESULTS = ("paper", "validation")
"""Tables allowed below settings: the results in the paper, and the results of a search."""

_LOOKS_AGAIN = Condition(
    ("look_every", "max_epochs"),
    lambda values: values["max_epochs"] > values["look_every"],
    "there is only one validation, at the end",
)
_HAS_EVIDENCE = Condition(
    ("evidence",), lambda values: bool(values["evidence"]) or values[INJECTED], "it is for evidence"
)


@dataclass(frozen=True)
class TrainingSettings:
    """How to train. The defaults are the paper's where it says; `redraw` and `hide_targets` it does not say."""

    learning_rate: float = field(default=0.01, metadata=about("learning rate of Adam", positive=True))
    margin: float = field(
        default=1.0,
        metadata=about(
            "margin of the ranking loss",
            least=0,
            when=Condition(
                ("loss",), lambda values: values["loss"] == "margin", "it is for the margin ranking loss"
            ),
        ),
    )
    num_negatives: int = field(
        default=100,
        metadata=about(
            "negatives per positive triple; with a channel per query all entities are negatives",
            least=1,
            when=random_channels("every other entity is a negative there"),
        ),
    )
    batch_size: int = field(default=1024, metadata=about("positive triples per step", least=1))
    max_epochs: int = field(default=1000, metadata=about("largest number of epochs", least=0))
    look_every: int = field(
        default=10,
        metadata=about(
            "epochs between validations; the best recipe validates once at the end and keeps the last epoch",
            least=1,
        ),
    )
    patience: int = field(
        default=10,
        metadata=about(
            "early stopping: validations without improvement before training stops",
            least=1,
            when=_LOOKS_AGAIN,
        ),
    )
    relative_delta: float = field(
        default=0.01,
        metadata=about(
            "early stopping: the smallest relative improvement that counts", least=0, when=_LOOKS_AGAIN
        ),
    )
    redraw: Redraw = field(
        default="step",
        metadata=about(
            'initial values are drawn "once", per "step", or per scoring "call"',
            when=random_channels("it is for random channels"),
        ),
    )
    hide_targets: bool = field(
        default=False, metadata=about("remove the batch's own triples from the graph while scoring them")
    )
    lone_facts: bool = field(
        default=True,
        metadata=about(
            "also train on facts whose head or tail has no other fact; with such a fact hidden, the entity "
            "has no facts, unlike the entities of later questions"
        ),
    )
    drop_facts: float = field(
        default=0.0,
        metadata=about(
            'largest share of the other facts that is removed in a step; needs "head"', least=0, most=1
        ),
    )
    rules_constants: bool = field(
        default=True,
        metadata=about("the rule list beside the model has rules about particular entities, too"),
    )
    loss: LossKind = field(default="margin", metadata=about('"margin" (the paper\'s) or "softmax"'))
    epoch_steps: int = field(
        default=0, metadata=about("steps per epoch; 0: one pass over all triples", least=0)
    )
    schedule: Schedule = field(
        default="constant",
        metadata=about('"constant", or "linear": the learning rate falls to a tenth'),
    )
    max_gradient: float = field(
        default=0.0, metadata=about("gradients are clipped to this norm; 0: never", least=0)
    )
    evidence_decay: float = field(
        default=0.001,
        metadata=about("strength of the L2 penalty on the weights of evidence", least=0, when=_HAS_EVIDENCE),
    )
    evidence_prior: Prior = field(
        default="equal",
        metadata=about(
            'the penalty is "equal" for all relations, or divided by the relation\'s number of "examples"',
            when=Condition(
                ("evidence", "evidence_decay"),
                lambda values: _HAS_EVIDENCE.holds(values) and values["evidence_decay"] > 0,
                "it is for the weight decay of evidence",
            ),
        ),
    )
    select_by: Metric = field(
        default="hits@10",
        metadata=about(
            'validation metric that selects the epoch to keep: "hits@10" or "mrr"', when=_LOOKS_AGAIN
        ),
    )
    seed: int = field(default=1, metadata=about("random seed", least=0, most=2**63 - 1))


@dataclass(frozen=True)
class _Setting:
    """A setting as it is declared."""

    part: str  # the field of `Settings` that holds it
    kind: Any
    info: SettingInfo


def _declared(part: str, settings: type) -> dict[str, _Setting]:
    kinds = get_type_hints(settings)
    return {one.name: _Setting(part, kinds[one.name], one.metadata["setting"]) for one in fields(settings)}


SETTINGS: Mapping[str, _Setting] = MappingProxyType(
    {**_declared("architecture", Architecture), **_declared("training", TrainingSettings)}
)


@dataclass(frozen=True)
class Settings:
    """The shape of the model and how to train it."""

    architecture: Architecture = field(default_factory=Architecture)
    training: TrainingSettings = field(default_factory=TrainingSettings)
    given: frozenset[str] = field(default=frozenset(), compare=False, repr=False)
    """The names of the settings that were passed one by one, and not by a recipe."""

    @classmethod
    def of(cls, recipe: str, **changes: Any) -> Settings:
        """The settings of a recipe, with some changed.

        >>> Settings.of("best", num_slots=16).training.hide_targets
        True
        """
        if not isinstance(recipe, str):  # as a file or --set may have it
            raise ReshuffleError(f"setting 'recipe' is {recipe!r}; it must be one of {', '.join(RECIPES)}")
        if recipe not in RECIPES:
            raise ReshuffleError(
                f"unknown recipe '{recipe}'{did_you_mean(recipe, RECIPES)}",
                hint=f"one of {', '.join(RECIPES)}",
            )
        return cls().changed(**RECIPES[recipe]).as_a_whole().changed(**changes)

    def changed(self, **changes: Any) -> Settings:
        """The same with some settings changed, by name; an unknown name or a value of the wrong kind is refused.

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
        parts: dict[str, dict[str, Any]] = {"architecture": {}, "training": {}}
        for name, value in changes.items():
            if name not in SETTINGS:
                raise ReshuffleError(f"unknown setting '{name}'{did_you_mean(name, ['recipe', *SETTINGS])}")
            parts[SETTINGS[name].part][name] = _checked(name, value)
        return Settings(
            replace(self.architecture, **parts["architecture"]),
            replace(self.training, **parts["training"]),
            self.given | changes.keys(),
        )

    def as_a_whole(self) -> Settings:
        """The same settings, as if none of them had been passed one by one."""
        return replace(self, given=frozenset())

    def __str__(self) -> str:
        """The nearest recipe, and what is changed on it.

        >>> print(Settings.of("best", num_slots=24, seed=2))
        recipe 'best', num_slots=24, seed=2
        """
        mine, bases = self.to_dict(), {recipe: Settings.of(recipe).to_dict() for recipe in RECIPES}
        changes = {
            recipe: [f"{name}={value!r}" for name, value in mine.items() if value != base[name]]
            for recipe, base in bases.items()
        }
        recipe = min(RECIPES, key=lambda name: len(changes[name]))
        return ", ".join([f"recipe '{recipe}'", *changes[recipe]])

    def to_dict(self) -> dict[str, Any]:
        """All settings, flat: name to value."""
        return {name: getattr(getattr(self, one.part), name) for name, one in SETTINGS.items()}

    def without_effect(self, names: Iterable[str], *, injected: bool = False) -> list[str]:
        """One note for each of some settings that changes nothing, given the others; `injected`: with frozen rules.

        >>> Settings.of("best").without_effect(["num_slots", "margin"])
        ["note: margin has no effect with loss = 'softmax' (it is for the margin ranking loss)"]
        """
        values = {**self.to_dict(), INJECTED: injected}
        return [
            f"note: {name} has no effect with {_shown(when.settings, values)} ({when.reason})"
            for name in SETTINGS
            if name in set(names) and (when := SETTINGS[name].info.when) and not when.holds(values)
        ]

    def notes(self, *, injected: bool = False) -> list[str]:
        """One note for each setting that was passed and has no effect.

        Where all settings were passed, as in the file that a search leaves, none is meant on its own.
        """
        return [] if self.given == SETTINGS.keys() else self.without_effect(self.given, injected=injected)

    def differences(
        self, stored: Mapping[str, Any], *, replaced: Mapping[str, Any] | None = None
    ) -> list[str]:
        """The settings with other values than stored ones, in words; a setting that came later had its default then.

        `replaced` are values to compare instead of these settings' own.
        """
        now = _as_stored({**self.to_dict(), **(replaced or {})})
        before = {**_as_stored(Settings().to_dict()), **stored}
        return [
            f"{name} = {value!r} (now {repr(now[name]) if name in now else 'gone'})"
            for name, value in before.items()
            if name not in now or value != now[name]
        ]


def _as_stored(values: dict[str, Any]) -> dict[str, Any]:
    """Lists for tuples, as JSON has it."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def _shown(names: Sequence[str], values: Mapping[str, Any]) -> str:
    plain = _as_stored(dict(values))
    return " and ".join(f"{name} = {plain[name]!r}" for name in names)


# --- checks -------------------------------------------------------------------------------------------------------


def _checked(name: str, value: Any) -> Any:
    """The value as it is kept; refused where it is of the wrong kind or out of range."""
    expected, choices = SETTINGS[name].kind, get_args(SETTINGS[name].kind)
    if isinstance(value, list):
        value = tuple(value)
    if expected is float and type(value) is int:
        value = float(value)
    if choices and all(isinstance(choice, str) for choice in choices):
        if value not in choices:
            raise refused(name, value, f"one of {', '.join(choices)}")
    elif choices:
        _check_names(name, value, get_args(choices[0]))
    elif type(value) is not expected:
        raise refused(name, value, f"of type {expected.__name__}")
    if isinstance(value, int | float) and not isinstance(value, bool):
        _check_range(name, value, SETTINGS[name].info)
    return value


def _check_names(name: str, value: Any, known: Sequence[str]) -> None:
    """Refuse what is no list of names; `known` are the names there are, where not every name will do."""
    if type(value) is not tuple or not all(isinstance(one, str) for one in value):
        raise refused(name, list(value) if isinstance(value, tuple) else value, "a list of names")
    for one in value:
        if known and one not in known:
            raise ReshuffleError(f"setting '{name}' names {one!r}; it must be of {', '.join(known)}")


def _check_range(name: str, value: float, info: SettingInfo) -> None:
    """Refuse a number that makes no sense; NaN, which compares with nothing, is one."""
    if not math.isfinite(value):
        raise refused(name, value, "a finite number")
    if info.positive and value <= 0:
        raise refused(name, value, "more than 0")
    if info.least is not None and value < info.least:
        raise refused(name, value, f"at least {info.least}")
    if info.most is not None and value > info.most:
        raise refused(name, value, f"at most {info.most}")


def refused(name: str, value: Any, wanted: str) -> ReshuffleError:
    """The error for a setting whose value will not do."""
    return ReshuffleError(f"setting '{name}' is {value!r}; it must be {wanted}")


# --- files --------------------------------------------------------------------------------------------------------


def read_settings(path: str | Path, base: Settings | None = None, *, recipe: str | None = None) -> Settings:
    """Settings from a TOML file of `name = value` lines; a `recipe` takes the place of the one the file names."""
    values = _settings_in(path)
    if recipe is not None:
        values["recipe"] = recipe
    try:
        return (base or Settings()).changed(**values)
    except ReshuffleError as error:
        raise InputError(
            str(error), place=Place(str(path)), hint=f"the settings are recipe, {', '.join(SETTINGS)}"
        ) from error


def _settings_in(path: str | Path) -> dict[str, Any]:
    """The settings that a TOML file gives, as they stand there."""
    values = read_toml(path)
    tables = [name for name, value in values.items() if isinstance(value, dict)]
    for table in tables:
        if table not in _RESULTS:
            raise InputError(
                f"settings must be at the top of the file, not under [{table}]",
                place=Place(str(path)),
                hint="move the lines of settings up, before the first table",
            )
    return {name: value for name, value in values.items() if name not in tables}
