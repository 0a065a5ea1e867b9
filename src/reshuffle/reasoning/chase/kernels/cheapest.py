"""The least number of rule applications of every triple, in rising order (Knuth's generalised Dijkstra).

Knuth, "A generalization of Dijkstra's algorithm", Information Processing Letters 6, 1977. A triple is settled
when no unsettled one is cheaper; only settled triples stand in the rows that joins read. Costs are small
integers, so the queue is one list per cost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reshuffle.compiled import compiled
from reshuffle.reasoning.chase.kernels.joins import DONE, NO_ROOM, Triggers
from reshuffle.reasoning.chase.kernels.pairs import ENTERED, Pairs, enter_both, key_of, row_number
from reshuffle.reasoning.keysets import place_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

FOUND = 5
NUMBERED, ENTRIES, LEVEL = range(3)  # places in `Costs.counters`
NONE = -1


class Costs(NamedTuple):
    """The costs so far; a triple is settled once its place in `settled` is set."""

    keys: NDArray[np.int64]  # hash of the triples met so far
    number_of: NDArray[np.int32]  # ... and their numbers
    key_at: NDArray[np.int64]  # number
    cost: NDArray[np.int32]  # number
    settled: NDArray[np.bool_]  # number
    first_entry: NDArray[np.int64]  # cost; NONE or the newest entry of that cost
    next_entry: NDArray[np.int64]  # entry
    entry_number: NDArray[np.int32]  # entry
    counters: NDArray[np.int64]


class Weights(NamedTuple):
    """What a trigger costs: 1, or 0 where it makes a fresh relation."""

    chain: NDArray[np.int32]
    copy: NDArray[np.int32]
    meet: NDArray[np.int32]


@compiled
def offer(costs: Costs, key: int, cost: int) -> bool:
    """The triple can be had for `cost`; False when there was no room to note it.

    Invariant: `cost` is the least that was offered; dearer entries stay in their lists and are skipped
    later.
    Cost: one search.
    """
    counters = costs.counters
    place = place_of(costs.keys, key)
    if place >= 0 and costs.cost[costs.number_of[place]] <= cost:
        return True
    full = 3 * counters[NUMBERED] >= 2 * len(costs.keys) or counters[NUMBERED] >= len(costs.cost)
    if full or counters[ENTRIES] >= len(costs.next_entry) or cost >= len(costs.first_entry):
        return False
    if place >= 0:
        number = np.int64(costs.number_of[place])
    else:
        number = counters[NUMBERED]
        counters[NUMBERED] += 1
        costs.keys[~place], costs.number_of[~place] = key, number
        costs.key_at[number], costs.settled[number] = key, False
    costs.cost[number] = cost
    entry = counters[ENTRIES]
    counters[ENTRIES] += 1
    costs.entry_number[entry], costs.next_entry[entry] = number, costs.first_entry[cost]
    costs.first_entry[cost] = entry
    return True


@compiled
def settle(pairs: Pairs, triggers: Triggers, weights: Weights, costs: Costs, goal: int) -> int:
    """Settle triples in rising order until `goal` is: FOUND, DONE when nothing is left, or NO_ROOM.

    Invariant: settled triples have their least cost, and only they are in rows.
    Cost: every rule instance once.
    """
    counters, bits = costs.counters, pairs.entity_bits
    mask = (np.int64(1) << bits) - 1
    while counters[LEVEL] < len(costs.first_entry):
        entry = costs.first_entry[counters[LEVEL]]
        if entry == NONE:
            counters[LEVEL] += 1
            continue
        number = costs.entry_number[entry]
        if not costs.settled[number]:
            key = costs.key_at[number]
            relation, head, tail = key >> (2 * bits), (key >> bits) & mask, key & mask
            if pairs.counters[ENTERED] == 0 and not enter_both(pairs, 2 * relation, head, tail):
                return NO_ROOM
            pairs.counters[ENTERED] = 1
            # New entries of this very cost go in front, so this one is taken out first.
            costs.first_entry[counters[LEVEL]] = costs.next_entry[entry]
            costs.settled[number] = True
            if not _offer_consequences(pairs, triggers, weights, costs, number):
                costs.settled[number] = False
                costs.next_entry[entry] = costs.first_entry[counters[LEVEL]]
                costs.first_entry[counters[LEVEL]] = entry
                return NO_ROOM
            pairs.counters[ENTERED] = 0
            if key == goal:
                return FOUND
        else:
            costs.first_entry[counters[LEVEL]] = costs.next_entry[entry]
    return DONE


@compiled
def _settled_cost(pairs: Pairs, costs: Costs, code: int, start: int, end: int) -> int:
    """The cost of an atom, or NONE while it is not settled.

    Invariant: nothing is written. Cost: one search.
    """
    place = place_of(costs.keys, key_of(pairs, code, start, end))
    if place < 0:
        return NONE
    number = costs.number_of[place]
    return int(costs.cost[number]) if costs.settled[number] else NONE


@compiled
def _offer_consequences(
    pairs: Pairs, triggers: Triggers, weights: Weights, costs: Costs, number: int
) -> bool:
    """Offer all that follows from a settled triple and other settled ones; False without room.

    Invariant: offering twice changes nothing. Cost: the rows of the triggered rules.
    """
    bits = pairs.entity_bits
    mask = (np.int64(1) << bits) - 1
    key, cost = costs.key_at[number], int(costs.cost[number])
    relation, head, tail = key >> (2 * bits), (key >> bits) & mask, key & mask
    for index in range(triggers.copy_starts[relation], triggers.copy_starts[relation + 1]):
        derived = key_of(pairs, triggers.copy_head[index], head, tail)
        if not offer(costs, derived, cost + weights.copy[index]):
            return False
    for index in range(triggers.meet_starts[relation], triggers.meet_starts[relation + 1]):
        total = cost + weights.meet[index]
        for other in range(triggers.meet_from[index], triggers.meet_to[index]):
            more = _settled_cost(pairs, costs, triggers.meet_others[other], head, tail)
            total = NONE if min(more, total) == NONE else total + more
        if total != NONE and not offer(costs, key_of(pairs, triggers.meet_head[index], head, tail), total):
            return False
    for side in range(2):
        code = 2 * relation + side
        start, end = (tail, head) if side else (head, tail)
        for index in range(triggers.chain_starts[code], triggers.chain_starts[code + 1]):
            partner, result = triggers.chain_partner[index], triggers.chain_head[index]
            if not _offer_chain(pairs, costs, start, end, partner, result, cost + weights.chain[index]):
                return False
    return True


@compiled
def _offer_chain(
    pairs: Pairs, costs: Costs, start: int, end: int, partner: int, result: int, cost: int
) -> bool:
    """Offer what a chain of this pair and a row of the partner derives; False without room.

    Invariant: rows hold settled pairs only. Cost: two searches per end of the row.
    """
    row = row_number(pairs, partner, end)
    if row < 0:
        return True
    first = pairs.row_start[row]
    for index in range(first, first + pairs.row_size[row]):
        other = int(pairs.pool[index])
        more = _settled_cost(pairs, costs, partner, end, other)
        if not offer(costs, key_of(pairs, result, start, other), cost + more):
            return False
    return True


@compiled
def settled_costs(costs: Costs, keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """The costs of triples; of those that are not settled, the level reached, which they cost at least.

    Invariant: nothing is written. Cost: one search per triple.
    """
    found = np.empty(len(keys), dtype=np.int64)
    for index in range(len(keys)):
        place = place_of(costs.keys, keys[index])
        settled = place >= 0 and costs.settled[costs.number_of[place]]
        found[index] = costs.cost[costs.number_of[place]] if settled else costs.counters[LEVEL]
    return found


@compiled
def distances(starts: NDArray[np.int64], neighbours: NDArray[np.int32], origin: int) -> NDArray[np.int32]:
    """Steps from `origin` to every entity over compressed rows; NONE where there is no way.

    Invariant: an entity enters the frontier once, by distance. Cost: one pass over entities and edges.
    """
    steps = np.full(len(starts) - 1, NONE, dtype=np.int32)
    frontier = np.empty(len(starts) - 1, dtype=np.int32)
    steps[origin], frontier[0] = 0, origin
    size, done = 1, 0
    while done < size:
        entity = frontier[done]
        done += 1
        for index in range(starts[entity], starts[entity + 1]):
            other = neighbours[index]
            if steps[other] == NONE:
                steps[other] = steps[entity] + 1
                frontier[size] = other
                size += 1
    return steps
