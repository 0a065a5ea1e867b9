"""Makes a rule base of what a caller hands over; a wrong argument is one clear error, not a missing attribute."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from typing import TypeAlias

from reshuffle.errors import InputError
from reshuffle.rules.rule import Disjointness, IntersectionRule, PathRule, Rule, RuleBase

Rules: TypeAlias = RuleBase | Iterable[Rule | Disjointness]

_SHOWN = 30


def as_rules(given: Rules) -> RuleBase:
    """A rule base of any collection of rules and constraints.

    >>> from reshuffle.rules import parse_rules
    >>> as_rules([PathRule(("a",), "b")]) == parse_rules("a(X, Y) -> b(X, Y)")
    True
    """
    if isinstance(given, RuleBase):
        return given
    if isinstance(given, str | PathLike) or not isinstance(given, Iterable):
        raise _no_rules(f"found {_shown(given)}")
    rules: list[Rule] = []
    disjointness: list[Disjointness] = []
    for item in given:
        if isinstance(item, Disjointness):
            disjointness.append(item)
        elif isinstance(item, PathRule | IntersectionRule):
            rules.append(item)
        else:
            raise _no_rules(f"found {_shown(item)} among the rules")
    return RuleBase(tuple(rules), tuple(disjointness))


def _no_rules(found: str) -> InputError:
    return InputError(
        f"{found}, expected rules",
        hint="parse_rules(text) takes rules as text, reshuffle.rules.read_rules(path) reads a file",
    )


def _shown(given: object) -> str:
    """The argument as Python writes it; of a text of many lines only the opening."""
    if isinstance(given, str) and "\n" in given:
        return repr(given[:_SHOWN] + "...")
    return repr(given)
