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

from typing import TYPE_CHECKING, TypeAlias

from reshuffle.errors import BudgetError
from reshuffle.rulegraphs.constructions.regular import DEFAULT_NODE_BUDGET, Draft, Reader
from reshuffle.rules.grammar import conjunctive_relations
from reshuffle.rules.rule import IntersectionRule

if TYPE_CHECKING:
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
    nodes: dict[Clause, int] = {}
    for relation in closed.relations:
        clauses = clauses_of(relation, closed, most=node_budget)
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
    finished: dict[Clause, None] = {}
    waiting = [frozenset({relation})]
    seen = set(waiting)
    while waiting:
        clause = waiting.pop()
        extensions = _extensions(clause, closed)
        if not extensions:
            finished[clause] = None
        for extended in extensions:
            if extended not in seen:
                seen.add(extended)
                waiting.append(extended)
        if len(seen) > most:
            raise BudgetError(
                f"the intersections that define `{relation}` need more than {most:,} clauses",
                hint="allow more with node_budget= (--node-budget), or use engine='chase' (--engine chase)",
            )
    smallest = [clause for clause in finished if not any(other < clause for other in finished)]
    return sorted(smallest, key=sorted)


def _extensions(clause: Clause, closed: RuleBase) -> list[Clause]:
    """The clauses that steps 2 and 3 make of a clause; none when it is finished."""
    for head in clause:
        for rule in closed.by_head.get(head, ()):
            if isinstance(rule, IntersectionRule):
                if clause.isdisjoint(rule.body):
                    return [clause | {conjunct} for conjunct in rule.body]
            elif len(rule.body) == 1 and rule.body[0] not in clause:
                return [clause | {rule.body[0]}]
    return []


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
