"""The ends of walks that visit nobody twice."""

from __future__ import annotations

import numpy as np

from reshuffle.compiled import compiled


@compiled
def _edges(starts, relations, entity, relation):  # type: ignore[no-untyped-def]
    """The out-edges of an entity over one directed relation."""
    low, high = starts[entity], starts[entity + 1]
    stop = high
    while low < high:
        middle = (low + high) // 2
        if relations[middle] < relation:
            low = middle + 1
        else:
            high = middle
    end = low
    while end < stop and relations[end] == relation:
        end += 1
    return low, end


@compiled
def _grown(column, count):  # type: ignore[no-untyped-def]
    """The column with twice the room."""
    more = np.empty(2 * len(column), np.int64)
    more[:count] = column[:count]
    return more


@compiled
def walked_ends(edges, words, word_starts, chosen, anchor, seen, distinct):  # type: ignore[no-untyped-def]
    """Where each chosen word leads from the anchor, everyone once: the words' numbers and the entities.

    `seen` has a number for each entity, -1 before and afterwards. With `distinct`, nobody is visited twice.
    """
    starts, relations, neighbours = edges
    count, longest = 0, np.diff(word_starts).max()
    rules, ends = np.empty(1024, np.int64), np.empty(1024, np.int64)
    visited = np.empty(longest + 1, np.int64)
    place, stop = np.empty(longest, np.int64), np.empty(longest, np.int64)
    visited[0] = anchor
    for word in chosen:
        first, before = word_starts[word], count
        last = word_starts[word + 1] - first - 1
        depth = 0
        place[0], stop[0] = _edges(starts, relations, anchor, words[first])
        while depth >= 0:
            if place[depth] == stop[depth]:
                depth -= 1
                continue
            entity = neighbours[place[depth]]
            place[depth] += 1
            if distinct and (visited[: depth + 1] == entity).any():
                continue
            if depth < last:
                depth += 1
                visited[depth] = entity
                place[depth], stop[depth] = _edges(starts, relations, entity, words[first + depth])
            elif seen[entity] != word:
                seen[entity] = word
                if count == len(rules):
                    rules, ends = _grown(rules, count), _grown(ends, count)
                rules[count], ends[count] = word, entity
                count += 1
        for row in range(before, count):
            seen[ends[row]] = -1
    return rules[:count].copy(), ends[:count].copy()
