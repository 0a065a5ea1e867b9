"""The languages of the conditions (R3) and (R4), as nondeterministic automata.

L(e), the eq-reduced types of the paths between the ends of an edge, is read off the rule graph. L_r, the words
that entail r, comes from the grammar by a construction of its own (Nederhof's expansion of strongly regular
grammars), so that a check compares two things that were made in different ways.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from reshuffle.errors import BudgetError
from reshuffle.rules.classes import Recursion
from reshuffle.rules.digraphs import reachable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from reshuffle.rulegraphs.graph import RuleGraph
    from reshuffle.rules.classes import PathGrammar, Production


def _for_free(steps: int, /) -> None:
    """Spend nothing."""
    del steps


@dataclass
class NondeterministicAutomaton:
    """A nondeterministic automaton with free moves; states are numbers."""

    start: int = 0
    finals: frozenset[int] = frozenset()
    num_states: int = 0
    steps: dict[tuple[int, str], set[int]] = field(default_factory=dict)
    free: dict[int, set[int]] = field(default_factory=dict)
    most_states: int = 20_000
    labels_from: dict[int, set[str]] = field(default_factory=dict)
    spend: Callable[[int], None] = _for_free
    """Hears of every state that a free move leads to or that is made; it may raise `BudgetError`."""

    def state(self) -> int:
        """The number of a fresh state."""
        self.num_states += 1
        self.spend(1)
        if self.num_states > self.most_states:
            raise BudgetError(f"the automaton of the grammar needs more than {self.most_states:,} states")
        return self.num_states - 1

    def step(self, source: int, labels: Iterable[str], target: int) -> None:
        """Add a step from source to target for each of `labels`."""
        for label in labels:
            self.labels_from.setdefault(source, set()).add(label)
            self.steps.setdefault((source, label), set()).add(target)

    def move(self, source: int, target: int) -> None:
        """Add a free move, which reads nothing."""
        self.free.setdefault(source, set()).add(target)

    def closed(self, states: Iterable[int]) -> frozenset[int]:
        """The states themselves and those that free moves lead to from them."""
        found = frozenset(reachable(states, self.free))
        self.spend(1 + len(found))
        return found

    def after(self, states: frozenset[int], label: str) -> frozenset[int]:
        """The states that can be reached by reading a label from any of `states`."""
        return self.closed({target for state in states for target in self.steps.get((state, label), ())})

    def accepts(self, word: Sequence[str]) -> bool:
        """Is the word in the language?"""
        states = self.closed([self.start])
        for label in word:
            states = self.after(states, label)
        return not self.finals.isdisjoint(states)


def edge_language(
    graph: RuleGraph, source: int, target: int, spend: Callable[[int], None] = _for_free
) -> NondeterministicAutomaton:
    """The eq-reduced types of the paths from one node to another; nodes that do not lead there are left out."""
    automaton = NondeterministicAutomaton(source, frozenset({target}), graph.num_nodes, spend=spend)
    found, waiting = {target}, [target]
    while waiting:
        for start, label, end in graph.arriving.get(waiting.pop(), ()):
            if label in graph.identities:
                automaton.move(start, end)
            else:
                automaton.step(start, (label,), end)
            if start not in found:
                found.add(start)
                waiting.append(start)
    spend(len(found))
    return automaton


def relation_language(
    grammar: PathGrammar, symbols: Iterable[str], spend: Callable[[int], None] = _for_free
) -> NondeterministicAutomaton:
    """The words that any of the symbols derives; their recursion must be regular."""
    automaton = NondeterministicAutomaton(spend=spend)
    automaton.start, final = automaton.state(), automaton.state()
    automaton.finals = frozenset({final})
    expansion = _Expansion(grammar, automaton)
    for symbol in symbols:
        expansion.word(automaton.start, (symbol,), final)
    expansion.finish()
    return automaton


class _Expansion:
    """Writes into an automaton the words that lead from one state to another."""

    def __init__(self, grammar: PathGrammar, automaton: NondeterministicAutomaton) -> None:
        self.grammar, self.automaton = grammar, automaton
        self.waiting: list[tuple[int, str, int]] = []

    def word(self, source: int, word: Sequence[str], target: int) -> None:
        """Add a path from source to target for every word that `word` derives.

        Rules may nest deeper than Python recurses, so the symbols of a word wait in line.
        """
        for symbol in word:
            following = self.automaton.state()
            self.waiting.append((source, symbol, following))
            source = following
        self.automaton.move(source, target)

    def finish(self) -> None:
        while self.waiting:
            self._symbol(*self.waiting.pop())

    def _symbol(self, source: int, symbol: str, target: int) -> None:
        component = self.grammar.component_of[symbol]
        if component.recursion is Recursion.LEFT:
            self._left(source, symbol, component.symbols, target)
        elif component.recursion is Recursion.RIGHT:
            self._right(source, symbol, component.symbols, target)
        elif component.recursion is Recursion.BOTH:
            self._blocks(source, symbol, target)
        else:
            raise BudgetError(f"`{symbol}` has no visibly regular language")

    def _left(self, source: int, symbol: str, members: tuple[str, ...], target: int) -> None:
        done = {member: self.automaton.state() for member in members}
        for member in members:
            self.automaton.step(source, self.grammar.labels[member], done[member])
            for production in self.grammar.productions[member]:
                first, *rest = production.body
                if first in done:
                    self.word(done[first], rest, done[member])
                else:
                    self.word(source, production.body, done[member])
        self.automaton.move(done[symbol], target)

    def _right(self, source: int, symbol: str, members: tuple[str, ...], target: int) -> None:
        due = {member: self.automaton.state() for member in members}
        for member in members:
            self.automaton.step(due[member], self.grammar.labels[member], target)
            for production in self.grammar.productions[member]:
                *rest, last = production.body
                if last in due:
                    self.word(due[member], rest, due[last])
                else:
                    self.word(due[member], production.body, target)
        self.automaton.move(source, due[symbol])

    def _blocks(self, source: int, symbol: str, target: int) -> None:
        """X => B | alpha X | B X | B gamma X, with blocks B => X itself | beta | B alpha: right-linear in X."""
        entry = self.automaton.state()
        self.automaton.move(source, entry)
        self._block(entry, symbol, target)
        for production in self.grammar.productions[symbol]:
            body = production.body
            if body[-1] != symbol:
                continue
            if body[0] != symbol:
                self.word(entry, body[:-1], entry)
            else:
                between = self.automaton.state()
                self._block(entry, symbol, between)
                self.word(between, body[1:-1], entry)

    def _block(self, source: int, symbol: str, target: int) -> None:
        done = self.automaton.state()
        self.automaton.step(source, self.grammar.labels[symbol], done)
        for production in self.grammar.productions[symbol]:
            self._part_of_block(source, production, done)
        self.automaton.move(done, target)

    def _part_of_block(self, source: int, production: Production, done: int) -> None:
        symbol, body = production.head, production.body
        if body[-1] == symbol:
            return
        if body[0] == symbol:
            self.word(done, body[1:], done)
        else:
            self.word(source, body, done)


def word_outside(
    inner: NondeterministicAutomaton, outer: NondeterministicAutomaton, *, most_pairs: int = 20_000
) -> tuple[str, ...] | None:
    """A shortest word of `inner` that `outer` does not have, or None when there is none.

    Raises `BudgetError` when the two have to be followed through more than `most_pairs` pairs of state sets.
    """
    start = (inner.closed([inner.start]), outer.closed([outer.start]))
    reached: dict[tuple[frozenset[int], frozenset[int]], tuple[str, ...]] = {start: ()}
    level = [start]
    while level:
        following = []
        for pair in level:
            states, others = pair
            if not inner.finals.isdisjoint(states) and outer.finals.isdisjoint(others):
                return reached[pair]
            for label in sorted({label for state in states for label in inner.labels_from.get(state, ())}):
                new = (inner.after(states, label), outer.after(others, label))
                if new not in reached:
                    reached[new] = (*reached[pair], label)
                    following.append(new)
        if len(reached) > most_pairs:
            raise BudgetError(f"more than {most_pairs:,} pairs of state sets")
        level = following
    return None
