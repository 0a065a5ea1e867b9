"""Searches from every entity, in chunks, on all cores, in bounded memory."""

from __future__ import annotations

import math
import os
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from reshuffle.reasoning.walking import graph_walker_bytes, product_bytes, walker_for
from reshuffle.reasoning.workspace import budget

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reshuffle.reasoning.live import LiveGraph
    from reshuffle.reasoning.machine import Machine
    from reshuffle.reasoning.walking import Column, Pairs, Walker

_Result = TypeVar("_Result")

_SMALL = 4096  # sources below which a second thread costs more than it saves
_FIRST_CHUNK, _LARGEST_CHUNK = 512, 65_536
_SHORT, _LONG = 0.05, 0.4  # seconds that one chunk should take: Ctrl-C waits for the running ones


class Sweep:
    """Passes over a graph and a machine that stay as they are meanwhile."""

    def __init__(self, live: LiveGraph, machine: Machine, *, memory: int | None) -> None:
        self._live, self._machine = live, machine
        one = graph_walker_bytes(live, machine, threads=1)
        share = budget(memory, per_thread=one, cores=usable_cores())
        self._threads, self._most_pairs = share.threads, share.pairs
        self._bytes_left = math.inf if memory is None else share.bytes_left
        self._walkers: dict[str, Walker[Any]] = {}

    def total(self, relation: str) -> int:
        """How many pairs of the relation hold; none is stored."""
        walker = self._walker(relation)
        return sum(
            self._run(walker, lambda marks, some: (walker.count(marks, some), len(some)), walker.sources)
        )

    def blocks(self, relation: str, *, among: Column | None = None) -> Iterator[Pairs]:
        """The pairs that hold, with heads `among` these, each once, in no order."""
        walker = self._walker(relation)
        sources = walker.sources if among is None else np.intersect1d(among, walker.sources)
        work = self._run(
            walker, lambda marks, some: walker.pairs(marks, some, most=self._most_pairs), sources
        )
        for pairs in work:
            if len(pairs[0]):
                yield pairs

    def derived_blocks(self, relation: str, *, among: Column | None = None) -> Iterator[Pairs]:
        """The same without the facts."""
        for heads, tails in self.blocks(relation, among=among):
            yield self._live.without_facts(relation, heads, tails)

    def _walker(self, relation: str) -> Walker[Any]:
        if relation not in self._walkers:
            walker = walker_for(
                self._live, self._machine, relation, most_bytes=self._bytes_left, threads=self._threads
            )
            self._walkers[relation] = walker
            self._bytes_left -= product_bytes(self._live, self._machine, relation, threads=self._threads)
        return self._walkers[relation]

    def _run(
        self, walker: Walker[Any], work: Callable[[Any, Column], tuple[_Result, int]], sources: Column
    ) -> Iterator[_Result]:
        """Hand the sources out in chunks. `work` says how many of its sources it did; the rest comes back."""
        threads = self._threads if len(sources) >= _SMALL else 1
        idle: SimpleQueue[Any] = SimpleQueue()

        def timed(some: Column) -> tuple[_Result, Column, float]:
            marks = walker.marks() if idle.empty() else idle.get()
            began = time.perf_counter()
            result, done = work(marks, some)
            idle.put(marks)
            return result, some[done:], time.perf_counter() - began

        pieces, chunk = deque([sources]), _FIRST_CHUNK
        with _submitting(threads) as submit:
            running: deque[Callable[[], tuple[_Result, Column, float]]] = deque()
            while pieces or running:
                while pieces and len(running) <= threads:
                    piece = pieces.popleft()
                    if len(piece) > chunk:
                        pieces.appendleft(piece[chunk:])
                    if len(piece):
                        running.append(submit(timed, piece[:chunk]))
                if running:
                    result, rest, seconds = running.popleft()()
                    if len(rest):
                        pieces.appendleft(rest)
                    chunk = _next_chunk(chunk, seconds)
                    yield result


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
