"""Chooses the construction for a rule base, or says why there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reshuffle.errors import NotExpressibleError
from reshuffle.rulegraphs.constructions import bounded_graph, intersection_graph, regular_graph
from reshuffle.rulegraphs.constructions.regular import DEFAULT_NODE_BUDGET
from reshuffle.rulegraphs.graph import compiled
from reshuffle.rules.classes import classify

if TYPE_CHECKING:
    from reshuffle.constraints import OrderingConstraints
    from reshuffle.rulegraphs.graph import RuleGraph
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
    if bound is not None:
        return bounded_graph(base, bound=bound, node_budget=node_budget)
    classification = classify(base)
    if not classification.faithful:
        raise NotExpressibleError(
            f"no exact geometry: {classification.reason}",
            remedy="bound=M (--bound M) answers within M steps; engine='chase' (--engine chase) answers exactly "
            "without geometry",
        )
    return CONSTRUCTION_OF[classification.name](base, node_budget=node_budget)


def constraints_for(
    base: RuleBase, *, bound: int | None = None, node_budget: int = DEFAULT_NODE_BUDGET
) -> OrderingConstraints:
    """The ordering constraints of a rule base: those of the rule graph that `build` gives."""
    return compiled(build(base, bound=bound, node_budget=node_budget))
