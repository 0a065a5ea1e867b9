"""Resources shared by threads and searches.

Answers: many threads may read, or one may change the facts. Also the memory limit, the cores, and search numbers.
"""

from __future__ import annotations

import copy
import math
import os
import re
import threading
from abc import ABC, abstractmethod
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakSet

from reshuffle.errors import BudgetError, InputError
from reshuffle.progress import SILENT, UNHEARD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from typing_extensions import Self

    Lock = threading.RLock
    Unchanged = Callable[[], AbstractContextManager[None]]

_Step = TypeVar("_Step")

_BYTES_PER_WORD, _BYTES_PER_ENTITY = 12, 8  # of `Scratch`, which each thread has for itself
_BYTES_PER_PAIR = 32  # ids, names' references and the sorted copy, while a block is handed out
_FEWEST_PAIRS, _MOST_PAIRS = 1024, 1 << 20
_LAST_TICK = 2**30  # stamps are 32-bit; one call never uses as many ticks again

if TYPE_CHECKING:
    built_once = cached_property
else:

    class built_once(cached_property):  # noqa: N801 - used like the one it extends
        """A `cached_property` that threads make once: Python's own has had no lock since 3.12."""

        def __init__(self, make):
            super().__init__(make)
            self._making = threading.RLock()

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            with self._making:
                return super().__get__(instance, owner)


class Turns:
    """A lock that one thread holds at a time, again where it holds it already; a copy is held by nobody."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *error: object) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[type[Turns], tuple[()]]:
        return Turns, ()


class Copied:
    """Answers that can be copied, pickled and sent to processes: a copy has all of the state, and shares none of it.

    Nothing changes while it is made. Who was told of progress is not told by a copy.
    """

    def __copy__(self) -> Self:
        return copy.deepcopy(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        other = object.__new__(type(self))
        memo[id(self)] = other
        vars(other).update(self._state_of_copy(memo))
        return other

    def __reduce__(self) -> tuple[Any, ...]:
        return object.__new__, (type(self),), self._state_of_copy({})

    def _state_of_copy(self, memo: dict[int, Any]) -> dict[str, Any]:
        with ExitStack() as held:
            for value in list(vars(self).values()):
                if isinstance(value, Shared):
                    held.enter_context(value.reading())
                    held.enter_context(value.building)
                elif isinstance(value, Turns):
                    held.enter_context(value)
            state = vars(self) | {name: unheard for name, unheard in _UNHEARD.items() if name in vars(self)}
            return {name: copy.deepcopy(value, memo) for name, value in state.items()}


_UNHEARD = {"_progress": SILENT, "_notes": UNHEARD}


@dataclass(eq=False, repr=False)
class Shared:
    """Lets readers work beside each other, and a writer alone.

    Every thread has a lock of its own, and a writer takes all of them. So a reader takes a lock that nobody else
    wants, which costs next to nothing, and readers never wait for each other. A reader may read again inside
    (`why_not` asks `holds`), and a writer may read; a reader must not write.
    """

    building: Lock = field(default_factory=threading.RLock, init=False)
    """Held by a reading thread while it computes a value that is computed once, on first use."""
    _own: threading.local = field(default_factory=threading.local, init=False)
    _readers: WeakSet[Lock] = field(default_factory=WeakSet, init=False)  # one lock per living thread
    _writers: Lock = field(default_factory=threading.RLock, init=False)
    _waits: bool = field(default=False, init=False)  # does a writer wait, or write?
    _version: int = field(default=0, init=False)

    def __reduce__(self) -> tuple[type[Shared], tuple[()]]:
        """A copy is shared by nobody yet."""
        return Shared, ()

    def reading(self) -> AbstractContextManager[object]:
        """Within this context nothing changes."""
        try:
            lock: Lock = self._own.lock
        except AttributeError:
            lock = self._new_reader()
        # A busy reader would take its lock again before a waiting writer wakes up. Who reads inside may not wait.
        if self._waits and not lock._is_owned():  # type: ignore[attr-defined]
            with self._writers:
                pass
        return lock

    def _new_reader(self) -> Lock:
        with self._writers:
            lock = self._own.lock = threading.RLock()
            self._readers.add(lock)
        return lock

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Within this context nobody else reads or writes."""
        with self._writers, ExitStack() as held:
            self._waits = True
            try:
                for lock in list(self._readers):
                    held.enter_context(lock)
                yield
            finally:
                self._waits = False

    def note_change(self) -> None:
        """Say, while writing, that what was read before may hold no longer."""
        self._version += 1

    def unchanged(self) -> Unchanged:
        """Contexts for reading in several steps; each refuses when something has changed since this call."""
        version = self._version

        @contextmanager
        def still() -> Iterator[None]:
            with self.reading():
                if self._version != version:
                    raise RuntimeError("facts were added or removed while the triples were being read")
                yield

        return still


