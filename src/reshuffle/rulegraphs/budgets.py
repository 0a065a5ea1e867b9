"""How large a geometry may become before it is given up: counts, never seconds, so that no machine decides.

The chase answers every rule base exactly without a geometry, so a geometry is worth building only while that stays a
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

from reshuffle.errors import BudgetError

DEFAULT_NODE_BUDGET = 20_000

CHASE = "engine='chase' (--engine chase of infer and explain) answers exactly, without geometry"
"""Not every verb that builds a geometry answers, and only those that do have the option."""

HINT = f"{CHASE}; or allow more with node_budget= (--node-budget)"


# Each for one node. Whoever counts multiplies by the nodes that are allowed.
EDGES = 25
"""Edges of a rule graph; about a microsecond each, several times over."""
ENTRIES = 3_200
"""Relations times slots: four bytes each."""
CLAUSES = 10
"""Clauses that are looked at for all relations together."""
CLAUSE_RELATIONS = 100
"""Relations in all of those clauses."""
ARCS = 5
"""Arcs of all automata: some twenty microseconds each, from slots to arrays."""
STEPS = 50
"""Steps of a search: some microseconds each."""


def over_budget(most: int, what: str) -> BudgetError:
    """The error where more than `most` of something are needed.

    >>> print(over_budget(2, "edges"))
    the geometry of these rules needs more than the 2 edges it was allowed
      hint: engine='chase' (--engine chase of infer and explain) answers exactly, ...; or allow more with node_...
    """
    return BudgetError(
        f"the geometry of these rules needs more than the {most:,} {what} it was allowed", hint=HINT
    )
