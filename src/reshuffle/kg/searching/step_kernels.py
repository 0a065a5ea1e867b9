"""The inner loops of `steps.py`: breadth-first searches from many entities in one pass, a bit for each.

An entity has `words` numbers of 64 bits, one bit per search. `seen` are the searches that have reached it, `fresh`
those that reached it with the last step. Few entities with fresh bits pass them on to their neighbours; where there are
many, each entity that lacks a bit asks its neighbours, and stops asking when it has all that are still on their way.
Each edge is there from both of its ends.
"""

from __future__ import annotations

# Types would say "array" and "integer" over and over, and numba infers them.
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, check-untyped-defs=False
import numpy as np

from reshuffle.compiled import compiled

OPEN = 255
"""The number of steps to an entity that no search has reached yet."""
_MUCH = 6  # asking begins where passing on would walk more than one in six edges
_ONE = np.uint64(1)


@compiled
def steps_to_some(rows, sources, blocked, most, asked, found):
    """Write the steps between pairs: question q has source `slots[q]` and the entities `bounds[q] : bounds[q + 1]`.

    The first step of a search does not go to its blocked entity; -1 blocks none.

    Invariant: after step s `found` has all numbers up to s, and is `OPEN` elsewhere. Cost: the edges, once for each
    step and `words`, until every pair is found; the last step asks the neighbours of those that are left alone.
    """
    slots, bounds, entities = asked
    state = _begun(rows, sources, blocked)
    seen = state[0]
    found[:] = OPEN
    left = len(found)
    for question in range(len(slots)):
        for place in range(bounds[question], bounds[question + 1]):
            if entities[place] == sources[slots[question]]:
                found[place] = 0
                left -= 1
    step, size = 1, state[3][0]
    while left > 0 and step <= most:
        left -= _note_some(seen, asked, step, found)
        if left == 0 or step == most or size == 0:
            break
        step += 1
        if step == most:
            _last_step(rows, state, asked, step, found)
            break
        size = _step(rows, state, size)
    for place in range(len(found)):
        if found[place] == OPEN:
            found[place] = most + 1


@compiled
def steps_to_all(rows, sources, blocked, most, found):
    """Write the steps from each source to every entity into `found[source, entity]`; `most + 1`: more.

    Invariant: after step s all numbers up to s are there. Cost: as `steps_to_some`, and a write for each number.
    """
    state = _begun(rows, sources, blocked)
    found[:] = most + 1
    for slot in range(len(sources)):
        found[slot, sources[slot]] = 0
    step, size = 1, state[3][0]
    while size > 0 and step <= most:
        _note_all(state, size, step, found)
        if step < most:
            size = _step(rows, state, size)
        step += 1


@compiled
def _begun(rows, sources, blocked):
    """The state after the first step: `seen`, `fresh`, `reached`, how many entities are fresh, and these.

    Invariant: between steps, `reached` is 0 everywhere, and `fresh` is 0 for all but the entities that are listed.
    Cost: the edges of the sources, and the size of the arrays.
    """
    starts, neighbours = rows
    count, words = len(starts) - 1, (len(sources) + 63) // 64
    seen = np.zeros((count, words), dtype=np.uint64)
    fresh = np.zeros((count, words), dtype=np.uint64)
    reached = np.zeros((count, words), dtype=np.uint64)
    numbers, active = np.zeros(1, dtype=np.int64), np.empty(count, dtype=np.int32)
    listed = np.zeros(count, dtype=np.bool_)
    for slot in range(len(sources)):
        word, bit = slot // 64, _ONE << np.uint64(slot % 64)
        seen[sources[slot], word] |= bit
    for slot in range(len(sources)):
        word, bit = slot // 64, _ONE << np.uint64(slot % 64)
        for edge in range(starts[sources[slot]], starts[sources[slot] + 1]):
            there = neighbours[edge]
            if there == blocked[slot] or seen[there, word] & bit:
                continue
            seen[there, word] |= bit
            fresh[there, word] |= bit
            if not listed[there]:
                listed[there] = True
                active[numbers[0]] = there
                numbers[0] += 1
    return seen, fresh, reached, numbers, active, np.empty(count, dtype=np.int32)


