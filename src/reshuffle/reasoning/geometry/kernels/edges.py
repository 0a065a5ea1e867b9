"""Adjacency rows that can change: compressed rows, with the few added edges in linked lists beside them.

Both directions lie in one row: label 2r is relation r forwards, 2r + 1 is r backwards. A removed edge of a
compressed row stays in its place as the complement `~neighbour` (negative), so that rows stay sorted, searches
still find it, and putting it back is one write.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reshuffle.compiled import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

NONE = -1
ALREADY = -2  # from `insert`: nothing to do


class Edges(NamedTuple):
    """Entity e has the edges `starts[e] : starts[e + 1]`, by (label, neighbour), and a list of added ones."""

    starts: NDArray[np.int64]  # entity + 1
    labels: NDArray[np.int32]  # edge: twice the relation, plus one when backwards
    neighbours: NDArray[np.int32]  # edge; ~neighbour once removed
    first_added: NDArray[np.int32]  # entity, those that came later included
    next_added: NDArray[np.int32]  # added edge
    added_labels: NDArray[np.int32]  # added edge
    added_neighbours: NDArray[np.int32]  # added edge; ~neighbour once removed


@compiled
def both_directions(
    heads: NDArray[np.int32], relations: NDArray[np.int32], tails: NDArray[np.int32], num_entities: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """Rows from triples that come sorted by (relation, head, tail), by a stable counting sort.

    Invariant: a row is sorted by (label, neighbour), since relations come in order.
    Cost: three passes over the triples.
    """
    starts = np.zeros(num_entities + 1, dtype=np.int64)
    for triple in range(len(heads)):
        starts[heads[triple] + 1] += 1
        starts[tails[triple] + 1] += 1
    for entity in range(num_entities):
        starts[entity + 1] += starts[entity]
    place = starts[:-1].copy()
    labels = np.empty(2 * len(heads), dtype=np.int32)
    neighbours = np.empty(2 * len(heads), dtype=np.int32)
    first = 0
    while first < len(heads):  # one relation at a time, out-edges before in-edges, keeps rows sorted by label
        last = first
        while last < len(heads) and relations[last] == relations[first]:
            _place(heads[last], 2 * relations[last], tails[last], place, labels, neighbours)
            last += 1
        for triple in range(first, last):
            _place(tails[triple], 2 * relations[triple] + 1, heads[triple], place, labels, neighbours)
        first = last
    return starts, labels, neighbours


@compiled
def _place(
    row: int,
    label: int,
    neighbour: int,
    place: NDArray[np.int64],
    labels: NDArray[np.int32],
    neighbours: NDArray[np.int32],
) -> None:
    """Write one edge to the next free place of its row.

    Invariant: `place[row]` is that free place before and after. Cost: constant.
    """
    position = place[row]
    place[row] = position + 1
    labels[position], neighbours[position] = label, neighbour


@compiled
def lower_bound(labels: NDArray[np.int32], low: int, high: int, label: int) -> int:
    """The first place in `labels[low:high]`, which is sorted, that is at least `label`.

    Invariant: what lies before `low` is smaller, what lies from `high` on is not. Cost: logarithmic.
    """
    while low < high:
        middle = (low + high) >> 1
        if labels[middle] < label:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def _in_row(edges: Edges, entity: int, label: int, neighbour: int) -> int:
    """The place of an edge in its compressed row, removed or not, or NONE.

    Invariant: the complement of a removed neighbour counts as that neighbour, so rows stay sorted.
    Cost: logarithmic in the row.
    """
    if entity + 1 >= len(edges.starts):
        return NONE
    start, end = edges.starts[entity], edges.starts[entity + 1]
    low = lower_bound(edges.labels, start, end, label)
    high = lower_bound(edges.labels, low, end, label + 1)
    end = high
    while low < high:
        middle = (low + high) >> 1
        found = edges.neighbours[middle]
        if (found if found >= 0 else ~found) < neighbour:
            low = middle + 1
        else:
            high = middle
    if low < end and (edges.neighbours[low] == neighbour or edges.neighbours[low] == ~neighbour):
        return low
    return NONE


@compiled
def _in_list(edges: Edges, entity: int, label: int, neighbour: int) -> int:
    """The place of an edge in its entity's list of added edges, removed or not, or NONE.

    Invariant: an edge is in the row or in the list, never in both. Cost: the length of the list.
    """
    edge = edges.first_added[entity]
    while edge != NONE:
        found = edges.added_neighbours[edge]
        if edges.added_labels[edge] == label and (found if found >= 0 else ~found) == neighbour:
            return int(edge)
        edge = edges.next_added[edge]
    return NONE


@compiled
def contains(edges: Edges, entity: int, label: int, neighbour: int) -> bool:
    """Is the edge there now?

    Invariant: nothing is written. Cost: one search in the row and one in the list.
    """
    place = _in_row(edges, entity, label, neighbour)
    if place != NONE:
        return bool(edges.neighbours[place] >= 0)
    place = _in_list(edges, entity, label, neighbour)
    return bool(place != NONE and edges.added_neighbours[place] >= 0)


@compiled
def insert(edges: Edges, entity: int, label: int, neighbour: int, used: int) -> int:
    """Add an edge: returns how many places of the lists are used now, or ALREADY. The caller made room.

    Invariant: an edge that was removed comes back to its old place, so no edge is there twice.
    Cost: as `contains`.
    """
    place = _in_row(edges, entity, label, neighbour)
    if place != NONE:
        was_there = edges.neighbours[place] >= 0
        edges.neighbours[place] = neighbour
        return ALREADY if was_there else used
    place = _in_list(edges, entity, label, neighbour)
    if place != NONE:
        was_there = edges.added_neighbours[place] >= 0
        edges.added_neighbours[place] = neighbour
        return ALREADY if was_there else used
    edges.added_labels[used], edges.added_neighbours[used] = label, neighbour
    edges.next_added[used], edges.first_added[entity] = edges.first_added[entity], used
    return used + 1


@compiled
def discard(edges: Edges, entity: int, label: int, neighbour: int) -> bool:
    """Take an edge out; was it there?

    Invariant: the place stays and holds the complement of the neighbour. Cost: as `contains`.
    """
    place = _in_row(edges, entity, label, neighbour)
    if place != NONE:
        was_there = edges.neighbours[place] >= 0
        edges.neighbours[place] = ~neighbour
        return bool(was_there)
    place = _in_list(edges, entity, label, neighbour)
    if place == NONE:
        return False
    was_there = edges.added_neighbours[place] >= 0
    edges.added_neighbours[place] = ~neighbour
    return bool(was_there)


@compiled
def insert_fact(edges: Edges, head: int, relation: int, tail: int, used: int) -> int:
    """Both directions of a fact: the places used now, or ALREADY.

    Invariant: both directions are there, or neither. Cost: two insertions.
    """
    after = insert(edges, head, 2 * relation, tail, used)
    return ALREADY if after == ALREADY else insert(edges, tail, 2 * relation + 1, head, after)


@compiled
def discard_fact(edges: Edges, head: int, relation: int, tail: int) -> bool:
    """Both directions of a fact; was it there?

    Invariant: both directions are there, or neither. Cost: two searches.
    """
    return discard(edges, head, 2 * relation, tail) and discard(edges, tail, 2 * relation + 1, head)


@compiled
def rows_of_added(edges: Edges, used: int) -> NDArray[np.int32]:
    """The entity in whose list each added edge hangs.

    Invariant: each added edge hangs in exactly one list. Cost: one pass over entities and added edges.
    """
    rows = np.empty(used, dtype=np.int32)
    for entity in range(len(edges.first_added)):
        edge = edges.first_added[entity]
        while edge != NONE:
            rows[edge] = entity
            edge = edges.next_added[edge]
    return rows


@compiled
def neighbours_of(edges: Edges, entity: int, label: int) -> NDArray[np.int32]:
    """All neighbours over one label.

    Invariant: nothing is written; removed edges are passed over.
    Cost: a search in the row, its hits, and the list.
    """
    found = np.empty(16, dtype=np.int32)
    count = 0
    if entity + 1 < len(edges.starts):
        end = edges.starts[entity + 1]
        edge = lower_bound(edges.labels, edges.starts[entity], end, label)
        last = lower_bound(edges.labels, edge, end, label + 1)
        found = np.empty(last - edge + 16, dtype=np.int32)
        for neighbour in edges.neighbours[edge:last]:
            if neighbour >= 0:
                found[count] = neighbour
                count += 1
    added = edges.first_added[entity]
    while added != NONE:
        neighbour = edges.added_neighbours[added]
        if edges.added_labels[added] == label and neighbour >= 0:
            if count == len(found):
                found = np.append(found, np.empty_like(found))
            found[count] = neighbour
            count += 1
        added = edges.next_added[added]
    return found[:count]


@compiled
def are_edges(
    edges: Edges, entities: NDArray[np.int32], label: int, neighbours: NDArray[np.int32]
) -> NDArray[np.bool_]:
    """Which of these pairs are edges with this label?

    Invariant: nothing is written. Cost: one `contains` per pair.
    """
    found = np.empty(len(entities), dtype=np.bool_)
    for place in range(len(entities)):
        found[place] = contains(edges, entities[place], label, neighbours[place])
    return found
