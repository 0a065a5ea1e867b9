"""All answers: searches from every entity, in chunks, on all cores, in bounded memory.

There are two ways to search from many entities. A `ProductWalker` walks the product of the graph and the
automata, written out: several times faster. A `GraphWalker` walks the graph itself and needs no memory but the
searches' own. A relation gets the first where it fits into the memory that is left.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from reshuffle.kg.rows import starts_of
from reshuffle.progress import SILENT
from reshuffle.reasoning.geometry.kernels import product as kernel
from reshuffle.reasoning.geometry.kernels import product_search as search
from reshuffle.reasoning.geometry.kernels.product_search import Workspace
from reshuffle.reasoning.sharing import Ticks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from reshuffle.kg import KnowledgeGraph
    from reshuffle.progress import Progress
    from reshuffle.reasoning.geometry.changing_graph import LiveGraph
    from reshuffle.reasoning.geometry.kernels.product_search import Scratch
    from reshuffle.reasoning.geometry.relation_automata import Automaton, Machine
    from reshuffle.reasoning.sharing import Budget, Unchanged

Column: TypeAlias = NDArray[np.int32]
Pairs: TypeAlias = tuple[Column, Column]  # heads and tails
_Result = TypeVar("_Result")
_Marks = TypeVar("_Marks")

_ALL = slice(None)
_SMALL = 4096  # sources below which a second thread costs more than it saves
_FIRST_CHUNK, _LARGEST_CHUNK = 512, 65_536
_SHORT, _LONG = 0.05, 0.4  # seconds that one chunk should take: Ctrl-C waits for the running ones
_FIRST_BLOCK = 256  # heads whose answers are sorted together
_FEW, _MANY = 200_000, 1_000_000  # answers that one sorted block should give
_MOST_NODES = 2**31 - 1  # of a product: its nodes are 32-bit numbers


class AllPairs:
    """Passes over a graph and a machine that stay as they are meanwhile."""

    def __init__(
        self,
        live: LiveGraph,
        machine: Machine,
        budget: Budget,
        *,
        unchanged: Unchanged = nullcontext,
        progress: Progress = SILENT,
    ) -> None:
        """`unchanged` is the context in which the graph may be read, for callers that do not hold it themselves."""
        self._live, self._machine, self._progress = live, machine, progress
        self._unchanged = unchanged
        self._threads, self._most_pairs, self._bytes_left = budget.threads, budget.pairs, budget.bytes_left
        self._walkers: dict[str, Walker[Any]] = {}

    def total(self, relation: str, share: slice = _ALL) -> int:
        """How many pairs of the relation hold, of all sources or of a share of them; none is stored."""
        walker, total = self._walker(relation), 0
        sources = walker.sources[share]
        with self._progress(f"counting {relation}", total=len(sources), unit="entities") as report:
            counts = self._run(walker, lambda marks, some: (walker.count(marks, some), len(some)), sources)
            for count, done in counts:
                report(done)
                total += count
        return total

    def blocks(self, relation: str, share: slice = _ALL) -> Iterator[Pairs]:
        """The pairs of the relation that hold, each exactly once, in blocks and in no order."""
        walker = self._walker(relation)
        sources = walker.sources[share]
        with self._progress(f"deriving {relation}", total=len(sources), unit="entities") as report:
            for pairs, done in self._pairs(walker, sources):
                report(done)
                if len(pairs[0]):
                    yield pairs

    @property
    def relations(self) -> list[str]:
        """The relations that may have answers, by name."""
        return sorted(self._machine.clauses_of)

    def sorted_blocks(self) -> Iterator[tuple[Column, Column, Column]]:
        """The derived triples that are no facts: heads, places in `relations`, and tails.

        They are ordered by head, relation and tail, each compared by code point. Heads are taken in the order of
        their names, a block at a time; only the answers of one block are held and sorted. The block shrinks and
        grows with the number of answers it gives.
        """
        with self._unchanged():
            in_order = _by_name(self._live)
        rank = np.empty_like(in_order)
        rank[in_order] = np.arange(len(in_order), dtype=np.int32)
        start, size = 0, _FIRST_BLOCK
        with self._progress("deriving", total=len(in_order), unit="entities") as report:
            while start < len(in_order):
                heads, relation, tails = self._answers_of(in_order[start : start + size])
                order = np.lexsort((rank[tails], relation, rank[heads]))
                yield heads[order], relation[order], tails[order]
                start += size
                report(size)
                if len(heads) > _MANY:
                    size = max(size // 2, 1)
                elif len(heads) < _FEW:
                    size *= 2

    def _answers_of(self, heads: Column) -> tuple[Column, Column, Column]:
        """All derived triples of these heads: heads, places in `relations`, tails."""
        none = np.empty(0, dtype=np.int32)
        found = [(none, none, none)]
        for number, relation in enumerate(self.relations):
            walker = self._walker(relation)
            for pairs, _ in self._pairs(walker, walker.sources_among(heads)):
                with self._unchanged():
                    new_heads, new_tails = self._live.without_facts(relation, *pairs)
                found.append((new_heads, np.full(len(new_heads), number, dtype=np.int32), new_tails))
        columns = tuple(np.concatenate(column) for column in zip(*found, strict=True))
        return columns[0], columns[1], columns[2]

    def _walker(self, relation: str) -> Walker[Any]:
        """The faster walker that fits into the memory that is left."""
        if relation not in self._walkers:
            with self._unchanged():
                self._walkers[relation] = self._new_walker(relation)
        return self._walkers[relation]

    def _new_walker(self, relation: str) -> Walker[Any]:
        live, machine = self._live, self._machine
        automata = [machine.automata[place] for place in machine.clauses_of[relation]]
        nodes = len(live.entities) * sum(automaton.num_states for automaton in automata)
        num_bytes = self._product_bytes(automata, nodes)
        if nodes > _MOST_NODES or num_bytes > self._bytes_left:
            return GraphWalker(live, machine, relation)
        self._bytes_left -= num_bytes
        return ProductWalker(live.graph, automata, live.labels)

    def _product_bytes(self, automata: list[Automaton], nodes: int) -> int:
        """The bytes that a written-out product takes at most, while it is built and searched."""
        live, threads = self._live, self._threads
        edges = sum(
            int(live.facts_of[live.labels[label] // 2])
            for automaton in automata
            for _, label, _ in automaton.arcs
        )
        return nodes * (45 + 12 * threads) + edges * 24 + 8 * threads * len(live.entities)

    def _pairs(self, walker: Walker[Any], sources: Column) -> Iterator[tuple[Pairs, int]]:
        """The pairs that hold with these sources, in blocks, each with the number of sources it covers."""
        return self._run(
            walker, lambda marks, some: walker.pairs(marks, some, most=self._most_pairs), sources
        )

    def _run(
        self,
        walker: Walker[_Marks],
        work: Callable[[_Marks, Column], tuple[_Result, int]],
        sources: Column,
    ) -> Iterator[tuple[_Result, int]]:
        """Hand the sources out in chunks. `work` says how many of its sources it did; the rest is handed out again."""
        threads = self._threads if len(sources) >= _SMALL else 1

        def timed(some: Column) -> tuple[_Result, int, Column, float]:
            began = time.perf_counter()
            with self._unchanged(), walker.borrowed_marks() as marks:
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
                    if seconds > _LONG:
                        chunk = max(chunk // 2, 1)
                    elif seconds < _SHORT:
                        chunk = min(chunk * 2, _LARGEST_CHUNK)
                    yield result, done


@contextmanager
def _submitting(threads: int) -> Iterator[Callable[..., Callable[[], Any]]]:
    """A function that starts work in a thread and returns a function that waits for the result.

    With one thread the work is done where its result is waited for.
    """
    if threads == 1:
        yield lambda function, *arguments: lambda: function(*arguments)
        return
    pool = ThreadPoolExecutor(threads)
    try:
        yield lambda function, *arguments: pool.submit(function, *arguments).result
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _by_name(live: LiveGraph) -> Column:
    """The ids of all entities by name; Arrow compares the UTF-8 bytes, which is the order of code points."""
    names: pa.Array = live.entities.vocabulary().to_arrow()
    order = pc.array_sort_indices(names)  # `to_numpy` would import pandas
    return np.frombuffer(order.buffers()[1], dtype=np.uint64, count=len(order)).astype(np.int32)


# --- walkers ----------------------------------------------------------------------------------------


class Walker(ABC, Generic[_Marks]):
    """Searches for one relation from many sources; each thread borrows marks of its own."""

    sources: Column
    """The entities from which a search can find anything."""

    def __init__(self) -> None:
        self._idle: SimpleQueue[_Marks] = SimpleQueue()

    @abstractmethod
    def marks(self) -> _Marks:
        """New memory for one thread's searches."""

    @contextmanager
    def borrowed_marks(self) -> Iterator[_Marks]:
        """Memory that an earlier thread gave back, or new memory."""
        try:
            marks = self._idle.get_nowait()
        except Empty:
            marks = self.marks()
        yield marks
        self._idle.put(marks)

    @abstractmethod
    def sources_among(self, entities: Column) -> Column:
        """Those of the entities that are sources, in an order that suits the searches."""

    @abstractmethod
    def count(self, marks: _Marks, sources: Column) -> int:
        """How many pairs hold with these sources."""

    @abstractmethod
    def pairs(self, marks: _Marks, sources: Column, *, most: int) -> tuple[Pairs, int]:
        """The pairs that hold, and how many of the sources are done before there are too many."""


