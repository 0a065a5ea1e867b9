"""Rule graphs: the paper's bridge from rules to matrices.

Each node becomes a row and column of every B_r, each edge (n_j, r, n_i) the one entry b_ij = 1. A path from one
node to another has a type, the word of its labels, and an eq-reduced type, that word without identities.
`compiled` makes ordering constraints of a rule graph, `decompiled` leads back.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from reshuffle.rules.digraphs import leads_to, reachable
from reshuffle.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from reshuffle.rules import RuleBase


class Edge(NamedTuple):
    """An edge from node `source` to node `target`."""

    source: int
    label: str
    target: int


@dataclass(frozen=True)
class RuleGraph:
    """Nodes 0 ... num_nodes - 1, labelled edges, and which edges decide each relation.

    `roots[r]` are the (source, target) of the r-edges whose words are exactly those that entail r, one per
    clause: a relation defined by intersections has several, and all of them must be met.
    """

    num_nodes: int
    edges: tuple[Edge, ...]
    identities: frozenset[str] = frozenset()
    roots: Mapping[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    rules: RuleBase | None = None
    bound: int | None = None
    unreduced_nodes: int | None = None  # before the reductions, to say what they saved

    @cached_property
    def by_label(self) -> dict[str, tuple[Edge, ...]]:
        """The edges of each label."""
        grouped: dict[str, list[Edge]] = {}
        for edge in self.edges:
            grouped.setdefault(edge.label, []).append(edge)
        return {label: tuple(edges) for label, edges in grouped.items()}

    @cached_property
    def arriving(self) -> dict[int, list[Edge]]:
        """The edges into each node."""
        grouped: dict[int, list[Edge]] = {}
        for edge in self.edges:
            grouped.setdefault(edge.target, []).append(edge)
        return grouped

    @cached_property
    def _targets(self) -> dict[tuple[int, str], list[int]]:
        """The nodes that an edge of a label leads to from a node."""
        targets: dict[tuple[int, str], list[int]] = {}
        for source, label, target in self.edges:
            if label not in self.identities:
                targets.setdefault((source, label), []).append(target)
        return targets

    @cached_property
    def _free(self) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
        """The identity edges, forwards and backwards."""
        forward: dict[int, list[int]] = {}
        backward: dict[int, list[int]] = {}
        for source, label, target in self.edges:
            if label in self.identities:
                forward.setdefault(source, []).append(target)
                backward.setdefault(target, []).append(source)
        return forward, backward

    @cached_property
    def outgoing(self) -> tuple[tuple[str, ...], ...]:
        """Per node the labels, identities left out, that lead on from it."""
        labels: list[dict[str, None]] = [{} for _ in range(self.num_nodes)]
        for source, label, _ in self.edges:
            if label not in self.identities:
                labels[source][label] = None
        return tuple(tuple(node) for node in labels)

    @cached_property
    def identity_closure(self) -> tuple[frozenset[int], ...]:
        """Per node the nodes that identity edges alone lead to, itself included."""
        return tuple(self._closed(node) for node in range(self.num_nodes))

    # Filled as they are asked for: all of them may take the square of the nodes.

    @cached_property
    def _closures(self) -> dict[int, frozenset[int]]:
        return {}

    @cached_property
    def _steps(self) -> dict[tuple[int, str], frozenset[int]]:
        return {}

    def _closed(self, node: int) -> frozenset[int]:
        if node not in self._closures:
            self._closures[node] = frozenset(reachable([node], self._free[0]))
        return self._closures[node]

    def _step(self, node: int, label: str) -> frozenset[int]:
        """The nodes that a label leads to from a node, identity edges after it included."""
        if (node, label) not in self._steps:
            targets = self._targets.get((node, label), ())
            self._steps[node, label] = frozenset().union(*map(self._closed, targets))
        return self._steps[node, label]

    def after(self, nodes: Iterable[int], label: str) -> frozenset[int]:
        """The nodes that a `label` edge, with identities after it, leads to."""
        reached: set[int] = set()
        for node in nodes:
            reached |= self._step(node, label)
        return frozenset(reached)

    def ends(self, source: int, word: Sequence[str]) -> frozenset[int]:
        """The nodes that a path with eq-reduced type `word` reaches from `source`."""
        nodes = self._closed(source)
        for label in word:
            nodes = self.after(nodes, label)
        return nodes

    def has_path(self, source: int, word: Sequence[str], target: int) -> bool:
        """Is there a path of this eq-reduced type between the two nodes?"""
        if not word:
            return target in self._closed(source)
        # The last identities are searched from both ends: a hierarchy is a long chain of them.
        before = self.ends(source, word[:-1])
        ends = [end for node in before for end in self._targets.get((node, word[-1]), ())]
        return target in ends or any(leads_to(end, target, *self._free) for end in ends)

    def words(self, source: int, target: int, *, max_length: int) -> Iterator[tuple[str, ...]]:
        """The eq-reduced types of the paths between two nodes, shortest first."""
        steps_left = self._fewest_labels_to(target)
        level: dict[tuple[str, ...], frozenset[int]] = {(): self._closed(source)}
        for length in range(max_length + 1):
            yield from (word for word, nodes in level.items() if target in nodes)
            if not level:
                return
            if length < max_length:
                # Most prefixes of a large graph lead nowhere near the target; keeping them costs exponentially.
                in_time = {node for node, steps in steps_left.items() if steps < max_length - length}
                level = {
                    (*word, label): reached
                    for word, nodes in level.items()
                    for label in dict.fromkeys(
                        label for node in sorted(nodes) for label in self.outgoing[node]
                    )
                    if (reached := self.after(nodes, label) & in_time)
                }

    def _fewest_labels_to(self, target: int) -> dict[int, int]:
        """For every node with a path to `target`: the labels, identities not counted, of a shortest one."""
        sources: dict[int, list[tuple[int, int]]] = {}
        for source, label, end in self.edges:
            sources.setdefault(end, []).append((source, 0 if label in self.identities else 1))
        fewest: dict[int, int] = {}
        waiting = deque([(target, 0)])
        while waiting:
            node, steps = waiting.popleft()
            if node in fewest:
                continue
            fewest[node] = steps
            for source, cost in sources.get(node, ()):
                if cost == 0:
                    waiting.appendleft((source, steps))
                else:
                    waiting.append((source, steps + 1))
        return fewest

    def __str__(self) -> str:
        return f"rule graph with {counted(self.num_nodes, 'node')} and {counted(len(self.edges), 'edge')}"


# --- to ordering constraints and back: b_ij = 1 iff there is an r-edge from n_j to n_i --------------------------
