"""Find mostly symmetric relations, and add their facts in both directions to a graph.

Data often store one direction of a symmetric relation. On such a graph a rule misses half of its walks, so a model may
list relations to read in both directions. This does not change the facts: a reversed triple does not count as known,
and it is not left out of answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reshuffle.kg.graph import KnowledgeGraph

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

_SHARE = 0.5  # of a relation's facts, whose reverse is a fact, too
_LEAST = 20  # facts: a share of fewer says little


def mostly_symmetric(graph: KnowledgeGraph) -> frozenset[str]:
    """The relations with some facts, the reverse of at least half of which is a fact, too.

    >>> meets = [(f"p{one}", "meets", f"p{one ^ 1}") for one in range(20)]
    >>> mostly_symmetric(KnowledgeGraph([*meets, ("p0", "knows", "p1"), ("p1", "knows", "p0")]))
    frozenset({'meets'})
    """
    both = graph & _reversed(graph, np.ones(len(graph), dtype=np.bool_))
    sizes, reverses = (np.bincount(one.relation_ids, minlength=len(graph.relations)) for one in (graph, both))
    numbers = np.flatnonzero((sizes >= _LEAST) & (reverses >= _SHARE * sizes))
    return frozenset(graph.relations[int(number)] for number in numbers)


def read_both_ways(graph: KnowledgeGraph, relations: Collection[str]) -> KnowledgeGraph:
    """The graph with the reverse of every fact of these relations, over the same ids.

    >>> sorted(map(tuple, read_both_ways(KnowledgeGraph([("a", "r", "b"), ("a", "s", "b")]), {"r"})))
    [('a', 'r', 'b'), ('a', 's', 'b'), ('b', 'r', 'a')]
    """
    numbers = [graph.relations.id(name) for name in relations if name in graph.relations]
    chosen = np.isin(graph.relation_ids, numbers)
    return graph | _reversed(graph, chosen) if chosen.any() else graph


def _reversed(graph: KnowledgeGraph, rows: NDArray[np.bool_]) -> KnowledgeGraph:
    columns = graph.tails[rows], graph.relation_ids[rows], graph.heads[rows]
    return KnowledgeGraph.from_ids(*columns, entities=graph.entities, relations=graph.relations)
