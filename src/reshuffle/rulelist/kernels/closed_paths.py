"""The inner loop of finding rules: which bodies lead from the head of a fact to its tail, without the fact."""

from __future__ import annotations

# Types would say "array" and "integer" over and over, and numba infers them.
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, check-untyped-defs=False
import numpy as np

from reshuffle.compiled import compiled
from reshuffle.rulelist.kernels.walking import is_hidden


@compiled
def closing_words(edges, num_relations, facts, length, words, hide, simple):
    """Write the distinct words of all walks of `length` edges from head to tail, fact after fact.

    `facts` are heads, relations and tails. A word c1;...;cn is the number with the digits c1 + 1, ..., cn + 1 to the
    base 2R + 1, the first one highest. Returns how many facts are done, and where the words of each begin: ends where
    those of one do not fit any more. With `hide` no walk uses the fact itself, with `simple` none meets
    an entity twice.

    Invariant: before `filled` are the words of the facts that are done, each once. Cost: for each fact the walks of
    length - 1 edges from that end of it which has fewer neighbours, and for each of them a scan of the edges of one
    of its ends.
    """
    starts = edges[0]
    base = 2 * num_relations + 1
    bounds = np.zeros(len(facts[0]) + 1, dtype=np.int64)
    for fact in range(len(facts[0])):
        start, asked, end = facts[0][fact], facts[1][fact], facts[2][fact]
        turned = starts[end + 1] - starts[end] < starts[start + 1] - starts[start]
        if turned:
            start, end, asked = end, start, asked + num_relations
        question = start, asked if hide else -base, end
        filled = _words_between(edges, num_relations, question, length, words, bounds[fact], simple)
        if filled < 0:
            return fact, bounds
        found = np.sort(words[bounds[fact] : filled])
        filled = bounds[fact]
        for place in range(len(found)):
            if place == 0 or found[place] != found[place - 1]:
                words[filled] = _turned(found[place], base, num_relations) if turned else found[place]
                filled += 1
        bounds[fact + 1] = filled
    return len(facts[0]), bounds


@compiled
def _words_between(edges, num_relations, question, length, words, filled, simple):
    """Write the words of all walks between the ends of a question; returns where they end, or -1 for no room.

    Invariant: `at[: depth + 1]` is a walk from the start, `edge[d]` the next edge to try from its d-th entity, and
    `word[d]` the word of its first d edges. Cost: as `closing_words` says.
    """
    starts, codes, neighbours = edges
    start, asked, end = question
    base = 2 * num_relations + 1
    at, edge = np.empty(length, dtype=np.int64), np.empty(length, dtype=np.int64)
    word = np.zeros(length, dtype=np.int64)
    at[0], edge[0] = start, starts[start]
    depth = 0
    while depth >= 0 and filled >= 0:
        here = at[depth]
        if depth == length - 1:
            filled = _last_edges(edges, num_relations, question, here, word[depth] * base, words, filled)
            depth -= 1
        elif edge[depth] == starts[here + 1]:
            depth -= 1
        else:
            there, code = neighbours[edge[depth]], codes[edge[depth]]
            edge[depth] += 1
            met = simple and (there == end or _is_among(at, depth + 1, there))
            if not met and not is_hidden(here, code, there, start, asked, end, num_relations):
                depth += 1
                at[depth], edge[depth] = there, starts[there]
                word[depth] = word[depth - 1] * base + code + 1
    return filled


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
def _last_edges(edges, num_relations, question, here, prefix, words, filled):
    """Write the words that the edges from `here` to the end of the question complete; returns as its caller.

    Invariant: none is the hidden fact. Cost: the edges of that of the two entities which has fewer.
    """
    starts, codes, neighbours = edges
    start, asked, end = question
    forwards = starts[here + 1] - starts[here] < starts[end + 1] - starts[end]
    near, far = (here, end) if forwards else (end, here)
    for last in range(starts[near], starts[near + 1]):
        if neighbours[last] != far:
            continue
        code = codes[last]
        if not forwards:
            code = code - num_relations if code >= num_relations else code + num_relations
        if not is_hidden(here, code, end, start, asked, end, num_relations):
            if filled == len(words):
                return -1
            words[filled] = prefix + code + 1
            filled += 1
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