def stepwise(steps: Iterator[_Step], unchanged: Unchanged) -> Iterator[_Step]:
    """The same steps, each made inside its own context; nothing is held while the caller looks at one."""
    done = object()
    while True:
        with unchanged():
            step = next(steps, done)
        if step is done:
            return
        yield step  # type: ignore[misc]


# --- memory, cores and numbers of searches ----------------------------------------------------------


@dataclass(frozen=True)
class Budget:
    """How many threads may work, how many pairs one block may hold, and the bytes that are left besides."""

    threads: int
    pairs: int
    bytes_left: float


def budget(memory: int | None, *, num_entities: int, words: int, cores: int) -> Budget:
    """Divide the memory limit among threads whose searches need that number of mask words per entity.

    Raises `BudgetError` with the bytes that are needed where not even one thread fits.
    """
    if memory is None:
        return Budget(cores, _MOST_PAIRS, math.inf)
    per_thread = num_entities * (words * _BYTES_PER_WORD + _BYTES_PER_ENTITY)
    needed = per_thread + _FEWEST_PAIRS * _BYTES_PER_PAIR
    if memory < needed:
        raise BudgetError(
            f"memory of {spelled_bytes(memory)} is too small: searches over this graph need "
            f"{spelled_bytes(needed)}",
            hint=f"allow at least {needed} bytes",
        )
    threads = max(1, min(cores, (memory - _FEWEST_PAIRS * _BYTES_PER_PAIR) // max(per_thread, 1)))
    left = memory - threads * per_thread
    # Half for the pairs that are being handed out, half for written-out products.
    return Budget(
        threads, min(_MOST_PAIRS, max(_FEWEST_PAIRS, left // (4 * threads * _BYTES_PER_PAIR))), left / 2
    )


def usable_cores() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def parsed_bytes(text: str) -> int:
    """The number of bytes of a size as people write it.

    >>> parsed_bytes("500MB"), parsed_bytes("8G"), parsed_bytes("1048576")
    (500000000, 8000000000, 1048576)
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)I?B?", text.strip().upper())
    if match is None:
        raise InputError(
            f"not a size: '{text}'", hint="write bytes, or a number with K, M, G or T, as in 500MB"
        )
    number, unit = match.groups()
    return int(float(number) * 1000 ** " KMGT".index(unit or " "))


def spelled_bytes(count: int) -> str:
    """A number of bytes as people read it.

    >>> spelled_bytes(512), spelled_bytes(25_600_000_000)
    ('512 B', '25.6 GB')
    """
    if count < 1000:
        return f"{count} B"
    value = float(count)
    for unit in ("kB", "MB", "GB", "TB"):
        value /= 1000
        if value < 1000:
            return f"{value:.1f} {unit}"
    return f"{value:,.1f} TB"


class Ticks(ABC):
    """Hands out numbers that no earlier search used, so that marks never need clearing."""

    tick = 1  # the first number that no search has used

    def ticks(self, count: int) -> int:
        """The first of `count` unused ticks."""
        if self.tick + count > _LAST_TICK:
            self.forget()
            self.tick = 1
        first = self.tick
        self.tick += count
        return first

    @abstractmethod
    def forget(self) -> None:
        """Clear what ticks were written into; in place, since a caller may already hold it."""