class GraphWalker(Walker[Workspace]):
    """Walks the graph's own rows."""

    def __init__(self, live: LiveGraph, machine: Machine, relation: str) -> None:
        super().__init__()
        self._live, self._machine = live, machine
        self._clauses = machine.clauses[relation]
        self.sources = np.arange(len(live.entities), dtype=np.int32)

    def marks(self) -> Workspace:
        """Stamps and masks per entity."""
        return Workspace(len(self._live.entities), self._machine.most_words)

    def sources_among(self, entities: Column) -> Column:
        """All of them; those whose edges lie near each other together."""
        return np.sort(entities)

    def count(self, marks: Workspace, sources: Column) -> int:
        """How many pairs hold with these sources."""
        scratch, tick = self._marked(marks, len(sources))
        return int(
            search.count_answers(
                self._live.edges, self._machine.forwards, self._clauses, scratch, tick, sources
            )
        )

    def pairs(self, marks: Workspace, sources: Column, *, most: int) -> tuple[Pairs, int]:
        """The pairs that hold, and how many of the sources are done."""
        scratch, tick = self._marked(marks, len(sources))
        heads, tails, done = search.pairs_of(
            self._live.edges, self._machine.forwards, self._clauses, scratch, tick, sources, most
        )
        return (heads, tails), int(done)

    def _marked(self, marks: Workspace, searches: int) -> tuple[Scratch, int]:
        ticks = searches * len(self._clauses.first)
        return marks.marks_for(len(self._live.entities), self._machine.most_words, ticks=ticks)