@compiled
def _step(rows, state, size):
    """One more step of all searches; returns how many entities are fresh then.

    Invariant: as `_begun` says. Cost: the edges of the fresh entities, or of all that lack a bit.
    """
    starts, neighbours = rows
    seen, fresh, reached, numbers, active, onward = state
    words = seen.shape[1]
    edges = 0
    for place in range(size):
        edges += starts[active[place] + 1] - starts[active[place]]
    few = edges * _MUCH < len(neighbours)
    found = _passed_on(rows, state, size) if few else _asked_for(rows, state, size)
    for place in range(size):
        for word in range(words):
            fresh[active[place], word] = 0
    for place in range(found):
        there = onward[place]
        active[place] = there
        for word in range(words):
            seen[there, word] |= reached[there, word]
            fresh[there, word] = reached[there, word]
            reached[there, word] = 0
    numbers[0] = found
    return found


@compiled
def _passed_on(rows, state, size):
    """Fresh entities tell their neighbours; returns how many of these are listed in `onward`.

    Invariant: `reached` has no bit of `seen`. Cost: the edges of the fresh entities.
    """
    starts, neighbours = rows
    seen, fresh, reached, _, active, onward = state
    words, found = seen.shape[1], 0
    for place in range(size):
        here = active[place]
        for edge in range(starts[here], starts[here + 1]):
            there = neighbours[edge]
            before, new = np.uint64(0), np.uint64(0)
            for word in range(words):
                bits = fresh[here, word] & ~seen[there, word]
                before |= reached[there, word]
                new |= bits
                reached[there, word] |= bits
            if new and not before:
                onward[found] = there
                found += 1
    return found


@compiled
def _asked_for(rows, state, size):
    """Entities ask their neighbours for the bits that they lack; returns how many got some, listed in `onward`.

    Invariant: `reached` has no bit of `seen`. Cost: the edges of those who lack a bit that is on its way.
    """
    starts = rows[0]
    seen, fresh, reached, _, active, onward = state
    words, found = seen.shape[1], 0
    moving, lacks = np.zeros(words, dtype=np.uint64), np.zeros(words, dtype=np.uint64)
    for place in range(size):
        for word in range(words):
            moving[word] |= fresh[active[place], word]
    for here in range(len(starts) - 1):
        some = np.uint64(0)
        for word in range(words):
            lacks[word] = moving[word] & ~seen[here, word]
            some |= lacks[word]
        if some and _gathered(rows, fresh, here, lacks, reached[here]):
            onward[found] = here
            found += 1
    return found


@compiled(inline=True)
def _gathered(rows, fresh, here, lacks, got):
    """Write into `got` the bits that an entity lacks and a neighbour has; returns whether there are any.

    Invariant: `got` is 0 before. Cost: the entity's edges, up to the one with which it has all that it lacks.
    """
    starts, neighbours = rows
    some = np.uint64(0)
    for edge in range(starts[here], starts[here + 1]):
        there, missing = neighbours[edge], np.uint64(0)
        for word in range(len(got)):
            got[word] |= fresh[there, word] & lacks[word]
            some |= got[word]
            missing |= lacks[word] & ~got[word]
        if not missing:
            break
    return some != 0


@compiled
def _last_step(rows, state, asked, step, found):
    """Ask the neighbours of the entities that are left whether they were reached by the step before.

    Invariant: no state changes. Cost: the edges of these entities, up to the first that was.
    """
    starts, neighbours = rows
    fresh = state[1]
    slots, bounds, entities = asked
    for question in range(len(slots)):
        word, bit = slots[question] // 64, _ONE << np.uint64(slots[question] % 64)
        for place in range(bounds[question], bounds[question + 1]):
            if found[place] != OPEN:
                continue
            for edge in range(starts[entities[place]], starts[entities[place] + 1]):
                if fresh[neighbours[edge], word] & bit:
                    found[place] = step
                    break


@compiled
def _note_some(seen, asked, step, found):
    """Write the step for the pairs that are seen and were open; returns how many. Cost: the pairs.

    Invariant: a number that is written stays.
    """
    slots, bounds, entities = asked
    noted = 0
    for question in range(len(slots)):
        word, bit = slots[question] // 64, _ONE << np.uint64(slots[question] % 64)
        for place in range(bounds[question], bounds[question + 1]):
            if found[place] == OPEN and seen[entities[place], word] & bit:
                found[place] = step
                noted += 1
    return noted


@compiled
def _note_all(state, size, step, found):
    """Write the step for every fresh bit. Cost: the searches, for each fresh entity.

    Invariant: a bit is fresh once, so that a number is written once.
    """
    fresh, active = state[1], state[4]
    for place in range(size):
        here = active[place]
        for slot in range(len(found)):
            if (fresh[here, slot // 64] >> np.uint64(slot % 64)) & _ONE:
                found[slot, here] = step
