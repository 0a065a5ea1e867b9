"""Graphs whose names change: more relations than there are facts of, and entities that went with their last fact."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from reshuffle.kg.graph import KnowledgeGraph
from reshuffle.kg.vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def naming(graph: KnowledgeGraph, relations: Sequence[str]) -> KnowledgeGraph:
    """The same facts, over a vocabulary that has these relations as well; the ids of the others stay."""
    names, _ = graph.relations.extended_by(Vocabulary(relations, kind="relation"))
    if names is graph.relations:
        return graph
    return KnowledgeGraph.from_ids(
        graph.heads, graph.relation_ids, graph.tails, entities=graph.entities, relations=names
    )


def without_gone(graph: KnowledgeGraph, num_given: int) -> tuple[KnowledgeGraph, NDArray[np.int64]]:
    """The graph without the entities behind the given ones that have no fact, and the ids of those that it has."""
    there = np.zeros(graph.num_entities, dtype=np.bool_)
    there[:num_given] = there[graph.heads] = there[graph.tails] = True
    kept = np.flatnonzero(there)
    if there.all():
        return graph, kept
    places = np.cumsum(there, dtype=np.int32) - np.int32(1)
    names = Vocabulary(graph.entities.to_arrow().filter(pa.array(there)), kind=graph.entities.kind)
    heads, tails = places[graph.heads], places[graph.tails]
    left = KnowledgeGraph.from_ids(
        heads, graph.relation_ids, tails, entities=names, relations=graph.relations
    )
    return left, kept
