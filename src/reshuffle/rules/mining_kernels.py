"""The inner loops of mining: products of sparse relations, and who else holds their pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reshuffle.compiled import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Rows(NamedTuple):
    """A set of pairs by start: `ends[bounds[i] : bounds[i + 1]]` are those of `starts[i]`."""

    starts: NDArray[np.int32]
    bounds: NDArray[np.int64]
    ends: NDArray[np.int32]


@compiled
def composed(left: Rows, right: Rows, place: NDArray[np.int32], most: int) -> tuple[int, Rows]:
    """How many pairs of pairs meet, and the distinct pairs they join; none where more than `most` meet.

    `place` has one number per entity, all -1; it is lent, and given back as it was.
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
def _joined(left: Rows, right: Rows, place: NDArray[np.int32], size: int) -> Rows:
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
    return Rows(starts[:rows], bounds[: rows + 1], ends[:filled])


@compiled
def supports(
    pairs: Rows,
    out_starts: NDArray[np.int64],
    out_relations: NDArray[np.int32],
    out_neighbours: NDArray[np.int32],
    num_relations: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Per relation: the pairs that it holds, and the pairs whose start has the relation at all.

    The graph comes as the out-edges of every entity, sorted by relation.
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
