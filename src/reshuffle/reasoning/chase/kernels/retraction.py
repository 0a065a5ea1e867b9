"""Taking triples back: delete what may no longer hold, then bring back what still follows (DRed).

Gupta, Mumick and Subrahmanian, "Maintaining views incrementally", SIGMOD 1993. A suspect leaves its rows only
after its own consequences are drawn, so of an instance with several suspect premises the first one drawn still
meets the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reshuffle.compiled import compiled
from reshuffle.reasoning.chase.kernels.joins import DONE, NO_ROOM, Triggers
from reshuffle.reasoning.chase.kernels.pairs import (
    SPARSE,
    Pairs,
    add,
    contains,
    key_of,
    lowest,
    row_number,
    take_out,
)
from reshuffle.reasoning.keysets import has_key, place_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

TOO_MANY = 4
SUSPECTED, DRAWN = range(2)  # places in `Suspects.counters`


class Suspects(NamedTuple):
    """The triples that may no longer hold."""

    keys: NDArray[np.int64]  # in the order they were suspected
    sparse: NDArray[np.int64]  # the sparse ones as a set
    bits: NDArray[np.uint64]  # the dense ones, laid out as `Pairs.bits`
    facts: NDArray[np.int64]  # the set of given triples that stay, and so are never suspected
    counters: NDArray[np.int64]


class Sources(NamedTuple):
    """How a triple can be derived, per relation; every rule is turned so that its head runs forwards."""

    chain_starts: NDArray[np.int64]
    chain_left: NDArray[np.int32]
    chain_right: NDArray[np.int32]
    copy_starts: NDArray[np.int64]
    copy_body: NDArray[np.int32]
    meet_starts: NDArray[np.int64]
    meet_from: NDArray[np.int64]
    meet_to: NDArray[np.int64]
    meet_body: NDArray[np.int32]


@compiled
def suspect(pairs: Pairs, suspects: Suspects, code: int, start: int, end: int) -> bool:
    """Suspect `code(start, end)` if it holds, is not a fact and not suspected yet; False without room.

    Invariant: a triple is in `keys` once. Cost: a few searches or bits.
    """
    if not contains(pairs, code, start, end):
        return True
    key, counters = key_of(pairs, code, start, end), suspects.counters
    slot, side = pairs.slot_of[code >> 1], code & 1
    if slot != SPARSE:
        bit = np.uint64(1) << np.uint64(end & 63)
        if suspects.bits[side, slot, start, end >> 6] & bit or has_key(suspects.facts, key):
            return True
    elif has_key(suspects.sparse, key) or has_key(suspects.facts, key):
        return True
    if counters[SUSPECTED] >= len(suspects.keys) or 3 * counters[SUSPECTED] >= 2 * len(suspects.sparse):
        return False
    if slot != SPARSE:
        suspects.bits[side, slot, start, end >> 6] |= bit
        suspects.bits[1 - side, slot, end, start >> 6] |= np.uint64(1) << np.uint64(start & 63)
    else:
        suspects.sparse[~place_of(suspects.sparse, key)] = key
    suspects.keys[counters[SUSPECTED]] = key
    counters[SUSPECTED] += 1
    return True


@compiled
def overdelete(pairs: Pairs, triggers: Triggers, suspects: Suspects, most: int) -> int:
    """Suspect all consequences of suspects and delete them: DONE, NO_ROOM, or TOO_MANY beyond `most`.

    Invariant: a suspect stays in its rows until its consequences are drawn.
    Cost: as `fixpoint`, for the suspects.
    """
    counters, bits = suspects.counters, pairs.entity_bits
    mask = (np.int64(1) << bits) - 1
    while counters[DRAWN] < counters[SUSPECTED]:
        if counters[SUSPECTED] > most:
            return TOO_MANY
        key = suspects.keys[counters[DRAWN]]
        relation, head, tail = key >> (2 * bits), (key >> bits) & mask, key & mask
        if not _suspect_consequences(pairs, triggers, suspects, relation, head, tail):
            return NO_ROOM
        take_out(pairs, 2 * relation, head, tail)
        counters[DRAWN] += 1
    return DONE


@compiled
def _suspect_consequences(
    pairs: Pairs, triggers: Triggers, suspects: Suspects, relation: int, head: int, tail: int
) -> bool:
    """Suspect all triples that a rule instance with this triple derives; False without room.

    Invariant: suspecting twice changes nothing. Cost: the rows of the triggered rules.
    """
    for index in range(triggers.copy_starts[relation], triggers.copy_starts[relation + 1]):
        if not suspect(pairs, suspects, triggers.copy_head[index], head, tail):
            return False
    for index in range(triggers.meet_starts[relation], triggers.meet_starts[relation + 1]):
        met = True
        for other in range(triggers.meet_from[index], triggers.meet_to[index]):
            met = met and contains(pairs, triggers.meet_others[other], head, tail)
        if met and not suspect(pairs, suspects, triggers.meet_head[index], head, tail):
            return False
    for side in range(2):
        code = 2 * relation + side
        start, end = (tail, head) if side else (head, tail)
        for index in range(triggers.chain_starts[code], triggers.chain_starts[code + 1]):
            partner, result = triggers.chain_partner[index], triggers.chain_head[index]
            if not _suspect_extensions(pairs, suspects, start, end, partner, result):
                return False
    return True


@compiled
def _suspect_extensions(
    pairs: Pairs, suspects: Suspects, start: int, end: int, partner: int, result: int
) -> bool:
    """Suspect what a chain of this pair and a row of the partner derives; False without room.

    Invariant: rows do not change meanwhile. Cost: the partner's row, as bits 64 pairs at a time.
    """
    slot, target = pairs.slot_of[partner >> 1], pairs.slot_of[result >> 1]
    if slot == SPARSE:
        number = row_number(pairs, partner, end)
        if number < 0:
            return True
        first = pairs.row_start[number]
        for index in range(first, first + pairs.row_size[number]):
            if not suspect(pairs, suspects, result, start, int(pairs.pool[index])):
                return False
        return True
    row = pairs.bits[partner & 1, slot, end]
    for index in range(len(row)):
        word = row[index]
        if target != SPARSE:
            word &= pairs.bits[result & 1, target, start, index]
            word &= ~suspects.bits[result & 1, target, start, index]
        while word != 0:
            if not suspect(pairs, suspects, result, start, 64 * index + lowest(word)):
                return False
            word &= word - np.uint64(1)
    return True


@compiled
def rederive(pairs: Pairs, sources: Sources, keys: NDArray[np.int64], first: int) -> int:
    """Queue the deleted triples that follow in one step from what is left; the first that found no room.

    Invariant: a triple comes back only by premises that hold. Cost: one `_follows` per deleted triple.
    """
    bits = pairs.entity_bits
    mask = (np.int64(1) << bits) - 1
    for index in range(first, len(keys)):
        relation, head, tail = keys[index] >> (2 * bits), (keys[index] >> bits) & mask, keys[index] & mask
        if _follows(pairs, sources, relation, head, tail) and not add(pairs, 2 * relation, head, tail):
            return index
    return len(keys)


@compiled
def _follows(pairs: Pairs, sources: Sources, relation: int, head: int, tail: int) -> bool:
    """Does some rule derive the triple in one step from what holds now?

    Invariant: nothing is written. Cost: the rules of the relation, until one fits.
    """
    for index in range(sources.copy_starts[relation], sources.copy_starts[relation + 1]):
        if contains(pairs, sources.copy_body[index], head, tail):
            return True
    for index in range(sources.meet_starts[relation], sources.meet_starts[relation + 1]):
        met = True
        for atom in range(sources.meet_from[index], sources.meet_to[index]):
            met = met and contains(pairs, sources.meet_body[atom], head, tail)
        if met:
            return True
    for index in range(sources.chain_starts[relation], sources.chain_starts[relation + 1]):
        if _linked(pairs, sources.chain_left[index], sources.chain_right[index], head, tail):
            return True
    return False


@compiled
def _linked(pairs: Pairs, left: int, right: int, head: int, tail: int) -> bool:
    """Is there a g with left(head, g) and right(g, tail)?

    Invariant: nothing is written. Cost: two rows of bits, or a search per end of the sparse row.
    """
    left_slot, right_slot = pairs.slot_of[left >> 1], pairs.slot_of[right >> 1]
    if left_slot >= 0 and right_slot >= 0:
        ahead, behind = pairs.bits[left & 1, left_slot, head], pairs.bits[1 - (right & 1), right_slot, tail]
        return _share_a_bit(ahead, behind)
    if left_slot != SPARSE:  # walk the sparse side
        left, right, head, tail = right ^ 1, left ^ 1, tail, head
    number = row_number(pairs, left, head)
    if number < 0:
        return False
    first = pairs.row_start[number]
    for index in range(first, first + pairs.row_size[number]):
        if contains(pairs, right, int(pairs.pool[index]), tail):
            return True
    return False


@compiled
def _share_a_bit(one: NDArray[np.uint64], other: NDArray[np.uint64]) -> bool:
    """Have two rows of bits a common bit?

    Invariant: nothing is written. Cost: one pass over the words.
    """
    shared = False
    for index in range(len(one)):
        shared = shared or (one[index] & other[index]) != 0
    return shared
