"""Relations as sets of pairs, each sparse or dense, that grow while they are joined.

An *atom code* is twice a relation's number, plus one when the atom runs backwards; code ^ 1 is the inverse.
A sparse relation has its triples as keys of one hash set, and its rows (all ends of one start, for either
direction) as growing slices of one pool. A dense relation has one bit per pair, in either direction.

Nothing here allocates: a function that finds no room returns False having changed nothing, and its caller
hands the work back to `chase.store`, which enlarges the arrays and goes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reshuffle.compiled import compiled
from reshuffle.reasoning.keysets import discard, place_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

SPARSE = -1
QUEUED, POOLED, ROWS, FILLED, ENTERED, WANTED = range(6)  # places in `Pairs.counters`
_FIRST_ROOM = 2  # of a new row; doubled whenever it is full


class Pairs(NamedTuple):
    """All memory of a chase; `chase.store.Store` owns and enlarges it."""

    entity_bits: int  # a triple's key is relation, head and tail, the latter two with this number of bits
    known: NDArray[np.int64]  # keys of the sparse triples, those still in the queue included
    row_keys: NDArray[np.int64]  # code and start of each sparse row
    row_of: NDArray[np.int32]  # ... and its number
    row_start: NDArray[np.int64]  # row
    row_size: NDArray[np.int32]  # row
    row_room: NDArray[np.int32]  # row
    pool: NDArray[np.int32]  # the rows' ends
    slot_of: NDArray[np.int32]  # relation; SPARSE, or its place in `bits`
    bits: NDArray[np.uint64]  # direction slot entity word
    queue: NDArray[np.int64]  # keys of triples whose consequences are not drawn yet
    totals: NDArray[np.int64]  # relation
    dense_at: NDArray[np.int64]  # relation; the size at which it asks to become dense
    counters: NDArray[np.int64]


@compiled(inline=True)
def key_of(pairs: Pairs, code: int, start: int, end: int) -> int:
    """The key of the triple that the atom `code(start, end)` speaks of.

    Invariant: an atom and its inverse have one key. Cost: constant.
    """
    head, tail = (end, start) if code & 1 else (start, end)
    return ((int(code) >> 1) << pairs.entity_bits | head) << pairs.entity_bits | tail


@compiled(inline=True)
def contains(pairs: Pairs, code: int, start: int, end: int) -> bool:
    """Does `code(start, end)` hold?

    Invariant: nothing is written. Cost: one bit, or one search of the hash set.
    """
    slot = pairs.slot_of[code >> 1]
    if slot != SPARSE:
        word = pairs.bits[code & 1, slot, start, end >> 6]
        return bool((word >> np.uint64(end & 63)) & np.uint64(1))
    return place_of(pairs.known, key_of(pairs, code, start, end)) >= 0


@compiled(inline=True)
def flip_bit(pairs: Pairs, code: int, start: int, end: int) -> None:
    """Turn one pair of a dense relation on or off, in both directions.

    Invariant: both directions agree. Cost: two words.
    """
    slot, side = pairs.slot_of[code >> 1], code & 1
    pairs.bits[side, slot, start, end >> 6] ^= np.uint64(1) << np.uint64(end & 63)
    pairs.bits[1 - side, slot, end, start >> 6] ^= np.uint64(1) << np.uint64(start & 63)


@compiled(inline=True)
def add(pairs: Pairs, code: int, start: int, end: int) -> bool:
    """Make `code(start, end)` hold and queue it if it is new; False when there was no room for it.

    Invariant: a triple is queued once, when it becomes known. Cost: one search or one bit.
    """
    counters, relation = pairs.counters, code >> 1
    if counters[QUEUED] + 2 > len(pairs.queue):  # one place stays free for the triple being worked on
        return False
    key = key_of(pairs, code, start, end)
    if pairs.slot_of[relation] != SPARSE:
        if contains(pairs, code, start, end):
            return True
        flip_bit(pairs, code, start, end)
    else:
        place = place_of(pairs.known, key)
        if place >= 0:
            return True
        if 3 * counters[FILLED] >= 2 * len(pairs.known):
            return False
        pairs.known[~place] = key
        counters[FILLED] += 1
    pairs.totals[relation] += 1
    if pairs.totals[relation] >= pairs.dense_at[relation]:
        counters[WANTED] = relation
    pairs.queue[counters[QUEUED]] = key
    counters[QUEUED] += 1
    return True


@compiled(inline=True)
def row_number(pairs: Pairs, code: int, start: int) -> int:
    """The sparse row of `code` at `start`, or -1.

    Invariant: nothing is written. Cost: one search of the hash map.
    """
    place = place_of(pairs.row_keys, int(code) << pairs.entity_bits | start)
    return int(pairs.row_of[place]) if place >= 0 else -1


@compiled
def enter_both(pairs: Pairs, code: int, start: int, end: int) -> bool:
    """Append a sparse triple to its two rows; False when there was no room for both.

    Invariant: a triple is in both of its rows or in none.
    Cost: constant, but for rows that move, each of which then has twice the room.
    """
    if not (_make_room(pairs, code, start) and _make_room(pairs, code ^ 1, end)):
        return False
    _append(pairs, row_number(pairs, code, start), end)
    _append(pairs, row_number(pairs, code ^ 1, end), start)
    return True


@compiled
def _append(pairs: Pairs, row: int, end: int) -> None:
    """Put an end behind the others of a row.

    Invariant: the caller made room. Cost: constant.
    """
    pairs.pool[pairs.row_start[row] + pairs.row_size[row]] = end
    pairs.row_size[row] += 1


@compiled
def _make_room(pairs: Pairs, code: int, start: int) -> bool:
    """See to it that the row exists and has a free place; a full row moves to the end of the pool.

    Invariant: the ends of a row lie together. Cost: constant, or a copy of the row, whose room doubles.
    """
    counters = pairs.counters
    place = place_of(pairs.row_keys, int(code) << pairs.entity_bits | start)
    if place < 0:
        return _new_row(pairs, ~place, int(code) << pairs.entity_bits | start)
    row = np.int64(pairs.row_of[place])
    if pairs.row_size[row] < pairs.row_room[row]:
        return True
    room = np.int64(2) * pairs.row_room[row]
    if counters[POOLED] + room > len(pairs.pool):
        return False
    old, first = pairs.row_start[row], counters[POOLED]
    for index in range(pairs.row_size[row]):
        pairs.pool[first + index] = pairs.pool[old + index]
    pairs.row_start[row], pairs.row_room[row] = first, room
    counters[POOLED] += room
    return True


@compiled
def _new_row(pairs: Pairs, place: int, key: int) -> bool:
    """Make an empty row with a little room; False where there is no room for it.

    Invariant: rows are numbered in the order they are made. Cost: constant.
    """
    counters = pairs.counters
    row, first = counters[ROWS], counters[POOLED]
    if 3 * row >= 2 * len(pairs.row_keys) or row >= len(pairs.row_start):
        return False
    if first + _FIRST_ROOM > len(pairs.pool):
        return False
    pairs.row_keys[place], pairs.row_of[place] = key, row
    pairs.row_start[row], pairs.row_size[row], pairs.row_room[row] = first, 0, _FIRST_ROOM
    counters[ROWS] += 1
    counters[POOLED] += _FIRST_ROOM
    return True


@compiled
def take_out(pairs: Pairs, code: int, start: int, end: int) -> None:
    """Make `code(start, end)`, which holds and is not queued, hold no longer.

    Invariant: the hash set, the rows and the totals agree. Cost: one search, and one pass over both rows.
    """
    pairs.totals[code >> 1] -= 1
    if pairs.slot_of[code >> 1] != SPARSE:
        flip_bit(pairs, code, start, end)
        return
    discard(pairs.known, key_of(pairs, code, start, end))
    pairs.counters[FILLED] -= 1
    _strike(pairs, row_number(pairs, code, start), end)
    _strike(pairs, row_number(pairs, code ^ 1, end), start)


@compiled
def _strike(pairs: Pairs, row: int, end: int) -> None:
    """Take an end out of a row; the last end takes its place.

    Invariant: the end is in the row. Cost: one pass over the row.
    """
    place = pairs.row_start[row]
    while pairs.pool[place] != end:
        place += 1
    pairs.row_size[row] -= 1
    pairs.pool[place] = pairs.pool[pairs.row_start[row] + pairs.row_size[row]]


# --- rows, whichever way they are kept ------------------------------------------------------------

_DE_BRUIJN = 0x03F79D71B4CB0A89  # the top six bits of its product with a single bit tell which bit that was
_SEQUENCE = np.uint64(_DE_BRUIJN)
_BIT_NUMBER = np.zeros(64, dtype=np.int64)
_BIT_NUMBER[[(_DE_BRUIJN << number & 0xFFFFFFFFFFFFFFFF) >> 58 for number in range(64)]] = np.arange(64)


@compiled(inline=True)
def lowest(word: int) -> int:
    """The number of the lowest bit of a word that is not zero.

    Invariant: the word is not zero. Cost: one multiplication and one look-up.
    """
    bit = np.uint64(word) & (~np.uint64(word) + np.uint64(1))
    return int(_BIT_NUMBER[np.int64((bit * _SEQUENCE) >> np.uint64(58))])


@compiled
def row_ends(pairs: Pairs, code: int, start: int) -> NDArray[np.int32]:
    """All g with `code(start, g)` whose consequences are drawn or, if dense, that are known at all.

    Invariant: nothing is written. Cost: a copy of the row, or one pass over its words and bits.
    """
    slot = pairs.slot_of[code >> 1]
    if slot == SPARSE:
        row = row_number(pairs, code, start)
        if row < 0:
            return np.empty(0, dtype=np.int32)
        return pairs.pool[pairs.row_start[row] : pairs.row_start[row] + pairs.row_size[row]].copy()
    words = pairs.bits[code & 1, slot, start]
    ends = np.empty(len(words) * 64, dtype=np.int32)
    size = 0
    for index in range(len(words)):
        word = words[index]
        while word != 0:
            ends[size] = 64 * index + lowest(word)
            size += 1
            word &= word - np.uint64(1)
    return ends[:size].copy()


@compiled
def listed(pairs: Pairs, relation: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Heads and tails of a sparse relation, grouped by head.

    Invariant: nothing is written. Cost: one pass over all sparse rows, and the pairs of the relation.
    """
    heads = np.empty(pairs.totals[relation], dtype=np.int32)
    tails = np.empty(pairs.totals[relation], dtype=np.int32)
    size, mask = 0, (np.int64(1) << pairs.entity_bits) - 1
    for place in range(len(pairs.row_keys)):
        if pairs.row_keys[place] >= 0 and pairs.row_keys[place] >> pairs.entity_bits == 2 * relation:
            row = pairs.row_of[place]
            for index in range(pairs.row_start[row], pairs.row_start[row] + pairs.row_size[row]):
                heads[size] = pairs.row_keys[place] & mask
                tails[size] = pairs.pool[index]
                size += 1
    return heads[:size], tails[:size]  # what waits in the queue is counted but in no row yet


@compiled
def fill_bits(pairs: Pairs, relation: int, slot: int) -> None:
    """Write a sparse relation into an empty slot: what its rows hold, and what still waits in the queue.

    Invariant: every known pair of the relation has its bit, in both directions.
    Cost: as `listed`, and the queue.
    """
    heads, tails = listed(pairs, relation)
    pairs.slot_of[relation] = slot
    for index in range(len(heads)):
        flip_bit(pairs, 2 * relation, int(heads[index]), int(tails[index]))
    mask = (np.int64(1) << pairs.entity_bits) - 1
    for index in range(pairs.counters[QUEUED]):
        key = pairs.queue[index]
        if key >> (2 * pairs.entity_bits) == relation:
            head, tail = (key >> pairs.entity_bits) & mask, key & mask
            # A triple whose consequences are half drawn is in its rows and in the queue.
            if not contains(pairs, 2 * relation, head, tail):
                flip_bit(pairs, 2 * relation, head, tail)
