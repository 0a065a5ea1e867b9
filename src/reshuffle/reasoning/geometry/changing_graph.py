"""A knowledge graph with updates: facts are added and removed, names are added, and kernels see it at once.

Edges lie in compressed rows, with the few added ones in linked lists beside them. Both directions lie in one row: label
2r is relation r forwards, 2r + 1 is r backwards. A removed edge of a compressed row stays in its place as the
complement `~neighbour` (negative), so that rows stay sorted, searches still find it, and putting it back is one write.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reshuffle.compiled import compiled
from reshuffle.errors import InternalError
from reshuffle.kg import KnowledgeGraph, inverse_name, refuse_inverse_names
from reshuffle.kg.row_kernels import lower_bound
from reshuffle.kg.vocabulary import GrowingVocabulary, label_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Rows = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]

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


@compiled(small_in_python=True)
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


@compiled(small_in_python=True)
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


@compiled(small_in_python=True)
def _in_row(edges: Edges, entity: int, label: int, neighbour: int) -> int:
    """The place of an edge in its compressed row, removed or not, or NONE.

    Invariant: the complement of a removed neighbour counts as that neighbour, so rows stay sorted.
    Cost: logarithmic in the row.
    """
    if entity + 1 >= len(edges.starts):
        return NONE
    start, end = edges.starts[entity], edges.starts[entity + 1]
    low: int = lower_bound(edges.labels, start, end, label)
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


@compiled(small_in_python=True)
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


@compiled(small_in_python=True)
def contains(edges: Edges, entity: int, label: int, neighbour: int) -> bool:
    """Is the edge there now?

    Invariant: nothing is written. Cost: one search in the row and one in the list.
    """
    place = _in_row(edges, entity, label, neighbour)
    if place != NONE:
        return bool(edges.neighbours[place] >= 0)
    place = _in_list(edges, entity, label, neighbour)
    return bool(place != NONE and edges.added_neighbours[place] >= 0)


@compiled(small_in_python=True)
def insert(edges: Edges, entity: int, label: int, neighbour: int, used: int) -> int:
    """Add an edge: returns how many places of the lists are used now, or ALREADY. The caller made room.

    Invariant: an edge that was removed comes back to its old place, so no edge is there twice.
    Cost: as `contains`.
    """
    if max(entity, neighbour) >= len(edges.first_added):
        raise IndexError("internal error: no room for the entities of a new edge")
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
    if used >= len(edges.next_added):
        raise IndexError("internal error: no room for a new edge")
    edges.added_labels[used], edges.added_neighbours[used] = label, neighbour
    edges.next_added[used], edges.first_added[entity] = edges.first_added[entity], used
    return used + 1


@compiled(small_in_python=True)
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


@compiled(small_in_python=True)
def insert_fact(edges: Edges, head: int, relation: int, tail: int, used: int) -> int:
    """Both directions of a fact: the places used now, or ALREADY.

    Invariant: both directions are there, or neither. Cost: two insertions.
    """
    after = insert(edges, head, 2 * relation, tail, used)
    return ALREADY if after == ALREADY else insert(edges, tail, 2 * relation + 1, head, after)


@compiled(small_in_python=True)
def discard_fact(edges: Edges, head: int, relation: int, tail: int) -> bool:
    """Both directions of a fact; was it there?

    Invariant: both directions are there, or neither. Cost: two searches.
    """
    return discard(edges, head, 2 * relation, tail) and discard(edges, tail, 2 * relation + 1, head)


@compiled(small_in_python=True)
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


@compiled(small_in_python=True)
def neighbours_of(edges: Edges, entity: int, label: int) -> NDArray[np.int32]:
    """All neighbours over one label.

    Invariant: nothing is written; removed edges are skipped.
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


@compiled(small_in_python=True)
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


_FEW = 1024  # added edges for which room is made at first
_FEW_ENTITIES = 16  # new entities for which room is made at least


