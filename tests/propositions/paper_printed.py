"""The constructions exactly as the paper prints them, for its figures and as counterexamples.

`order` is the enumeration of a node's incoming edges, which the paper leaves open. The relation eq of the figures
(n_0 -eq-> n_eq) is left out: nobody asks for (e, eq, f).
"""

from __future__ import annotations

import itertools
from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

from reshuffle.rulegraphs import Edge, RuleGraph

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reshuffle.rules import IntersectionRule, PathRule, RuleBase

Order: TypeAlias = "Callable[[list[int]], list[int]]"
EQ = "eq"


class Graph:
    """Nodes are numbers, n_0 is 0, n_r is the position of r from 1 on."""

    def __init__(self, relations: Sequence[str]) -> None:
        """Steps 1 and 2, which all constructions share."""
        self.node_of = {relation: number for number, relation in enumerate(relations, start=1)}
        self.num_nodes = len(relations) + 1
        self.edges = {(0, relation, node): None for relation, node in self.node_of.items()}

    def fresh(self) -> int:
        self.num_nodes += 1
        return self.num_nodes - 1

    def add(self, source: int, label: str, target: int) -> bool:
        """Whether the edge is new."""
        new = (source, label, target) not in self.edges
        self.edges[source, label, target] = None
        return new

    def has_path(self, source: int, first: str, second: str, target: int) -> bool:
        return any(
            (source, first, middle) in self.edges and (middle, second, target) in self.edges
            for middle in range(self.num_nodes)
        )

    def with_label(self, label: str) -> list[tuple[int, int]]:
        return [(source, target) for source, other, target in self.edges if other == label]

    def split(self, order: Order) -> None:
        """Step 4 of the left-regular and step 5 of the bounded construction."""
        for node in range(self.num_nodes):
            incoming: dict[str, list[int]] = {}
            for source, label, target in self.edges:
                if target == node:
                    incoming.setdefault(label, []).append(source)
            copies = [node]
            for _ in range(max(map(len, incoming.values()), default=1) - 1):
                copies.append(self.fresh())
                self.add(copies[-1], EQ, copies[-2])
            for label, sources in incoming.items():
                for source, copy in zip(order(sources), copies, strict=False):
                    if copy != node:
                        del self.edges[source, label, node]
                        self.add(source, label, copy)

    def finished(self, rules: RuleBase, *, bound: int | None = None) -> RuleGraph:
        edges = tuple(Edge(*edge) for edge in self.edges)
        return RuleGraph(self.num_nodes, edges, frozenset({EQ}), rules=rules, bound=bound)


def acyclic(base: RuleBase, ranking: Sequence[str]) -> RuleGraph:
    """Proposition 13. A body of q atoms needs q - 1 fresh nodes, not the q that step 3(a) names."""
    graph = Graph(base.relations)
    for head in reversed(ranking):
        for rule in base.path_rules:
            if rule.head == head:
                for source, target in graph.with_label(head):
                    nodes = [source, *(graph.fresh() for _ in rule.body[1:]), target]
                    for start, label, end in zip(nodes, rule.body, nodes[1:], strict=False):
                        graph.add(start, label, end)
    return graph.finished(base)


def left_regular(base: RuleBase, order: Order = list) -> RuleGraph:
    """Section 6.1, steps 1 to 4; bodies of two atoms."""
    graph = Graph(base.relations)
    for rule in base.path_rules:
        first, second = rule.body
        graph.add(graph.node_of[first], second, graph.node_of[rule.head])
    graph.split(order)
    return graph.finished(base)


def bounded(base: RuleBase, bound: int, order: Order = list, *, with_step_5: bool = True) -> RuleGraph:
    """Section 6.2, steps 1 to 5; bodies of two atoms."""
    graph = Graph(base.relations)
    while (missing := _missing(graph, base.path_rules, bound)) is not None:  # step 3
        source, rule, target = missing
        middle = graph.fresh()
        graph.add(source, rule.body[0], middle)
        graph.add(middle, rule.body[1], target)
    while (missing := _missing(graph, base.path_rules, None)) is not None:  # step 4
        _collapse(graph, base.path_rules, *missing)
    if with_step_5:
        graph.split(order)
    return graph.finished(base, bound=bound)


def _missing(
    graph: Graph, rules: Sequence[PathRule], longest: int | None
) -> tuple[int, PathRule, int] | None:
    """An edge (on a root path of length <= longest) without the path of one of its rules."""
    before = _distances(graph, [0], forwards=True)
    behind = _distances(graph, list(graph.node_of.values()), forwards=False)
    for rule in rules:
        for source, target in graph.with_label(rule.head):
            if longest is not None and before[source] + 1 + behind[target] > longest:
                continue
            if not graph.has_path(source, *rule.body, target):
                return source, rule, target
    return None


def _distances(graph: Graph, start: list[int], *, forwards: bool) -> dict[int, int]:
    distance = dict.fromkeys(start, 0)
    waiting = list(start)
    for node in waiting:  # grows while it is read: breadth first
        for source, _, target in graph.edges:
            here, there = (source, target) if forwards else (target, source)
            if here == node and there not in distance:
                distance[there] = distance[node] + 1
                waiting.append(there)
    return distance


def _collapse(graph: Graph, rules: Sequence[PathRule], source: int, rule: PathRule, target: int) -> None:
    """Step 4 (a) to (d) for one edge."""
    middle = graph.fresh()
    graph.add(source, rule.body[0], middle)
    graph.add(middle, rule.body[1], target)
    changed = True
    while changed:
        changed = False
        for other in rules:
            first, second = other.body
            for start, end, new in (
                (source, middle, [(source, first, middle), (middle, second, middle)]),
                (middle, target, [(middle, first, middle), (middle, second, target)]),
                (middle, middle, [(middle, first, middle), (middle, second, middle)]),
            ):
                if (start, other.head, end) in graph.edges:
                    changed |= sum(graph.add(*edge) for edge in new) > 0


def intersection(base: RuleBase) -> RuleGraph:
    """Appendix on hierarchy and intersection rules, steps 1 to 3."""
    graph = Graph(base.relations)
    changed = True
    while changed:
        changed = False
        for rule in base.path_rules:
            for _, node in graph.with_label(rule.head):
                changed |= graph.add(0, rule.body[0], node)
        for meet in base.intersection_rules:
            changed |= _duplicate(graph, meet)
    return graph.finished(base)


def _duplicate(graph: Graph, rule: IntersectionRule) -> bool:
    """Step 3(b), with one copy per conjunct."""
    changed = False
    for _, node in graph.with_label(rule.head):
        labels = [label for _, label, target in graph.edges if target == node]
        if set(labels).isdisjoint(rule.body):
            copies = [node, *(graph.fresh() for _ in rule.body[1:])]
            for copy, label in itertools.product(copies, labels):
                graph.add(0, label, copy)
            for copy, conjunct in zip(copies, rule.body, strict=True):
                graph.add(0, conjunct, copy)
            changed = True
    return changed


def conflicts(graph: RuleGraph) -> Counter[tuple[str, int]]:
    """Where (R2) is broken, and by how many edges: an answer without `reshuffle.rulegraphs.checks`."""
    counted = Counter((label, target) for _, label, target in graph.edges)
    return Counter({place: count for place, count in counted.items() if count > 1})
