"""Find all rules up to a length that hard constraints capture, without trying all bodies.

**How values flow along a body.** Freeze a body r1;...;rn into entities 0, 1, ..., n. A value moves from entity k-1 to
entity k by sigma_rk, inside an entity by identities, and back from k to k-1 where the inverse of rk is known, since
each triple comes with its inverse. Cut a walk from entity 0 at its first visit of each entity: what the walk does
between two such visits is a round trip that begins and ends at entity k and stays left of it. So all that a prefix
means for what follows is

    reached   the slots of its last entity that a value of entity 0 arrives in
    trips     which slot of the last entity flows to which, by identities and round trips to the left

and prefixes with equal (reached, trips) have equal futures, however many words they are (`Walks`).

**Path rules.** For a head r with decisive slots (start, exit) a body is captured iff from every `start` a value arrives
in `exit`. Prefixes are grown a letter at a time, and

    merged   where what they reach from the starts and their round trips are equal: they have equal futures
    dropped  where some exit can no longer be reached in the letters that are left, whatever these are

so the work grows with the number of distinct composed functions and with the number of rules found, not with the
|R|^n bodies there are.

**Intersections**, for heads with several roots. Each (start, exit) of the head is a clause that some conjunct must
meet, alone or, where inverses are known, together with others by going forth and back between the two entities. Clause
by clause the least sets of relations that meet it are found by walking backwards from its exit; a captured
intersection is the union of one such set per clause.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from reshuffle.constraints import UNCONSTRAINED
from reshuffle.errors import InputError
from reshuffle.kg import inverse_name
from reshuffle.kg.vocabulary import is_inverse
from reshuffle.progress import SILENT
from reshuffle.rules import IntersectionRule, PathRule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from reshuffle.constraints import OrderingConstraints
    from reshuffle.progress import Progress
    from reshuffle.rules import Rule

    Names = frozenset[str]
    Place = tuple[int, int]  # which of the two entities, and the slot

MOST_PER_RELATION = 10_000
"""The default limit of bodies per head: recursive rules capture exponentially many."""

_AT_ONCE = 1 << 24  # bytes of what prefixes reach


@dataclass(frozen=True)
class Captured:
    """The captured rules, shortest first. `complete` is False where a head had more than was asked for.

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
    """Raise an error for a length below 1."""
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
        """The captured bodies, shortest first. Longer prefixes are grown only when a caller asks for more."""
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
        """Each prefix grown by one letter, without those that cannot reach all exits in the letters left."""
        in_time = self._in_time[letters_left]
        for rows in self._alike(level):
            steps, numbers = self._walks.steps(level.reached[rows], int(level.trips[rows[0]]))
            # letter prefix: for every pair some slot from which its exit may still be reached
            alive = (steps[:, :, self._rows] & in_time).any(axis=3).all(axis=2)
            for letter, row in np.argwhere(alive).tolist():
                yield int(rows[row]), letter, steps[letter, row].copy(), numbers[letter]

    def _alike(self, level: _Level) -> Iterator[NDArray[np.int64]]:
        """Groups of prefixes with equal round trips, small enough that all their continuations fit in memory."""
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


