"""The conditions (R1) to (R4) on a given graph: each holds, is violated with a witness, or is verified up to a length.

- R3 as languages: every r-edge e has L_r inside L(e). It suffices to check each rule at each edge with its head's
  label; derived words follow by induction.
- R4 as languages: every r has an r-edge e with L(e) inside L_r. Decidable where L_r is visibly regular; elsewhere
  the words of L(e) are tried up to a length. R4m asks this only of words of length <= m + 1.
- With intersection rules both need a clause form. R3∧: an r-edge whose label heads an intersection has one of the
  conjuncts among its words. R4∧: whatever word is chosen for each r-edge, together they entail r.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from reshuffle.errors import BudgetError
from reshuffle.rulegraphs.automata import (
    edge_language,
    relation_language,
    word_outside,
)
from reshuffle.rulegraphs.budgets import DEFAULT_NODE_BUDGET, STEPS, over_budget
from reshuffle.rules.classes import PathGrammar, conjunctive_relations
from reshuffle.rules.rule import IntersectionRule, RuleBase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from reshuffle.rulegraphs.graph import RuleGraph

Status = Literal["holds", "violated", "verified"]

LENGTH = 4  # up to here where a language is not visibly regular
_MOST_WORDS = 5_000
_MOST_WORK = 2_000_000  # deciding a word of length n costs about n^3


@dataclass(frozen=True)
class Check:
    """The result of checking one condition."""

    status: Status
    length: int | None = None  # for `verified`: words up to this length
    witness: str | None = None  # for `violated`

    def __str__(self) -> str:
        if self.status == "verified":
            return f"verified up to length {self.length}"
        return f"{self.status}: {self.witness}" if self.witness else self.status

    def to_dict(self) -> dict[str, Any]:
        """Plain data for `--json`, without the fields that are not known."""
        values = {"status": self.status, "length": self.length, "witness": self.witness}
        return {key: value for key, value in values.items() if value is not None}


HOLDS = Check("holds")
UNCHECKED = Check("verified", length=0)


def check_graph(
    graph: RuleGraph, base: RuleBase | None = None, *, node_budget: int = DEFAULT_NODE_BUDGET
) -> dict[str, Check]:
    """All conditions that apply to a graph and the rules it is meant for (by default those it was built from).

    Where the steps of the budget are spent before all relations are checked, a condition is `verified` up to length 0.
    """
    checker = _Checker(graph, base if base is not None else graph.rules or RuleBase(()), node_budget)
    checks = {"R1": checker.r1(), "R2": checker.r2(), "R3": checker.r3()}
    if checker.closed.intersection_rules:
        checks["R3∧"] = checker.r3_clauses()
    if graph.bound is not None:
        return {**checks, "R4m": checker.r4_bounded(graph.bound)}
    checks["R4"] = checker.r4()
    if checker.closed.intersection_rules:
        checks["R4∧"] = checker.r4_clauses()
    return checks


class _Checker:
    def __init__(self, graph: RuleGraph, base: RuleBase, node_budget: int) -> None:
        self.graph = graph
        self.closed = base.closed_under_reversal()
        self.grammar = PathGrammar(self.closed)
        self.conjunctive = conjunctive_relations(self.closed)
        self._most_steps = STEPS * node_budget
        self._steps = 0
        self._rules_on_one_pair = [
            rule for rule in self.closed if isinstance(rule, IntersectionRule) or len(rule.body) == 1
        ]

    def _spend(self, steps: int) -> None:
        """Count steps; beyond the budget all that is still to be checked counts as verified up to length 0."""
        self._steps += steps
        if self._steps > self._most_steps:
            raise over_budget(self._most_steps, "steps to check it")

    @property
    def _spent(self) -> bool:
        return self._steps > self._most_steps

    def r1(self) -> Check:
        for relation in self.closed.relations:
            if relation not in self.graph.by_label:
                return Check("violated", witness=f"no edge is labelled {relation}")
        return HOLDS

    def r2(self) -> Check:
        sources: dict[tuple[str, int], int] = {}
        for source, label, target in self.graph.edges:
            other = sources.setdefault((label, target), source)
            if other != source:
                return Check(
                    "violated",
                    witness=f"node {target} has incoming {label}-edges from nodes {other} and {source}",
                )
        return HOLDS

    def r3(self) -> Check:
        for rule in self.closed.path_rules:
            for edge in self.graph.by_label.get(rule.head, ()):
                self._steps += len(rule.body)
                if self._spent:
                    return UNCHECKED
                if not self.graph.has_path(edge.source, rule.body, edge.target):
                    return _violated(f"has no {';'.join(rule.body)} path beside it", rule.head, *_ends(edge))
        return HOLDS

    def r3_clauses(self) -> Check:
        for rule in self.closed.intersection_rules:
            for edge in self.graph.by_label.get(rule.head, ()):
                self._steps += len(rule.body)
                if self._spent:
                    return UNCHECKED
                if not any(self.graph.has_path(edge.source, (part,), edge.target) for part in rule.body):
                    return _violated(f"has none of {', '.join(rule.body)} beside it", rule.head, *_ends(edge))
        return HOLDS

    # --- R4 -----------------------------------------------------------------------------------------

    def r4(self) -> Check:
        return _worst(
            self._some_edge(relation, self._inside)
            for relation in self.closed.relations
            if relation not in self.conjunctive
        )

    def r4_bounded(self, bound: int) -> Check:
        """R4m, by trying every word of length <= m + 1: `holds` when none was left out."""
        inside = partial(self._inside_up_to, length=bound + 1)
        worst = _worst(self._some_edge(relation, inside) for relation in self.closed.relations)
        return HOLDS if worst == Check("verified", length=bound + 1) else worst

    def _some_edge(self, relation: str, inside: Callable[[tuple[str, ...], int, int], Check]) -> Check:
        """One r-edge with L(e) inside L_r; the edge that the graph names as root is tried first."""
        first: Check | None = None
        for source, target in self._edges_of(relation):
            check = inside((relation,), source, target)
            if check.status != "violated":
                return check
            first = first or check
        return first or Check("violated", witness=f"no edge is labelled {relation}")

    def _edges_of(self, relation: str) -> Iterable[tuple[int, int]]:
        edges = (_ends(edge) for edge in self.graph.by_label.get(relation, ()))
        return dict.fromkeys((*self.graph.roots.get(relation, ()), *edges))

    def _inside(self, relations: tuple[str, ...], source: int, target: int) -> Check:
        """Does every word between the two nodes entail one of the relations?"""
        symbols = dict.fromkeys(self.grammar.symbol_of[relation] for relation in relations)
        try:
            words = relation_language(self.grammar, symbols, self._spend)
            word = word_outside(edge_language(self.graph, source, target, self._spend), words)
        except BudgetError:
            return self._inside_up_to(relations, source, target, length=LENGTH)
        return HOLDS if word is None else _not_entailed(word, relations, source, target)

    def _inside_up_to(self, relations: tuple[str, ...], source: int, target: int, *, length: int) -> Check:
        symbols = dict.fromkeys(self.grammar.symbol_of[relation] for relation in relations)
        self._steps += len(self.graph.edges)
        if self._spent:
            return UNCHECKED
        work = 0
        words = self.graph.words(source, target, max_length=length)
        for tried, word in enumerate(words):
            work += len(word) ** 3
            if tried == _MOST_WORDS or work > _MOST_WORK:
                return Check("verified", length=len(word) - 1)
            if not any(self.grammar.derives(symbol, word) for symbol in symbols):
                return _not_entailed(word, relations, source, target)
        return Check("verified", length=length)

    # --- R4 with intersections ----------------------------------------------------------------------

    def r4_clauses(self) -> Check:
        return _worst(
            self._clauses_entail(relation)
            for relation in self.closed.relations
            if relation in self.conjunctive
        )

    def _clauses_entail(self, relation: str) -> Check:
        """Each word of a clause's edge derives one of its labels, and any choice of labels entails the relation."""
        clauses, checks = [], []
        for source, target in self.graph.roots.get(relation) or self._edges_of(relation):
            self._steps += len(self.closed.relations)
            if self._spent:
                return UNCHECKED
            labels = tuple(
                label for label in self.closed.relations if self.graph.has_path(source, (label,), target)
            )
            checks.append(self._inside(labels, source, target))
            clauses.append(frozenset(labels))
        if not clauses:
            return Check("violated", witness=f"no edge is labelled {relation}")
        worst = _worst(checks)
        if worst.status == "violated":
            return worst
        try:
            choice = self._choice_without(relation, clauses)
        except BudgetError:
            return UNCHECKED
        if choice is None:
            return worst
        return Check("violated", witness=f"{' & '.join(sorted(choice))} meet all clauses of {relation}")

    def _choice_without(self, relation: str, clauses: list[frozenset[str]]) -> frozenset[str] | None:
        """Labels that meet every clause and yet do not entail the relation, by depth-first search."""
        waiting = [(frozenset[str](), 0)]
        seen = set(waiting)
        while waiting:
            chosen, place = waiting.pop()
            known = self._consequences(chosen)
            if relation in known:
                continue
            if place == len(clauses):
                return chosen
            met = not clauses[place].isdisjoint(known)
            options = [chosen] if met else [chosen | {label} for label in sorted(clauses[place])]
            for option in options:
                if (option, place + 1) not in seen:
                    seen.add((option, place + 1))
                    waiting.append((option, place + 1))
        return None

    def _consequences(self, relations: frozenset[str]) -> set[str]:
        """What follows for one pair of entities by one-atom and intersection rules."""
        known = set(relations)
        changed = True
        while changed:
            self._spend(len(self._rules_on_one_pair))
            new = {rule.head for rule in self._rules_on_one_pair if known.issuperset(rule.body)} - known
            changed = bool(new)
            known |= new
        return known


def _ends(edge: tuple[int, str, int]) -> tuple[int, int]:
    return edge[0], edge[2]


def _violated(what: str, relation: str, source: int, target: int) -> Check:
    return Check("violated", witness=f"the {relation}-edge from node {source} to node {target} {what}")


def _not_entailed(word: tuple[str, ...], relations: tuple[str, ...], source: int, target: int) -> Check:
    path = ";".join(word) or "the empty word"
    relation = " or ".join(relations)
    return _violated(f"has the path {path}, which does not entail {relation}", relation, source, target)


def _worst(checks: Iterable[Check]) -> Check:
    """A violation if there is one, else the shortest length that was verified, else `holds`."""
    ranked = {"violated": 0, "verified": 1, "holds": 2}
    return min(checks, key=lambda check: (ranked[check.status], check.length or 0), default=HOLDS)
