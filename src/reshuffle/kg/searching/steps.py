"""Distances between entities: breadth-first searches from many entities in one pass over the graph.

A separate search for each pair would read the whole graph each time. Here hundreds of searches share a pass, and stop
as soon as all targets are found. `blocked` is an entity that the first step of a search must not visit; this hides a
fact between source and blocked entity. Searches with the same source and the same blocked entity are done once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reshuffle.kg.searching.step_kernels import steps_to_all, steps_to_some

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Ids = NDArray[np.int32]

_MOST_WORDS = 8  # of 64 searches: more do not fit in a line of the cache
_ROOM = 1 << 23  # numbers of each of three arrays


class Edges(NamedTuple):
    """The neighbours of entity e are `neighbours[starts[e] : starts[e + 1]]`; each edge is there from both ends."""

    starts: NDArray[np.int64]
    neighbours: Ids

    @property
    def at_once(self) -> int:
        """How many searches are best made in one pass."""
        entities = max(1, len(self.starts) - 1)
        return 64 * min(_MOST_WORDS, max(1, _ROOM // entities))


def steps_to_everyone(edges: Edges, sources: Ids, blocked: Ids, *, most: int) -> NDArray[np.uint8]:
    """The number of steps from each source to each entity [source, entity]; `most + 1` stands for more."""
    found = np.empty((len(sources), len(edges.starts) - 1), dtype=np.uint8)
    searches, slots = _distinct(sources, blocked)
    for slot in range(0, len(searches), edges.at_once):
        some = searches[slot : slot + edges.at_once]
        steps = np.empty((len(some), found.shape[1]), dtype=np.uint8)
        steps_to_all(edges, *_columns(some), most, steps)
        own = np.flatnonzero((slots >= slot) & (slots < slot + len(some)))
        found[own] = steps[slots[own] - slot]
    return found


def steps_between(
    edges: Edges, sources: Ids, blocked: Ids, bounds: NDArray[np.int64], entities: Ids, *, most: int
) -> NDArray[np.uint8]:
    """The number of steps from source q to each of `entities[bounds[q] : bounds[q + 1]]`; `most + 1`: more."""
    found = np.empty(len(entities), dtype=np.uint8)
    for first, last in _batches(len(sources), edges.at_once):
        searches, slots = _distinct(sources[first:last], blocked[first:last])
        places = slice(bounds[first], bounds[last])
        asked = slots, bounds[first : last + 1] - bounds[first], entities[places]
        steps_to_some(edges, *_columns(searches), most, asked, found[places])
    return found


def _batches(count: int, size: int) -> Iterator[tuple[int, int]]:
    return ((first, min(first + size, count)) for first in range(0, count, size))


def _distinct(sources: Ids, blocked: Ids) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Each search once, and which one each source has."""
    keys = (sources.astype(np.int64) << 32) | (blocked.astype(np.int64) + 1)
    searches, slots = np.unique(keys, return_inverse=True)
    return searches, slots.reshape(-1)


def _columns(searches: NDArray[np.int64]) -> tuple[Ids, Ids]:
    return (searches >> 32).astype(np.int32), ((searches & 0xFFFFFFFF) - 1).astype(np.int32)
