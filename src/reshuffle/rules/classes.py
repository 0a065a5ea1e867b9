"""The class of a rule base, and for every class that does not fit a rule that shows why.

| class | means | exact geometry |
| --- | --- | --- |
| acyclic | no relation depends on itself | yes (the paper's first positive result) |
| left-regular | after the first atom only relations that no rule derives | yes (the paper's second) |
| right-regular | the mirror image | yes |
| regular | every recursion is left, right, or both for one relation (`r;r -> r` included) | yes |
| hierarchy-intersection | one-atom and intersection rules only | yes |
| mixed | regular paths and intersections, no intersection inside a longer path | yes |
| none | anything else | no: bounded, or the chase |

Whether the language of a context-free grammar is regular is undecidable, so "regular" is a syntactic class:
a base outside it may still have a rule graph, but nobody can decide that in general.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from reshuffle.rules.grammar import PathGrammar, Recursion, conjunctive_relations, strongly_connected

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from reshuffle.rules.grammar import Component, Production
    from reshuffle.rules.rule import IntersectionRule, PathRule, Rule, RuleBase

_MOST_NAMES = 4


@dataclass(frozen=True)
class Problem:
    """What keeps a rule base out of a class, and the rule that shows it."""

    text: str
    rule: Rule


@dataclass(frozen=True)
class Classification:
    """The first class that fits (or `none`), and for every class that does not fit the problem."""

    name: str
    problems: Mapping[str, Problem]
    ranking: tuple[str, ...] | None  # for acyclic bases: relations, bodies before heads
    base: RuleBase

    @property
    def faithful(self) -> bool:
        """Does an exact rule graph exist for this class?"""
        return self.name != "none"

    @cached_property
    def why_not(self) -> dict[str, str]:
        """For every class that does not fit the reason, with the rule that shows it as it was written."""
        return {name: f"{found.text}: {self._cited(found.rule)}" for name, found in self.problems.items()}

    @property
    def reason(self) -> str | None:
        """Why there is no exact geometry, or None where there is."""
        if self.faithful:
            return None
        return self.why_not["mixed"] if "intersection" in self.why_not["regular"] else self.why_not["regular"]

    def _cited(self, rule: Rule) -> str:
        """`rule 3: ...`, counting the rules as given; a reversed rule is cited as it was written."""
        for written, backwards in ((rule, ""), (rule.reversed(), " (read backwards)")):
            if written in self.base.given:
                return f"rule {self.base.given.index(written) + 1}{backwards}: {written}"
        return str(rule)


@dataclass(frozen=True)
class _Collected:
    """What the classes ask of a rule base that is closed under reversal."""

    paths: tuple[PathRule, ...]
    intersections: tuple[IntersectionRule, ...]
    heads: frozenset[str]
    dependencies: list[tuple[str, ...]]  # relations that depend on each other, bodies before heads
    components: tuple[Component, ...]
    conjunctive: frozenset[str]


def classify(base: RuleBase) -> Classification:
    """The class of a rule base, as written (closed under reversal first where an atom runs backwards).

    >>> from reshuffle.rules import PathRule, RuleBase
    >>> classify(RuleBase((PathRule(("r", "r"), "r"),))).name
    'regular'
    >>> print(classify(RuleBase((PathRule(("r1", "r2", "r1"), "r2"),))).reason)
    `r2` calls itself between other atoms: rule 1: r1(X, Y) & r2(Y, Z) & r1(Z, Z1) -> r2(X, Z1)
    """
    closed = base.closed_under_reversal()
    calls: dict[str, list[str]] = {relation: [] for relation in closed.relations}
    for rule in closed:
        calls[rule.head].extend(rule.body)
    rules = _Collected(
        closed.path_rules,
        closed.intersection_rules,
        frozenset(closed.head_relations),
        strongly_connected(calls),
        PathGrammar(closed).components,
        conjunctive_relations(closed),
    )
    problems = {name: found for name, look in _CLASSES.items() if (found := look(rules)) is not None}
    name = next((name for name in _CLASSES if name not in problems), "none")
    ranking = tuple(relation for group in rules.dependencies for relation in group)
    return Classification(name, problems, ranking if name == "acyclic" else None, base)


# --- path rules only -------------------------------------------------------------------------------------


def _intersection(rules: _Collected) -> Problem | None:
    if not rules.intersections:
        return None
    return Problem("an intersection rule is present", rules.intersections[0])


def _not_acyclic(rules: _Collected) -> Problem | None:
    if (present := _intersection(rules)) is not None:
        return present
    group_of = {relation: index for index, group in enumerate(rules.dependencies) for relation in group}
    for rule in rules.paths:
        for relation in rule.body:
            if group_of[relation] == group_of[rule.head]:
                return Problem(f"`{rule.head}` depends on itself through `{relation}`", rule)
    return None


def _not_left_regular(rules: _Collected) -> Problem | None:
    return _intersection(rules) or _derived_atom(rules, slice(1, None), "first")


def _not_right_regular(rules: _Collected) -> Problem | None:
    return _intersection(rules) or _derived_atom(rules, slice(-1), "last")


def _derived_atom(rules: _Collected, others: slice, place: str) -> Problem | None:
    """A derived relation in a place where only relations that no rule derives may stand."""
    for rule in rules.paths:
        for relation in rule.body[others]:
            if relation in rules.heads:
                return Problem(f"`{relation}` is derived by a rule and is not the {place} atom", rule)
    return None


def _not_regular(rules: _Collected) -> Problem | None:
    return _intersection(rules) or _embedded_recursion(rules)


def _embedded_recursion(rules: _Collected) -> Problem | None:
    for component in rules.components:
        if component.recursion is Recursion.EMBEDDED and component.offender is not None:
            return Problem(_embedding(component.symbols, component.offender), component.offender.rule)
    return None


def _embedding(members: tuple[str, ...], offender: Production) -> str:
    calls = sum(symbol in members for symbol in offender.body)
    if len(members) > 1:
        names = ", ".join(f"`{name}`" for name in sorted(members)[:_MOST_NAMES])
        names += f" and {len(members) - _MOST_NAMES} more" if len(members) > _MOST_NAMES else ""
        return f"{names} call each other, not all as the first atom and not all as the last"
    if calls > 2:
        return f"`{offender.head}` calls itself {calls} times"
    if calls == 2:
        return f"`{offender.head}` calls itself twice, not only on both sides"
    return f"`{offender.head}` calls itself between other atoms"


# --- with intersections ----------------------------------------------------------------------------------


def _not_hierarchy_intersection(rules: _Collected) -> Problem | None:
    for rule in rules.paths:
        if len(rule.body) > 1:
            return Problem(f"a path of {len(rule.body)} atoms is present", rule)
    return None


def _not_mixed(rules: _Collected) -> Problem | None:
    for rule in rules.paths:
        for relation in rule.body if len(rule.body) > 1 else ():
            if relation in rules.conjunctive:
                return Problem(
                    f"`{relation}` depends on an intersection rule and occurs inside a longer path, where its "
                    "conditions could be met through different middle entities",
                    rule,
                )
    return _embedded_recursion(rules)


_CLASSES: dict[str, Callable[[_Collected], Problem | None]] = {
    "acyclic": _not_acyclic,
    "left-regular": _not_left_regular,
    "right-regular": _not_right_regular,
    "regular": _not_regular,
    "hierarchy-intersection": _not_hierarchy_intersection,
    "mixed": _not_mixed,
}
CLASSES = tuple(_CLASSES)
