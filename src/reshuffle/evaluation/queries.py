"""Queries and known triples in the ids of a scorer's graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from reshuffle.errors import InputError
from reshuffle.kg import KnowledgeGraph, Vocabulary
from reshuffle.kg.splits import GraphSplit

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from reshuffle.evaluation.scorer import Side

Known: TypeAlias = "KnowledgeGraph | GraphSplit | Iterable[KnowledgeGraph] | None"
Columns: TypeAlias = "tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]"


@dataclass(frozen=True)
class Queries:
    """Triples to predict. Each is asked twice: once for its tail, once for its head."""

    heads: NDArray[np.int32]  # query
    relations: NDArray[np.int32]  # query
    tails: NDArray[np.int32]  # query

    def __len__(self) -> int:
        return len(self.heads)

    def __getitem__(self, rows: slice | NDArray[np.bool_]) -> Queries:
        return Queries(self.heads[rows], self.relations[rows], self.tails[rows])

    def anchors(self, side: Side) -> NDArray[np.int32]:
        """The given ends."""
        return self.heads if side == "tail" else self.tails

    def answers(self, side: Side) -> NDArray[np.int32]:
        """The ends that are asked for."""
        return self.tails if side == "tail" else self.heads


@dataclass(frozen=True)
class KnownAnswers:
    """What counts as true, and must not be ranked as a wrong candidate."""

    graph: KnowledgeGraph

    def of(self, anchor: int, relation: int, answer: int, side: Side) -> NDArray[np.int32]:
        """Every known answer of a query in order, the one that is asked for included."""
        rows = self.graph.by_head if side == "tail" else self.graph.by_tail
        known = rows.of(anchor, relation)
        place = int(np.searchsorted(known, answer))
        if place < len(known) and known[place] == answer:
            return known
        return np.insert(known, place, answer)

    def typed(self, relation: int, side: Side) -> NDArray[np.int32]:
        """The entities that have the relation on that side, in order."""
        heads, tails = self.graph.edges(relation)
        return np.unique(tails if side == "tail" else heads)


def known_answers(
    known: Known, parts: Sequence[str], target: KnowledgeGraph, queries: Queries
) -> KnownAnswers:
    """The known triples among the entities of `target`; where none are given, its facts and the queries.

    Of a benchmark's split, only the given parts (`facts`, `valid`, `queries`) are taken.
    """
    if known is None:
        given = [(target.heads, target.relation_ids, target.tails)] if "facts" in parts else []
        asked = [(queries.heads, queries.relations, queries.tails)] if "queries" in parts else []
        return _merged([*given, *asked], target)
    return _merged([_inside(graph, target) for graph in _graphs_of(known, parts)], target)


def _graphs_of(known: Known, parts: Sequence[str]) -> list[KnowledgeGraph]:
    if isinstance(known, KnowledgeGraph):
        return [known]
    if isinstance(known, GraphSplit):
        return [getattr(known, part) for part in parts]
    graphs = list(known or ())
    odd = next((graph for graph in graphs if not isinstance(graph, KnowledgeGraph)), None)
    if odd is not None:
        raise InputError(
            f"found {type(odd).__name__} among the known graphs, expected KnowledgeGraph",
            hint="pass a graph, several graphs, or a benchmark's split such as bench.test",
        )
    return graphs


def ids_in(graph: KnowledgeGraph, target: KnowledgeGraph) -> Columns:
    """The triples of `graph` by the ids of `target`; -1 where it lacks the name."""
    entities = target.entities.positions_of(graph.entities)
    relations = target.relations.positions_of(graph.relations)
    return entities[graph.heads], relations[graph.relation_ids], entities[graph.tails]


def same_ids(
    one: KnowledgeGraph, other: KnowledgeGraph, *, relations: NDArray[np.integer] | None = None
) -> bool:
    """Have entities and relations of one graph, all or these, the same ids in the other?

    A model's graph names all relations of the model behind those of the facts.
    """
    places = other.relations.positions_of(one.relations)
    wanted = np.arange(len(places)) if relations is None else relations
    return one.entities == other.entities and bool((places[wanted] == wanted).all())


def _inside(graph: KnowledgeGraph, target: KnowledgeGraph) -> Columns:
    """A triple about an entity that is no candidate filters nothing, so it may be left out."""
    columns = ids_in(graph, target)
    heads, relations, tails = (column[np.minimum.reduce(columns) >= 0] for column in columns)
    return heads, relations, tails


def _merged(parts: Sequence[Columns], target: KnowledgeGraph) -> KnownAnswers:
    heads, relations, tails = (
        np.concatenate([np.zeros(0, dtype=np.int32), *(part[column] for part in parts)])
        for column in range(3)
    )
    return KnownAnswers(
        KnowledgeGraph.from_ids(heads, relations, tails, entities=target.entities, relations=target.relations)
    )


def with_isolated(graph: KnowledgeGraph, names: Iterable[str]) -> KnowledgeGraph:
    """The same facts with more entities that have none.

    >>> kg = with_isolated(KnowledgeGraph([("ada", "bornIn", "london")]), ["bob", "ada"])
    >>> len(kg), list(kg.entities)
    (1, ['ada', 'london', 'bob'])
    """
    entities, _ = graph.entities.extended_by(Vocabulary(dict.fromkeys(names), kind=graph.entities.kind))
    return KnowledgeGraph.from_ids(
        graph.heads, graph.relation_ids, graph.tails, entities=entities, relations=graph.relations
    )
