"""A set of (relation, source, target), each packed into one integer, by open addressing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reshuffle.compiled import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

EMPTY = -1
_MIX = np.uint64(0x9E3779B97F4A7C15)  # Fibonacci hashing: neighbouring keys land far apart


@compiled
def packed(relation: int, source: int, target: int, bits: int) -> int:
    """One key; `bits` is the width of an entity id."""
    return (((relation << bits) | source) << bits) | target


@compiled
def _home(key: int, size: int) -> int:
    mixed = np.uint64(key) * _MIX
    # Unsigned and signed do not mix in compiled arithmetic.
    return np.int64((mixed >> np.uint64(20)) & np.uint64(size - 1))  # type: ignore[return-value]


@compiled
def with_room(table: NDArray[np.int64], used: int, more: int) -> NDArray[np.int64]:
    """The table, or a larger copy in which `more` keys still find a place soon."""
    size = len(table)
    while 2 * (used + more) > size:
        size *= 2
    if size == len(table):
        return table
    grown = np.full(size, EMPTY, dtype=np.int64)
    for key in table:
        if key >= 0:
            insert(grown, key)
    return grown


@compiled
def insert(table: NDArray[np.int64], key: int) -> bool:
    """Put a key in; was it new? The caller keeps the table at most half full."""
    place = _home(key, len(table))
    while table[place] != EMPTY:
        if table[place] == key:
            return False
        place = (place + 1) & (len(table) - 1)
    table[place] = key
    return True


@compiled
def discard(table: NDArray[np.int64], key: int) -> bool:
    """Take a key out; was it in?

    Later keys of the run move up into the gap where they may, so that no search ends at it too early.
    """
    last = len(table) - 1
    gap = _home(key, len(table))
    while table[gap] != key:
        if table[gap] == EMPTY:
            return False
        gap = (gap + 1) & last
    place = (gap + 1) & last
    while table[place] != EMPTY:
        steps_from_home = (place - _home(table[place], len(table))) & last
        if steps_from_home >= (place - gap) & last:
            table[gap] = table[place]
            gap = place
        place = (place + 1) & last
    table[gap] = EMPTY
    return True


@compiled
def insert_pairs(
    table: NDArray[np.int64],
    relation: int,
    heads: NDArray[np.int32],
    tails: NDArray[np.int32],
    bits: int,
) -> None:
    """Put many pairs of one relation in; the caller made room."""
    for head, tail in zip(heads, tails):  # noqa: B905 - compiled; the columns have one length
        insert(table, packed(relation, head, tail, bits))
