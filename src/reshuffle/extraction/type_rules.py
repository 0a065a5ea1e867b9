"""Rules about one entity: an entity with one role has another.

A role is a relation with one of its sides, as in the type baseline: "is a head of bornIn". Type rules are not closed
paths and predict no single triple, so they are a kind of their own and never part of a rule base.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reshuffle.kg.roles import Roles
from reshuffle.rules.rule import quoted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reshuffle.evaluation.scorer import Side
    from reshuffle.kg import KnowledgeGraph


class Role(NamedTuple):
    """Being on one side of a relation.

    >>> print(Role("bornIn", "tail"))
    bornIn(_, X)
    """

    relation: str
    side: Side

    def __str__(self) -> str:
        return f"{quoted(self.relation)}({'X, _' if self.side == 'head' else '_, X'})"


@dataclass(frozen=True)
class TypeRule:
    """Entities with role `body` have role `head`: `predictions` have the body, `support` of them also the head."""

    body: Role
    head: Role
    predictions: int
    support: int
    confidence: float

    def __str__(self) -> str:
        return f"{self.body} -> {self.head}"


def type_rules(graph: KnowledgeGraph, *, min_confidence: float = 0.5, min_support: int = 2) -> list[TypeRule]:
    """The type baseline's rules on a graph, by falling confidence, then support.

    >>> from reshuffle.kg import KnowledgeGraph
    >>> born = [("ada", "bornIn", "uk"), ("bob", "bornIn", "uk")]
    >>> kg = KnowledgeGraph([*born, ("ada", "speaks", "en"), ("bob", "speaks", "it")])
    >>> for rule in type_rules(kg): print(rule, rule.confidence)
    bornIn(X, _) -> speaks(X, _) 1.0
    speaks(X, _) -> bornIn(X, _) 1.0
    """
    names = list(graph.relations)
    if not names:
        return []
    counts = Roles.of(graph).pair_counts()
    confidences = counts / np.maximum(counts.diagonal(), 1)  # in full precision, unlike the baseline's
    wanted = (confidences >= min_confidence) & (counts >= max(1, min_support))
    np.fill_diagonal(wanted, val=False)
    roles = [*(Role(name, "tail") for name in names), *(Role(name, "head") for name in names)]
    rules = [_rule(roles, counts, int(head), int(body)) for head, body in np.argwhere(wanted)]
    return sorted(rules, key=lambda rule: (-rule.confidence, -rule.support, str(rule)))


def _rule(roles: list[Role], counts: NDArray[np.int64], head: int, body: int) -> TypeRule:
    both, predictions = int(counts[head, body]), int(counts[body, body])
    return TypeRule(roles[body], roles[head], predictions, both, both / predictions)
