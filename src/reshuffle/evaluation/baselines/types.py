"""The type baseline: how far a benchmark can be solved without looking at the question.

Meilicke, Stuckenschmidt and Ott ("Reevaluation of Inductive Link Prediction", 2024) rank a candidate by what
kind of thing it is. A *role* is a relation with one of its sides: "is a head of bornIn". The rule "who has role
b has role a" holds on the training graph with the confidence

    c(a, b) = |entities with both a and b| / |entities with b|

and a candidate for role a is scored by the best rule that its facts satisfy, or by 0 where there is none:

    score(e, a) = max over the roles b of e of c(a, b)

c(a, a) = 1, so whoever already has the role comes first. The query's other entity is never looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from reshuffle.kg.rows import Rows, starts_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from reshuffle.evaluation.scorer import Side
    from reshuffle.kg import KnowledgeGraph, Vocabulary

_PAIRS_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class Roles:
    """The distinct roles of each entity as compressed rows; role r is head of r, role R + r tail of r."""

    starts: NDArray[np.int64]  # entity + 1
    roles: NDArray[np.int64]  # entry

    @classmethod
    def of(cls, graph: KnowledgeGraph, relations: NDArray[np.int32], num_relations: int) -> Roles:
        """The roles in a graph; `relations` gives the id of each of its relations, -1 for one to ignore."""
        ids = relations[graph.relation_ids].astype(np.int64)
        used = ids >= 0
        entities = np.concatenate([graph.heads[used], graph.tails[used]]).astype(np.int64)
        roles = np.concatenate([ids[used], ids[used] + num_relations])
        entries = np.unique(entities * (2 * num_relations) + roles)
        owners, distinct = np.divmod(entries, max(1, 2 * num_relations))
        return cls(starts_in(owners, num_rows=graph.num_entities), distinct)

    def pair_counts(self, num_roles: int) -> NDArray[np.int64]:  # role role
        """How many entities have both of two roles."""
        counts = np.zeros(num_roles * num_roles, dtype=np.int64)
        for pairs in self._pairs(num_roles):
            codes, numbers = np.unique(pairs, return_counts=True)
            counts[codes] += numbers
        return counts.reshape(num_roles, num_roles)

    def _pairs(self, num_roles: int) -> Iterator[NDArray[np.int64]]:
        """All pairs of roles that share an entity, as one number each, some entities at a time."""
        rows = Rows(self.starts, self.roles)
        sizes = rows.sizes
        if not len(sizes):
            return
        blocks = np.cumsum(sizes**2) // _PAIRS_AT_ONCE
        for block in np.split(np.arange(len(sizes)), np.flatnonzero(np.diff(blocks)) + 1):
            first, second = rows.entries(np.repeat(block, sizes[block]))
            yield self.roles[self.starts[block[0]] + first] * num_roles + second

    def best(self, confidences: NDArray[np.float32]) -> NDArray[np.float32]:  # entity
        """For each entity the highest confidence among its roles, 0 where it has none."""
        scores = np.zeros(len(self.starts) - 1, dtype=np.float32)
        occupied = np.diff(self.starts) > 0
        if occupied.any():
            scores[occupied] = np.maximum.reduceat(confidences[self.roles], self.starts[:-1][occupied])
        return scores


@dataclass(frozen=True)
class TypeBaseline:
    """Rules "who has role b has role a" with their confidences, to be put on any graph.

    >>> from reshuffle.kg import KnowledgeGraph
    >>> train = KnowledgeGraph([("ada", "bornIn", "london"), ("bob", "bornIn", "rome"), ("ada", "speaks", "en")])
    >>> test = KnowledgeGraph([("eve", "bornIn", "oslo")])
    >>> scorer = TypeBaseline.fit(train).on(test)
    >>> scorer.scores(np.array([1]), np.array([0]), side="head", candidates=None)  # (?, bornIn, oslo)
    array([[1., 0.]], dtype=float32)
    """

    relations: Vocabulary
    confidences: NDArray[np.float32]  # role role

    @classmethod
    def fit(cls, graph: KnowledgeGraph) -> TypeBaseline:
        """Count on the training facts."""
        num_relations = len(graph.relations)
        everyone = np.arange(num_relations, dtype=np.int32)
        counts = Roles.of(graph, everyone, num_relations).pair_counts(2 * num_relations)
        return cls(graph.relations, (counts / np.maximum(counts.diagonal(), 1)).astype(np.float32))

    def on(self, graph: KnowledgeGraph) -> TypeScorer:
        """The baseline on a graph, whose relations go by name."""
        return TypeScorer(self, graph)


@dataclass(frozen=True)
class TypeScorer:
    """Ranks by type on one graph."""

    name = "types"

    type_baseline: TypeBaseline
    graph: KnowledgeGraph

    def on(self, graph: KnowledgeGraph) -> TypeScorer:
        """The same baseline on another graph."""
        return TypeScorer(self.type_baseline, graph)

    @cached_property
    def _relation_ids(self) -> NDArray[np.int32]:
        """For each relation of the graph its id in the baseline, or -1."""
        return self.type_baseline.relations.positions_of(self.graph.relations)

    @cached_property
    def _roles(self) -> Roles:
        return Roles.of(self.graph, self._relation_ids, len(self.type_baseline.relations))

    @property
    def learned_relations(self) -> NDArray[np.bool_]:
        """Those with a training fact: each has an entity in the role of its head."""
        held = self.type_baseline.confidences.diagonal()[: len(self.type_baseline.relations)] > 0
        return (self._relation_ids >= 0) & held[self._relation_ids]

    def scores(
        self,
        anchors: NDArray[np.int32],  # noqa: ARG002 - a candidate is judged without the question
        relations: NDArray[np.int32],
        *,
        side: Side,
        candidates: NDArray[np.int32] | None,
    ) -> NDArray[np.float32]:
        """`Scorer.scores`; the anchors are not looked at."""
        distinct, rows = np.unique(relations, return_inverse=True)
        by_relation = np.stack([self._by_role(int(relation), side) for relation in distinct])
        if candidates is None:
            return by_relation[rows]
        return by_relation[rows[:, None], candidates]

    def _by_role(self, relation: int, side: Side) -> NDArray[np.float32]:
        """The score of every entity for one role."""
        baseline, number = self.type_baseline, int(self._relation_ids[relation])
        if number < 0:
            return np.zeros(self.graph.num_entities, dtype=np.float32)
        role = number if side == "head" else number + len(baseline.relations)
        return self._roles.best(baseline.confidences[role])
