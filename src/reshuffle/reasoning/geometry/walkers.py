"""Two ways to search from many entities: over a product that is written out, or through the graph itself.

Written out is several times faster; through the graph needs no memory but the searches' own. `walker_for` takes
the first where it fits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from reshuffle.kg import inverse_name
from reshuffle.kg.rows import starts_of
from reshuffle.reasoning.geometry.kernels import product as kernel
from reshuffle.reasoning.geometry.kernels import search
from reshuffle.reasoning.geometry.machine import fact_label, is_inverse
from reshuffle.reasoning.geometry.workspace import Ticks, Workspace, workspace_bytes

if TYPE_CHECKING:
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.reasoning.geometry.automaton import Automaton
    from reshuffle.reasoning.geometry.changing_graph import LiveGraph
    from reshuffle.reasoning.geometry.machine import Machine

Column: TypeAlias = NDArray[np.int32]
Pairs: TypeAlias = tuple[Column, Column]
_Marks = TypeVar("_Marks")

_MOST_NODES = 2**31 - 1


class Walker(ABC, Generic[_Marks]):
    """Searches for one relation from many sources; each thread brings marks of its own."""

    sources: Column
    """The entities from which a search can find anything."""

    @abstractmethod
    def marks(self) -> _Marks:
        """Memory for one thread's searches."""

    @abstractmethod
    def count(self, marks: _Marks, sources: Column) -> int:
        """How many pairs hold with these sources."""

    @abstractmethod
    def pairs(self, marks: _Marks, sources: Column, *, most: int) -> tuple[Pairs, int]:
        """The pairs that hold, and how many of the sources are done before there are too many."""


class GraphWalker(Walker[Workspace]):
    """Walks the graph's own rows."""

    def __init__(self, live: LiveGraph, machine: Machine, relation: str) -> None:
        self._live, self._machine = live, machine
        self._clauses = machine.clauses(relation)
        self.sources = np.arange(len(live.entities), dtype=np.int32)

    def marks(self) -> Workspace:
        """Stamps and masks per entity."""
        return Workspace(len(self._live.entities), self._machine.most_words)

    def count(self, marks: Workspace, sources: Column) -> int:
        """How many pairs hold with these sources."""
        tick = marks.ticks(len(sources) * len(self._clauses.first))
        return int(
            search.count_answers(
                self._live.edges, self._machine.forwards, self._clauses, marks.scratch, tick, sources
            )
        )

    def pairs(self, marks: Workspace, sources: Column, *, most: int) -> tuple[Pairs, int]:
        """The pairs that hold, and how many of the sources are done."""
        tick = marks.ticks(len(sources) * len(self._clauses.first))
        heads, tails, done = search.pairs_of(
            self._live.edges, self._machine.forwards, self._clauses, marks.scratch, tick, sources, most
        )
        return (heads, tails), int(done)


class ProductMarks(Ticks):
    """Stamps per node of the product."""

    def __init__(self, product: kernel.Product, num_entities: int) -> None:
        super().__init__()
        nodes = len(product.answers)
        self.arrays = kernel.Marks(
            np.zeros(nodes, dtype=np.int32),
            np.zeros(num_entities, dtype=np.int64),
            np.empty(nodes, dtype=np.int32),
            np.empty(nodes, dtype=np.int32),
        )

    def forget(self) -> None:
        """Clear what ticks were written into."""
        self.arrays.stamps.fill(0)
        self.arrays.met.fill(0)