class Walks:
    """The moves of hard constraints. Letters are the relations that rules may mention, by place in `names`."""

    def __init__(self, constraints: OrderingConstraints, *, returns: bool = True) -> None:
        self.constraints, self.num_slots = constraints, constraints.num_slots
        silent = constraints.identities | constraints.hidden
        self.names = tuple(name for name in constraints.relations if name not in silent)
        self.sources = np.array([constraints.source_of(name) for name in self.names], dtype=np.int32).reshape(
            len(self.names), self.num_slots
        )
        self._back = [constraints.inverse_of(name) if returns else None for name in self.names]
        self.two_way = any(back is not None for back in self._back)
        self._trips = [self._free]
        self._numbers = {self._free.tobytes(): 0}
        self._after: dict[int, list[int]] = {}

    @cached_property
    def _free(self) -> NDArray[np.bool_]:  # slot slot: [i, j] says that j flows to i
        direct = np.eye(self.num_slots, dtype=np.bool_)
        for identity in self.constraints.identities:
            direct |= _moves(self.constraints.source_of(identity))
        return _closed(direct)

    @property
    def moves_free(self) -> bool:
        """Is there any move that costs no atom?"""
        return self.two_way or bool(self._free.sum() > self.num_slots)

    def trips(self, number: int) -> NDArray[np.bool_]:
        """The round trips of a prefix, by the number that `trips_after` gave; 0 is the empty prefix."""
        return self._trips[number]

    def trips_after(self, number: int) -> list[int]:
        """For each letter the number of the round trips of the prefix continued by it; equal trips, equal numbers."""
        if not self.two_way:
            return [0] * len(self.names)
        if number not in self._after:
            extended = self._extended(self._trips[number])
            self._after[number] = [self._numbered(trips) for trips in extended]
        return self._after[number]

    def _numbered(self, trips: NDArray[np.bool_]) -> int:
        number = self._numbers.setdefault(trips.tobytes(), len(self._trips))
        if number == len(self._trips):
            self._trips.append(trips)
        return number

    def _extended(self, trips: NDArray[np.bool_]) -> NDArray[np.bool_]:  # letter slot slot
        """The round trips after each letter: forth by it, round, and back by its inverse; for all letters at once."""
        here, there = self._both_ways
        return _closed(self._free | _product(_product(here, trips), there))

    @cached_property
    def _both_ways(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        nowhere = np.full(self.num_slots, UNCONSTRAINED, dtype=np.int32)
        back = [nowhere if name is None else self.constraints.source_of(name) for name in self._back]
        return np.stack([_moves(source) for source in self.sources]), np.stack(
            [_moves(source) for source in back]
        )

    def steps(
        self, reached: NDArray[np.bool_], number: int
    ) -> tuple[NDArray[np.bool_], list[int]]:  # letter prefix start slot, and per letter the round trips
        """Where values arrive one letter further, for prefixes [prefix, start, slot] of equal round trips."""
        numbers = self.trips_after(number)
        arrived = np.moveaxis(reached[:, :, self.sources] & (self.sources != UNCONSTRAINED), 2, 0)
        if not self.moves_free or not numbers:
            return arrived, numbers
        flat = arrived.reshape(len(numbers), -1, self.num_slots)
        onward = np.stack([self._trips[after].T for after in numbers]) if self.two_way else self._free.T
        return _product(flat, onward).reshape(arrived.shape), numbers

    @cached_property
    def any_trip(self) -> NDArray[np.bool_]:
        """What some round trip could do after some prefix: at least all of `trips`."""
        trips = self._free
        while self.two_way:
            grown = _closed(trips | self._extended(trips).any(axis=0))
            if np.array_equal(grown, trips):
                break
            trips = grown
        return trips

    @cached_property
    def _some_step(self) -> NDArray[np.bool_]:
        step = np.zeros((self.num_slots, self.num_slots), dtype=np.bool_)
        for source in self.sources:
            step |= _moves(source)
        return step

    def within(self, steps: int) -> list[NDArray[np.bool_]]:  # each: slot slot
        """[d][i, j]: could a value in slot j still arrive in slot i in at most d letters?"""
        exactly = np.eye(self.num_slots, dtype=np.bool_)
        at_most = [exactly]
        for _ in range(steps):
            exactly = _product(_product(exactly, self.any_trip), self._some_step)
            at_most.append(at_most[-1] | exactly)
        return at_most


def _moves(source: NDArray[np.int32]) -> NDArray[np.bool_]:
    """The matrix of a partial function."""
    moves = np.zeros((len(source), len(source)), dtype=np.bool_)
    rows = np.flatnonzero(source != UNCONSTRAINED)
    moves[rows, source[rows]] = True
    return moves


def _product(left: NDArray[np.bool_], right: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The boolean product; in floats, since numpy multiplies booleans slowly."""
    result: NDArray[np.bool_] = left.astype(np.float32) @ right.astype(np.float32) > 0
    return result


def _closed(moves: NDArray[np.bool_]) -> NDArray[np.bool_]:
    while True:
        further = moves | _product(moves, moves)
        if np.array_equal(further, moves):
            return moves
        moves = further


def captured_intersections(
    constraints: OrderingConstraints, *, most_conjuncts: int
) -> Iterator[IntersectionRule]:
    """The captured intersections without needless conjuncts, for heads with several roots."""
    for head, pairs in constraints.roots.items():
        if len(pairs) < 2 or head in constraints.hidden:
            continue
        sets = [frozenset[str]()]
        for start, leave in pairs:
            clause = _meeting(constraints, start, leave, most_conjuncts)
            sets = least(
                left | right for left in sets for right in clause if len(left | right) <= most_conjuncts
            )
        for names in sorted(sets, key=sorted):
            if len(names) >= 2 and head not in names:
                rule = IntersectionRule(tuple(names), head)
                yield _in_order(rule.reversed() if is_inverse(head) else rule, constraints)


def _in_order(rule: IntersectionRule, constraints: OrderingConstraints) -> IntersectionRule:
    """The rule with its conjuncts in the order of the relations, whichever direction it was found in."""
    known = constraints.relation_ids

    def place(name: str) -> tuple[int, str]:
        both = (name, inverse_name(name))
        return min(known.get(one, len(known)) for one in both), name

    return IntersectionRule(tuple(sorted(rule.body, key=place)), rule.head)


def least(sets: Iterable[Names]) -> list[Names]:
    """The sets that contain no other one.

    >>> least([frozenset("ab"), frozenset("a"), frozenset("bc")])
    [frozenset({'a'}), frozenset({...})]
    """
    kept: list[Names] = []
    for candidate in sorted(set(sets), key=lambda names: (len(names), sorted(names))):
        if not any(smaller <= candidate for smaller in kept):
            kept.append(candidate)
    return kept


def _meeting(constraints: OrderingConstraints, start: int, leave: int, most: int) -> list[Names]:
    """The least sets of relations between two entities by which `start` of the first flows to `leave` of the second."""
    found: dict[Place, list[Names]] = {(1, leave): [frozenset()]}
    waiting: list[tuple[Place, Names]] = [((1, leave), frozenset())]
    while waiting:
        place, used = waiting.pop()
        if used not in found[place]:
            continue  # a smaller set has come here since
        for origin, names in _before(constraints, place):
            grown = used | names
            known = found.setdefault(origin, [])
            if len(grown) > most or any(smaller <= grown for smaller in known):
                continue
            found[origin] = [*(other for other in known if not grown <= other), grown]
            waiting.append((origin, grown))
    return found.get((0, start), [])


def _before(constraints: OrderingConstraints, place: Place) -> Iterator[tuple[Place, Names]]:
    """The places that the value of a place may come from, each with the relation used."""
    entity, slot = place
    for relation in constraints.relations:
        if relation in constraints.identities:
            origin, names = (entity, int(constraints.source_of(relation)[slot])), frozenset[str]()
        elif relation in constraints.hidden:
            continue
        elif entity == 1:
            origin, names = (0, int(constraints.source_of(relation)[slot])), frozenset({relation})
        else:
            back = constraints.inverse_of(relation)
            if back is None:
                continue
            origin, names = (1, int(constraints.source_of(back)[slot])), frozenset({relation})
        if origin[1] != UNCONSTRAINED:
            yield origin, names
