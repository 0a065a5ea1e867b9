"""The inner loop of mining: which bodies lead from a fact's head to its tail, with the fact or without."""

from __future__ import annotations

# Types would say "array" and "integer" over and over, and numba infers them.
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, check-untyped-defs=False
import numpy as np

from reshuffle.compiled import compiled
from reshuffle.kg.row_kernels import lower_bound
from reshuffle.rulelist.kernels.walking import is_hidden

HIDDEN, SIMPLE = 1, 2
"""Flags of a word: a walk does without the fact itself; such a walk meets no entity twice, either."""
_KINDS = 4  # of flags
_MUCH_LONGER = 8  # a row that is so much longer than another is searched, not read
_MULTIPLIER, _STEP = np.uint64(6364136223846793005), np.uint64(1442695040888963407)


@compiled
def by_neighbour(starts, codes, neighbours, num_relations):
    """The same edges, in each row by neighbour: their codes and neighbours.

    Invariant: rows are filled in the order of those who lead to them. Cost: linear in the edges.
    """
    filled = starts[:-1].copy()
    out_codes, out_neighbours = np.empty_like(codes), np.empty_like(neighbours)
    for here in range(len(starts) - 1):
        for edge in range(starts[here], starts[here + 1]):
            there, code = neighbours[edge], codes[edge]
            out_codes[filled[there]] = code - num_relations if code >= num_relations else code + num_relations
            out_neighbours[filled[there]] = here
            filled[there] += 1
    return out_codes, out_neighbours


@compiled
def closing_words(edges, num_relations, facts, length, most, words):
    """Write the distinct words of all walks of `length` edges from head to tail, fact after fact, with their flags.

    `facts` are heads, relations and tails, and `edges` go by neighbour. A word c1;...;cn is the number with the digits
    c1 + 1, ..., cn + 1 to the base 2R + 1, the first one highest; four times that and its flags are written. Returns
    how many facts are done, and where the words of each begin: ends where those of one do not fit any more.

    Of a fact whose walks could cost more than `most` steps only some first edges are walked, drawn by its ends.

    Invariant: before `filled` are the words of the facts that are done, each once. Cost: for each fact the walks of
    length - 2 edges from that end of it which has fewer neighbours, and for each of them a pass over the shorter of
    two rows, with a search for each of its edges where the other is much longer.
    """
    starts = edges[0]
    base = 2 * num_relations + 1
    bounds = np.zeros(len(facts[0]) + 1, dtype=np.int64)
    for fact in range(len(facts[0])):
        start, asked, end = facts[0][fact], facts[1][fact], facts[2][fact]
        turned = starts[end + 1] - starts[end] < starts[start + 1] - starts[start]
        if turned:
            start, end, asked = end, start, asked + num_relations
        question = start, asked, end
        filled = _words_between(edges, num_relations, question, length, most, words, bounds[fact])
        if filled < 0:
            return fact, bounds
        found = np.sort(words[bounds[fact] : filled])
        filled = bounds[fact]
        for place in range(len(found)):
            word, flags = found[place] // _KINDS, found[place] % _KINDS
            if place > 0 and word == found[place - 1] // _KINDS:
                words[filled - 1] |= flags
            else:
                words[filled] = word * _KINDS + flags
                filled += 1
        if turned:
            for place in range(bounds[fact], filled):
                word, flags = words[place] // _KINDS, words[place] % _KINDS
                words[place] = _turned(word, base, num_relations) * _KINDS + flags
        bounds[fact + 1] = filled
    return len(facts[0]), bounds


@compiled
def _words_between(edges, num_relations, question, length, most, words, filled):
    """Write the words of all walks between the ends of a question; returns where they end, or -1 for no room.

    Invariant: `at[: depth + 1]` is a walk from the start, `edge[d]` the next edge to try from its d-th entity,
    `word[d]` the word of its first d edges, and `flags[d]` what can be said of them. Cost: as `closing_words` says.
    """
    starts, codes, neighbours = edges
    start, asked, end = question
    base = 2 * num_relations + 1
    if length == 1:
        return _only_edges(edges, num_relations, question, words, filled)
    deepest = length - 2
    at, edge = np.empty(deepest + 1, dtype=np.int64), np.empty(deepest + 1, dtype=np.int64)
    word, flags = np.zeros(deepest + 1, dtype=np.int64), np.zeros(deepest + 1, dtype=np.int64)
    at[0], edge[0], flags[0] = start, starts[start], HIDDEN | SIMPLE
    kept, chance = _share_of_edges(starts, question, length, most), _seeded(start, end, asked)
    depth = 0
    while depth >= 0 and filled >= 0:
        here = at[depth]
        if depth == deepest:
            walk = at[: depth + 1], word[depth], flags[depth]
            filled = _last_edges(edges, num_relations, question, walk, words, filled)
            depth -= 1
        elif edge[depth] == starts[here + 1]:
            depth -= 1
        else:
            there, code = neighbours[edge[depth]], codes[edge[depth]]
            edge[depth] += 1
            if depth == 0 and kept < 1.0:
                chance = chance * _MULTIPLIER + _STEP
                if (chance >> np.uint64(11)) * (1.0 / (1 << 53)) >= kept:
                    continue
            told = flags[depth]
            if there == end or _is_among(at, depth + 1, there):
                told &= ~SIMPLE
            if is_hidden(here, code, there, start, asked, end, num_relations):
                told = 0
            depth += 1
            at[depth], edge[depth], flags[depth] = there, starts[there], told
            word[depth] = word[depth - 1] * base + code + 1
    return filled


