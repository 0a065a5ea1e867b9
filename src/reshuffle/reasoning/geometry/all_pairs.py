"""Searches from every entity, in chunks, on all cores, in bounded memory."""

from __future__ import annotations

import math
import os
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from reshuffle.progress import SILENT
from reshuffle.reasoning.geometry.walkers import ProductWalker, graph_walker_bytes, product_bytes, walker_for
from reshuffle.reasoning.geometry.workspace import budget

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reshuffle.progress import Progress
    from reshuffle.reasoning.geometry.changing_graph import LiveGraph
    from reshuffle.reasoning.geometry.machine import Machine
    from reshuffle.reasoning.geometry.walkers import Column, Pairs, Walker

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


def usable_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _next_chunk(chunk: int, seconds: float) -> int:
    if seconds > _LONG:
        return max(chunk // 2, 1)
    return min(chunk * 2, _LARGEST_CHUNK) if seconds < _SHORT else chunk
