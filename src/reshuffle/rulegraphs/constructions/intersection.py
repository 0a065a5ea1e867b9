"""Hierarchy and intersection rules (the paper's intersection graphs), alone or mixed with regular paths.

Several r-edges act as a conjunction, labels side by side on one edge as a disjunction. So a relation that is
derived by intersections is written as clauses, each a set of relations of which one must hold:

1. The clauses of r start as {r}.
2. A clause that has the head of a one-atom rule gets its body too.
3. A clause that has the head of an intersection rule but none of its conjuncts is replaced by one clause per
   conjunct. (The paper duplicates the node, which is the same.)
4. A clause that contains another clause of r says less and is dropped.
5. Each clause becomes a node n_c with an edge n_0 -s-> n_c for every s in it. Where some s in it has rules of two
   and more atoms, the paths that read them from n_0 (see `regular`) move on to n_c for free.

The mixed class is the one in which no relation that depends on an intersection occurs inside a longer path. There
the conjuncts could be met through different middle entities, which no rule entails; step 5 never meets that case.
A relation without longer paths is a clause too, even where no intersection defines it: then all edges start at n_0,
none enters it, and no identity is needed, so that one layer of the GNN suffices.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, TypeAlias

from reshuffle.errors import BudgetError
from reshuffle.rulegraphs.budgets import (
    CLAUSE_RELATIONS,
    CLAUSES,
    DEFAULT_NODE_BUDGET,
    HINT,
    STEPS,
    over_budget,
)
from reshuffle.rulegraphs.constructions.regular import Draft, Reader
from reshuffle.rules.classes import conjunctive_relations
from reshuffle.rules.digraphs import reachable
from reshuffle.rules.rule import IntersectionRule

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reshuffle.rulegraphs.graph import RuleGraph
    from reshuffle.rules import RuleBase

Clause: TypeAlias = frozenset[str]


def intersection_graph(base: RuleBase, *, node_budget: int = DEFAULT_NODE_BUDGET) -> RuleGraph:
    """The graph of a base in the hierarchy-intersection or the mixed class."""
    closed = base.closed_under_reversal()
    conjunctive = conjunctive_relations(closed)
    draft = Draft(node_budget=node_budget)
    reader = Reader(closed, draft)
    start = draft.node()
    clauses_for = _Clauses(closed, most=node_budget)
    nodes: dict[Clause, int] = {}
    for relation in closed.relations:
        clauses = clauses_for.of(relation)
        if relation not in conjunctive and any(_longer(reader, part) for part in clauses[0]):
            draft.roots[relation] = (reader.edge_of(start, reader.grammar.symbol_of[relation]),)
            continue
        for clause in clauses:
            if clause not in nodes:
                nodes[clause] = draft.node()
                _wire(clause, start, nodes[clause], reader, conjunctive)
        draft.roots[relation] = tuple((start, nodes[clause]) for clause in clauses)
    return draft.finished(base)


def _longer(reader: Reader, relation: str) -> list[tuple[str, ...]]:
    """The bodies of two and more atoms that define a relation or one that means the same."""
    symbol = reader.grammar.symbol_of[relation]
    return [rule.body for rule in reader.grammar.productions[symbol] if len(rule.body) > 1]


def clauses_of(relation: str, closed: RuleBase, *, most: int = DEFAULT_NODE_BUDGET) -> list[Clause]:
    """The smallest sets of relations of which one must hold, all together equivalent to `relation`.

    >>> from reshuffle.rules import IntersectionRule, RuleBase
    >>> both = RuleBase((IntersectionRule(("a", "b"), "c"),))
    >>> [sorted(clause) for clause in clauses_of("c", both)]
    [['a', 'c'], ['b', 'c']]
    """
    return _Clauses(closed, most=most).of(relation)


class _Clauses:
    """Finds the clauses of one relation after the other, within one budget for all of them."""

    def __init__(self, closed: RuleBase, *, most: int) -> None:
        self._most, self._most_clauses = most, CLAUSES * most
        self._most_relations, self._most_compared = CLAUSE_RELATIONS * most, STEPS * most
        self._num_clauses = self._num_relations = self._num_compared = 0
        self._implied_by: dict[str, list[str]] = {}
        self._conjuncts: dict[str, list[tuple[str, ...]]] = {}
        for rule in closed:
            if isinstance(rule, IntersectionRule):
                self._conjuncts.setdefault(rule.head, []).append(rule.body)
            elif len(rule.body) == 1:
                self._implied_by.setdefault(rule.head, []).append(rule.body[0])

    def of(self, relation: str) -> list[Clause]:
        """The smallest clauses of the relation, in order."""
        finished: dict[Clause, None] = {}
        waiting = [self._with_bodies({relation})]
        seen = set(waiting)
        while waiting:
            clause = waiting.pop()
            unmet = self._unmet(clause)
            if unmet is None:
                finished[clause] = None
            for conjunct in unmet or ():
                extended = self._with_bodies({*clause, conjunct})
                if extended not in seen:
                    seen.add(extended)
                    waiting.append(extended)
            if len(seen) > self._most:
                raise BudgetError(
                    f"the intersections that define `{relation}` need more than {self._most:,} clauses",
                    hint=HINT,
                )
        return sorted(self._smallest(finished), key=sorted)

    def _with_bodies(self, clause: set[str]) -> Clause:
        """Step 2: the clause with all relations that imply one of its own through one-atom rules."""
        found = frozenset(reachable(clause, self._implied_by))
        self._num_clauses += 1
        self._num_relations += len(found)
        if self._num_clauses > self._most_clauses:
            raise over_budget(self._most_clauses, "clauses")
        if self._num_relations > self._most_relations:
            raise over_budget(self._most_relations, "relations in its clauses")
        return found

    def _unmet(self, clause: Clause) -> tuple[str, ...] | None:
        """Step 3: the conjuncts of an intersection of which the clause has the head and none of its own."""
        if not self._conjuncts:
            return None
        bodies = (body for head in clause for body in self._conjuncts.get(head, ()))
        return next((body for body in bodies if clause.isdisjoint(body)), None)

    def _smallest(self, clauses: Iterable[Clause]) -> list[Clause]:
        """Step 4. Shorter clauses come first, and each lies under one of its relations, which a longer one has."""
        kept: list[Clause] = []
        under: dict[str, list[Clause]] = {}
        for _, alike in itertools.groupby(sorted(clauses, key=len), key=len):
            new = [clause for clause in alike if not self._contains_another(clause, under)]
            for clause in new:
                under.setdefault(min(clause), []).append(clause)
            kept += new
        return kept

    def _contains_another(self, clause: Clause, under: Mapping[str, list[Clause]]) -> bool:
        shorter = [other for relation in clause for other in under.get(relation, ())]
        self._num_compared += len(shorter)
        if self._num_compared > self._most_compared:
            raise over_budget(self._most_compared, "comparisons of its clauses")
        return any(other < clause for other in shorter)


def _wire(clause: Clause, start: int, node: int, reader: Reader, conjunctive: frozenset[str]) -> None:
    reader.draft.edge(start, sorted(clause), node)
    for relation in sorted(clause):
        longer = _longer(reader, relation)
        # A conjunctive relation is never read itself: that would make an edge of it without its clauses. Others
        # are, since they may be recursive.
        if longer and relation not in conjunctive:
            longer = [(reader.grammar.symbol_of[relation],)]
        for word in longer:
            reader.read(start, word, node)
