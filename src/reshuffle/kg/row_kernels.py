"""Sorting triples of ids, grouping them by row, and searching in a row."""

from __future__ import annotations

# Types would say "array" and "integer" forty times, and numba infers them.
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, check-untyped-defs=False
import numpy as np

from reshuffle.compiled import compiled

DIGIT = 11  # bits a radix pass sorts by: 2048 write positions still fit the first-level cache


@compiled
def pack_keys(heads, relations, tails, bits, keys):
    """One number per triple, ordered as (relation, head, tail); `bits` hold an entity.

    Invariant: keys compare as the triples do; two entities and a relation fit in 63 bits.
    Cost: one pass over the triples.
    """
    width = np.uint64(bits)
    for row in range(len(heads)):
        keys[row] = (np.uint64(relations[row]) << width | np.uint64(heads[row])) << width | np.uint64(
            tails[row]
        )


@compiled
def split_keys(keys, pivot, split):
    """Copy to `split` the keys below `pivot`, then the others; returns how many are below.

    Invariant: all keys before the returned place are below all keys behind it.
    Cost: two passes over the keys.
    """
    below = 0
    for key in keys:
        below += key < pivot
    low, high = 0, below
    for key in keys:
        if key < pivot:
            split[low] = key
            low += 1
        else:
            split[high] = key
            high += 1
    return below


@compiled
def radix_sort(keys, spare, bits):
    """Sort `keys`, which have `bits` bits, with `spare` as room; returns that of the two with the result.

    Invariant: after pass n the keys are sorted by their lowest n digits, since each pass keeps the order of equals.
    Cost: bits / DIGIT passes that each move all keys, and one pass before that counts all digits.
    """
    passes = (bits + DIGIT - 1) // DIGIT
    mask = np.uint64((1 << DIGIT) - 1)
    positions = np.zeros((passes, 1 << DIGIT), np.int64)
    for key in keys:
        for number in range(passes):
            positions[number, np.int64(key >> np.uint64(number * DIGIT) & mask)] += 1
    for number in range(passes):
        total = 0
        for digit in range(1 << DIGIT):
            count = positions[number, digit]
            positions[number, digit] = total
            total += count
    for number in range(passes):
        shift = np.uint64(number * DIGIT)
        place = positions[number]
        for key in keys:
            digit = np.int64(key >> shift & mask)
            spare[place[digit]] = key
            place[digit] += 1
        keys, spare = spare, keys
    return keys


@compiled
def unpack_distinct(keys, bits, heads, relations, tails):
    """Write the distinct triples of sorted `keys`; returns how many there are.

    Invariant: equal keys are neighbours, so comparing with the key before finds all duplicates.
    Cost: one pass over the keys.
    """
    width, mask = np.uint64(bits), np.uint64((1 << bits) - 1)
    row = 0
    for position in range(len(keys)):
        key = keys[position]
        if position and key == keys[position - 1]:
            continue
        heads[row] = np.int32(key >> width & mask)
        relations[row] = np.int32(key >> (width + width))
        tails[row] = np.int32(key & mask)
        row += 1
    return row


@compiled
def group_by_row(rows, relations, neighbours, starts, row_relations, row_neighbours):
    """Move each edge to its row, in the order given within the row; `starts` tell where the rows begin.

    Invariant: `places[row]` is where the next edge of the row goes, and never passes `starts[row + 1]`.
    Cost: one pass over the edges, with one write to a random row each.
    """
    places = starts[:-1].copy()
    for edge in range(len(rows)):
        place = places[rows[edge]]
        row_relations[place], row_neighbours[place] = relations[edge], neighbours[edge]
        places[rows[edge]] = place + 1


@compiled
def lower_bound(values, low, high, wanted):
    """The first place in `values[low:high]`, which are sorted, whose value is at least `wanted`; else `high`.

    Invariant: all before `low` are below `wanted`, all from `high` on are not. Cost: log(high - low).
    """
    while low < high:
        middle = (low + high) >> 1
        if values[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low
