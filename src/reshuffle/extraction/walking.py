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
        """Per letter the round trips once a prefix is continued by it; equal ones have equal numbers."""
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
        """Forth by the letter, round, and back by its inverse; all letters at once, since there may be hundreds."""
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
