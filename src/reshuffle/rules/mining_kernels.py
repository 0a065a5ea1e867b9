"""The inner loops of mining: products of sparse relations, and the relations that hold for their pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reshuffle.compiled import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Pairs(NamedTuple):
    """A set of pairs, grouped by start: `ends[bounds[i] : bounds[i + 1]]` are the ends of `starts[i]`.

    Only entities that start a pair have a row, so that a rare relation costs little whatever the graph's size.
    """

    starts: NDArray[np.int32]
    bounds: NDArray[np.int64]
    ends: NDArray[np.int32]


@compiled
def composed(left: Pairs, right: Pairs, place: NDArray[np.int32], most: int) -> tuple[int, Pairs]:
    """How many paths `left` and `right` form together, and the distinct pairs that these join.

    Where there are more than `most` paths, no pairs are given.
    Invariant: `place`, one number per entity, is all -1 before and after; between, it gives an entity's row of `right`.
    Cost: a step per pair of `left`, per row of `right` and, unless there are too many, per path.
    """
    for row in range(len(right.starts)):
        place[right.starts[row]] = row
    size = 0
    for middle in left.ends:
        if place[middle] >= 0:
            size += right.bounds[place[middle] + 1] - right.bounds[place[middle]]
    joined = _joined(left, right, place, size if size <= most else 0)
    for start in right.starts:
        place[start] = -1
    return size, joined


@compiled
def _joined(left: Pairs, right: Pairs, place: NDArray[np.int32], size: int) -> Pairs:
    """The distinct pairs that `size` paths join; none where `size` is 0.

    Invariant: `seen_for[end]` is the last row of `left` that reached `end`, so that no pair is written twice.
    Cost: a step per path, and an array of all entities to be filled once.
    """
    starts = np.empty(len(left.starts) if size else 0, dtype=np.int32)
    bounds = np.zeros(len(starts) + 1, dtype=np.int64)
    ends = np.empty(size, dtype=np.int32)
    seen_for = np.full(len(place) if size else 0, -1, dtype=np.int32)
    rows, filled = 0, 0
    for row in range(len(starts)):
        for middle in left.ends[left.bounds[row] : left.bounds[row + 1]]:
            step = place[middle]
            if step < 0:
                continue
            for end in right.ends[right.bounds[step] : right.bounds[step + 1]]:
                if seen_for[end] != row:
                    seen_for[end] = row
                    ends[filled] = end
                    filled += 1
        if filled > bounds[rows]:
            starts[rows] = left.starts[row]
            rows += 1
            bounds[rows] = filled
    return Pairs(starts[:rows], bounds[: rows + 1], ends[:filled])


@compiled
def supports(
    pairs: Pairs,
    out_starts: NDArray[np.int64],
    out_relations: NDArray[np.int32],
    out_neighbours: NDArray[np.int32],
    num_relations: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Per relation: how many of the pairs it holds for, and how many pairs have a start with that relation at all.

    Invariant: the out-edges of every entity come sorted by relation, so that a new relation is seen by comparing two.
    Cost: a step per pair, and a step per out-edge of each entity that starts a pair.
    """
    support = np.zeros(num_relations, dtype=np.int64)
    known = np.zeros(num_relations, dtype=np.int64)
    seen_for = np.full(len(out_starts) - 1, -1, dtype=np.int32)
    for row in range(len(pairs.starts)):
        first, last = pairs.bounds[row], pairs.bounds[row + 1]
        for end in pairs.ends[first:last]:
            seen_for[end] = row
        previous = -1
        for edge in range(out_starts[pairs.starts[row]], out_starts[pairs.starts[row] + 1]):
            relation = out_relations[edge]
            if relation != previous:
                known[relation] += last - first
                previous = relation
            if seen_for[out_neighbours[edge]] == row:
                support[relation] += 1
    return support, known
