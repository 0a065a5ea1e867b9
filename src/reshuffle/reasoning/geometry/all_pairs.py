"""Searches from every entity, in chunks, on all cores, in bounded memory.

Two ways to search from many entities: over a product that is written out, or through the graph itself.

Written out is several times faster; through the graph needs no memory but the searches' own. `walker_for` takes
the first where it fits.


Derived triples in the order of their names, without holding them all.

Heads are taken in the order of their names, a block at a time; only the answers of one block are sorted. The
block shrinks and grows with the number of answers it gives.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from reshuffle.kg import Triple, inverse_name
from reshuffle.progress import SILENT
from reshuffle.reasoning.geometry.kernels import product as kernel
from reshuffle.reasoning.geometry.kernels import search
from reshuffle.reasoning.geometry.kernels.search import Ticks, Workspace, workspace_bytes
from reshuffle.reasoning.geometry.relation_automata import fact_label, is_inverse
from reshuffle.reasoning.resources import budget, usable_cores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reshuffle.kg import KnowledgeGraph
    from reshuffle.progress import Progress
    from reshuffle.reasoning.geometry.changing_graph import LiveGraph
    from reshuffle.reasoning.geometry.relation_automata import Automaton, Machine

_Result = TypeVar("_Result")

_SMALL = 4096  # sources below which a second thread costs more than it saves
_FIRST_CHUNK, _LARGEST_CHUNK = 512, 65_536
_SHORT, _LONG = 0.05, 0.4  # seconds that one chunk should take: Ctrl-C waits for the running ones


class Sweep:
    """Passes over a graph and a machine that stay as they are meanwhile."""

    def __init__(
        self, live: LiveGraph, machine: Machine, *, memory: int | None, progress: Progress = SILENT
    ) -> None:
        self._live, self._machine, self._progress = live, machine, progress
        one = graph_walker_bytes(live, machine, threads=1)
        share = budget(memory, per_thread=one, cores=usable_cores())
        self._threads, self._most_pairs = share.threads, share.pairs
        self._bytes_left = math.inf if memory is None else share.bytes_left
        self._stations: dict[str, _Station] = {}

    def total(self, relation: str) -> int:
        """How many pairs of the relation hold; none is stored."""
        station = self._station(relation)
        walker = station.walker
        with self._progress(f"counting {relation}", total=len(walker.sources), unit="entities") as report:
            counts = self._run(
                station, lambda marks, some: (walker.count(marks, some), len(some)), walker.sources, report
            )
            return sum(counts)

    def blocks(self, relation: str, *, among: Column | None = None) -> Iterator[Pairs]:
        """The pairs that hold, with heads `among` these, each once, in no order."""
        station = self._station(relation)
        walker = station.walker
        sources = walker.sources if among is None else np.intersect1d(among, walker.sources)
        progress = self._progress if among is None else SILENT  # who asks for parts knows how many there are
        with progress(f"deriving {relation}", total=len(sources), unit="entities") as report:
            work = self._run(
                station, lambda marks, some: walker.pairs(marks, some, most=self._most_pairs), sources, report
            )
            for pairs in work:
                if len(pairs[0]):
                    yield pairs

    def derived_blocks(self, relation: str, *, among: Column | None = None) -> Iterator[Pairs]:
        """The same without the facts."""
        for heads, tails in self.blocks(relation, among=among):
            yield self._live.without_facts(relation, heads, tails)

    def _station(self, relation: str) -> _Station:
        if relation not in self._stations:
            walker = walker_for(
                self._live, self._machine, relation, most_bytes=self._bytes_left, threads=self._threads
            )
            if isinstance(walker, ProductWalker):
                self._bytes_left -= product_bytes(self._live, self._machine, relation, threads=self._threads)
            self._stations[relation] = _Station(walker)
        return self._stations[relation]

    def _run(
        self,
        station: _Station,
        work: Callable[[Any, Column], tuple[_Result, int]],
        sources: Column,
        report: Callable[[int], None],
    ) -> Iterator[_Result]:
        """Hand the sources out in chunks. `work` says how many of its sources it did; the rest comes back."""
        threads = self._threads if len(sources) >= _SMALL else 1

        def timed(some: Column) -> tuple[_Result, int, Column, float]:
            began = time.perf_counter()
            with station.marks() as marks:
                result, done = work(marks, some)
            return result, done, some[done:], time.perf_counter() - began

        pieces, chunk = deque([sources]), _FIRST_CHUNK
        with _submitting(threads) as submit:
            running: deque[Callable[[], tuple[_Result, int, Column, float]]] = deque()
            while pieces or running:
                while pieces and len(running) <= threads:
                    piece = pieces.popleft()
                    if len(piece) > chunk:
                        pieces.appendleft(piece[chunk:])
                    if len(piece):
                        running.append(submit(timed, piece[:chunk]))
                if running:
                    result, done, rest, seconds = running.popleft()()
                    if len(rest):
                        pieces.appendleft(rest)
                    chunk = _next_chunk(chunk, seconds)
                    report(done)
                    yield result


class _Station:
    """A walker, and the marks that its threads left for the next ones."""

    def __init__(self, walker: Walker[Any]) -> None:
        self.walker = walker
        self._idle: SimpleQueue[Any] = SimpleQueue()

    @contextmanager
    def marks(self) -> Iterator[Any]:
        try:
            marks = self._idle.get_nowait()
        except Empty:
            marks = self.walker.marks()
        yield marks
        self._idle.put(marks)


@contextmanager
def _submitting(threads: int) -> Iterator[Callable[..., Callable[[], Any]]]:
    """A function that starts work in a thread and returns how to wait for it; one thread works when waited for."""
    if threads == 1:
        yield lambda function, *arguments: lambda: function(*arguments)
        return
    pool = ThreadPoolExecutor(threads)
    try:
        yield lambda function, *arguments: pool.submit(function, *arguments).result
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _next_chunk(chunk: int, seconds: float) -> int:
    if seconds > _LONG:
        return max(chunk // 2, 1)
    return min(chunk * 2, _LARGEST_CHUNK) if seconds < _SHORT else chunk


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
    offsets = np.cumsum([0, *(graph.num_entities * sizes)])
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


_FIRST_BLOCK = 256  # heads
_FEW, _MANY = 200_000, 1_000_000  # answers that one block should give


def sorted_triples(
    live: LiveGraph, machine: Machine, sweep: Sweep, *, progress: Progress = SILENT
) -> Iterator[Triple]:
    """By head, relation and tail, each compared by code point."""
    in_order = _order_of_names(live)
    rank = np.empty_like(in_order)
    rank[in_order] = np.arange(len(in_order), dtype=np.int32)
    relations = sorted(machine.clauses_of)
    names = live.entities.names
    start, size = 0, _FIRST_BLOCK
    with progress("deriving", total=len(in_order), unit="entities") as report:
        while start < len(in_order):
            heads, relation, tails = _block(sweep, relations, in_order[start : start + size])
            order = np.lexsort((rank[tails], relation, rank[heads]))
            columns = names(heads[order]), relation[order].tolist(), names(tails[order])
            for head, number, tail in zip(*columns, strict=True):
                yield Triple(head, relations[number], tail)
            start += size
            report(size)
            size = _next_size(size, len(heads))


def _block(
    sweep: Sweep, relations: list[str], sources: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """All answers of these heads: heads, places in `relations`, tails."""
    none = np.empty(0, dtype=np.int32)
    found = [(none, none, none)]
    for number, relation in enumerate(relations):
        for heads, tails in sweep.derived_blocks(relation, among=sources):
            found.append((heads, np.full(len(heads), number, dtype=np.int32), tails))
    heads, numbers, tails = (np.concatenate(column) for column in zip(*found, strict=True))
    return heads, numbers, tails


def _next_size(size: int, answers: int) -> int:
    if answers > _MANY:
        return max(size // 2, 1)
    return size * 2 if answers < _FEW else size


def _order_of_names(live: LiveGraph) -> NDArray[np.int32]:
    """The ids of all entities by name; Arrow compares the UTF-8 bytes, which is the order of code points."""
    names: pa.Array = live.entities.vocabulary().to_arrow()
    order: NDArray[np.int32] = pc.array_sort_indices(names).to_numpy().astype(np.int32)
    return order
