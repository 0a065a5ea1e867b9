"""The chase: draw the consequences of one new triple after another until none is left.

A new pair (u, v) of an atom is joined with the rows of its partners only, so every instance of a rule is met
by the last of its premises (semi-naive evaluation). Between dense relations a join is a difference of two
rows of bits, `row(partner, v) & ~row(head, u)`: all that is known already is skipped 64 at a time
(Chaudhuri, "Subcubic algorithms for recursive state machines", POPL 2008).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reshuffle.compiled import compiled
from reshuffle.reasoning.chase.kernels.pairs import (
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


@compiled
def fixpoint(pairs: Pairs, triggers: Triggers, most: int) -> int:
    """Work off the queue: DONE, or PAUSED after `most` triples, or what has to be enlarged first.

    Invariant: a triple that is not queued has had all its consequences added.
    Cost: per triple and trigger the row of the partner, as bits 64 pairs at a time.
    """
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
        if not (
            _copies_and_meets(pairs, triggers, relation, head, tail)
            and _chains(pairs, triggers, 2 * relation, head, tail)
            and _chains(pairs, triggers, 2 * relation + 1, tail, head)
        ):
            # Drawn again from the start once there is room: adding what is known already changes nothing.
            pairs.queue[counters[QUEUED]] = key
            counters[QUEUED] += 1
            counters[ENTERED] = 1
            return NO_ROOM
    return PAUSED


@compiled
def _copies_and_meets(pairs: Pairs, triggers: Triggers, relation: int, head: int, tail: int) -> bool:
    """Add what follows from a new pair by rules on the same pair; False without room.

    Invariant: adding twice changes nothing. Cost: one `contains` or `add` per atom of the triggered rules.
    """
    for index in range(triggers.copy_starts[relation], triggers.copy_starts[relation + 1]):
        if not add(pairs, triggers.copy_head[index], head, tail):
            return False
    for index in range(triggers.meet_starts[relation], triggers.meet_starts[relation + 1]):
        met = True
        for other in range(triggers.meet_from[index], triggers.meet_to[index]):
            met = met and contains(pairs, triggers.meet_others[other], head, tail)
        if met and not add(pairs, triggers.meet_head[index], head, tail):
            return False
    return True


@compiled
def _chains(pairs: Pairs, triggers: Triggers, code: int, start: int, end: int) -> bool:
    """For every chain of code(start, end) and partner(end, g): head(start, g).

    Invariant: adding twice changes nothing.
    Cost: the partner's row per chain; between bits one pass over its words.
    """
    partners, results, slot_of, bits = triggers.chain_partner, triggers.chain_head, pairs.slot_of, pairs.bits
    words = bits.shape[3]
    for index in range(triggers.chain_starts[code], triggers.chain_starts[code + 1]):
        partner, result = partners[index], results[index]
        slot, target = slot_of[partner >> 1], slot_of[result >> 1]
        if slot == SPARSE:
            if not _extend_sparse(pairs, start, end, partner, result):
                return False
            continue
        if target != SPARSE:
            # The common case, written out: a call or a view of the rows would cost more than the work.
            side, other = partner & 1, result & 1
            anything = np.uint64(0)
            for word in range(words):
                anything |= bits[side, slot, end, word] & ~bits[other, target, start, word]
            if anything == 0:
                continue
        if not _extend_dense(pairs, start, end, partner, result):
            return False
    return True


@compiled
def _extend_sparse(pairs: Pairs, start: int, end: int, partner: int, result: int) -> bool:
    """Join with a sparse row of the partner; False without room.

    Invariant: the row does not change meanwhile, since `add` only queues. Cost: one `add` per end.
    """
    number = row_number(pairs, partner, end)
    if number < 0:
        return True
    first = pairs.row_start[number]
    for index in range(first, first + pairs.row_size[number]):
        if not add(pairs, result, start, int(pairs.pool[index])):
            return False
    return True


@compiled
def _extend_dense(pairs: Pairs, start: int, end: int, partner: int, result: int) -> bool:
    """Join with a dense row of the partner; False without room.

    Invariant: pairs that are known as bits are masked out.
    Cost: one pass over the words, one `add` per new end.
    """
    slot, target = pairs.slot_of[partner >> 1], pairs.slot_of[result >> 1]
    for word in range(pairs.bits.shape[3]):
        new = pairs.bits[partner & 1, slot, end, word]
        if target != SPARSE:
            new &= ~pairs.bits[result & 1, target, start, word]
        while new != 0:
            if not add(pairs, result, start, 64 * word + lowest(new)):
                return False
            new &= new - np.uint64(1)
    return True


@compiled
def load(pairs: Pairs, keys: NDArray[np.int64], first: int) -> int:
    """Queue given triples from number `first` on; the number of the first that found no room.

    Invariant: triples before the returned number are known. Cost: one `add` per triple.
    """
    bits = pairs.entity_bits
    mask = (np.int64(1) << bits) - 1
    for index in range(first, len(keys)):
        key = keys[index]
        if not add(pairs, 2 * (key >> (2 * bits)), (key >> bits) & mask, key & mask):
            return index
    return len(keys)
