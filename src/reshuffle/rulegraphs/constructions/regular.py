"""One construction for every class of path rules that can be exact: acyclic, left- and right-regular,
transitive, symmetric, and their nestings.

The paper has one construction for acyclic bases and one for left-regular ones; as printed the first breaks (R2)
(docs/explanation/errata.md). Here every node u is a *context* in which relations can be read, and
`after(u, X)` is the node where one stands after reading X from u:

1. A relation that no rule derives: an edge u -X-> after(u, X).
2. X whose component recurs on the left or not at all: an edge u -X-> x with x = after(u, X), and for every rule
   X => Y gamma the path that reads gamma from after(u, Y) and then moves on to x for free. For Y in the same
   component this is the paper's left-regular step 3; for other Y it is the acyclic step, with prefixes shared.
3. X that also recurs on the right: an entry p of its own, a free move u -> p, an edge p -X-> q, and
   X => beta: read beta from p, then on to q      X => X alpha: read alpha from q, then on to q
   X => alpha X: read alpha from p, then on to p  X => X alpha X (also X => X X): read alpha from q, then on to p.
4. Several relations that recur on the right: one exit q, an entry p_t and an edge p_t -t-> q for each t;
   t => alpha t' reads alpha from p_t, then on to p_t'.
5. The root of X is the edge made by reading X from the common start n_0.

A node is entered by labelled edges from one context only, and by free moves, which become numbered identities:
(R2). Whatever reads a word from u to v first makes the edges for its atoms, and each atom's rules lead to the
same place as the atom: (R3). What arrives at after(u, X) is a word that led to u followed by one that derives X,
and n_0 is never entered: the root edge of X has exactly the words of L_X, hence (R4).
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from reshuffle.errors import BudgetError, NotExpressibleError
from reshuffle.rulegraphs.budgets import DEFAULT_NODE_BUDGET, EDGES, HINT, over_budget
from reshuffle.rulegraphs.reduction import FREE, reduced_graph
from reshuffle.rules.classes import PathGrammar, Recursion
from reshuffle.rules.digraphs import leads_to

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from reshuffle.rulegraphs.graph import RuleGraph
    from reshuffle.rules import RuleBase

_MOST_CONTEXTS = 4  # looking at more of them finds the same


class Draft:
    """A rule graph while it is being built; adding an edge twice changes nothing.

    Constructions add nodes, labelled edges and free moves (identity edges without a number). `finished` then
    reduces the graph and numbers the identities.
    """

    def __init__(self, *, node_budget: int = DEFAULT_NODE_BUDGET) -> None:
        self.num_nodes = 0
        self.edges: dict[tuple[int, str, int], None] = {}
        self._targets: dict[int, dict[int, None]] = {}
        self._sources: dict[int, dict[int, None]] = {}
        self._without_return: set[int] = set()
        self.roots: dict[str, tuple[tuple[int, int], ...]] = {}
        self.node_budget = node_budget
        self._most_edges = EDGES * node_budget

    def node(self) -> int:
        """The number of a fresh node."""
        self.num_nodes += 1
        if self.num_nodes > self.node_budget:
            raise BudgetError(
                f"the rule graph needs more than the {self.node_budget:,} nodes it was allowed",
                hint=f"{HINT}, or use fewer or shorter rules",
            )
        return self.num_nodes - 1

    def edge(self, source: int, labels: Iterable[str], target: int) -> None:
        """Add one edge per label, side by side."""
        for label in labels:
            self.edges[source, label, target] = None
        if len(self.edges) > self._most_edges:
            raise over_budget(self._most_edges, "edges")
        self._targets.setdefault(source, {})[target] = None
        self._sources.setdefault(target, {})[source] = None

    def free(self, source: int, target: int) -> None:
        """Add an identity edge."""
        if source != target:
            self.edge(source, (FREE,), target)

    def returns_to(self, node: int) -> bool:
        """Does some path lead from `node` back to it?

        What is added later never closes a cycle through a context that has been read from, so a no stays a no;
        and no cycle runs through a node that lies on none, so the search passes over all that are known.
        """
        if node in self._without_return:
            return False
        returns = node in self._sources and leads_to(
            node, node, self._targets, self._sources, closed=self._without_return
        )
        if not returns:
            self._without_return.add(node)
        return returns

    def finished(self, rules: RuleBase, *, bound: int | None = None) -> RuleGraph:
        """The smallest graph with the same root languages that the reductions reach, (R2) included."""
        return reduced_graph(
            self.num_nodes,
            list(self.edges),
            self.roots,
            rules=rules,
            bound=bound,
            most_edges=self._most_edges,
        )


class Reader:
    """Writes the nodes and edges of `after(context, symbol)` into a draft when they are first needed."""

    def __init__(self, base: RuleBase, draft: Draft) -> None:
        """`base` must be closed under reversal; its path rules must be regular."""
        self.grammar = PathGrammar(base)
        self.draft = draft
        self._after: dict[tuple[int, str], int] = {}
        self._entry: dict[tuple[int, str], int] = {}
        self._contexts: dict[str, list[int]] = {}
        self._waiting: deque[tuple[int, Sequence[str], int]] = deque()
        for component in self.grammar.components:
            if component.recursion is Recursion.EMBEDDED:
                raise NotExpressibleError(
                    f"the recursion of `{component.symbols[0]}` is outside the regular class",
                    remedy="classify() says why; a bound or the chase still answers",
                )

    def _after_with_rules_waiting(self, context: int, symbol: str) -> int:
        if (context, symbol) not in self._after:
            self._contexts.setdefault(symbol, []).append(context)
            {
                Recursion.LEFT: self._read_left,
                Recursion.BOTH: self._read_both,
                Recursion.RIGHT: self._read_right,
            }[self.grammar.component_of[symbol].recursion](context, symbol)
        return self._after[context, symbol]

    def edge_of(self, context: int, symbol: str) -> tuple[int, int]:
        """Source and target of the edge that reads `symbol` from `context`."""
        target = self._after_with_rules_waiting(context, symbol)
        self._finish()
        return self._entry[context, symbol], target

    def context_without_return(self, symbol: str) -> int | None:
        """A context from which `symbol` has been read and to which no path leads back, if there is one."""
        contexts = self._contexts.get(symbol, ())[:_MOST_CONTEXTS]
        return next((context for context in contexts if not self.draft.returns_to(context)), None)

    def read(self, context: int, word: Sequence[str], end: int) -> None:
        """Add a path that reads `word` from `context` and ends in `end`."""
        self._later(context, word, end)
        self._finish()

    def _later(self, context: int, word: Sequence[str], end: int) -> None:
        """Remember a path to be added: rules may nest deeper than Python recurses."""
        self._waiting.append((context, word, end))

    def _finish(self) -> None:
        while self._waiting:
            context, word, end = self._waiting.popleft()
            for symbol in word:
                context = self._after_with_rules_waiting(context, symbol)
            self.draft.free(context, end)

    def _enter(self, context: int, symbol: str, entry: int, target: int) -> None:
        self._after[context, symbol], self._entry[context, symbol] = target, entry
        self.draft.edge(entry, self.grammar.labels[symbol], target)

    def _read_left(self, context: int, symbol: str) -> None:
        target = self.draft.node()
        self._enter(context, symbol, context, target)
        for production in self.grammar.productions[symbol]:
            self._later(context, production.body, target)

    def _read_both(self, context: int, symbol: str) -> None:
        entry, target = self.draft.node(), self.draft.node()
        self.draft.free(context, entry)
        self._enter(context, symbol, entry, target)
        for production in self.grammar.productions[symbol]:
            body = production.body
            starts_with, ends_with = body[0] == symbol, body[-1] == symbol
            middle = body[1 if starts_with else 0 : len(body) - (1 if ends_with else 0)]
            self._later(target if starts_with else entry, middle, entry if ends_with else target)

    def _read_right(self, context: int, symbol: str) -> None:
        members = self.grammar.component_of[symbol].symbols
        entries = {member: self.draft.node() for member in members}
        target = self.draft.node()
        for member in members:
            self.draft.edge(entries[member], self.grammar.labels[member], target)
        self.draft.free(context, entries[symbol])
        self._after[context, symbol], self._entry[context, symbol] = target, entries[symbol]
        for member in members:
            for production in self.grammar.productions[member]:
                *rest, last = production.body
                if last in entries:
                    self._later(entries[member], rest, entries[last])
                else:
                    self._later(entries[member], production.body, target)


def regular_graph(base: RuleBase, *, node_budget: int = DEFAULT_NODE_BUDGET) -> RuleGraph:
    """The rule graph of a base of path rules whose recursion is regular."""
    closed = base.closed_under_reversal()
    drafts = [_drafted(closed, node_budget=node_budget, reuse=reuse) for reuse in (True, False)]
    return min((draft.finished(base) for draft in drafts), key=lambda graph: graph.num_nodes)


def _drafted(closed: RuleBase, *, node_budget: int, reuse: bool) -> Draft:
    """A draft with a root edge for every relation; relations that others are made of come last.

    With `reuse`, a relation that has been read from a context to which nothing leads back is decided by that
    edge: its words are exactly those of the relation, so it needs no edge of its own from n_0. Such an edge
    must then be left alone by the reductions, which costs nodes elsewhere; the caller keeps the smaller graph.
    """
    draft = Draft(node_budget=node_budget)
    reader = Reader(closed, draft)
    start = draft.node()
    for component in reversed(reader.grammar.components):
        for symbol in component.symbols:
            context = reader.context_without_return(symbol) if reuse else None
            edge = reader.edge_of(start if context is None else context, symbol)
            draft.roots.update(dict.fromkeys(reader.grammar.labels[symbol], (edge,)))
    return draft