@compiled(inline=True)
def _share_of_edges(starts, question, length, most):
    """The share of the first edges that keeps the cost of a fact below `most`.

    Invariant: it is 1 for bodies of up to two atoms. Cost: two lookups.
    """
    start, _, end = question
    worst = float(starts[start + 1] - starts[start]) * float(starts[end + 1] - starts[end])
    return 1.0 if length <= 2 or worst <= most else most / worst


@compiled(inline=True)
def _seeded(start, end, asked):
    """Where the random numbers of a fact begin.

    Invariant: nothing else has a part in it. Cost: a few steps.
    """
    seed = np.uint64(start) * _MULTIPLIER + np.uint64(end)
    return (seed * _MULTIPLIER + np.uint64(asked)) * _MULTIPLIER + _STEP


@compiled(inline=True)
def _is_among(entities, size, entity):
    """Is an entity among the first `size`?

    Invariant: nothing is written. Cost: a step for each of them.
    """
    found = False
    for place in range(size):
        found |= entities[place] == entity
    return found


@compiled
def _only_edges(edges, num_relations, question, words, filled):
    """Write the words of one edge between the ends; returns as its caller.

    Invariant: an edge is the fact itself, or does without it. Cost: a search, and the edges between the two.
    """
    starts, codes, neighbours = edges
    start, asked, end = question
    edge = lower_bound(neighbours, starts[start], starts[start + 1], end)
    while edge < starts[start + 1] and neighbours[edge] == end:
        if filled == len(words):
            return -1
        own = is_hidden(start, codes[edge], end, start, asked, end, num_relations)
        flags = 0 if own else HIDDEN | SIMPLE
        words[filled] = (codes[edge] + 1) * _KINDS + flags
        filled += 1
        edge += 1
    return filled


@compiled
def _last_edges(edges, num_relations, question, walk, words, filled):
    """Write the words that two more edges complete: over a neighbour of both the walk's end and the question's.

    Invariant: `near` and `far` are at the first edges of their rows that may lead to the same entity. Cost: a pass over
    both rows; where one is much longer, a search in it for each edge of the other.
    """
    starts, _, neighbours = edges
    end, here = question[2], walk[0][-1]
    near, last_near, far, last_far = starts[here], starts[here + 1], starts[end], starts[end + 1]
    skip_near = (last_near - near) > _MUCH_LONGER * (last_far - far)
    skip_far = (last_far - far) > _MUCH_LONGER * (last_near - near)
    while near < last_near and far < last_far and filled >= 0:
        middle, other = neighbours[near], neighbours[far]
        if middle < other:
            near = lower_bound(neighbours, near + 1, last_near, other) if skip_near else near + 1
        elif other < middle:
            far = lower_bound(neighbours, far + 1, last_far, middle) if skip_far else far + 1
        else:
            group = near
            while near < last_near and neighbours[near] == middle:
                near += 1
            filled = _over(edges, num_relations, question, walk, (group, near, far), words, filled)
            while far < last_far and neighbours[far] == middle:
                far += 1
    return filled


@compiled
def _over(edges, num_relations, question, walk, between, words, filled):
    """Write the words of the last two edges over one entity; returns as its caller.

    Invariant: `between` has the edges that lead there, and the first of those from the question's end. Cost: their
    product.
    """
    starts, codes, neighbours = edges
    start, asked, end = question
    entities, prefix, told = walk
    group, last, first_far = between
    base, here, middle = 2 * num_relations + 1, entities[-1], neighbours[group]
    if middle == end or _is_among(entities, len(entities), middle):
        told &= ~SIMPLE
    for near in range(group, last):
        flags = 0 if is_hidden(here, codes[near], middle, start, asked, end, num_relations) else told
        far = first_far
        while far < starts[end + 1] and neighbours[far] == middle:
            if filled == len(words):
                return -1
            code = codes[far] - num_relations if codes[far] >= num_relations else codes[far] + num_relations
            both = 0 if is_hidden(middle, code, end, start, asked, end, num_relations) else flags
            words[filled] = ((prefix * base + codes[near] + 1) * base + code + 1) * _KINDS + both
            filled += 1
            far += 1
    return filled


@compiled
def _turned(word, base, num_relations):
    """The word read from its other end: digits in the other order, each relation as its inverse.

    Invariant: turning twice gives the word back. Cost: one step per digit.
    """
    result = 0
    while word > 0:
        code = word % base - 1
        word //= base
        back = code - num_relations if code >= num_relations else code + num_relations
        result = result * base + back + 1
    return result
