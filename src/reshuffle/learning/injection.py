"""Injection: choose rules of a rule base that a model can represent, and add them to the model.

Exact geometry depends on the whole rule base, so not all mined rules can be added together. Rules are tried by
decreasing confidence; rules without a confidence come first, as they were written by hand. A rule is left out if with
it the rules before it would have no exact geometry, or if there are too few slots. The report names the rules that were
left out, with reasons.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import torch

from reshuffle.errors import BudgetError, ReshuffleError, did_you_mean
from reshuffle.kg.vocabulary import base_relation
from reshuffle.model.channels.registry import CHANNELS
from reshuffle.model.hardening import all_names
from reshuffle.model.injected import InjectedBlock
from reshuffle.progress import UNHEARD
from reshuffle.rulegraphs import constraints_for
from reshuffle.rules import RuleBase
from reshuffle.rules.classes import classify
from reshuffle.rules.parsing import as_rules
from reshuffle.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import Tensor

    from reshuffle.constraints import OrderingConstraints
    from reshuffle.learning.settings import Settings
    from reshuffle.model.architecture import Architecture
    from reshuffle.progress import Notes
    from reshuffle.rules import Rule
    from reshuffle.rules.parsing import Rules

InjectMode = Literal["frozen", "refine"]
MODES = get_args(InjectMode)
DEFAULT_SLOTS = 256
"""The slots of the frozen block. They cost little: most of its matrices are zero."""

_STRENGTH = 6.0  # added to the logits that rules choose: with 32 slots, such a row starts near 0.9
_NODES_PER_SLOT = 50  # rule graphs are built larger than they end up
_MOST_IN_VAIN = 40  # rule graphs that are built and do not fit into the slots
_SHOWN = 10
_REASONS = 3  # named where no rule could be taken


@dataclass(frozen=True)
class LeftOut:
    """A rule that was not taken, and why."""

    rule: Rule
    reason: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.reason}"


@dataclass(frozen=True)
class ChosenRules:
    """The rules that were taken, by falling confidence, their constraints, and the rules that were left out."""

    taken: RuleBase
    constraints: OrderingConstraints
    left_out: tuple[LeftOut, ...] = ()

    @property
    def relations(self) -> tuple[str, ...]:
        """The relations of the rules as facts use them."""
        return tuple(dict.fromkeys(map(base_relation, self.taken.relations)))

    def to_dict(self) -> dict[str, object]:
        """Plain data."""
        return {
            "taken": [str(rule) for rule in self.taken],
            "slots": self.constraints.num_slots,
            "left_out": [{"rule": str(one.rule), "reason": one.reason} for one in self.left_out],
        }

    def __str__(self) -> str:
        lines = [
            f"{counted(len(self.taken), 'rule')} injected, in {counted(self.constraints.num_slots, 'slot')}"
        ]
        if self.left_out:
            lines.append(f"{counted(len(self.left_out), 'rule')} left out")
            lines += [f"  {one}" for one in self.left_out[:_SHOWN]]
        if len(self.left_out) > _SHOWN:
            lines.append(f"  and {len(self.left_out) - _SHOWN:,} more")
        return "\n".join(lines)


def choose_rules(rules: RuleBase, *, slots: int = DEFAULT_SLOTS) -> ChosenRules:
    """The rules that can be injected together, best first.

    >>> from reshuffle.rules import parse_rules
    >>> print(choose_rules(parse_rules('''
    ...     a(X, Y) & b(Y, Z) -> c(X, Z)
    ...     a(X, Y) & c(Y, Z) & b(Z, Z1) -> c(X, Z1)
    ... ''')))
    1 rule injected, in 3 slots
    1 rule left out
      a(X, Y) & c(Y, Z) & b(Z, Z1) -> c(X, Z1): no exact geometry: `c` calls itself between other atoms: rule 2: ...
    """
    if slots < 1:
        raise ReshuffleError(f"{slots} slots for injected rules; there must be at least 1")
    ordered = sorted(rules.rules, key=_confidence, reverse=True)
    taken, left_out = _greedy(ordered, _Room(slots))
    base = RuleBase(tuple(taken))
    return ChosenRules(base, constraints_for(base), tuple(left_out))


def _confidence(rule: Rule) -> float:
    known = None if rule.quality is None else rule.quality.confidence
    return math.inf if known is None else known


def _greedy(
    rules: Sequence[Rule], why_not: Callable[[Sequence[Rule]], str | None]
) -> tuple[list[Rule], list[LeftOut]]:
    """Take each rule that `why_not` has nothing against, given those taken before.

    As most neighbours share their fate, steps double while all goes well and are halved where it does not: far fewer
    questions than one for each rule, and the same answer where leaving a rule out never makes others unfit.
    """
    taken: list[Rule] = []
    left_out: list[LeftOut] = []
    place, step = 0, 1
    while place < len(rules):
        some = rules[place : place + step]
        reason = why_not([*taken, *some])
        if reason is None:
            taken += some
            place, step = place + len(some), 2 * step
        elif len(some) == 1:
            left_out.append(LeftOut(some[0], reason))
            place += 1
        else:
            step = max(1, len(some) // 2)
    return taken, left_out


class _Room:
    """Says why rules cannot be taken together: no exact geometry, or more slots than there are.

    Counting slots takes time, for which the rule graph is built; so it stops trying when the slots are nearly full.
    """

    def __init__(self, slots: int) -> None:
        self._slots, self._in_vain = slots, 0

    def __call__(self, rules: Sequence[Rule]) -> str | None:
        if self._in_vain >= _MOST_IN_VAIN:
            return f"not tried: the {self._slots} slots were nearly full"
        base = RuleBase(tuple(rules))
        if base.constant_rules:
            return "a model learns relations, and this rule has constants"
        reason = classify(base).reason
        if reason is not None:
            return f"no exact geometry: {reason}"
        reason = self._why_no_slots(base)
        self._in_vain += reason is not None
        return reason

    def _why_no_slots(self, base: RuleBase) -> str | None:
        try:
            built = constraints_for(base, node_budget=_NODES_PER_SLOT * self._slots)
        except BudgetError:
            return f"too large: with it, far more than {self._slots} slots would be needed"
        if built.num_slots <= self._slots:
            return None
        return f"{counted(built.num_slots, 'slot')} would be needed with it, and there are {self._slots}"


# --- into a model -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Injection:
    """Rules on their way into a model: a frozen block of their own, or the start of the learned matrices."""

    rules: ChosenRules
    mode: InjectMode = "frozen"

    def to_dict(self) -> dict[str, object]:
        """Plain data."""
        return {"mode": self.mode, **self.rules.to_dict()}

    @property
    def needs_identity(self) -> bool:
        """Whether the learned matrices must have identities, to hold what the rules' constraints say."""
        return self.mode == "refine" and bool(self.rules.constraints.identities)

    def block(self, relations: Sequence[str]) -> InjectedBlock | None:
        """The frozen block, where the mode asks for one."""
        return InjectedBlock(self.rules.constraints, relations) if self.mode == "frozen" else None

    def start(self, relations: Sequence[str], num_slots: int) -> Tensor | None:  # relation slot slot+1
        """What is added to the first logits, where the rules are to be refined; the other slots are left to chance."""
        if self.mode == "frozen":
            return None
        constraints = self.rules.constraints
        names = all_names(relations, sorted(constraints.identities))
        logits = torch.zeros(len(names), num_slots, num_slots + 1)
        for number, name in enumerate(names):
            for slot in range(constraints.num_slots):
                source = constraints.source_of(name)[slot] if name in constraints.relation_ids else -1
                logits[number, slot, int(source)] = _STRENGTH  # -1, no constraint, is the last column
        return logits


