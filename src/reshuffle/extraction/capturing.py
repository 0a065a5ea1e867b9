"""Which path rules hard constraints capture: all of them up to a length, without trying all bodies.

For a head r with decisive slots (start, exit) a body is captured iff from every `start` a value arrives in `exit`.
Prefixes are grown a letter at a time, and

    merged   where what they reach from the starts and their round trips are equal: they have equal futures
    dropped  where some exit can no longer be reached in the letters that are left, whatever these are

so the work grows with the number of distinct composed functions and with the number of rules found, not with the
|R|^n bodies there are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from reshuffle.errors import InputError
from reshuffle.extraction.intersecting import captured_intersections
from reshuffle.extraction.walking import Walks
from reshuffle.kg.inverses import is_inverse
from reshuffle.progress import SILENT
from reshuffle.rules import PathRule

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from reshuffle.constraints import OrderingConstraints
    from reshuffle.progress import Progress
    from reshuffle.rules import Rule

MOST_PER_RELATION = 10_000
"""Recursive rules capture exponentially many bodies; no more than this are listed per head unless told."""

_AT_ONCE = 1 << 24  # bytes of what prefixes reach


@dataclass(frozen=True)
class Captured:
    """Rules, shortest first. `complete` is False where a head had more than was asked for.

    `unconstrained` are relations without any constraint: every body captures them, which no list of rules says.
    """

    rules: tuple[Rule, ...]
    unconstrained: tuple[str, ...] = ()
    complete: bool = True


def captured_rules(
    constraints: OrderingConstraints,
    *,
    max_length: int = 3,
    most_per_relation: int = MOST_PER_RELATION,
    progress: Progress = SILENT,
) -> Captured:
    """All rules of up to `max_length` atoms that the constraints capture, `r -> r` left out.

    Decisive are the roots of a relation where it has some, else all of its slots. A rule about an inverse is given as
    the same rule about the relation. Heads with several roots, which intersections make, also give the intersections
    that hold, each without needless conjuncts. Constraints that are exact for m steps only say nothing about
    bodies of more than m + 1 atoms, nor about round trips, which are longer than they look.

    >>> from reshuffle.rulegraphs import constraints_for
    >>> from reshuffle.rules import parse_rules
    >>> family = constraints_for(parse_rules('''
    ...     parent(X, Y) -> ancestor(X, Y)
    ...     parent(X, Y) & ancestor(Y, Z) -> ancestor(X, Z)
    ... '''))
    >>> for rule in captured_rules(family, max_length=2).rules: print(rule)
    parent(X, Y) -> ancestor(X, Y)
    parent(X, Y) & ancestor(Y, Z) -> ancestor(X, Z)
    parent(X, Y) & parent(Y, Z) -> ancestor(X, Z)
    """
    check_length(max_length)
    bounded = constraints.bound is not None
    longest = max_length if constraints.bound is None else min(max_length, constraints.bound + 1)
    walks = Walks(constraints, returns=not bounded)
    found: dict[Rule, None] = {}
    free_heads = [head for head in walks.names if not constraints.decisive_slots(head)]
    heads = [head for head in walks.names if head not in set(free_heads)]
    complete = True
    with progress("extracting rules", total=len(heads), unit="relations") as report:
        for head in heads:
            bodies = _Search(walks, constraints.decisive_slots(head), longest).bodies()
            telling = (forward(PathRule(body, head)) for body in bodies if body != (head,))
            listed = list(islice(telling, most_per_relation + 1))
            complete &= len(listed) <= most_per_relation
            found.update(dict.fromkeys(listed[:most_per_relation]))
            report(1)
    found.update(dict.fromkeys(captured_intersections(constraints, most_conjuncts=longest)))
    ordered = sorted(found, key=lambda rule: (len(rule.body), rule.head, rule.body))
    return Captured(tuple(ordered), tuple(free_heads), complete)


def forward(rule: PathRule) -> PathRule:
    """The rule itself, or the same rule about the relation where its head is an inverse."""
    return rule.reversed() if is_inverse(rule.head) else rule


def check_length(max_length: int) -> None:
    """Refuse to look for bodies without atoms."""
    if max_length < 1:
        raise InputError(f"max_length={max_length} leaves no rule", hint="a body has 1 atom or more")


@dataclass
class _Level:
    """The distinct prefixes of one length, and how each arises: (place in the level before, letter)."""

    reached: NDArray[np.bool_]  # prefix start slot
    trips: NDArray[np.int64]  # prefix
    origins: list[list[tuple[int, int]]] = field(default_factory=list)


class _Search:
    """The bodies that lead from all starts to all exits."""

    def __init__(self, walks: Walks, pairs: Sequence[tuple[int, int]], max_length: int) -> None:
        self._walks, self._max_length = walks, max_length
        starts = sorted({start for start, _ in pairs})
        self._rows = np.array([starts.index(start) for start, _ in pairs])
        self._exits = np.array([leave for _, leave in pairs])
        self._in_time = [reach[self._exits] for reach in walks.within(max_length)]  # each: pair slot
        empty = walks.trips(0).T[starts]
        self._levels = [_Level(empty[None], np.zeros(1, dtype=np.int64), [[]])]

    def bodies(self) -> Iterator[tuple[str, ...]]:
        """Shortest first. Longer prefixes are grown only for who asks on."""
        for length in range(1, self._max_length):
            level = self._next_level(self._levels[-1], self._max_length - length)
            self._levels.append(level)
            accepted = level.reached[:, self._rows, self._exits].all(axis=1)
            for place in np.flatnonzero(accepted).tolist():
                yield from self._words(length, place)
        # The last letter has no future to merge prefixes for: what is alive now has arrived.
        for parent, letter, _, _ in self._continued(self._levels[-1], 0):
            for word in self._words(self._max_length - 1, parent):
                yield (*word, self._walks.names[letter])

    def _next_level(self, level: _Level, letters_left: int) -> _Level:
        places: dict[tuple[bytes, int], int] = {}
        reached: list[NDArray[np.bool_]] = []
        trips: list[int] = []
        origins: list[list[tuple[int, int]]] = []
        for parent, letter, arrived, number in self._continued(level, letters_left):
            key = arrived.tobytes(), number
            if key not in places:
                places[key] = len(reached)
                reached.append(arrived)
                trips.append(number)
                origins.append([])
            origins[places[key]].append((parent, letter))
        shape = (0, *level.reached.shape[1:])
        stacked = np.stack(reached) if reached else np.zeros(shape, dtype=np.bool_)
        return _Level(stacked, np.array(trips, dtype=np.int64), origins)

    def _continued(
        self, level: _Level, letters_left: int
    ) -> Iterator[tuple[int, int, NDArray[np.bool_], int]]:
        """Each prefix one letter further, those that cannot arrive in time left out."""
        in_time = self._in_time[letters_left]
        for rows in self._alike(level):
            steps, numbers = self._walks.steps(level.reached[rows], int(level.trips[rows[0]]))
            # letter prefix: for every pair some slot from which its exit may still be reached
            alive = (steps[:, :, self._rows] & in_time).any(axis=3).all(axis=2)
            for letter, row in np.argwhere(alive).tolist():
                yield int(rows[row]), letter, steps[letter, row].copy(), numbers[letter]

    def _alike(self, level: _Level) -> Iterator[NDArray[np.int64]]:
        """Prefixes with equal round trips, a few at a time, so that all letters fit beside them."""
        per_prefix = max(1, len(self._walks.names) * len(self._exits) * self._walks.num_slots)
        for number in np.unique(level.trips):
            rows = np.flatnonzero(level.trips == number)
            step = max(1, _AT_ONCE // per_prefix)
            yield from (rows[start : start + step] for start in range(0, len(rows), step))

    def _words(self, length: int, place: int) -> Iterator[tuple[str, ...]]:
        if length == 0:
            yield ()
            return
        for parent, letter in self._levels[length].origins[place]:
            for word in self._words(length - 1, parent):
                yield (*word, self._walks.names[letter])