class ProductMarks(Ticks):
    """Stamps per node of the product."""

    def __init__(self, product: kernel.Product, num_entities: int) -> None:
        nodes = len(product.answers)
        self.arrays = kernel.Marks(
            np.zeros(nodes, dtype=np.int32),
            np.zeros(num_entities, dtype=np.int64),
            np.empty(nodes, dtype=np.int32),
            np.empty(nodes, dtype=np.int32),
        )

    def forget(self) -> None:
        """Clear the arrays that ticks were written into."""
        self.arrays.stamps.fill(0)
        self.arrays.met.fill(0)


class ProductWalker(Walker[ProductMarks]):
    """Walks the product, written out and without its dead ends."""

    def __init__(self, graph: KnowledgeGraph, automata: list[Automaton], labels: Mapping[str, int]) -> None:
        super().__init__()
        self._num_entities = len(graph.entities)
        self._product = _product(graph, automata, labels)
        starts, sizes = self._product.starts, self._product.sizes
        everyone = np.arange(self._num_entities)
        self._is_source = np.ones(self._num_entities, dtype=np.bool_)
        for offset, size in zip(self._product.offsets, sizes, strict=True):
            nodes = offset + everyone * size
            self._is_source &= (starts[nodes + 1] > starts[nodes]) | (
                self._product.answers[nodes] != kernel.NONE
            )
        self.sources = self.sources_among(np.arange(self._num_entities, dtype=np.int32))

    def marks(self) -> ProductMarks:
        """Stamps per node."""
        return ProductMarks(self._product, self._num_entities)

    def sources_among(self, entities: Column) -> Column:
        """Those that share their answers come one after the other: one search serves them all."""
        sources = entities[self._is_source[entities]]
        return sources[np.argsort(self._product.shares[sources], kind="stable")]

    def count(self, marks: ProductMarks, sources: Column) -> int:
        """How many pairs hold with these sources."""
        tick = marks.ticks(len(sources) * len(self._product.offsets))
        return int(kernel.count_answers(self._product, sources, marks.arrays, tick))

    def pairs(self, marks: ProductMarks, sources: Column, *, most: int) -> tuple[Pairs, int]:
        """The pairs that hold, and how many of the sources are done."""
        tick = marks.ticks(len(sources) * len(self._product.offsets))
        heads, tails, done = kernel.pairs_of(self._product, sources, marks.arrays, tick, most)
        return (heads, tails), int(done)


