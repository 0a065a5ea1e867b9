"""The inner loops of weights that rules with one head share out: least squares with a penalty, none negative."""

from __future__ import annotations

# Types would say "array" and "integer" over and over, and numba infers them.
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, check-untyped-defs=False
import numpy as np

from reshuffle.compiled import compiled

MOST_BODIES = 64
"""Of one head: the bits of a number say which of them an entity has."""
_SWEEPS, _TINY = 200, 1e-5


@compiled
def weights_of_heads(heads, rules, members, num_entities, penalty, weights):
    """Write the weights of the rules of the heads from `heads[0]` to `heads[1]`.

    `rules` are where the bodies of each head begin, and the bodies; `members` the entities of each property.

    Invariant: other weights stay. Cost: a step for each member of each body, and for each pair of bodies of a member.
    """
    room = np.zeros(num_entities, np.uint64), np.empty(num_entities, np.int32)
    for head in range(heads[0], heads[1]):
        begin, end = rules[0][head], rules[0][head + 1]
        if begin < end:
            weights[begin:end] = _solved(head, rules, members, penalty, room)


@compiled
def _solved(head, rules, members, penalty, room):
    """The weights of the rules of a head.

    They are found one after the other, again and again. Bodies count as if each had the same number of members.

    Invariant: the first column of `room` is zero between calls. Cost: see `weights_of_heads`.
    """
    begin, count = rules[0][head], rules[0][head + 1] - rules[0][head]
    products, right = _products(head, rules, members, room)
    scales = np.empty(count)
    for place in range(count):
        size = members[0][rules[1][begin + place] + 1] - members[0][rules[1][begin + place]]
        scales[place] = 1 / np.sqrt(size)
    found, left = np.zeros(count), right * scales
    for _ in range(_SWEEPS):
        largest = 0.0
        for place in range(count):
            own = products[place, place] * scales[place] ** 2
            new = max(0.0, (left[place] + own * found[place]) / (own + penalty))
            change = new - found[place]
            if change != 0:
                found[place] = new
                for other in range(count):
                    left[other] -= products[other, place] * scales[other] * scales[place] * change
                largest = max(largest, abs(change))
        if largest < _TINY:
            break
    return found * scales


@compiled
def _products(head, rules, members, room):
    """How many entities have each two bodies of a head, and how many that have the head have each body.

    Invariant: the first column of `room` is zero again. Cost: a step for each member, and for each pair of its bodies.
    """
    begin, count = rules[0][head], rules[0][head + 1] - rules[0][head]
    bits, touched = room
    reached = 0
    for place in range(count):
        body = rules[1][begin + place]
        for at in range(members[0][body], members[0][body + 1]):
            entity = members[1][at]
            if bits[entity] == 0:
                touched[reached] = entity
                reached += 1
            bits[entity] |= np.uint64(1) << np.uint64(place)
    products, right = np.zeros((count, count)), np.zeros(count)
    for at in range(members[0][head], members[0][head + 1]):
        for place in range(count):
            right[place] += (bits[members[1][at]] >> np.uint64(place)) & np.uint64(1)
    own = np.empty(count, np.int64)
    for at in range(reached):
        _count_pairs(bits[touched[at]], own, products)
        bits[touched[at]] = 0
    return products, right


@compiled
def _count_pairs(bits, own, products):
    """Count the pairs of places that have a bit.

    Invariant: `own` is room. Cost: a step per place, and per pair.
    """
    found = 0
    for place in range(len(own)):
        if (bits >> np.uint64(place)) & np.uint64(1):
            own[found] = place
            found += 1
    for first in range(found):
        for second in range(found):
            products[own[first], own[second]] += 1
