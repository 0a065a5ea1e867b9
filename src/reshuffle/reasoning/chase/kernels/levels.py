"""The least number of rule applications of every triple, by whole rows of bits, for dense fixpoints.

The same as `cheapest` (Knuth's generalised Dijkstra), where triples have too many instances to look at each: a row
keeps, for every size, the ends it has at that size, and a new pair is joined with all of them at once. What is
settled already is masked out, so saturated rows cost one comparison.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reshuffle.compiled import compiled
from reshuffle.reasoning.chase.kernels.cheapest import FOUND, NONE, Weights
from reshuffle.reasoning.chase.kernels.dense_joins import sets_off
from reshuffle.reasoning.chase.kernels.joins import DONE, NO_ROOM, Triggers
from reshuffle.reasoning.chase.kernels.pairs import lowest

if TYPE_CHECKING:
    from numpy.typing import NDArray

ENTRIES, FREE, LEVEL, NEWS, TOP = range(5)  # places in `Levels.counters`
UNSETTLED = 65_535


class Levels(NamedTuple):
    """A row is a code and a start, numbered code * entities + start; an entry is a row of bits with a level."""

    settled: NDArray[np.uint64]  # direction relation entity word
    sizes: NDArray[np.uint16]  # relation head tail
    settled_of: NDArray[np.int64]  # row: its first settled entry, the highest level first
    offered_of: NDArray[np.int64]  # row: its first entry that is offered but not settled
    news_of: NDArray[np.int64]  # row: its entry of settled pairs whose consequences are not drawn yet
    offered_at: NDArray[np.int64]  # level: the first offered entry
    words: NDArray[np.uint64]  # entry word
    level: NDArray[np.int32]  # entry
    row: NDArray[np.int64]  # entry
    next_of_row: NDArray[np.int64]  # entry
    next_of_all: NDArray[np.int64]  # entry: of its level if offered, of all news, or of all free ones
    counters: NDArray[np.int64]


@compiled
def _new_entry(levels: Levels, row: int, level: int) -> int:
    """An empty entry, or NONE without room.

    Invariant: an entry is free or belongs to one row. Cost: one row of words.
    """
    counters = levels.counters
    entry = counters[FREE]
    if entry != NONE:
        counters[FREE] = levels.next_of_all[entry]
    elif counters[ENTRIES] < len(levels.level):
        entry = counters[ENTRIES]
        counters[ENTRIES] += 1
    else:
        return NONE
    levels.words[entry] = 0
    levels.row[entry], levels.level[entry] = row, level
    levels.next_of_row[entry] = levels.next_of_all[entry] = NONE
    return int(entry)


@compiled
def _release(levels: Levels, entry: int) -> None:
    """Give an entry back.

    Invariant: nothing refers to it any more. Cost: constant.
    """
    levels.next_of_all[entry] = levels.counters[FREE]
    levels.counters[FREE] = entry


@compiled
def _offered_entry(levels: Levels, row: int, level: int) -> int:
    """The entry of a row for what it is offered at a level, or NONE without room.

    Invariant: a row has at most one offered entry per level. Cost: the offered entries of the row.
    """
    entry = levels.offered_of[row]
    while entry != NONE and levels.level[entry] != level:
        entry = levels.next_of_row[entry]
    if entry != NONE or level >= len(levels.offered_at):
        return int(entry)
    entry = _new_entry(levels, row, level)
    if entry != NONE:
        levels.next_of_row[entry], levels.offered_of[row] = levels.offered_of[row], entry
        levels.next_of_all[entry], levels.offered_at[level] = levels.offered_at[level], entry
        levels.counters[TOP] = max(levels.counters[TOP], level)
    return int(entry)


@compiled
def offer_pair(levels: Levels, code: int, start: int, end: int, level: int) -> bool:
    """The pair can be had at a level; False without room to note it.

    Invariant: what is settled is not offered. Cost: one `_offered_entry`.
    """
    bit = np.uint64(1) << np.uint64(end & 63)
    if levels.settled[code & 1, code >> 1, start, end >> 6] & bit:
        return True
    entry = _offered_entry(levels, code * levels.settled.shape[2] + start, level)
    if entry == NONE:
        return False
    levels.words[entry, end >> 6] |= bit
    return True


@compiled
def _offer_row(levels: Levels, code: int, start: int, source: int, level: int) -> bool:
    """All pairs of the entry `source` can be had for code(start, .) at a level.

    Invariant: as `offer_pair`, up to what is masked out later. Cost: two passes over the words.
    """
    side, relation, width = code & 1, code >> 1, levels.settled.shape[3]
    anything = np.uint64(0)
    for word in range(width):
        anything |= levels.words[source, word] & ~levels.settled[side, relation, start, word]
    if anything == 0:
        return True
    entry = _offered_entry(levels, code * levels.settled.shape[2] + start, level)
    if entry == NONE:
        return False
    # What is settled already is or-ed in with the rest, and masked out when the entry is settled.
    for word in range(width):
        levels.words[entry, word] |= levels.words[source, word]
    return True


@compiled
def settle_levels(triggers: Triggers, weights: Weights, levels: Levels, goal: NDArray[np.int64]) -> int:
    """Settle level after level until the goal (relation, head, tail) is, if there is one: FOUND, DONE or NO_ROOM.

    Invariant: levels rise, and what is settled keeps its level.
    Cost: per pair and chain the partner's entries, 64 pairs at a time.
    """
    counters = levels.counters
    while counters[LEVEL] <= counters[TOP]:
        news, offered = counters[NEWS], levels.offered_at[counters[LEVEL]]
        if news != NONE:
            if not _consequences(triggers, weights, levels, news):
                return NO_ROOM
            counters[NEWS] = levels.next_of_all[news]
            _release(levels, news)
        elif offered != NONE:
            # At most one entry each for the row, for its news, and the same for every end.
            if counters[ENTRIES] + 2 * levels.settled.shape[2] + 2 > len(levels.level):
                return NO_ROOM
            levels.offered_at[counters[LEVEL]] = levels.next_of_all[offered]
            _settle(triggers, levels, offered)
        else:
            counters[LEVEL] += 1
            if len(goal) and levels.sizes[goal[0], goal[1], goal[2]] != UNSETTLED:
                return FOUND
    return DONE


@compiled
def _settle(triggers: Triggers, levels: Levels, offered: int) -> None:
    """What a row is offered at the present level, and does not have yet, it has at this level.

    Invariant: both directions and the sizes agree. Cost: one pass over the words, constant per new pair.
    """
    row, height = levels.row[offered], levels.settled.shape[2]
    code, start = row // height, row % height
    _withdraw(levels, row, offered)
    for word in range(levels.settled.shape[3]):
        new = levels.words[offered, word] & ~levels.settled[code & 1, code >> 1, start, word]
        while new != 0:
            end = 64 * word + lowest(new)
            new &= new - np.uint64(1)
            _settle_end(triggers, levels, code, start, end)
            _settle_end(triggers, levels, code ^ 1, end, start)
            head, tail = (end, start) if code & 1 else (start, end)
            levels.sizes[code >> 1, head, tail] = levels.counters[LEVEL]
    _release(levels, offered)


@compiled
def _withdraw(levels: Levels, row: int, offered: int) -> None:
    """Take an entry out of what its row is offered.

    Invariant: the entry is among those offered. Cost: the offered entries of the row.
    """
    if levels.offered_of[row] == offered:
        levels.offered_of[row] = levels.next_of_row[offered]
        return
    entry = levels.offered_of[row]
    while levels.next_of_row[entry] != offered:
        entry = levels.next_of_row[entry]
    levels.next_of_row[entry] = levels.next_of_row[offered]


@compiled
def _settle_end(triggers: Triggers, levels: Levels, code: int, start: int, end: int) -> None:
    """Settle one direction of a pair at the present level, and note it as news where it has consequences.

    Invariant: the caller made room for two entries. Cost: constant.
    """
    counters, bit = levels.counters, np.uint64(1) << np.uint64(end & 63)
    row = code * levels.settled.shape[2] + start
    levels.settled[code & 1, code >> 1, start, end >> 6] |= bit
    entry = levels.settled_of[row]
    if entry == NONE or levels.level[entry] != counters[LEVEL]:
        entry = _new_entry(levels, row, counters[LEVEL])
        levels.next_of_row[entry], levels.settled_of[row] = levels.settled_of[row], entry
    levels.words[entry, end >> 6] |= bit
    if not sets_off(triggers, code):
        return
    news = levels.news_of[row]
    if news == NONE:
        news = _new_entry(levels, row, counters[LEVEL])
        levels.next_of_all[news], counters[NEWS] = counters[NEWS], news
        levels.news_of[row] = news
    levels.words[news, end >> 6] |= bit


@compiled
def _consequences(triggers: Triggers, weights: Weights, levels: Levels, news: int) -> bool:
    """Offer what follows from pairs that are settled at the present level; may be repeated after NO_ROOM.

    Invariant: offering twice changes nothing. Cost: the entries of the partners' rows.
    """
    row, height, level = levels.row[news], levels.settled.shape[2], levels.counters[LEVEL]
    code, start = row // height, row % height
    levels.news_of[row] = NONE
    if code & 1 == 0:
        relation = code >> 1
        for index in range(triggers.copy_starts[relation], triggers.copy_starts[relation + 1]):
            if not _offer_row(levels, triggers.copy_head[index], start, news, level + weights.copy[index]):
                return False
        for index in range(triggers.meet_starts[relation], triggers.meet_starts[relation + 1]):
            if not _offer_meet(triggers, weights, levels, news, index):
                return False
    return _offer_chains(triggers, weights, levels, news, code, start)


@compiled
def _offer_chains(
    triggers: Triggers, weights: Weights, levels: Levels, news: int, code: int, start: int
) -> bool:
    """Offer what chains of a row's news derive; False without room.

    Invariant: as `_consequences`.
    Cost: one pass over the words per pair, chain and entry of the partner's row.
    """
    height, width, level = levels.settled.shape[2], levels.settled.shape[3], levels.counters[LEVEL]
    settled, words, next_of_row = levels.settled, levels.words, levels.next_of_row
    for index in range(triggers.chain_starts[code], triggers.chain_starts[code + 1]):
        partner, result = triggers.chain_partner[index], triggers.chain_head[index]
        side, relation = result & 1, result >> 1
        for word in range(width):
            ends = words[news, word]
            while ends != 0:
                entry = levels.settled_of[partner * height + 64 * word + lowest(ends)]
                ends &= ends - np.uint64(1)
                while entry != NONE:
                    # Written out, since most rows have nothing new and a call costs more than finding out.
                    anything = np.uint64(0)
                    for place in range(width):
                        anything |= words[entry, place] & ~settled[side, relation, start, place]
                    cost = level + levels.level[entry] + weights.chain[index]
                    if anything != 0 and not _offer_row(levels, result, start, entry, cost):
                        return False
                    entry = next_of_row[entry]
    return True


@compiled
def _offer_meet(triggers: Triggers, weights: Weights, levels: Levels, news: int, index: int) -> bool:
    """Offer what a rule on the same pair derives from a row's news; False without room.

    Invariant: all its atoms are settled. Cost: constant per pair and atom.
    """
    start = levels.row[news] % levels.settled.shape[2]
    for word in range(levels.settled.shape[3]):
        ends = levels.words[news, word]
        while ends != 0:
            end = 64 * word + lowest(ends)
            ends &= ends - np.uint64(1)
            cost = levels.counters[LEVEL] + weights.meet[index]
            met = True
            for other in range(triggers.meet_from[index], triggers.meet_to[index]):
                code = triggers.meet_others[other]
                head, tail = (end, start) if code & 1 else (start, end)
                size = np.int64(levels.sizes[code >> 1, head, tail])
                met = met and size != UNSETTLED
                cost += size
            if met and not offer_pair(levels, triggers.meet_head[index], start, end, cost):
                return False
    return True
