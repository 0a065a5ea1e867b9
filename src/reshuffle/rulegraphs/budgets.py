"""Size limits of a geometry: counts, not seconds, so that results do not depend on the machine.

The chase answers every rule base exactly without a geometry, so building a geometry pays only if it takes seconds. All
limits follow from one number, the nodes that a draft of the rule graph may have: a larger node budget (`node_budget=`,
`--node-budget`) raises all limits. With the default, building, placing and checking take at most about five seconds and
half a gigabyte.

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

from typing import TYPE_CHECKING

from reshuffle.errors import BudgetError

if TYPE_CHECKING:
    from reshuffle.rules import RuleBase

DEFAULT_NODE_BUDGET = 20_000

CHASE = "engine='chase' (--engine chase of infer and explain) answers exactly, without geometry"
"""Not every verb that builds a geometry answers, and only those that do have the option."""

HINT = f"{CHASE}; or allow more with node_budget= (--node-budget)"


# Each for one node; multiplied by the number of allowed nodes.
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


QUICK = 25_000
"""Atoms times relations up to which a geometry is built before anybody looks at the facts: a tenth of a second."""
FACTS = 4
"""Atoms times relations that take as long to build as one fact takes the chase: some five microseconds each, against
twenty."""


def construction(rules: RuleBase) -> int:
    """What a geometry costs to build, told from the rules alone: each atom may become a slot, and each relation has a
    row of all slots.

    >>> from reshuffle.rules import PathRule, RuleBase
    >>> construction(RuleBase((PathRule(("r", "r"), "r"), PathRule(("s",), "r"))))
    10
    """
    return sum(len(rule.body) + 1 for rule in rules.rules) * len(rules.relations)


def over_budget(most: int, what: str) -> BudgetError:
    """The error where more than `most` of something are needed.

    >>> print(over_budget(2, "edges"))
    the geometry of these rules needs more than the 2 edges it was allowed
      hint: engine='chase' (--engine chase of infer and explain) answers exactly, ...; or allow more with node_...
    """
    return BudgetError(
        f"the geometry of these rules needs more than the {most:,} {what} it was allowed", hint=HINT
    )
