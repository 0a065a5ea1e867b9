"""The chase where every relation is dense: whole rows of new pairs at a time.

All new pairs (u, v1), (u, v2), ... of an atom wait as bits of one row. They are joined together: the rows of the
partner at v1, v2, ... are or-ed into one, and only what the head's row at u lacks is entered, bit by bit. So a
triple and a rule cost one `or` of |E| / 64 words, and a row that waits longer is joined with more at once, which
is why rows are taken in the order they came.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reshuffle.compiled import compiled
from reshuffle.reasoning.chase.kernels.joins import DONE, PAUSED, Triggers
from reshuffle.reasoning.chase.kernels.pairs import QUEUED, Pairs, lowest

if TYPE_CHECKING:
    from numpy.typing import NDArray

FIRST, SIZE = range(2)  # places in `Waiting.counters`


class Waiting(NamedTuple):
    """New pairs whose consequences are not drawn yet, by row, and the rows that have any, in a ring."""

    bits: NDArray[np.uint64]  # direction relation entity word
    ring: NDArray[np.int64]  # code * entities + entity
    in_ring: NDArray[np.bool_]  # code * entities + entity
    counters: NDArray[np.int64]


@compiled
def fixpoint_by_rows(pairs: Pairs, triggers: Triggers, waiting: Waiting, most: int) -> int:
    """Draw all consequences of the queue: DONE, or PAUSED after `most` rows. The slot of r must be r.

    Invariant: a row that is not in the ring has no pair that waits.
    Cost: per waiting pair and chain one `or` of a row.
    """
    _take_queue(pairs, triggers, waiting)
    counters, rows = waiting.counters, pairs.bits.shape[2]
    ends = np.empty(64 * pairs.bits.shape[3], dtype=np.int64)
    gathered = np.empty(pairs.bits.shape[3], dtype=np.uint64)
    for _ in range(most):
        if counters[SIZE] == 0:
            return DONE
        row = waiting.ring[counters[FIRST]]
        counters[FIRST] = (counters[FIRST] + 1) % len(waiting.ring)
        counters[SIZE] -= 1
        waiting.in_ring[row] = False
        code, start = row // rows, row % rows
        size = taken(waiting.bits, code, start, ends, gathered)
        if code & 1 == 0:
            _copies_and_meets(pairs, triggers, waiting, code >> 1, start, gathered)
        for index in range(triggers.chain_starts[code], triggers.chain_starts[code + 1]):
            partner = triggers.chain_partner[index]
            gather(pairs.bits, partner & 1, partner >> 1, ends[:size], gathered)
            _enter(pairs, triggers, waiting, triggers.chain_head[index], start, gathered)
    return PAUSED


@compiled
def _take_queue(pairs: Pairs, triggers: Triggers, waiting: Waiting) -> None:
    """The queued triples are known already; let them wait in their rows.

    Invariant: the queue is empty afterwards. Cost: two bits per triple.
    """
    width = pairs.entity_bits
    mask = (np.int64(1) << width) - 1
    for index in range(pairs.counters[QUEUED]):
        key = pairs.queue[index]
        code, head, tail = 2 * (key >> (2 * width)), (key >> width) & mask, key & mask
        _wait(triggers, waiting, code, head, tail)
        _wait(triggers, waiting, code + 1, tail, head)
    pairs.counters[QUEUED] = 0


@compiled
def sets_off(triggers: Triggers, code: int) -> bool:
    """Has a new pair of this code any consequence? Copies and meets are drawn forwards only.

    Invariant: nothing is written. Cost: constant.
    """
    if triggers.chain_starts[code] < triggers.chain_starts[code + 1]:
        return True
    relation = code >> 1
    copies = triggers.copy_starts[relation] < triggers.copy_starts[relation + 1]
    meets = triggers.meet_starts[relation] < triggers.meet_starts[relation + 1]
    return code & 1 == 0 and (copies or meets)


@compiled
def _wait(triggers: Triggers, waiting: Waiting, code: int, start: int, end: int) -> None:
    """Let a pair wait in its row, where it has consequences at all.

    Invariant: a row with a waiting pair is in the ring. Cost: constant.
    """
    if sets_off(triggers, code):
        waiting.bits[code & 1, code >> 1, start, end >> 6] |= np.uint64(1) << np.uint64(end & 63)
        _join_ring(waiting, code * waiting.bits.shape[2] + start)


@compiled
def _join_ring(waiting: Waiting, row: int) -> None:
    """Put a row at the end of the ring, unless it is in it.

    Invariant: a row is in the ring at most once, so the ring never overflows. Cost: constant.
    """
    if not waiting.in_ring[row]:
        waiting.in_ring[row] = True
        counters = waiting.counters
        waiting.ring[(counters[FIRST] + counters[SIZE]) % len(waiting.ring)] = row
        counters[SIZE] += 1


@compiled
def taken(
    bits: NDArray[np.uint64],
    code: int,
    start: int,
    ends: NDArray[np.int64],
    gathered: NDArray[np.uint64],
) -> int:
    """Empty a waiting row into `gathered` and, as a list, into `ends`; returns how many ends.

    Invariant: the row is empty afterwards. Cost: one pass over its words and bits.
    """
    size = 0
    for index in range(len(gathered)):
        word = bits[code & 1, code >> 1, start, index]
        bits[code & 1, code >> 1, start, index] = 0
        gathered[index] = word
        while word != 0:
            ends[size] = 64 * index + lowest(word)
            size += 1
            word &= word - np.uint64(1)
    return size


@compiled
def gather(
    bits: NDArray[np.uint64],
    side: int,
    relation: int,
    starts: NDArray[np.int64],
    gathered: NDArray[np.uint64],
) -> None:
    """Put the union of a relation's rows at all `starts` into `gathered`.

    Invariant: nothing else is written. Cost: one `or` of a row per start.
    """
    gathered[:] = 0
    for start in starts:
        for index in range(len(gathered)):
            gathered[index] |= bits[side, relation, start, index]


@compiled
def _copies_and_meets(
    pairs: Pairs,
    triggers: Triggers,
    waiting: Waiting,
    relation: int,
    start: int,
    new: NDArray[np.uint64],
) -> None:
    """Enter what follows from a row's new pairs by rules on the same pair.

    Invariant: as `_enter`. Cost: one pass over a row's words per atom.
    """
    for index in range(triggers.copy_starts[relation], triggers.copy_starts[relation + 1]):
        _enter(pairs, triggers, waiting, triggers.copy_head[index], start, new)
    for index in range(triggers.meet_starts[relation], triggers.meet_starts[relation + 1]):
        met = new.copy()
        for other in range(triggers.meet_from[index], triggers.meet_to[index]):
            code = triggers.meet_others[other]
            for word in range(len(met)):
                met[word] &= pairs.bits[code & 1, code >> 1, start, word]
        _enter(pairs, triggers, waiting, triggers.meet_head[index], start, met)


@compiled
def _enter(
    pairs: Pairs, triggers: Triggers, waiting: Waiting, code: int, start: int, ends: NDArray[np.uint64]
) -> None:
    """Make code(start, g) hold for all g of `ends`, and let what is new wait, in both directions.

    Invariant: both directions agree, and what is new waits.
    Cost: one pass over the words, constant per new pair.
    """
    bits, side, relation = pairs.bits, code & 1, code >> 1
    anything = np.uint64(0)
    for index in range(len(ends)):
        anything |= ends[index] & ~bits[side, relation, start, index]
    if anything == 0:
        return
    forwards, backwards = sets_off(triggers, code), sets_off(triggers, code ^ 1)
    rows, here = bits.shape[2], np.uint64(1) << np.uint64(start & 63)
    for index in range(len(ends)):
        new = ends[index] & ~bits[side, relation, start, index]
        bits[side, relation, start, index] |= new
        if forwards:
            waiting.bits[side, relation, start, index] |= new
        while new != 0:
            end = 64 * index + lowest(new)
            new &= new - np.uint64(1)
            bits[1 - side, relation, end, start >> 6] |= here
            pairs.totals[relation] += 1
            if backwards:
                waiting.bits[1 - side, relation, end, start >> 6] |= here
                _join_ring(waiting, (code ^ 1) * rows + end)
    if forwards:
        _join_ring(waiting, code * rows + start)
