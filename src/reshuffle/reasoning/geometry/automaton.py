"""From ordering constraints to a small automaton over the relations that facts use.

The constraints are a graph on the slots: `sources[s, i] = j` is an s-edge from slot j to slot i. The words
that lead from a relation's start slot to its exit slot, with identity relations read as nothing, are the
paths of facts that make the relation follow. Any automaton of the same language gives the same answers, so
the reasoner runs the smallest deterministic one (theory notes, section 1).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from reshuffle.constraints import UNCONSTRAINED

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from reshuffle.constraints import OrderingConstraints

Arc: TypeAlias = tuple[int, str, int]  # from state, relation (or inverse `r^-1`), to state

_MOST_STATES_PER_SLOT = 8  # determinising may explode; beyond this the nondeterministic automaton is kept


@dataclass(frozen=True)
class Automaton:
    """States 0 (the start) to `num_states` - 1, and labelled arcs between them.

    >>> Automaton(2, ((0, "r", 1), (1, "r", 1)), frozenset({1})).accepts(["r", "r"])
    True
    """

    num_states: int
    arcs: tuple[Arc, ...]
    accepting: frozenset[int]

    @cached_property
    def steps(self) -> dict[tuple[int, str], tuple[int, ...]]:
        """The states that follow a state over a relation."""
        return _grouped(((source, label), target) for source, label, target in self.arcs)

    @cached_property
    def steps_back(self) -> dict[tuple[int, str], tuple[int, ...]]:
        """The states that precede a state over a relation."""
        return _grouped(((target, label), source) for source, label, target in self.arcs)

    @property
    def labels(self) -> frozenset[str]:
        """The relations and inverses that occur."""
        return frozenset(label for _, label, _ in self.arcs)

    def accepts(self, word: Iterable[str]) -> bool:
        """Is the word in the language?"""
        current = frozenset({0})
        for label in word:
            current = frozenset(t for state in current for t in self.steps.get((state, label), ()))
        return not current.isdisjoint(self.accepting)

    def is_edge(self, relation: str) -> bool:
        """Does it accept just the relation itself, so that facts are all there is?"""
        return self.arcs == ((0, relation, 1),) and self.accepting == {1}


def _grouped(
    pairs: Iterable[tuple[tuple[int, str], int]],
) -> dict[tuple[int, str], tuple[int, ...]]:
    found: dict[tuple[int, str], list[int]] = defaultdict(list)
    for key, value in pairs:
        found[key].append(value)
    return {key: tuple(values) for key, values in found.items()}


class SlotGraph:
    """The constraints as a labelled graph on slots, with the identity relations eliminated.

    Only `alphabet` (relations that the facts use) can ever be walked, so other labels are left out.
    """

    def __init__(self, constraints: OrderingConstraints, alphabet: Collection[str]) -> None:
        silent = constraints.identities | constraints.hidden
        self.bound = constraints.bound
        self.num_slots = constraints.num_slots
        free: dict[int, set[int]] = defaultdict(set)
        self._moves: dict[int, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
        for relation, row in zip(constraints.relations, constraints.sources, strict=True):
            for slot in np.flatnonzero(row != UNCONSTRAINED).tolist():
                source = int(row[slot])
                if relation in constraints.identities:
                    free[source].add(slot)
                elif relation not in silent and relation in alphabet:
                    self._moves[source][relation].add(slot)
        self._free = {slot: _reachable(slot, free) for slot in range(self.num_slots)}

    @cached_property
    def _arcs(self) -> set[Arc]:
        return {
            (slot, relation, target)
            for slot in range(self.num_slots)
            for free in self._free[slot]
            for relation, targets in self._moves.get(free, {}).items()
            for target in targets
        }

    def automaton(self, start: int, leave: int) -> Automaton:
        """The reduced automaton of the words from slot `start` to slot `leave`."""
        whole = self.without_identities(start, leave)
        if self.bound is not None:
            whole = _unrolled(whole, self.bound + 1)
        trimmed = _trimmed(whole)
        deterministic = _determinised(trimmed, most=_MOST_STATES_PER_SLOT * max(self.num_slots, 8))
        return trimmed if deterministic is None else _minimised(_trimmed(deterministic))

    def without_identities(self, start: int, leave: int) -> Automaton:
        """The words from `start` to `leave` on the slots themselves, not reduced; `start` changes names with 0."""
        accepting = {slot for slot in range(self.num_slots) if leave in self._free[slot]}
        # Swapping names makes `start` state 0.
        renamed = {slot: slot for slot in range(self.num_slots)} | {start: 0, 0: start}
        moved = tuple(
            sorted((renamed[source], relation, renamed[target]) for source, relation, target in self._arcs)
        )
        return Automaton(self.num_slots, moved, frozenset(renamed[slot] for slot in accepting))


def _reachable(start: int, following: Mapping[int, Iterable[int]]) -> set[int]:
    found, open_ = {start}, [start]
    while open_:
        for target in following.get(open_.pop(), ()):
            if target not in found:
                found.add(target)
                open_.append(target)
    return found


def _unrolled(automaton: Automaton, longest: int) -> Automaton:
    """The words of at most `longest` relations: m-step derivability is m + 1 labelled steps."""
    size = automaton.num_states
    arcs = [
        (source + step * size, label, target + (step + 1) * size)
        for step in range(longest)
        for source, label, target in automaton.arcs
    ]
    accepting = {state + step * size for step in range(longest + 1) for state in automaton.accepting}
    return Automaton(size * (longest + 1), tuple(arcs), frozenset(accepting))


def _trimmed(automaton: Automaton) -> Automaton:
    """Only states that the start reaches and that reach an accepting state; the start stays."""
    onward: dict[int, set[int]] = defaultdict(set)
    back: dict[int, set[int]] = defaultdict(set)
    for source, _, target in automaton.arcs:
        onward[source].add(target)
        back[target].add(source)
    useful: set[int] = set()
    for state in automaton.accepting:
        useful |= _reachable(state, back) if state not in useful else set()
    kept = sorted((_reachable(0, onward) & useful) | {0})
    number = {state: position for position, state in enumerate(kept)}
    arcs = tuple(
        (number[s], label, number[t]) for s, label, t in automaton.arcs if s in number and t in number
    )
    return Automaton(len(kept), arcs, frozenset(number[s] for s in automaton.accepting if s in number))


def _determinised(automaton: Automaton, *, most: int) -> Automaton | None:
    """The subset construction, or None when it needs more than `most` states."""
    moves: dict[int, list[tuple[str, int]]] = defaultdict(list)
    for source, label, target in automaton.arcs:
        moves[source].append((label, target))
    number = {frozenset({0}): 0}
    open_ = [frozenset({0})]
    arcs: list[Arc] = []
    while open_:
        subset = open_.pop()
        following: dict[str, set[int]] = defaultdict(set)
        for state in subset:
            for label, target in moves[state]:
                following[label].add(target)
        for label, targets in following.items():
            new = frozenset(targets)
            if new not in number:
                if len(number) == most:
                    return None
                number[new] = len(number)
                open_.append(new)
            arcs.append((number[subset], label, number[new]))
    accepting = frozenset(n for subset, n in number.items() if not subset.isdisjoint(automaton.accepting))
    return Automaton(len(number), tuple(arcs), accepting)


def _minimised(automaton: Automaton) -> Automaton:
    """Moore's partition refinement; states are numbered in a canonical order, so equal languages compare equal."""
    moves: dict[int, list[tuple[str, int]]] = defaultdict(list)
    for source, label, target in sorted(automaton.arcs):
        moves[source].append((label, target))
    block = [int(state in automaton.accepting) for state in range(automaton.num_states)]
    while True:
        signatures: dict[tuple[int, tuple[tuple[str, int], ...]], int] = {}
        refined = [
            signatures.setdefault(
                (block[state], tuple((label, block[target]) for label, target in moves[state])),
                len(signatures),
            )
            for state in range(automaton.num_states)
        ]
        if len(signatures) == len(set(block)):
            break
        block = refined
    merged = {(block[source], label, block[target]) for source, label, target in automaton.arcs}
    return _numbered(block[0], merged, {block[state] for state in automaton.accepting})


def _numbered(start: int, arcs: set[Arc], accepting: set[int]) -> Automaton:
    """States in the order in which a breadth-first walk by label meets them."""
    moves: dict[int, list[tuple[str, int]]] = defaultdict(list)
    for source, label, target in sorted(arcs):
        moves[source].append((label, target))
    order = {start: 0}
    for state in (queue := [start]):
        for _, target in moves[state]:
            if target not in order:
                order[target] = len(order)
                queue.append(target)
    named = tuple(sorted((order[s], label, order[t]) for s, label, t in arcs))
    return Automaton(len(order), named, frozenset(order[state] for state in accepting))
