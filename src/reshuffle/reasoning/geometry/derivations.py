"""From a path of facts to a derivation tree in the user's own rules.

The path spells a word that a relation's language holds, so some rule splits it into words of its body's
languages, and so on down to single facts. Languages are asked, never guessed: a split whose parts are words of
their languages cannot fail further down, so the search has no dead ends. Splits with a short last part come
first, which makes a chain of thousands of facts a matter of linear time; nothing recurses.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from reshuffle.reasoning.proofs import Proof, atom_triple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from reshuffle.reasoning.geometry.automaton import Automaton
    from reshuffle.rules import PathRule, RuleBase

Goal: TypeAlias = tuple[str, int, int]  # derive this relation from the facts between these places


@dataclass(frozen=True)
class Path:
    """Facts one after another: `labels[i]` (a relation, or an inverse walked backwards) leads from
    `entities[i]` to `entities[i + 1]`."""

    labels: tuple[str, ...]
    entities: tuple[str, ...]


@dataclass(frozen=True)
class Step:
    """A rule as written, and its body in the order of the path: turned around where it was read backwards."""

    rule: PathRule
    body: tuple[str, ...]
    turned: bool


class Grammar:
    """The path rules by head, inverse heads included, with the language of every relation."""

    def __init__(self, rules: RuleBase, language: Callable[[str], Automaton | None]) -> None:
        """`language` gives the words of a relation or inverse; None where only its own facts are."""
        self.language = language
        self._steps: dict[str, list[Step]] = {}
        for rule in rules.path_rules:
            self._steps.setdefault(rule.head, []).append(Step(rule, rule.body, turned=False))
            if rules.uses_inverses:
                turned = rule.reversed()
                self._steps.setdefault(turned.head, []).append(Step(rule, turned.body, turned=True))
        self._longest: dict[str, float] = {}

    def steps(self, relation: str) -> Sequence[Step]:
        """The rules that conclude a relation."""
        return self._steps.get(relation, ())

    def longest(self, relation: str) -> float:
        """The length of the longest word of a relation."""
        if relation not in self._longest:
            automaton = self.language(relation)
            self._longest[relation] = 1 if automaton is None else _longest_word(automaton)
        return self._longest[relation]


def _longest_word(automaton: Automaton) -> float:
    """Longest path from the start; infinite with a loop (automata are trimmed, so every loop counts)."""
    following: dict[int, set[int]] = {}
    incoming = dict.fromkeys(range(automaton.num_states), 0)
    for source, _, target in automaton.arcs:
        if target not in following.setdefault(source, set()):
            following[source].add(target)
            incoming[target] += 1
    length = dict.fromkeys(incoming, 0)
    ready = [state for state, count in incoming.items() if count == 0]
    done = 0
    while ready:
        state = ready.pop()
        done += 1
        for target in following.get(state, ()):
            length[target] = max(length[target], length[state] + 1)
            incoming[target] -= 1
            if incoming[target] == 0:
                ready.append(target)
    return max(length.values()) if done == automaton.num_states else math.inf


@dataclass
class _Run:
    """How far an automaton has read, and at which distances it accepted."""

    states: frozenset[int]
    accepted: list[bool] = field(default_factory=lambda: [False])


class Derivation:
    """Parses one path."""

    def __init__(self, grammar: Grammar, path: Path) -> None:
        self._grammar, self._path = grammar, path
        self._onward: dict[tuple[str, int], _Run] = {}
        self._back: dict[tuple[str, int], _Run] = {}
        self._done: dict[Goal, Proof] = {}

    def proofs(self, relation: str) -> Iterator[Proof]:
        """Trees for the whole path, one for each first rule and split of it."""
        whole = (relation, 0, len(self._path.labels))
        for chain, choice in self._choices(whole):
            yield self._assembled(whole, chain, choice)

    # --- choosing rules -----------------------------------------------------------------------------

    def _choices(self, goal: Goal) -> Iterator[tuple[list[Step], tuple[Step, list[Goal]] | None]]:
        """Chains of one-atom rules from the goal, each ending in a fact (None) or in a longer rule and its parts.

        Breadth first, so the shortest chain comes first, and no relation comes twice.
        """
        relation, start, end = goal
        seen = {relation}
        open_: deque[tuple[str, list[Step]]] = deque([(relation, [])])
        while open_:
            here, chain = open_.popleft()
            if end - start == 1 and self._path.labels[start] == here:
                yield chain, None
            for step in self._grammar.steps(here):
                if len(step.body) == 1:
                    below = step.body[0]
                    if below not in seen and self._spells(below, start, end):
                        seen.add(below)
                        open_.append((below, [*chain, step]))
                else:
                    for parts in self._splits(step.body, start, end):
                        yield chain, (step, parts)

    def _splits(self, body: tuple[str, ...], start: int, end: int) -> Iterator[list[Goal]]:
        """Ways to cut start:end into words of the body's relations, short last parts first."""
        longest = [self._grammar.longest(relation) for relation in body]
        pending: list[tuple[int, list[Goal]]] = [(end, [])]
        while pending:
            stop, parts = pending.pop()
            atom = len(body) - 1 - len(parts)
            if atom == 0:
                if self._spells(body[0], start, stop):
                    yield [(body[0], start, stop), *parts]
                continue
            nearest = max(start + atom, math.ceil(max(stop - longest[atom], 0)))
            farthest = min(stop - 1, start + sum(longest[:atom]))
            cuts = self._cuts(body[atom], nearest, int(farthest), stop)
            if atom == 1:  # two atoms left: ask both languages at once, lazily
                for cut in cuts:
                    if self._spells(body[0], start, cut):
                        yield [(body[0], start, cut), (body[1], cut, stop), *parts]
            else:
                pending.extend(reversed([(cut, [(body[atom], cut, stop), *parts]) for cut in cuts]))

    def _cuts(self, relation: str, nearest: int, farthest: int, stop: int) -> Iterator[int]:
        for cut in range(farthest, nearest - 1, -1):
            if self._spells_back(relation, cut, stop):
                yield cut

    # --- asking languages ---------------------------------------------------------------------------

    def _spells(self, relation: str, start: int, end: int) -> bool:
        """Is the word between two places one of the relation's? Reads on from `start`, once for all ends."""
        automaton = self._grammar.language(relation)
        if automaton is None:
            return end - start == 1 and self._path.labels[start] == relation
        run = self._onward.setdefault((relation, start), _Run(frozenset({0})))
        while len(run.accepted) <= end - start:
            label = self._path.labels[start + len(run.accepted) - 1]
            run.states = _after(automaton.steps, run.states, label)
            run.accepted.append(not run.states.isdisjoint(automaton.accepting))
        return run.accepted[end - start]

    def _spells_back(self, relation: str, start: int, end: int) -> bool:
        """The same question; reads backwards from `end`, once for all starts."""
        automaton = self._grammar.language(relation)
        if automaton is None:
            return end - start == 1 and self._path.labels[start] == relation
        run = self._back.setdefault((relation, end), _Run(automaton.accepting))
        while len(run.accepted) <= end - start:
            label = self._path.labels[end - len(run.accepted)]
            run.states = _after(automaton.steps_back, run.states, label)
            run.accepted.append(0 in run.states)
        return run.accepted[end - start]

    # --- building the tree --------------------------------------------------------------------------

    def _assembled(self, goal: Goal, chain: list[Step], choice: tuple[Step, list[Goal]] | None) -> Proof:
        """The proof of a goal by this choice; the parts by the first choice that each has."""
        if choice is not None:
            for part in choice[1]:
                self._prove(part)
        return self._concluded(goal, chain, choice)

    def _prove(self, goal: Goal) -> None:
        """Fill `_done` for a goal and all below it, with a stack of its own."""
        stack = [(goal, *next(self._choices(goal)))] if goal not in self._done else []
        while stack:
            here, chain, choice = stack[-1]
            missing = [] if choice is None else [part for part in choice[1] if part not in self._done]
            if missing:
                stack.extend((part, *next(self._choices(part))) for part in missing)
            else:
                self._done[here] = self._concluded(here, chain, choice)
                stack.pop()

    def _concluded(self, goal: Goal, chain: list[Step], choice: tuple[Step, list[Goal]] | None) -> Proof:
        _, start, end = goal
        if choice is None:
            proof = Proof(atom_triple(self._path.labels[start], *self._ends(start, end)))
        else:
            step, parts = choice
            premises = [self._done[part] for part in parts]
            head = chain[-1].body[0] if chain else goal[0]
            proof = self._applied(step, head, start, end, premises)
        for place in range(len(chain) - 1, -1, -1):
            head = chain[place - 1].body[0] if place else goal[0]
            proof = self._applied(chain[place], head, start, end, [proof])
        return proof

    def _applied(self, step: Step, head: str, start: int, end: int, premises: list[Proof]) -> Proof:
        ordered = tuple(reversed(premises)) if step.turned else tuple(premises)
        return Proof(atom_triple(head, *self._ends(start, end)), step.rule, ordered)

    def _ends(self, start: int, end: int) -> tuple[str, str]:
        return self._path.entities[start], self._path.entities[end]


def _after(
    steps: Mapping[tuple[int, str], tuple[int, ...]], states: frozenset[int], label: str
) -> frozenset[int]:
    return frozenset(target for state in states for target in steps.get((state, label), ()))
