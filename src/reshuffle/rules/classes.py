"""The class of a rule base; for each class that does not fit, a rule that shows why.

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

What decides is the shape of the recursion in the grammar of the path rules. A rule r1;...;rp -> r is the production
r => r1...rp, and every head relation also stands for itself, so the words that r derives are exactly the bodies that P
entails for r (the paper's L_r). Relations that imply each other by one-atom rules (a symmetric r and its inverse, say)
mean the same and become one symbol.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING

from reshuffle.rules.digraphs import reachable, strongly_connected
from reshuffle.rules.encoding import encoding_of, spoken, without_constants
from reshuffle.rules.rule import IntersectionRule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from reshuffle.rules.rule import PathRule, Rule, RuleBase


@dataclass(frozen=True)
class Production:
    """`head => body` over symbols, and the rule it was made from."""

    head: str
    body: tuple[str, ...]
    rule: PathRule


class Recursion(Enum):
    """How the symbols of one strongly connected component call each other."""

    LEFT = "left"  # only as the first atom, or not at all
    RIGHT = "right"  # only as the last atom; several symbols
    BOTH = "both"  # one symbol, as the first atom, as the last, or as both
    EMBEDDED = "embedded"  # any other way: not regular, or not visibly so


@dataclass(frozen=True)
class Component:
    """Symbols that depend on each other, or one symbol on its own."""

    symbols: tuple[str, ...]
    recursion: Recursion
    offender: Production | None = None  # for EMBEDDED: the production that does not fit


class PathGrammar:
    """The grammar of a rule base's path rules; give it a base that is closed under reversal.

    - `labels[symbol]`: the relations that a symbol stands for; `symbol_of[relation]` is the way back.
    - `productions[symbol]`: the distinct productions of a symbol, without those that say X => X.
    - `components`: the strongly connected components of the symbols, each after those it depends on;
      `component_of[symbol]` is that of a symbol.

    >>> from reshuffle.rules import PathRule, RuleBase
    >>> rules = RuleBase((PathRule(("hyp", "hyp"), "hyp"), PathRule(("hyp", "part"), "part")))
    >>> [(component.symbols, component.recursion.value) for component in PathGrammar(rules).components]
    [(('hyp',), 'both'), (('part',), 'both')]
    """

    def __init__(self, base: RuleBase) -> None:
        implied_by: dict[str, list[str]] = {relation: [] for relation in base.relations}
        for rule in base.path_rules:
            if len(rule.body) == 1:
                implied_by[rule.head].append(rule.body[0])
        position = {relation: index for index, relation in enumerate(base.relations)}
        groups = [tuple(sorted(group, key=position.__getitem__)) for group in strongly_connected(implied_by)]
        self.labels: dict[str, tuple[str, ...]] = {group[0]: group for group in groups}
        self.symbol_of = {label: symbol for symbol, labels in self.labels.items() for label in labels}
        self.productions = self._productions(base.path_rules)
        calls = {
            symbol: [part for production in productions for part in production.body]
            for symbol, productions in self.productions.items()
        }
        self.components = tuple(self._component(group) for group in strongly_connected(calls))
        self.component_of = {symbol: part for part in self.components for symbol in part.symbols}

    def _productions(self, rules: Iterable[PathRule]) -> dict[str, tuple[Production, ...]]:
        found: dict[str, dict[tuple[str, ...], Production]] = {symbol: {} for symbol in self.labels}
        for rule in rules:
            head = self.symbol_of[rule.head]
            body = tuple(self.symbol_of[relation] for relation in rule.body)
            if body != (head,):
                found[head].setdefault(body, Production(head, body, rule))
        return {symbol: tuple(by_body.values()) for symbol, by_body in found.items()}

    def _component(self, symbols: tuple[str, ...]) -> Component:
        members = set(symbols)
        productions = [production for symbol in symbols for production in self.productions[symbol]]
        calls = [
            (production, [place for place, part in enumerate(production.body) if part in members])
            for production in productions
        ]
        if all(set(places) <= {0} for _, places in calls):
            return Component(symbols, Recursion.LEFT)
        right_or_both = Recursion.BOTH if len(symbols) == 1 else Recursion.RIGHT
        for production, places in calls:
            last = len(production.body) - 1
            allowed = {0, last} if right_or_both is Recursion.BOTH else {last}
            if not set(places) <= allowed:
                return Component(symbols, Recursion.EMBEDDED, production)
        return Component(symbols, right_or_both)

    def derives(self, symbol: str, word: tuple[str, ...]) -> bool:
        """Is `word` (of relations) one that the symbol derives? By filling in all its parts, shortest first."""
        spans: dict[tuple[int, int], set[str]] = {(0, 0): set()}  # no rule derives the empty word
        for length in range(1, len(word) + 1):
            for start in range(len(word) - length + 1):
                end = start + length
                found = (
                    {self.symbol_of[word[start]]} if length == 1 and word[start] in self.symbol_of else set()
                )
                spans[start, end] = self._derivers(start, end, found, spans)
        return symbol in spans[0, len(word)]

    def _derivers(
        self, start: int, end: int, found: set[str], spans: Mapping[tuple[int, int], set[str]]
    ) -> set[str]:
        """All symbols that derive one span, given those of the shorter spans and those `found` already."""
        changed = True
        while changed:
            changed = False
            for symbol, productions in self.productions.items():
                if symbol in found:
                    continue
                for production in productions:
                    if _splits(production.body, start, end, {**spans, (start, end): found}):
                        found.add(symbol)
                        changed = True
                        break
        return found


def _splits(body: tuple[str, ...], start: int, end: int, spans: Mapping[tuple[int, int], set[str]]) -> bool:
    """Can the span be cut into consecutive parts derived by the symbols of `body`?"""
    places = {start}
    for index, symbol in enumerate(body):
        still_to_come = len(body) - 1 - index
        places = {
            cut
            for place in places
            for cut in range(place + 1, end - still_to_come + 1)
            if symbol in spans.get((place, cut), ())
        }
    return end in places


def conjunctive_relations(base: RuleBase) -> frozenset[str]:
    """The heads of intersection rules, and what follows from them through one-atom or intersection rules.

    The grammar does not say when they hold: no word entails them on its own.
    """
    if not base.intersection_rules:
        return frozenset()
    passed_on: dict[str, list[str]] = {}
    for rule in base:
        if isinstance(rule, IntersectionRule) or len(rule.body) == 1:
            for relation in rule.body:
                passed_on.setdefault(relation, []).append(rule.head)
    return frozenset(reachable((rule.head for rule in base.intersection_rules), passed_on))


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
        return {
            name: f"{self._told(found)}: {self._cited(found.rule)}" for name, found in self.problems.items()
        }

    def _told(self, found: Problem) -> str:
        """The problem without the names of helper relations, which stand for parts of rules with constants."""
        text, encoding = found.text, encoding_of(self.base)
        made_up = encoding is not None and (
            found.rule in encoding.origins or found.rule.reversed() in encoding.origins
        )
        if made_up and "depends on an intersection rule" in text:
            return "a rule has several conditions on one variable, which is an intersection inside a path"
        return "`".join(spoken(self.base, part) for part in text.split("`"))

    @property
    def reason(self) -> str | None:
        """Why there is no exact geometry, or None where there is."""
        if self.faithful:
            return None
        return self.why_not["mixed"] if "intersection" in self.why_not["regular"] else self.why_not["regular"]

    def _cited(self, rule: Rule) -> str:
        """`rule 3: ...`, counting the rules as given; a reversed rule is cited as it was written."""
        encoding = encoding_of(self.base)
        given = (self.base.source or self.base).given
        for written, backwards in ((rule, ""), (rule.reversed(), " (read backwards)")):
            if encoding is not None and written in encoding.origins:
                written, backwards = encoding.origins[written], ""  # noqa: PLW2901
            if written in given:
                return f"rule {given.index(written) + 1}{backwards}: {written}"
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
    base = without_constants(base)
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
