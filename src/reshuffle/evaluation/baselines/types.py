"""The type baseline: rank candidates by their types, without the other entity of the query.

Meilicke, Stuckenschmidt and Ott ("Reevaluation of Inductive Link Prediction", 2024) rank a candidate by its
type. A *role* is a relation with one of its sides: "is a head of bornIn". The rule "an entity with role b has role
a" holds on the training graph with the confidence

    c(a, b) = |entities with both a and b| / |entities with b|

and a candidate for role a is scored by the best rule that its facts satisfy, or by 0 where there is none:

    score(e, a) = max over the roles b of e of c(a, b)

c(a, a) = 1, so entities that already have the role come first. The query's other entity is not used.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from reshuffle.kg.roles import Roles, role_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reshuffle.evaluation.scorer import Side
    from reshuffle.kg import KnowledgeGraph, Vocabulary


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
        counts = Roles.of(graph).pair_counts()
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
        return Roles.of(
            self.graph, relations=self._relation_ids, num_relations=len(self.type_baseline.relations)
        )

    @property
    def learned_relations(self) -> NDArray[np.bool_]:
        """Those with a training fact: each has an entity in the role of its tail."""
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
        role = role_of(number, side, len(baseline.relations))
        return self._roles.best(baseline.confidences[role])
