"""How large a geometry may become before it is given up: counts, never seconds, so that no machine decides.

The chase answers any rule base exactly without a geometry, so a geometry is worth building only while that stays a
matter of seconds. All limits follow from one, the number of nodes that a draft of the rule graph may have: whoever
allows more nodes (`node_budget=`, `--node-budget`) allows more of everything. At the default they keep building,
placing and checking below some five seconds and half a gigabyte.

| what is counted | per node | why it can be larger than the rules |
| --- | --- | --- |
| edges of a rule graph | 25 | a clause has an edge per relation of its hierarchy, a reduction one per pair |
| entries of the matrices | 3,200 | every relation has a row of all slots |
| clauses of intersections | 10 | each intersection may double them |
| relations in those clauses | 100 | a clause holds a hierarchy |
| arcs of the relations' automata | 5 | every relation has an automaton of its own |
| steps that make the automata | 50 | making one deterministic visits sets of its states |
| steps that check a rule graph | 50 | each relation is compared with its grammar |
"""

from __future__ import annotations

from dataclasses import dataclass

from reshuffle.errors import BudgetError

DEFAULT_NODE_BUDGET = 20_000

HINT = "allow more with node_budget= (--node-budget), or use engine='chase' (--engine chase)"


@dataclass(frozen=True)
class GeometryBudget:
    """The limits of everything that is made of rules on their way to answers."""

    nodes: int = DEFAULT_NODE_BUDGET

    @property
    def edges(self) -> int:
        """Edges of a rule graph; about a microsecond each, several times over."""
        return 25 * self.nodes

    @property
    def entries(self) -> int:
        """Relations times slots: four bytes each."""
        return 3_200 * self.nodes

    @property
    def clauses(self) -> int:
        """Clauses that are looked at for all relations together."""
        return 10 * self.nodes

    @property
    def clause_relations(self) -> int:
        """Relations in all of those clauses."""
        return 100 * self.nodes

    @property
    def arcs(self) -> int:
        """Arcs of all automata: some twenty microseconds each, from slots to arrays."""
        return 5 * self.nodes

    @property
    def steps(self) -> int:
        """Steps of a search: some microseconds each."""
        return 50 * self.nodes


def over_budget(most: int, what: str) -> BudgetError:
    """The error where more than `most` of something are needed.

    >>> print(over_budget(2, "edges"))
    the geometry of these rules needs more than the 2 edges it was allowed
      hint: allow more with node_budget= (--node-budget), or use engine='chase' (--engine chase)
    """
    return BudgetError(
        f"the geometry of these rules needs more than the {most:,} {what} it was allowed", hint=HINT
    )
