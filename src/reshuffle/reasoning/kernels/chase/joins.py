"""The chase: draw the consequences of one new triple after another until none is left.

A new pair (u, v) of an atom is joined with the rows of its partners only, so every instance of a rule is met
by the last of its premises (semi-naive evaluation). Between dense relations a join is a difference of two
rows of bits, `row(partner, v) & ~row(head, u)`: all that is known already is passed over 64 at a time
(Chaudhuri, "Subcubic algorithms for recursive state machines", POPL 2008).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit

from reshuffle.reasoning.kernels.chase.pairs import (
    ENTERED,
    QUEUED,
    SPARSE,
    WANTED,
    Pairs,
    add,
    contains,
    enter_both,
    lowest,
    row_number,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

DONE, PAUSED, NO_ROOM, WANTS_DENSE = range(4)


class Triggers(NamedTuple):
    """What a new pair sets off. Lists run from `..._starts[x]` to `..._starts[x + 1]`."""

    chain_starts: NDArray[np.int64]  # atom code x: for x(u, v) and partner(v, g) ...
    chain_partner: NDArray[np.int32]
    chain_head: NDArray[np.int32]  # ... head(u, g)
    copy_starts: NDArray[np.int64]  # relation: its pairs are the head's, too
    copy_head: NDArray[np.int32]
    meet_starts: NDArray[np.int64]  # relation: its pairs are the head's where all others hold
    meet_head: NDArray[np.int32]
    meet_from: NDArray[np.int64]
    meet_to: NDArray[np.int64]
    meet_others: NDArray[np.int32]


@njit(cache=True, nogil=True)
def fixpoint(pairs: Pairs, triggers: Triggers, most: int) -> int:
    """Work off the queue: DONE, or PAUSED after `most` triples, or what has to be enlarged first."""
    counters, bits = pairs.counters, pairs.entity_bits
    mask = (np.int64(1) << bits) - 1
    for _ in range(most):
        if counters[WANTED] >= 0:
            return WANTS_DENSE
        if counters[QUEUED] == 0:
            return DONE
        counters[QUEUED] -= 1
        key = pairs.queue[counters[QUEUED]]
        relation, head, tail = key >> (2 * bits), (key >> bits) & mask, key & mask
        waits = pairs.slot_of[relation] == SPARSE and counters[ENTERED] == 0
        if waits and not enter_both(pairs, 2 * relation, head, tail):
            counters[QUEUED] += 1
            return NO_ROOM
        counters[ENTERED] = 0
        if not _consequences(pairs, triggers, relation, head, tail):
            # Drawn again from the start once there is room: adding what is known already changes nothing.
            pairs.queue[counters[QUEUED]] = key
            counters[QUEUED] += 1
            counters[ENTERED] = 1
            return NO_ROOM
    return PAUSED


@njit(cache=True, nogil=True)
def _consequences(pairs: Pairs, triggers: Triggers, relation: int, head: int, tail: int) -> bool:
    for index in range(triggers.copy_starts[relation], triggers.copy_starts[relation + 1]):
        if not add(pairs, triggers.copy_head[index], head, tail):
            return False
    for index in range(triggers.meet_starts[relation], triggers.meet_starts[relation + 1]):
        if not _meet(pairs, triggers, index, head, tail):
            return False
    for side in range(2):
        code = 2 * relation + side
        start, end = (tail, head) if side else (head, tail)
        for index in range(triggers.chain_starts[code], triggers.chain_starts[code + 1]):
            partner, result = triggers.chain_partner[index], triggers.chain_head[index]
            if not _extend(pairs, start, end, partner, result):
                return False
    return True


@njit(cache=True, nogil=True)
def _meet(pairs: Pairs, triggers: Triggers, index: int, head: int, tail: int) -> bool:
    for other in range(triggers.meet_from[index], triggers.meet_to[index]):
        if not contains(pairs, triggers.meet_others[other], head, tail):
            return True
    return add(pairs, triggers.meet_head[index], head, tail)


@njit(cache=True, nogil=True)
def _extend(pairs: Pairs, start: int, end: int, partner: int, result: int) -> bool:
    """For every g with partner(end, g): result(start, g)."""
    slot = pairs.slot_of[partner >> 1]
    if slot != SPARSE:
        row = pairs.bits[partner & 1, slot, end]
        target = pairs.slot_of[result >> 1]
        if target != SPARSE:
            return _extend_dense(pairs, row, pairs.bits[result & 1, target, start], start, result)
        return _extend_bits(pairs, row, start, result)
    number = row_number(pairs, partner, end)
    if number < 0:
        return True
    first = pairs.row_start[number]
    for index in range(first, first + pairs.row_size[number]):
        if not add(pairs, result, start, int(pairs.pool[index])):
            return False
    return True


@njit(cache=True, nogil=True)
def _extend_dense(
    pairs: Pairs, row: NDArray[np.uint64], known: NDArray[np.uint64], start: int, result: int
) -> bool:
    anything = np.uint64(0)
    for index in range(len(row)):  # without a branch inside, so that it runs several words at a time
        anything |= row[index] & ~known[index]
    if anything == 0:
        return True
    for index in range(len(row)):
        new = row[index] & ~known[index]
        while new != 0:
            if not add(pairs, result, start, 64 * index + lowest(new)):
                return False
            new &= new - np.uint64(1)
    return True


@njit(cache=True, nogil=True)
def _extend_bits(pairs: Pairs, row: NDArray[np.uint64], start: int, result: int) -> bool:
    for index in range(len(row)):
        word = row[index]
        while word != 0:
            if not add(pairs, result, start, 64 * index + lowest(word)):
                return False
            word &= word - np.uint64(1)
    return True


@njit(cache=True, nogil=True)
def load(pairs: Pairs, keys: NDArray[np.int64], first: int) -> int:
    """Queue given triples from number `first` on; the number of the first that found no room."""
    bits = pairs.entity_bits
    mask = (np.int64(1) << bits) - 1
    for index in range(first, len(keys)):
        key = keys[index]
        if not add(pairs, 2 * (key >> (2 * bits)), (key >> bits) & mask, key & mask):
            return index
    return len(keys)
