"""A knowledge graph that changes: facts come and go, names are added, and the kernels see it at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reshuffle.kg import KnowledgeGraph, inverse_name, refuse_inverse_names
from reshuffle.kg.inverses import label_of
from reshuffle.kg.vocabulary import GrowingVocabulary
from reshuffle.reasoning.geometry.kernels import edges as kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FEW = 1024  # added edges for which room is made at first


class LiveGraph:
    """The triples of a graph with later additions and removals, as adjacency in both directions.

    `labels` gives each relation and each inverse of the facts its number in the rows: 2r for relation r, and
    2r + 1 for its inverse.
    """

    def __init__(self, graph: KnowledgeGraph) -> None:
        refuse_inverse_names(graph.relations)
        self.entities, self.relations = GrowingVocabulary(graph.entities), GrowingVocabulary(graph.relations)
        self.labels: dict[str, int] = {}
        for number, relation in enumerate(graph.relations):
            self.labels[relation] = label_of(number, backwards=False)
            self.labels[inverse_name(relation)] = label_of(number, backwards=True)
        self._settle(graph)

    def _settle(self, graph: KnowledgeGraph) -> None:
        """Start over from `graph`: compressed rows only, nothing beside them."""
        num_entities = len(graph.entities)
        self._graph: KnowledgeGraph | None = graph
        self.used = 0  # places of the lists beside the rows
        self.facts_of = np.zeros(max(len(self.labels) // 2, 1), dtype=np.int64)
        self.facts_of[: len(graph.relations)] = np.bincount(
            graph.relation_ids, minlength=len(graph.relations)
        )
        rows = kernel.both_directions(graph.heads, graph.relation_ids, graph.tails, num_entities)
        lists = [np.full(num_entities, kernel.NONE, np.int32)]
        lists += [np.empty(_FEW, dtype=np.int32) for _ in range(3)]
        self.edges = kernel.Edges(*rows, *lists)

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
        new = ~kernel.are_edges(self.edges, heads, label, tails)
        return heads[new], tails[new]

    def _columns(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
        edges, used = self.edges, self.used
        rows = np.repeat(np.arange(len(edges.starts) - 1, dtype=np.int32), np.diff(edges.starts))
        kept = (edges.neighbours >= 0) & (edges.labels % 2 == 0)
        added = (edges.added_neighbours[:used] >= 0) & (edges.added_labels[:used] % 2 == 0)
        return (
            np.concatenate([rows[kept], kernel.rows_of_added(edges, used)[added]]),
            np.concatenate([edges.labels[kept], edges.added_labels[:used][added]]) // 2,
            np.concatenate([edges.neighbours[kept], edges.added_neighbours[:used][added]]),
        )

    # --- one fact at a time -------------------------------------------------------------------------

    def intern(self, triple: tuple[str, str, str]) -> tuple[int, int, int]:
        """The ids of a triple, made where they are new."""
        head, relation, tail = triple
        ids = self.entities.intern(head), self.relations.intern(relation), self.entities.intern(tail)
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
        return bool(kernel.contains(self.edges, entity, label, neighbour))

    def neighbours(self, entity: int, label: int) -> NDArray[np.int32]:
        """The entities that edges with this label lead to."""
        found: NDArray[np.int32] = kernel.neighbours_of(self.edges, entity, label)
        return found

    def insert(self, head: int, relation: int, tail: int) -> bool:
        """Add a fact; returns whether it was new."""
        self.make_room()
        used = kernel.insert_fact(self.edges, head, relation, tail, self.used)
        if used == kernel.ALREADY:
            return False
        self.note_insertion(relation, used)
        return True

    def discard(self, head: int, relation: int, tail: int) -> bool:
        """Take a fact out; returns whether it was there."""
        if not kernel.discard_fact(self.edges, head, relation, tail):
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
        self.edges = kernel.Edges(*self.edges[:4], *grown)

    def note_insertion(self, relation: int, used: int) -> None:
        """Note that a kernel has added a fact, and that it uses so many places of the lists now."""
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
        more = max(len(self.entities) - len(lists), len(lists) // 2, 16)
        self.edges = self.edges._replace(
            first_added=np.append(lists, np.full(more, kernel.NONE, dtype=np.int32))
        )
