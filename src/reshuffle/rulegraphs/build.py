"""Compile a rule base to ordering constraints: choose the construction, or report why there is none.

A rule graph and its constraints say the same: b_ij = 1 iff there is an r-edge from n_j to n_i.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reshuffle.constraints import UNCONSTRAINED, OrderingConstraints
from reshuffle.errors import NotExpressibleError
from reshuffle.rulegraphs.budgets import CHASE, DEFAULT_NODE_BUDGET, ENTRIES, over_budget
from reshuffle.rulegraphs.constructions import bounded_graph, intersection_graph, regular_graph
from reshuffle.rulegraphs.graph import Edge, RuleGraph
from reshuffle.rules.classes import classify
from reshuffle.rules.encoding import without_constants

if TYPE_CHECKING:
    from reshuffle.rules import RuleBase

CONSTRUCTION_OF = {
    "acyclic": regular_graph,
    "left-regular": regular_graph,
    "right-regular": regular_graph,
    "regular": regular_graph,
    "hierarchy-intersection": intersection_graph,
    "mixed": intersection_graph,
}


def build(base: RuleBase, *, bound: int | None = None, node_budget: int = DEFAULT_NODE_BUDGET) -> RuleGraph:
    """An exact rule graph, or with `bound=m` one that is exact for m steps.

    >>> from reshuffle.rules import PathRule, RuleBase
    >>> print(build(RuleBase((PathRule(("r", "r"), "r"),))))
    rule graph with 2 nodes and 2 edges
    >>> build(RuleBase((PathRule(("r1", "r2", "r1"), "r2"),)))
    Traceback (most recent call last):
      ...
    reshuffle.errors.NotExpressibleError: no exact geometry: `r2` calls itself between other atoms: ...
    """
    base = without_constants(base)
    if bound is not None and base.source is not None:
        raise NotExpressibleError(
            "a bound counts the steps of rules, and rules with constants take helper steps of their own",
            remedy="leave out the bound; engine='chase' (--engine chase) answers exactly without geometry",
        )
    if bound is not None:
        return bounded_graph(base, bound=bound, node_budget=node_budget)
    classification = classify(base)
    if not classification.faithful:
        raise NotExpressibleError(
            f"no exact geometry: {classification.reason}",
            remedy=CHASE + ("; bound=M (--bound M) answers within M steps" if base.source is None else ""),
        )
    return CONSTRUCTION_OF[classification.name](base, node_budget=node_budget)


def constraints_for(
    base: RuleBase, *, bound: int | None = None, node_budget: int = DEFAULT_NODE_BUDGET
) -> OrderingConstraints:
    """The ordering constraints of a rule base: those of the rule graph that `build` gives."""
    graph = build(base, bound=bound, node_budget=node_budget)
    if len(labels_of(graph)) * graph.num_nodes > ENTRIES * node_budget:
        raise over_budget(ENTRIES * node_budget, "entries of its matrices")
    return compiled(graph)


def labels_of(graph: RuleGraph) -> tuple[str, ...]:
    """All labels of edges, identities last: the relations of the constraints."""
    used = dict.fromkeys(edge.label for edge in graph.edges)
    return (*(label for label in used if label not in graph.identities), *sorted(graph.identities))


def compiled(graph: RuleGraph) -> OrderingConstraints:
    """The ordering constraints of a rule graph. Condition (R2) makes `sources` a function."""
    labels = labels_of(graph)
    position = {label: index for index, label in enumerate(labels)}
    sources = np.full((len(labels), graph.num_nodes), UNCONSTRAINED, dtype=np.int32)
    for source, label, target in graph.edges:
        if sources[position[label], target] != UNCONSTRAINED:
            raise ValueError(f"node {target} has two incoming {label}-edges, against (R2)")
        sources[position[label], target] = source
    hidden = frozenset[str]() if graph.rules is None else graph.rules.fresh & set(labels)
    return OrderingConstraints(
        labels, sources, graph.identities, hidden, graph.roots, graph.bound, graph.rules
    )


def decompiled(constraints: OrderingConstraints) -> RuleGraph:
    """The rule graph of hard constraints, a hardened model's too; without roots where they have none."""
    edges = [
        Edge(int(constraints.sources[index, target]), label, int(target))
        for index, label in enumerate(constraints.relations)
        for target in np.flatnonzero(constraints.sources[index] != UNCONSTRAINED)
    ]
    return RuleGraph(
        constraints.num_slots,
        tuple(edges),
        constraints.identities,
        constraints.roots,
        constraints.rules,
        constraints.bound,
    )
