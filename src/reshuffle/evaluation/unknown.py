"""Queries that a scorer cannot answer: refused, left out and counted, or made answerable.

A relation that was never seen has no score at all, and an entity without facts is no candidate. Leaving such
queries out silently would flatter the scorer, so what was left out is part of the report.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from reshuffle.errors import InputError
from reshuffle.evaluation.queries import Queries, ids_in, with_isolated
from reshuffle.evaluation.scorer import KnowsRelations, Movable
from reshuffle.text import counted

if TYPE_CHECKING:
    from collections.abc import Container

    from numpy.typing import NDArray

    from reshuffle.evaluation.scorer import Scorer
    from reshuffle.kg import KnowledgeGraph

UnknownPolicy: TypeAlias = Literal["refuse", "skip", "isolate"]
_SHOWN = 5


@dataclass(frozen=True)
class Answerable:
    """The queries that are ranked, the scorer that ranks them, and what was left out."""

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
    """Names and counts the facts of the scorer's graph that tell it nothing, or None where there are none.

    Queries of such relations are refused; facts are passed over, and whoever shows results should say so.
    """
    graph = scorer.graph
    everything = np.arange(len(graph.relations), dtype=np.int32)
    return passed_over(graph, frozenset(graph.relations[everything[_learned(scorer, everything)]]))


def passed_over(graph: KnowledgeGraph, learned: Container[str]) -> str | None:
    """Names and counts the facts of other relations than the learned ones, or None where there are none."""
    of_each = np.bincount(graph.relation_ids, minlength=len(graph.relations)).tolist()
    counted_facts = zip(graph.relations, of_each, strict=True)
    counts = Counter({name: facts for name, facts in counted_facts if facts and name not in learned})
    if not counts:
        return None
    count = counts.total()
    told = f"{_part(count, len(graph), 'fact')} {'is' if count == 1 else 'are'} passed over"
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
            f"{type(scorer).__name__} cannot be moved to a graph with more entities",
            hint="build it on a graph that has them (reshuffle.evaluation.with_isolated), or skip such queries",
        )
    return scorer.on(with_isolated(scorer.graph, used))


def _unseen_relations(queries: KnowledgeGraph, strange: NDArray[np.bool_]) -> InputError:
    counts = Counter(queries.relations[queries.relation_ids[strange]])
    return InputError(
        f"{_queries(int(strange.sum()), len(queries), 'use')} a relation that the scorer never saw: {_listed(counts)}",
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
    """How many of them do something."""
    return f"{_part(count, total, 'query', 'queries')} {verb}{'s' if count == 1 else ''}"


def _part(count: int, total: int, noun: str, plural: str | None = None) -> str:
    return f"{count:,} of {counted(total, noun, plural)}"


def _listed(counts: Counter[str]) -> str:
    shown = ", ".join(f"'{name}' ({count:,})" for name, count in counts.most_common(_SHOWN))
    return f"{shown} and {len(counts) - _SHOWN:,} more" if len(counts) > _SHOWN else shown
