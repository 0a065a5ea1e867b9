"""Sets of 64-bit keys by open addressing: a power of two of places, filled to at most two thirds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reshuffle.compiled import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

EMPTY = -1
DELETED = -2
_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: neighbouring keys land far apart


@compiled(inline=True)
def place_of(keys: NDArray[np.int64], key: int) -> int:
    """Where `key` is, or `~place` of the empty place at which its search ended."""
    mask = len(keys) - 1
    place = int(np.int64((np.uint64(key) * _SPREAD) >> np.uint64(32))) & mask
    while keys[place] != key:
        if keys[place] == EMPTY:
            return ~place
        place = (place + 1) & mask
    return place


@compiled
def has_key(keys: NDArray[np.int64], key: int) -> bool:
    """Is `key` in the set?"""
    return place_of(keys, key) >= 0


@compiled
def has_keys(keys: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which of the wanted keys are in the set?"""
    found = np.empty(len(wanted), dtype=np.bool_)
    for index in range(len(wanted)):
        found[index] = place_of(keys, wanted[index]) >= 0
    return found


@compiled
def put_keys(keys: NDArray[np.int64], new: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Insert keys into a set with room for them; which of them were new?"""
    added = np.empty(len(new), dtype=np.bool_)
    for index in range(len(new)):
        place = place_of(keys, new[index])
        added[index] = place < 0
        if place < 0:
            keys[~place] = new[index]
    return added


@compiled
def drop_keys(keys: NDArray[np.int64], old: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Take keys out; which of them were there? Their places stay marked, so that searches pass over them."""
    dropped = np.empty(len(old), dtype=np.bool_)
    for index in range(len(old)):
        place = place_of(keys, old[index])
        dropped[index] = place >= 0
        if place >= 0:
            keys[place] = DELETED
    return dropped


@compiled
def rehashed(keys: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """The same set in `size` places, without the deleted ones."""
    larger = np.full(size, EMPTY, dtype=np.int64)
    for key in keys:
        if key >= 0:
            larger[~place_of(larger, key)] = key
    return larger


@compiled
def rehashed_map(
    keys: NDArray[np.int64], values: NDArray[np.int32], size: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The same for keys with values beside them."""
    larger = np.full(size, EMPTY, dtype=np.int64)
    moved = np.empty(size, dtype=np.int32)
    for index in range(len(keys)):
        if keys[index] >= 0:
            place = ~place_of(larger, keys[index])
            larger[place], moved[place] = keys[index], values[index]
    return larger, moved


class KeySet:
    """A growing set of triple keys."""

    def __init__(self, keys: NDArray[np.int64]) -> None:
        self.places = np.full(_size_for(len(keys)), EMPTY, dtype=np.int64)
        self._filled = 0  # deleted places included
        self.add(keys)

    def add(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Those of the keys that were not there yet."""
        if 3 * (self._filled + len(keys)) > 2 * len(self.places):
            self.places = rehashed(self.places, _size_for(self._filled + len(keys)))
            self._filled = int(np.count_nonzero(self.places >= 0))
        new: NDArray[np.int64] = keys[put_keys(self.places, keys)]
        self._filled += len(new)
        return new

    def discard(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Those of the keys that were there."""
        old: NDArray[np.int64] = keys[drop_keys(self.places, keys)]
        return old

    def without(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Those of the keys that are not in the set."""
        rest: NDArray[np.int64] = keys[~has_keys(self.places, keys)]
        return rest

    def keys(self) -> NDArray[np.int64]:
        """All keys, in no particular order."""
        return self.places[self.places >= 0]


def _size_for(count: int) -> int:
    return 1 << max(6, (2 * count).bit_length())
