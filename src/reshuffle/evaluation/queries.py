"""Queries and known triples in the ids of a scorer's graph, and queries that a scorer cannot answer.

An unseen relation has no score, and an entity without facts is not a candidate. Such queries are refused, skipped and
counted, or made answerable. Skipping them silently would raise the metrics, so the report counts what was skipped.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from reshuffle.errors import InputError
from reshuffle.evaluation.scorer import KnowsRelations, Movable
from reshuffle.kg import KnowledgeGraph, Vocabulary
from reshuffle.kg.splits import GraphSplit
from reshuffle.text import counted

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

    from numpy.typing import NDArray

    from reshuffle.evaluation.scorer import Scorer, Side

Known: TypeAlias = "KnowledgeGraph | GraphSplit | Iterable[KnowledgeGraph] | None"
Columns: TypeAlias = "tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]"
UnknownPolicy: TypeAlias = Literal["refuse", "skip", "isolate"]
_SHOWN = 5


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

    def as_graph(self, target: KnowledgeGraph) -> KnowledgeGraph:
        """The queries as a graph with the names of `target`, whose ids they have."""
        return KnowledgeGraph.from_ids(
            self.heads, self.relations, self.tails, entities=target.entities, relations=target.relations
        )


@dataclass(frozen=True)
class KnownAnswers:
    """The triples that count as true, and so are filtered out of the wrong candidates."""

    graph: KnowledgeGraph

    def of(self, anchor: int, relation: int, answer: int, side: Side) -> NDArray[np.int32]:
        """All known answers of a query by id, the one that is asked for included."""
        rows = self.graph.by_head if side == "tail" else self.graph.by_tail
        known = rows.of(anchor, relation)
        place = int(np.searchsorted(known, answer))
        if place < len(known) and known[place] == answer:
            return known
        return np.insert(known, place, answer)

    def typed(self, relation: int, side: Side) -> NDArray[np.int32]:
        """The entities that have the relation on that side, by id."""
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
    """Do the entities and relations (all, or the given ones) of one graph have the same ids in the other?

    A model's graph names all relations of the model behind those of the facts.
    """
    places = other.relations.positions_of(one.relations)
    wanted = np.arange(len(places)) if relations is None else relations
    return one.entities == other.entities and bool((places[wanted] == wanted).all())


def _inside(graph: KnowledgeGraph, target: KnowledgeGraph) -> Columns:
    """The triples of `graph` by the ids of `target`; those with other names filter nothing and are left out."""
    columns = ids_in(graph, target)
    heads, relations, tails = (column[np.minimum.reduce(columns) >= 0] for column in columns)
    return heads, relations, tails


def _merged(parts: Sequence[Columns], target: KnowledgeGraph) -> KnownAnswers:
    columns = (
        np.concatenate([np.zeros(0, dtype=np.int32), *(part[column] for part in parts)])
        for column in range(3)
    )
    return KnownAnswers(Queries(*columns).as_graph(target))


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


@dataclass(frozen=True)
class Answerable:
    """The queries to rank, the scorer that ranks them, and how many were skipped, by reason."""

    scorer: Scorer
    queries: Queries
    skipped: dict[str, int]


def answerable(scorer: Scorer, queries: KnowledgeGraph, policy: UnknownPolicy) -> Answerable:
    """Map the queries to the scorer's ids.

    `refuse`: an error names what is unknown. `skip`: such queries are left out. `isolate`: entities that are
    missing are added to the scorer's graph without facts; queries of unseen relations are left out.
    """
    if policy == "isolate":
        scorer = _with_entities(scorer, queries)
    rows = Queries(*ids_in(queries, scorer.graph))
    strange = ~_learned(scorer, rows.relations)
    missing = (rows.heads < 0) | (rows.tails < 0)
    if policy == "refuse" and strange.any():
        raise _unseen_relations(queries, strange)
    if policy == "refuse" and missing.any():
        raise _missing_entities(queries, rows)
    kept = rows[~(strange | missing)]
    if not len(kept):
        raise InputError(_nothing_left(len(queries)), hint="check that queries and facts use the same names")
    skipped = {"unseen relation": int(strange.sum()), "missing entity": int((missing & ~strange).sum())}
    return Answerable(scorer, kept, {reason: count for reason, count in skipped.items() if count})


def unseen_facts(scorer: Scorer) -> str | None:
    """A sentence on the facts of the scorer's graph that it passes over; None where there are none.

    Queries of such relations are refused; facts are skipped, and what shows results should say so.
    """
    graph = scorer.graph
    everything = np.arange(len(graph.relations), dtype=np.int32)
    return passed_over(graph, frozenset(graph.relations[everything[_learned(scorer, everything)]]))


def passed_over(graph: KnowledgeGraph, learned: Container[str]) -> str | None:
    """A sentence with the number and the relations of facts that were not learned; None where there are none."""
    of_each = np.bincount(graph.relation_ids, minlength=len(graph.relations)).tolist()
    counted_facts = zip(graph.relations, of_each, strict=True)
    counts = Counter({name: facts for name, facts in counted_facts if facts and name not in learned})
    if not counts:
        return None
    count = counts.total()
    told = f"{_part(count, len(graph), 'fact')} {'is' if count == 1 else 'are'} skipped"
    return f"{told}, of relations never seen in training: {_listed(counts)}"


def _nothing_left(total: int) -> str:
    if not total:
        return "found no queries, expected at least one triple to predict"
    if total == 1:
        return "the only query cannot be asked: its relation or entities are unknown to the scorer"
    return (
        f"none of the {total:,} queries can be asked: their relations or entities are unknown to the scorer"
    )


def _learned(scorer: Scorer, relations: NDArray[np.int32]) -> NDArray[np.bool_]:
    known = relations >= 0
    if isinstance(scorer, KnowsRelations):
        known[known] = scorer.learned_relations[relations[known]]
    return known


def _with_entities(scorer: Scorer, queries: KnowledgeGraph) -> Scorer:
    used = queries.entities[np.unique([queries.heads, queries.tails])]
    if all(name in scorer.graph.entities for name in used):
        return scorer
    if not isinstance(scorer, Movable):
        raise InputError(
            f"{type(scorer).__name__} cannot be used on a graph with more entities",
            hint="build it on a graph that has them (reshuffle.evaluation.with_isolated), or skip such queries",
        )
    return scorer.on(with_isolated(scorer.graph, used))


def _unseen_relations(queries: KnowledgeGraph, strange: NDArray[np.bool_]) -> InputError:
    counts = Counter(queries.relations[queries.relation_ids[strange]])
    return InputError(
        f"{_queries(int(strange.sum()), len(queries), 'use')} an unknown relation: {_listed(counts)}",
        hint='unknown="skip" (--unknown skip) leaves them out and counts them',
    )


def _missing_entities(queries: KnowledgeGraph, rows: Queries) -> InputError:
    ends = np.concatenate([queries.heads[rows.heads < 0], queries.tails[rows.tails < 0]])
    count = int(((rows.heads < 0) | (rows.tails < 0)).sum())
    return InputError(
        f"{_queries(count, len(queries), 'name')} an entity that the scorer's graph lacks: "
        f"{_listed(Counter(queries.entities[ends]))}",
        hint='unknown="isolate" (--unknown isolate) adds them without facts, unknown="skip" (--unknown skip) leaves '
        "such queries out",
    )


def _queries(count: int, total: int, verb: str) -> str:
    """The beginning of a sentence: how many of the queries do something."""
    return f"{_part(count, total, 'query', 'queries')} {verb}{'s' if count == 1 else ''}"


def _part(count: int, total: int, noun: str, plural: str | None = None) -> str:
    return f"{count:,} of {counted(total, noun, plural)}"


def _listed(counts: Counter[str]) -> str:
    shown = ", ".join(f"'{name}' ({count:,})" for name, count in counts.most_common(_SHOWN))
    return f"{shown} and {len(counts) - _SHOWN:,} more" if len(counts) > _SHOWN else shown
