"""How values flow along a body, in hard constraints.

Freeze a body r1;...;rn into entities 0, 1, ..., n. A value moves from entity k-1 to entity k by sigma_rk, inside an
entity by identities, and back from k to k-1 where the inverse of rk is known, since each triple comes with its inverse.
Cut a walk from entity 0 at its first visit of each entity: what the walk does between two such visits is a round
trip that begins and ends at entity k and stays left of it. So all that a prefix means for what follows is

    reached   the slots of its last entity that a value of entity 0 arrives in
    trips     which slot of the last entity flows to which, by identities and round trips to the left

and prefixes with equal (reached, trips) have equal futures, however many words they are.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from reshuffle.constraints import UNCONSTRAINED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reshuffle.constraints import OrderingConstraints

NO_INVERSE = -1


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
        self._after: dict[tuple[int, int], int] = {}

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

    def trips_after(self, number: int, letter: int) -> int:
        """The round trips once a prefix is continued by a letter; equal ones have equal numbers."""
        key = number, letter
        if key not in self._after:
            trips = self._extended(self._trips[number], letter)
            self._after[key] = self._numbers.setdefault(trips.tobytes(), len(self._trips))
            if self._after[key] == len(self._trips):
                self._trips.append(trips)
        return self._after[key]

    def _extended(self, trips: NDArray[np.bool_], letter: int) -> NDArray[np.bool_]:
        back = self._back[letter]
        if back is None:
            return self._free
        there, here = _moves(self.constraints.source_of(back)), _moves(self.sources[letter])
        return _closed(self._free | _product(_product(here, trips), there))

    def step(self, reached: NDArray[np.bool_], letter: int, number: int) -> NDArray[np.bool_]:
        """Where values arrive one letter further, `number` being the round trips after it."""
        source = self.sources[letter]
        arrived: NDArray[np.bool_] = reached[..., source] & (source != UNCONSTRAINED)
        return _product(arrived, self._trips[number].T) if self.moves_free else arrived

    @cached_property
    def any_trip(self) -> NDArray[np.bool_]:
        """What some round trip could do after some prefix: at least all of `trips`."""
        trips = self._free
        while True:
            grown = trips.copy()
            for letter in range(len(self.names)):
                grown |= self._extended(trips, letter)
            grown = _closed(grown)
            if np.array_equal(grown, trips):
                return trips
            trips = grown

    def within(self, steps: int) -> list[NDArray[np.bool_]]:  # each: slot slot
        """[d][i, j]: could a value in slot j still arrive in slot i in at most d letters?"""
        some_step = np.zeros((self.num_slots, self.num_slots), dtype=np.bool_)
        for source in self.sources:
            some_step |= _moves(source)
        exactly = np.eye(self.num_slots, dtype=np.bool_)
        at_most = [exactly]
        for _ in range(steps):
            exactly = _product(_product(exactly, self.any_trip), some_step)
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