class ProductWalker(Walker[ProductMarks]):
    """Walks the product, written out and without its dead ends."""

    def __init__(self, graph: KnowledgeGraph, automata: list[Automaton]) -> None:
        self._num_entities = graph.num_entities
        self._product = _product(graph, automata)
        starts, sizes = self._product.starts, self._product.sizes
        everyone = np.arange(graph.num_entities)
        fruitful = np.ones(graph.num_entities, dtype=np.bool_)
        for offset, size in zip(self._product.offsets, sizes, strict=True):
            nodes = offset + everyone * size
            fruitful &= (starts[nodes + 1] > starts[nodes]) | (self._product.answers[nodes] != kernel.NONE)
        sources = np.flatnonzero(fruitful).astype(np.int32)
        # Sources that share their answers come one after the other: one search serves them all.
        self.sources = sources[np.argsort(self._product.shares[sources], kind="stable")]

    def marks(self) -> ProductMarks:
        """Stamps per node."""
        return ProductMarks(self._product, self._num_entities)

    def count(self, marks: ProductMarks, sources: Column) -> int:
        """How many pairs hold with these sources."""
        tick = marks.ticks(len(sources) * len(self._product.offsets))
        return int(kernel.count_answers(self._product, sources, marks.arrays, tick))

    def pairs(self, marks: ProductMarks, sources: Column, *, most: int) -> tuple[Pairs, int]:
        """The pairs that hold, and how many of the sources are done."""
        tick = marks.ticks(len(sources) * len(self._product.offsets))
        heads, tails, done = kernel.pairs_of(self._product, sources, marks.arrays, tick, most)
        return (heads, tails), int(done)


def graph_walker_bytes(live: LiveGraph, machine: Machine, *, threads: int) -> int:
    """What searching through the graph itself takes."""
    return threads * workspace_bytes(len(live.entities), machine.most_words)


def product_bytes(live: LiveGraph, machine: Machine, relation: str, *, threads: int) -> int:
    """What the written-out product takes at most, while it is built and searched."""
    automata = [machine.automata[place] for place in machine.clauses_of[relation]]
    nodes = len(live.entities) * sum(automaton.num_states for automaton in automata)
    edges = sum(
        int(live.facts_of[fact_label(label, live.relations) // 2])
        for automaton in automata
        for _, label, _ in automaton.arcs
    )
    return nodes * (45 + 12 * threads) + edges * 24 + 8 * threads * len(live.entities)


def walker_for(
    live: LiveGraph, machine: Machine, relation: str, *, most_bytes: float, threads: int
) -> Walker[Any]:
    """The faster walker that fits."""
    automata = [machine.automata[place] for place in machine.clauses_of[relation]]
    nodes = len(live.entities) * sum(automaton.num_states for automaton in automata)
    if nodes <= _MOST_NODES and product_bytes(live, machine, relation, threads=threads) <= most_bytes:
        return ProductWalker(live.graph, automata)
    return GraphWalker(live, machine, relation)


def _product(graph: KnowledgeGraph, automata: list[Automaton]) -> kernel.Product:
    sizes = np.array([automaton.num_states for automaton in automata], dtype=np.int64)
    offsets = starts_of(graph.num_entities * sizes)
    sources, targets = [np.empty(0, np.int32)], [np.empty(0, np.int32)]
    answers = np.full(int(offsets[-1]), kernel.NONE, dtype=np.int32)
    for offset, automaton in zip(offsets.tolist(), automata, strict=False):
        size = np.int32(automaton.num_states)
        for source, label, target in automaton.arcs:
            starts, ends = graph.edges(fact_label(label, graph.relations) // 2)
            if is_inverse(label):
                starts, ends = ends, starts
            sources.append(starts * size + np.int32(offset + source))
            targets.append(ends * size + np.int32(offset + target))
        for state in automaton.accepting:
            everyone = np.arange(graph.num_entities, dtype=np.int32)
            answers[offset + state : offset + graph.num_entities * size : size] = everyone
    all_sources, all_targets = np.concatenate(sources), np.concatenate(targets)
    kept = kernel.useful(all_sources, all_targets, answers)[all_targets]
    rows = kernel.grouped(all_sources[kept], all_targets[kept], len(answers))
    if len(automata) == 1 and _goes_round(automata[0]):
        shares = kernel.shared_by(*rows, answers, automata[0].num_states)
    else:
        shares = np.full(graph.num_entities, kernel.NONE, dtype=np.int32)
    return kernel.Product(*rows, answers, offsets[:-1], sizes, shares)


def _goes_round(automaton: Automaton) -> bool:
    """Can a walk go back by the fact it came by, as over a symmetric and transitive relation?

    Then whole components have the same answers. Directed cycles would do as well, but are rare in facts.
    """
    loops = {label for source, label, target in automaton.arcs if source == target}
    return any(inverse_name(label) in loops for label in loops)
