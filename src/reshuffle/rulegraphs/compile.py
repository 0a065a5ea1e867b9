"""Rule graph to ordering constraints and back: b_ij = 1 iff there is an r-edge from n_j to n_i."""

from __future__ import annotations

import numpy as np

from reshuffle.constraints import UNCONSTRAINED, OrderingConstraints
from reshuffle.rulegraphs.graph import Edge, RuleGraph


def compiled(graph: RuleGraph) -> OrderingConstraints:
    """The ordering constraints of a rule graph. Condition (R2) makes `sources` a function."""
    position = {label: index for index, label in enumerate(graph.labels)}
    sources = np.full((len(graph.labels), graph.num_nodes), UNCONSTRAINED, dtype=np.int32)
    for source, label, target in graph.edges:
        if sources[position[label], target] != UNCONSTRAINED:
            raise ValueError(f"node {target} has two incoming {label}-edges, against (R2)")
        sources[position[label], target] = source
    hidden = frozenset[str]() if graph.rules is None else graph.rules.fresh & set(graph.labels)
    return OrderingConstraints(
        graph.labels, sources, graph.identities, hidden, graph.roots, graph.bound, graph.rules
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