def _product(graph: KnowledgeGraph, automata: list[Automaton], labels: Mapping[str, int]) -> kernel.Product:
    """The product of a graph and the automata of one relation, in which dead ends have no edges."""
    num_entities = len(graph.entities)
    everyone = np.arange(num_entities, dtype=np.int32)
    sizes = np.array([automaton.num_states for automaton in automata], dtype=np.int64)
    offsets = starts_of(num_entities * sizes)
    sources, targets = [np.empty(0, np.int32)], [np.empty(0, np.int32)]
    answers = np.full(int(offsets[-1]), kernel.NONE, dtype=np.int32)
    for offset, automaton in zip(offsets.tolist(), automata, strict=False):
        size = np.int32(automaton.num_states)
        for source, label, target in automaton.arcs:
            relation, is_backwards = divmod(labels[label], 2)
            starts, ends = graph.edges(relation)[:: -1 if is_backwards else 1]
            sources.append(starts * size + np.int32(offset + source))
            targets.append(ends * size + np.int32(offset + target))
        for state in automaton.accepting:
            answers[offset + state : offset + num_entities * size : size] = everyone
    shares_answers = len(automata) == 1 and _goes_round(automata[0])
    all_sources, all_targets = np.concatenate(sources), np.concatenate(targets)
    kept = kernel.useful(all_sources, all_targets, answers)[all_targets]
    rows = kernel.grouped(all_sources[kept], all_targets[kept], len(answers))
    if shares_answers:
        shares = kernel.shared_by(*rows, answers, automata[0].num_states)
    else:
        shares = np.full(num_entities, kernel.NONE, dtype=np.int32)
    return kernel.Product(*rows, answers, offsets[:-1], sizes, shares)


def _goes_round(automaton: Automaton) -> bool:
    """Does a cycle of states lead back to one of them, as for a transitive relation?

    Then whole components of the product may have the same answers. Without a cycle there are no components.
    """
    after: dict[int, set[int]] = {}
    for source, _, target in automaton.arcs:
        after.setdefault(source, set()).add(target)
    left = set(after)
    while leaves := {state for state in left if after[state].isdisjoint(left)}:
        left -= leaves
    return bool(left)