class LiveGraph:
    """The triples of a graph with later additions and removals, as adjacency in both directions.

    `labels` gives each relation and each inverse of the facts its number in the rows: 2r for relation r, and
    2r + 1 for its inverse.
    """

    def __init__(self, graph: KnowledgeGraph, rows: Rows | None = None) -> None:
        """`rows` are those of `both_directions`, where somebody has made them already."""
        refuse_inverse_names(graph.relations)
        self.entities, self.relations = GrowingVocabulary(graph.entities), GrowingVocabulary(graph.relations)
        self.labels: dict[str, int] = {}
        for number, relation in enumerate(graph.relations):
            self.labels[relation] = label_of(number, backwards=False)
            self.labels[inverse_name(relation)] = label_of(number, backwards=True)
        self._lay_out(graph, len(self.entities), rows)

    def _settle(self, graph: KnowledgeGraph) -> None:
        """Start over from `graph`, which has all names by now."""
        if len(graph.entities) != len(self.entities):
            raise InternalError(
                f"rows for {len(graph.entities):,} entities, and there are {len(self.entities):,}"
            )
        self._lay_out(graph, len(self.entities))

    def _lay_out(self, graph: KnowledgeGraph, num_entities: int, rows: Rows | None = None) -> None:
        """The edges of `graph`: compressed rows only, nothing beside them."""
        self._graph: KnowledgeGraph | None = graph
        self.used = 0  # places of the lists beside the rows
        self.facts_of = np.zeros(max(len(self.labels) // 2, 1), dtype=np.int64)
        self.facts_of[: len(graph.relations)] = np.bincount(
            graph.relation_ids, minlength=len(graph.relations)
        )
        if rows is None:
            rows = both_directions(graph.heads, graph.relation_ids, graph.tails, num_entities)
        lists = [np.full(num_entities, NONE, np.int32)]
        lists += [np.empty(_FEW, dtype=np.int32) for _ in range(3)]
        self.edges = Edges(*rows, *lists)

    @property
    def graph(self) -> KnowledgeGraph:
        """The facts as they are now."""
        if self._graph is None:
            heads, relations, tails = self._columns()
            self._graph = KnowledgeGraph.from_ids(
                heads,
                relations,
                tails,
                entities=self.entities.vocabulary(),
                relations=self.relations.vocabulary(),
            )
        return self._graph

    def __len__(self) -> int:
        return int(self.facts_of.sum())

    def without_facts(
        self, relation: str, heads: NDArray[np.int32], tails: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Those of the pairs that are no facts of the relation."""
        label = self.labels.get(relation)
        if label is None:
            return heads, tails
        new = ~are_edges(self.edges, heads, label, tails)
        return heads[new], tails[new]

    def _columns(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
        edges, used = self.edges, self.used
        rows = np.repeat(np.arange(len(edges.starts) - 1, dtype=np.int32), np.diff(edges.starts))
        kept = (edges.neighbours >= 0) & (edges.labels % 2 == 0)
        added = (edges.added_neighbours[:used] >= 0) & (edges.added_labels[:used] % 2 == 0)
        return (
            np.concatenate([rows[kept], rows_of_added(edges, used)[added]]),
            np.concatenate([edges.labels[kept], edges.added_labels[:used][added]]) // 2,
            np.concatenate([edges.neighbours[kept], edges.added_neighbours[:used][added]]),
        )

    # --- one fact at a time -------------------------------------------------------------------------

    def intern(self, triple: tuple[str, str, str]) -> tuple[int, int, int]:
        """The ids of a triple, made where they are new."""
        head, relation, tail = triple
        names = len(self.entities) + len(self.relations)
        ids = self.entities.intern(head), self.relations.intern(relation), self.entities.intern(tail)
        if len(self.entities) + len(self.relations) > names:
            self._graph = None  # it lacks the new names, and rows made of it would have no room for them
        if len(self.entities) > len(self.edges.first_added):
            self._make_room_for_entities()
        if relation not in self.labels:
            self.labels[relation] = label_of(ids[1], backwards=False)
            self.labels[inverse_name(relation)] = label_of(ids[1], backwards=True)
        if len(self.relations) > len(self.facts_of):
            self.facts_of = np.append(self.facts_of, np.zeros(len(self.relations), dtype=np.int64))
        return ids

    def is_fact(self, head: int, relation: str, tail: int) -> bool:
        """Is there a fact of the relation, which may be unknown, between the two entities?"""
        label = self.labels.get(relation)
        return label is not None and self.has_edge(head, label, tail)

    def has_edge(self, entity: int, label: int, neighbour: int) -> bool:
        """Does an edge with this label lead from the entity to the neighbour?"""
        return bool(contains(self.edges, entity, label, neighbour))

    def neighbours(self, entity: int, label: int) -> NDArray[np.int32]:
        """The entities that edges with this label lead to."""
        found: NDArray[np.int32] = neighbours_of(self.edges, entity, label)
        return found

    def insert(self, head: int, relation: int, tail: int) -> bool:
        """Add a fact; returns whether it was new."""
        self.make_room()
        used = insert_fact(self.edges, head, relation, tail, self.used)
        if used == ALREADY:
            return False
        self.note_insertion(relation, used)
        return True

    def discard(self, head: int, relation: int, tail: int) -> bool:
        """Take a fact out; returns whether it was there."""
        if not discard_fact(self.edges, head, relation, tail):
            return False
        self.note_removal(relation)
        return True

    def make_room(self) -> None:
        """Make room for one more fact in the lists beside the rows.

        The lists double in size; once they are long compared with the rows, they are merged into these.
        """
        if self.used + 2 <= len(self.edges.next_added):
            return
        if self.used > max(_FEW, len(self.edges.neighbours) // 8):
            self._settle(self.graph)
            return
        grown = [np.append(column, np.empty_like(column)) for column in self.edges[4:]]
        self.edges = Edges(*self.edges[:4], *grown)

    def note_insertion(self, relation: int, used: int) -> None:
        """Note that a kernel has added a fact, and that `used` places of the lists are taken now."""
        self.used = used
        self._graph = None
        self.facts_of[relation] += 1

    def note_removal(self, relation: int) -> None:
        """Note that a kernel has taken a fact out."""
        self._graph = None
        self.facts_of[relation] -= 1

    def insert_all(self, facts: list[tuple[int, int, int]]) -> None:
        """Add many facts at once; where they are very many, the rows are built anew, which is faster."""
        if len(facts) <= max(_FEW, len(self.edges.neighbours) // 16):
            for fact in facts:
                self.insert(*fact)
            return
        new = np.array(facts, dtype=np.int32).reshape(-1, 3)
        heads, relations, tails = (np.concatenate(pair) for pair in zip(self._columns(), new.T, strict=True))
        entities, names = self.entities.vocabulary(), self.relations.vocabulary()
        self._settle(KnowledgeGraph.from_ids(heads, relations, tails, entities=entities, relations=names))

    def _make_room_for_entities(self) -> None:
        """Room for half as many entities again, so that adding them one by one stays cheap."""
        lists = self.edges.first_added
        more = max(len(self.entities) - len(lists), len(lists) // 2, _FEW_ENTITIES)
        self.edges = self.edges._replace(first_added=np.append(lists, np.full(more, NONE, dtype=np.int32)))
