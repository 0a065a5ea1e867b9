"""Sets of 64-bit keys by open addressing; both engines keep their triples in them.

A set is an array of a power of two of places. Every key, which is at least 0, lies at the first place that was
free from its home on, and between its home and its place no place is EMPTY. The callers keep sets at most two
thirds full, so that a search looks at a few places on average.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reshuffle.compiled import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

EMPTY = -1
_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: neighbouring keys land far apart


@compiled(inline=True)
def _home(key: int, mask: int) -> int:
    """The place at which the search for a key starts.

    Invariant: the same for the same key and size. The size is part of the second multiplier: keys that come in the
    order of one set, as the facts do, would else fill a set of another size from one end, in a single run.
    Cost: two multiplications.
    """
    mixed = np.uint64(key) * _SPREAD
    mixed = (mixed ^ (mixed >> np.uint64(32))) * (_SPREAD + np.uint64(2 * mask))
    return int(np.int64(mixed >> np.uint64(32))) & mask


@compiled(inline=True)
def place_of(keys: NDArray[np.int64], key: int) -> int:
    """Where `key` is, or `~place` of the empty place at which its search ended.

    Invariant: nothing is written; some place is empty, so the search ends.
    Cost: the places from the key's home to the next empty one, a few on average.
    """
    mask = len(keys) - 1
    place = _home(key, mask)
    while keys[place] != key:
        if keys[place] == EMPTY:
            return ~place
        place = (place + 1) & mask
    return place


@compiled
def has_key(keys: NDArray[np.int64], key: int) -> bool:
    """Is `key` in the set?

    Invariant: nothing is written. Cost: one search.
    """
    return place_of(keys, key) >= 0


@compiled
def has_keys(keys: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which of the wanted keys are in the set?

    Invariant: nothing is written. Cost: one search per key.
    """
    found = np.empty(len(wanted), dtype=np.bool_)
    for index in range(len(wanted)):
        found[index] = place_of(keys, wanted[index]) >= 0
    return found


@compiled
def insert(keys: NDArray[np.int64], key: int) -> bool:
    """Put a key into a set with room for it; returns whether it was new.

    Invariant: the key lies at the end of its search, so later searches find it. Cost: one search.
    """
    place = place_of(keys, key)
    if place < 0:
        keys[~place] = key
    return place < 0


@compiled
def discard(keys: NDArray[np.int64], key: int) -> bool:
    """Take a key out; returns whether it was in the set.

    Invariant: later keys of the run move up into the gap where they may, so no search ends too early.
    Cost: one search, and the rest of the run of filled places.
    """
    gap, mask = place_of(keys, key), len(keys) - 1
    if gap < 0:
        return False
    place = (gap + 1) & mask
    while keys[place] != EMPTY:
        steps_from_home = (place - _home(keys[place], mask)) & mask
        if steps_from_home >= (place - gap) & mask:
            keys[gap] = keys[place]
            gap = place
        place = (place + 1) & mask
    keys[gap] = EMPTY
    return True


@compiled
def insert_keys(keys: NDArray[np.int64], new: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Insert keys into a set with room for them; which of them were new?

    Invariant: as `insert`. Cost: one search per key.
    """
    added = np.empty(len(new), dtype=np.bool_)
    for index in range(len(new)):
        added[index] = insert(keys, new[index])
    return added


@compiled
def discard_keys(keys: NDArray[np.int64], old: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Take keys out; which of them were in the set?

    Invariant: as `discard`. Cost: one search and one run per key.
    """
    dropped = np.empty(len(old), dtype=np.bool_)
    for index in range(len(old)):
        dropped[index] = discard(keys, old[index])
    return dropped


@compiled
def rehashed(keys: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """The same set in `size` places.

    Invariant: the old array stays as it is. Cost: one search per key, and both arrays at once.
    """
    larger = np.full(size, EMPTY, dtype=np.int64)
    for key in keys:
        if key >= 0:
            larger[~place_of(larger, key)] = key
    return larger


@compiled
def rehashed_map(
    keys: NDArray[np.int64], values: NDArray[np.int32], size: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The same keys in `size` places, with the value of each at the same place of a second array.

    Invariant: the old arrays stay as they are. Cost: one search per key, and old and new arrays at once.
    """
    larger = np.full(size, EMPTY, dtype=np.int64)
    moved = np.empty(size, dtype=np.int32)
    for index in range(len(keys)):
        if keys[index] >= 0:
            place = ~place_of(larger, keys[index])
            larger[place], moved[place] = keys[index], values[index]
    return larger, moved


class KeySet:
    """A set of keys that grows by itself."""

    def __init__(self, keys: NDArray[np.int64]) -> None:
        self.places = np.full(_size_for(len(keys)), EMPTY, dtype=np.int64)
        self._size = 0
        self.add(keys)

    def add(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Add keys; returns those that were not there yet."""
        if 3 * (self._size + len(keys)) > 2 * len(self.places):
            self.places = rehashed(self.places, _size_for(self._size + len(keys)))
        new: NDArray[np.int64] = keys[insert_keys(self.places, keys)]
        self._size += len(new)
        return new

    def discard(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Take keys out; returns those that were there."""
        old: NDArray[np.int64] = keys[discard_keys(self.places, keys)]
        self._size -= len(old)
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
