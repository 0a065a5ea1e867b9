"""A rule graph while it is being built.

Constructions add nodes, labelled edges and free moves (identity edges without a number); `finished` reduces
the graph, trims it, and numbers the identities so that no node has two incoming edges of one label (R2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reshuffle.errors import BudgetError
from reshuffle.kg import identity_name
from reshuffle.rulegraphs.graph import Edge, RuleGraph
from reshuffle.rulegraphs.reduction import FREE, reduced
from reshuffle.rules.grammar import reachable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reshuffle.rules import RuleBase

DEFAULT_NODE_BUDGET = 20_000


class Draft:
    """Nodes are numbers; edges are a set, so adding one twice changes nothing."""

    def __init__(self, *, node_budget: int = DEFAULT_NODE_BUDGET) -> None:
        self.num_nodes = 0
        self.edges: dict[tuple[int, str, int], None] = {}
        self._targets: dict[int, dict[int, None]] = {}
        self.roots: dict[str, tuple[tuple[int, int], ...]] = {}
        self.node_budget = node_budget

    def node(self) -> int:
        """A fresh node."""
        self.num_nodes += 1
        if self.num_nodes > self.node_budget:
            raise BudgetError(
                f"the rule graph needs more than the {self.node_budget:,} nodes it was allowed",
                hint="allow more with node_budget= (--node-budget), use fewer or shorter rules, or use "
                "engine='chase' (--engine chase)",
            )
        return self.num_nodes - 1

    def edge(self, source: int, labels: Iterable[str], target: int) -> None:
        """One edge per label, side by side."""
        for label in labels:
            self.edges[source, label, target] = None
        self._targets.setdefault(source, {})[target] = None

    def free(self, source: int, target: int) -> None:
        """An identity edge."""
        if source != target:
            self.edge(source, (FREE,), target)

    def returns_to(self, node: int) -> bool:
        """Does some path lead from `node` back to it?"""
        return node in reachable(self._targets.get(node, ()), self._targets)

    def finished(self, rules: RuleBase, *, bound: int | None = None) -> RuleGraph:
        """The smallest graph with the same root languages that the reductions reach, R2 included."""
        num_nodes, edges, roots = reduced(self.num_nodes, list(self.edges), self.roots)
        taken = {label for _, label, _ in edges}
        numbered, identities = _numbered(edges, taken)
        return RuleGraph(num_nodes, numbered, identities, roots, rules, bound, self.num_nodes)


def _numbered(
    edges: Iterable[tuple[int, str, int]], taken: set[str]
) -> tuple[tuple[Edge, ...], frozenset[str]]:
    """Free moves become eq, eq1, eq2, ...: the n-th free move into a node gets the n-th identity."""
    names = (name for index in range(len(taken) + 10_000_000) if (name := identity_name(index)) not in taken)
    pool: list[str] = []
    arrived: dict[int, int] = {}
    numbered = []
    for source, label, target in edges:
        if label != FREE:
            numbered.append(Edge(source, label, target))
            continue
        place = arrived.get(target, 0)
        arrived[target] = place + 1
        while len(pool) <= place:
            pool.append(next(names))
        numbered.append(Edge(source, pool[place], target))
    return tuple(numbered), frozenset(pool)
