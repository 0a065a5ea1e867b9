"""Set operations on graphs, by name but on arrays: one graph's ids are mapped to the other's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reshuffle.kg.rows import fits_key, row_keys

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reshuffle.kg.graph import KnowledgeGraph

    Columns = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]


def rows_in(graph: KnowledgeGraph, other: KnowledgeGraph) -> NDArray[np.bool_]:
    """For each row of `graph`: is its triple in `other`?"""
    entities = other.entities.positions_of(graph.entities)
    relations = other.relations.positions_of(graph.relations)
    heads, tails = entities[graph.heads], entities[graph.tails]
    relation_ids = relations[graph.relation_ids]
    found = (heads >= 0) & (relation_ids >= 0) & (tails >= 0)
    found[found] = _has_rows(other, (heads[found], relation_ids[found], tails[found]))
    return found


def _has_rows(graph: KnowledgeGraph, columns: Columns) -> NDArray[np.bool_]:
    if not fits_key(graph.num_entities, len(graph.relations)):
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return np.fromiter((graph.has_ids(*row) for row in rows), dtype=np.bool_, count=len(columns[0]))
    bits = graph.num_entities.bit_length()
    wanted = row_keys(*columns, bits=bits)
    present = row_keys(graph.heads, graph.relation_ids, graph.tails, bits=bits)
    # Searching in order touches memory in order, which on millions of keys outweighs the sort.
    order = None if np.all(wanted[1:] >= wanted[:-1]) else np.argsort(wanted)
    ordered = wanted if order is None else wanted[order]
    places = np.searchsorted(present, ordered)
    hits = places < len(present)
    hits[hits] = present[places[hits]] == ordered[hits]
    if order is None:
        return hits
    result = np.empty_like(hits)
    result[order] = hits
    return result


def selected(graph: KnowledgeGraph, rows: NDArray[np.bool_]) -> KnowledgeGraph:
    """The graph of some rows, over the same vocabularies."""
    return type(graph).from_ids(
        graph.heads[rows],
        graph.relation_ids[rows],
        graph.tails[rows],
        entities=graph.entities,
        relations=graph.relations,
    )


def union(graph: KnowledgeGraph, other: KnowledgeGraph) -> KnowledgeGraph:
    """All triples of both, over the names of `graph` followed by the new ones of `other`."""
    entities, entity_ids = graph.entities.extended_by(other.entities)
    relations, relation_ids = graph.relations.extended_by(other.relations)
    return type(graph).from_ids(
        np.concatenate([graph.heads, entity_ids[other.heads]]),
        np.concatenate([graph.relation_ids, relation_ids[other.relation_ids]]),
        np.concatenate([graph.tails, entity_ids[other.tails]]),
        entities=entities,
        relations=relations,
    )
