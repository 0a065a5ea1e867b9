"""Many random channels at once: Z_f <- max(Z_f, max over (e, r, f) of B_r Z_e), row by row.

States lie as `states[entity, slot, word]`: 64 channels to a word of bits, or one continuous value to a "word".
Each row is written by one thread and may be read by others while it grows; since values only grow, and passes
go on until nothing changes, that race cannot change where they end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload

from reshuffle.compiled import compiled
from reshuffle.reasoning.geometry.kernels.edges import NONE, Edges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    States = NDArray[Any]  # entity slot word; uint64 or float32
    Flags = NDArray[np.bool_]


class Moves(NamedTuple):
    """For an edge with label x in the row of f, the slots that its other end sends: `starts[x] : starts[x + 1]`.

    The label is as f sees it, so an edge that leads away from f sends what the inverse relation sends.
    """

    starts: NDArray[np.int32]  # label + 1
    sources: NDArray[np.int32]  # move: slot at the neighbour
    targets: NDArray[np.int32]  # move: slot at f
    free_sources: NDArray[np.int32]  # identity moves, within one entity
    free_targets: NDArray[np.int32]


def joined(mine: Any, theirs: Any) -> Any:
    """The maximum: of bits, channel by channel, or of a value."""
    raise NotImplementedError  # compiled code only; see the overload


def exceeds(low: Any, high: Any) -> Any:
    """Is `low` above `high` in any channel?"""
    raise NotImplementedError  # compiled code only; see the overload


@overload(joined, strict=False)
def _joined(mine: Any, theirs: Any) -> Any:
    del theirs
    if isinstance(mine, types.Float):
        return lambda mine, theirs: theirs if theirs > mine else mine
    return lambda mine, theirs: mine | theirs


@overload(exceeds, strict=False)
def _exceeds(low: Any, high: Any) -> Any:
    del high
    if isinstance(low, types.Float):
        return lambda low, high: low > high
    return lambda low, high: low & ~high != 0


@compiled
def _settle(states: States, entity: int, moves: Moves) -> None:
    """Identity moves within one entity, until nothing changes.

    Invariant: values only grow. Cost: passes over the identity moves, at most one per slot.
    """
    again = True
    while again:
        again = False
        for move in range(len(moves.free_sources)):
            source, target = moves.free_sources[move], moves.free_targets[move]
            for word in range(states.shape[2]):
                after = joined(states[entity, target, word], states[entity, source, word])
                if after != states[entity, target, word]:
                    states[entity, target, word] = after
                    again = True


@compiled
def settle_all(states: States, moves: Moves) -> None:
    """The identity moves of every entity.

    Invariant: as `_settle`. Cost: one `_settle` per entity.
    """
    for entity in range(len(states)):
        _settle(states, entity, moves)


@compiled
def layer(
    edges: Edges, moves: Moves, states: States, active: Flags, next_active: Flags, first: int, last: int
) -> int:
    """One pass over the rows first:last, pulling from active neighbours; how many rows grew?

    Invariant: a row is written by one call only, and values only grow.
    Cost: edges of the rows x moves x words.
    """
    # Plain arrays in local names: reaching into the tuples in the loop costs a reference count each time.
    starts, labels, neighbours, first_added = edges.starts, edges.labels, edges.neighbours, edges.first_added
    next_added, added_labels, added_neighbours = edges.next_added, edges.added_labels, edges.added_neighbours
    move_starts, sources, targets = moves.starts, moves.sources, moves.targets
    words = states.shape[2]
    grown_rows = 0
    for entity in range(first, last):
        grown = False
        edge = starts[entity] if entity + 1 < len(starts) else 0
        end = starts[entity + 1] if entity + 1 < len(starts) else 0
        added = first_added[entity]
        while edge < end or added != NONE:
            if edge < end:
                neighbour, label = neighbours[edge], labels[edge]
                edge += 1
            else:
                neighbour, label = added_neighbours[added], added_labels[added]
                added = next_added[added]
            if neighbour < 0 or not active[neighbour]:
                continue
            for move in range(move_starts[label], move_starts[label + 1]):
                source, target = sources[move], targets[move]
                for word in range(words):
                    before = states[entity, target, word]
                    after = joined(before, states[neighbour, source, word])
                    if after != before:
                        states[entity, target, word] = after
                        grown = True
        if grown:
            _settle(states, entity, moves)
            next_active[entity] = True
            grown_rows += 1
    return grown_rows


@compiled
def _mixed(counter: np.uint64) -> np.uint64:
    """64 random bits from a counter (SplitMix64).

    Invariant: the same for the same counter. Cost: three multiplications.
    """
    word = counter * np.uint64(0x9E3779B97F4A7C15)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@compiled
def _sparse_word(counter: np.uint64, digits: np.uint64) -> np.uint64:
    """64 independent bits with P(1) = digits / 2^16: each binary digit halves what came so far, or fills it up.

    Invariant: after digit i each bit is 1 with the probability that the last i digits say. Cost: 16 draws.
    """
    word = np.uint64(0)
    for place in range(16):
        random = _mixed(counter + np.uint64(place))
        is_one = (digits >> np.uint64(place)) & np.uint64(1)
        word = word | random if is_one else word & random
    return word


@compiled
def fill_with_bits(
    states: States, slots: NDArray[np.int32], digits: int, channels: int, seed: int, first: int, last: int
) -> None:
    """Independent bits with P(1) = digits / 2^16 in these slots of the rows first:last; the others stay 0.

    Every word has a counter of its own, so the bits do not depend on who fills which rows.

    Cost: 16 draws per word.
    """
    words = states.shape[2]
    spare = np.uint64(64 * words - channels)  # channels that the last word has too many
    key = _mixed(np.uint64(seed) + np.uint64(1)) & ~np.uint64(15)
    for entity in range(first, last):
        for place in range(len(slots)):
            for word in range(words):
                number = np.uint64((entity * len(slots) + place) * words + word)
                drawn = _sparse_word(key + (number << np.uint64(4)), np.uint64(digits))
                if word == words - 1:
                    drawn >>= spare
                states[entity, slots[place], word] = drawn


@compiled
def keep_above(states: States, low: NDArray[Any], slot: int, kept: Flags) -> None:
    """Of the kept entities, keep those whose slot is nowhere below `low`.

    Invariant: `kept` only loses entities. Cost: up to the first word that decides, per entity.
    """
    for entity in range(len(kept)):
        if kept[entity]:
            for word in range(len(low)):
                if exceeds(low[word], states[entity, slot, word]):
                    kept[entity] = False
                    break


@compiled
def keep_below(states: States, high: NDArray[Any], slot: int, kept: Flags) -> None:
    """Of the kept entities, keep those whose slot is nowhere above `high`.

    Invariant: `kept` only loses entities. Cost: up to the first word that decides, per entity.
    """
    for entity in range(len(kept)):
        if kept[entity]:
            for word in range(len(high)):
                if exceeds(states[entity, slot, word], high[word]):
                    kept[entity] = False
                    break
