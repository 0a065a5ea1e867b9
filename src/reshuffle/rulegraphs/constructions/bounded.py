"""Arbitrary path rules, exact for what can be derived in m steps (the paper's m-bounded rule graphs).

The paper's construction, its example included, breaks (R3) when it splits nodes at the end (see
docs/explanation/errata.md). This one never has to split. It reads as `regular` does, `after(u, X)` being the node
where one stands after reading X from context u, and also knows how long the shortest root path through the edge
that it makes is:

1. U = all relations that imply X through one-atom rules; the edge u -> x carries every label of U.
2. While that path has length n <= m: for each rule Y => b1...bk (k >= 2, Y in U), read the body from u, each atom at
   length n + k - 1, and move on to x for free. An atom that was already read from the same context at no greater
   length is read there: it is expanded at least as far, and expansions are exact.
3. Beyond m the rest is collapsed. With A the atoms that can begin a word for X, B those that can end one and L
   those in between: u -a-> y for a in A, y -l-> z and z -> y (free) for l in L, y -b-> w for b in B and w -> x (free).

(R2) holds as in `regular`; for L this needs the partner z, since y may have l among its incoming labels already.
(R3): rules are read to where their head leads, in step 3 by the closure of A, L and B under the rules. (R4m): a word
that uses step 3 takes at least two symbols through y where the root path had one and was longer than m, so it is
longer than m + 1; every other word is derived by the rules.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from reshuffle.errors import BudgetError, InputError, NotExpressibleError, whole_number
from reshuffle.rulegraphs.budgets import CHASE, DEFAULT_NODE_BUDGET
from reshuffle.rulegraphs.constructions.regular import Draft
from reshuffle.rules.classes import PathGrammar
from reshuffle.rules.digraphs import reachable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reshuffle.rulegraphs.graph import RuleGraph
    from reshuffle.rules import RuleBase

_BOUND_HINT = "a bound is 0 (the facts and one-atom rules) or more"


_BEYOND_COUNTING = 10**15
_MOST_ROUNDS = 10_000


@dataclass(frozen=True)
class _Collapsed:
    """Which symbols can begin, continue and end a word of at least two symbols."""

    begin: frozenset[str]
    middle: frozenset[str]
    end: frozenset[str]


class _BoundedReader:
    def __init__(self, base: RuleBase, draft: Draft, bound: int) -> None:
        self.grammar = PathGrammar(base)
        self.draft = draft
        self.bound = bound
        self._implied_by = {
            symbol: [production.body[0] for production in productions if len(production.body) == 1]
            for symbol, productions in self.grammar.productions.items()
        }
        self._made: dict[tuple[int, str], list[tuple[int, int]]] = {}  # -> [(length, node)]
        self._waiting: list[tuple[int, int, int, str]] = []  # a heap of (length, node, context, symbol)
        self.alternatives = cache(self._alternatives)
        self.long_bodies = cache(self._long_bodies)
        self.collapsed = cache(self._collapsed)

    def root_edge(self, start: int, symbol: str) -> tuple[int, int]:
        """The edge that decides `symbol`: reading it is the whole root path."""
        return start, self._after(start, symbol, 1)

    def expand(self) -> None:
        """Steps 2 and 3 for all edges, shortest root paths first, so that longer ones find theirs made."""
        while self._waiting:
            length, node, context, symbol = heapq.heappop(self._waiting)
            if length > self.bound:
                self._collapse(context, symbol, node)
                continue
            for body in self.long_bodies(symbol):
                place = context
                for part in body:
                    place = self._after(place, part, length + len(body) - 1)
                self.draft.free(place, node)

    def _after(self, context: int, symbol: str, length: int) -> int:
        """The node after reading `symbol` from `context` where the root path has that length."""
        made = self._made.setdefault((context, symbol), [])
        for known_length, node in made:
            if known_length <= length:
                return node
        node = self.draft.node()
        made.append((length, node))
        self.draft.edge(context, self._labels(self.alternatives(symbol)), node)
        # The node is new, so it orders edges of the same length by their making.
        heapq.heappush(self._waiting, (length, node, context, symbol))
        return node

    def _collapse(self, context: int, symbol: str, end: int) -> None:
        parts = self.collapsed(symbol)
        if not parts.begin:
            return
        inside, partner, exit_ = self.draft.node(), self.draft.node(), self.draft.node()
        self.draft.edge(context, self._labels(parts.begin), inside)
        self.draft.edge(inside, self._labels(parts.middle), partner)
        self.draft.free(partner, inside)
        self.draft.edge(inside, self._labels(parts.end), exit_)
        self.draft.free(exit_, end)

    def _labels(self, symbols: Iterable[str]) -> list[str]:
        return [label for symbol in sorted(symbols) for label in self.grammar.labels[symbol]]

    def _alternatives(self, symbol: str) -> frozenset[str]:
        """The symbols that imply `symbol` through one-atom rules, itself included."""
        return self._closed_under_one_atom_rules({symbol})

    def _closed_under_one_atom_rules(self, symbols: Iterable[str]) -> frozenset[str]:
        return frozenset(reachable(symbols, self._implied_by))

    def _long_bodies(self, symbol: str) -> tuple[tuple[str, ...], ...]:
        """The bodies of two and more atoms of all alternatives, short ones first, so that others share them."""
        bodies = {
            production.body
            for alternative in self.alternatives(symbol)
            for production in self.grammar.productions[alternative]
            if len(production.body) > 1
        }
        return tuple(sorted(bodies, key=lambda body: (len(body), body)))

    def _collapsed(self, symbol: str) -> _Collapsed:
        begin: set[str] = set()
        middle: set[str] = set()
        end: set[str] = set()
        for body in self.long_bodies(symbol):
            begin.add(body[0])
            middle.update(body[1:-1])
            end.add(body[-1])
        while True:
            size = len(begin) + len(middle) + len(end)
            for part, place in ((begin, 0), (end, -1), (middle, None)):
                self._extend(part, place, middle)
            if size == len(begin) + len(middle) + len(end):
                return _Collapsed(frozenset(begin), frozenset(middle), frozenset(end))

    def _extend(self, part: set[str], place: int | None, middle: set[str]) -> None:
        """One round of the closure: what stands for a symbol of `part` stands partly there, partly inside."""
        part |= self._closed_under_one_atom_rules(part)
        for symbol in tuple(part):
            for body in self.long_bodies(symbol):
                rest = list(body)
                if place is not None:
                    part.add(rest.pop(place))
                middle.update(rest)

    def nodes_without_sharing(self) -> int | None:
        """An upper bound on the nodes of the unfolding: nothing shared, every body taken to have two atoms.

        None where it is beyond all counting.
        """
        sizes = dict.fromkeys(self.grammar.labels, 4)
        for done in range(self.bound):
            if done == _MOST_ROUNDS or max(sizes.values(), default=0) > _BEYOND_COUNTING:
                return None
            smaller = sizes
            sizes = {
                symbol: 1 + sum(sizes[part] for body in self.long_bodies(symbol) for part in body)
                for symbol in self.grammar.labels
            }
            if sizes == smaller:
                break
        return 1 + sum(sizes.values())


def bounded_graph(base: RuleBase, *, bound: int, node_budget: int = DEFAULT_NODE_BUDGET) -> RuleGraph:
    """A graph whose root edges accept exactly the words of length <= bound + 1 that are entailed."""
    if base.intersection_rules:
        raise NotExpressibleError(
            "a bound together with intersection rules is an open question of the paper",
            remedy=f"leave out the bound; or {CHASE}",
        )
    if whole_number("bound", bound, hint=_BOUND_HINT) < 0:
        raise InputError(f"a bound of {bound} steps", hint=_BOUND_HINT)
    draft = Draft(node_budget=node_budget)
    reader = _BoundedReader(base.closed_under_reversal(), draft, bound)
    try:
        start = draft.node()
        for symbol, labels in reader.grammar.labels.items():
            draft.roots.update(dict.fromkeys(labels, (reader.root_edge(start, symbol),)))
        reader.expand()
    except BudgetError as error:
        nodes = reader.nodes_without_sharing()
        raise BudgetError(
            f"bound={bound} unfolds into {f'up to {nodes:,}' if nodes else 'too many'} nodes, and {node_budget:,} are "
            "allowed",
            hint=f"give a smaller bound, or a larger node_budget= (--node-budget); or {CHASE}",
        ) from error
    return draft.finished(base, bound=bound)
