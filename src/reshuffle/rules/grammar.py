"""Path rules as a context-free grammar, and the shape of its recursion.

A rule r1;...;rp -> r is the production r => r1...rp, and every head relation also stands for itself, so the
words that r derives are exactly the bodies that P entails for r (the paper's L_r). Relations that imply each
other by one-atom rules (a symmetric r and its inverse, say) mean the same and become one symbol.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, TypeVar

from reshuffle.rules.rule import IntersectionRule

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Mapping

    from reshuffle.rules.rule import PathRule, RuleBase

Node = TypeVar("Node", bound="Hashable")


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


def reachable(starts: Iterable[Node], following: Mapping[Node, Iterable[Node]]) -> set[Node]:
    """The nodes of a directed graph that paths from `starts` reach, `starts` themselves included.

    `following` gives the direct successors of a node; a node that it lacks has none.

    >>> sorted(reachable(["a"], {"a": ["b"], "b": ["a", "c"], "d": ["a"]}))
    ['a', 'b', 'c']
    """
    found = set(starts)
    waiting = list(found)
    while waiting:
        for node in following.get(waiting.pop(), ()):
            if node not in found:
                found.add(node)
                waiting.append(node)
    return found


def conjunctive_relations(base: RuleBase) -> frozenset[str]:
    """The heads of intersection rules, and what follows from them through one-atom or intersection rules.

    The grammar does not say when they hold: no word entails them on its own.
    """
    passed_on: dict[str, list[str]] = {}
    for rule in base:
        if isinstance(rule, IntersectionRule) or len(rule.body) == 1:
            for relation in rule.body:
                passed_on.setdefault(relation, []).append(rule.head)
    return frozenset(reachable((rule.head for rule in base.intersection_rules), passed_on))


def strongly_connected(calls: Mapping[str, Collection[str]]) -> list[tuple[str, ...]]:
    """Strongly connected components of a graph, each after those that it calls (Kosaraju, without recursion).

    >>> strongly_connected({"a": ["b"], "b": ["a", "c"], "c": []})
    [('c',), ('a', 'b')]
    """
    callers: dict[str, list[str]] = {node: [] for node in calls}
    for node, called in calls.items():
        for callee in called:
            callers[callee].append(node)
    placed: set[str] = set()
    finished = [node for root in calls for node in _postorder(root, calls, placed)]
    placed.clear()
    components = [tuple(reversed(_postorder(root, callers, placed))) for root in reversed(finished)]
    return [component for component in reversed(components) if component]


def _postorder(root: str, graph: Mapping[str, Collection[str]], seen: set[str]) -> list[str]:
    """The nodes reachable from `root` and not `seen` before, each after those it leads to."""
    order: list[str] = []
    work = [] if root in seen else [(root, iter(graph[root]))]
    seen.add(root)
    while work:
        node, pending = work[-1]
        following = next((other for other in pending if other not in seen), None)
        if following is None:
            order.append(node)
            work.pop()
        else:
            seen.add(following)
            work.append((following, iter(graph[following])))
    return order