def injection_of(
    rules: Rules | None,
    settings: Settings,
    *,
    mode: InjectMode = "frozen",
    slots: int | None = None,
    notes: Notes = UNHEARD,
) -> tuple[Injection | None, Settings]:
    """The rules that a model with such settings can be given, and the settings, changed where the rules ask for it."""
    if rules is None:
        _check_nothing_is_asked(mode, slots)
        return None, settings
    rules = as_rules(rules)
    if not len(rules):
        raise ReshuffleError(
            "there are no rules to inject", hint="give at least one rule, or leave out inject"
        )
    _check(mode, settings.architecture, slots)
    room = DEFAULT_SLOTS if mode == "frozen" else settings.architecture.num_slots
    injection = Injection(choose_rules(rules, slots=room if slots is None else slots), mode)
    if not len(injection.rules.taken):
        raise _none_fit(injection.rules)
    notes(str(injection.rules))
    if injection.needs_identity and not settings.architecture.identity:
        notes("the relation eq is switched on (identity = true): the constraints of these rules use it")
        settings = settings.changed(identity=True)
    return injection, settings


def _check_nothing_is_asked(mode: str, slots: int | None) -> None:
    """Refuse options of injection where no rules are given: they may have been forgotten."""
    if mode != "frozen" or slots is not None:
        raise ReshuffleError(
            "inject_mode and inject_slots need rules to inject, but there are none",
            hint="give inject=rules",
        )


def _none_fit(rules: ChosenRules) -> ReshuffleError:
    """Why no rule could be taken. Rules were asked for, so that a training without any is not what was meant."""
    lines = [f"{'the rule cannot' if len(rules.left_out) == 1 else 'none of the rules can'} be injected"]
    lines += [f"  {one}" for one in rules.left_out[:_REASONS]]
    if len(rules.left_out) > _REASONS:
        lines.append(f"  and {len(rules.left_out) - _REASONS:,} more")
    return ReshuffleError(
        "\n".join(lines), hint="allow more slots (--inject-slots, num_slots), or give other rules"
    )


def _check(mode: str, architecture: Architecture, slots: int | None) -> None:
    if mode not in MODES:
        raise ReshuffleError(
            f"unknown way to inject '{mode}'{did_you_mean(mode, MODES)}", hint="frozen or refine"
        )
    if mode == "frozen":
        if not CHANNELS[architecture.initial].per_query:
            raise ReshuffleError(
                "a frozen block needs a channel per query",
                hint="train with initial = 'head' (the recipe 'best'), or inject with the mode 'refine'",
            )
        return
    if architecture.row_function != "softmax":
        raise ReshuffleError("refining rules needs softmax rows", hint="train with row_function = 'softmax'")
    if slots is not None and slots > architecture.num_slots:
        raise ReshuffleError(
            f"{slots} slots to refine, and the model has {architecture.num_slots}",
            hint=f"train with num_slots = {slots} or more",
        )
