"""What a graph lets bodies do, so that a search does not lose itself in rules that never apply there.

With hundreds of relations most bodies join nothing: nobody is both a tail of `bornIn` and a head of `directedBy`. A
rule is ruled out where no entity stands between two neighbouring atoms, or none begins, or none ends, both the body
and a fact of the head; such a rule has no support. What is left need not have any, but it is the model that chooses
among that: measuring every rule there would find the same ones for a model that has learned nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reshuffle.evaluation.baselines.types import Roles
from reshuffle.kg.inverses import base_relation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reshuffle.extraction.matrices import SoftMatrices
    from reshuffle.kg import KnowledgeGraph


class Joins:
    """For the letters of some matrices on a graph; `matrices.letters` gives their order."""

    begins: NDArray[np.bool_]  # letter letter: some entity is a head of both
    follows: NDArray[np.bool_]  # letter letter: some entity is a tail of the first and a head of the second
    ends: NDArray[np.bool_]  # letter letter: some entity is a tail of both

    def __init__(self, matrices: SoftMatrices, graph: KnowledgeGraph) -> None:
        count = len(graph.relations)
        together = Roles.of(graph, np.arange(count, dtype=np.int32), count).pair_counts(2 * count) > 0
        # One more role, which nobody has: that of relations without facts.
        together = np.pad(together, (0, 1))
        names = [matrices.relations[letter] for letter in matrices.letters]
        heads, tails = np.array([_roles(name, graph) for name in names], dtype=np.int64).reshape(-1, 2).T
        self.begins = together[np.ix_(heads, heads)]
        self.follows = together[np.ix_(tails, heads)]
        self.ends = together[np.ix_(tails, tails)]


def _roles(name: str, graph: KnowledgeGraph) -> tuple[int, int]:
    """Those of the heads and of the tails of a relation or inverse, as `Roles` numbers them."""
    count, base = len(graph.relations), base_relation(name)
    if base not in graph.relations:
        return 2 * count, 2 * count
    number = int(graph.relations.ids([base])[0])
    return (number, number + count) if name == base else (number + count, number)
