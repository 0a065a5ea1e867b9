"""Answers that several threads share: any number of them read, or one changes the facts."""

from __future__ import annotations

import threading
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakSet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    Lock = threading.RLock
    Unchanged = Callable[[], AbstractContextManager[None]]

_Step = TypeVar("_Step")

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


@dataclass(eq=False, repr=False)
class Shared:
    """Lets readers work beside each other, and a writer alone.

    Every thread has a lock of its own, and a writer takes all of them. So a reader takes a lock that nobody else
    wants, which costs next to nothing, and readers never wait for each other. A reader may read again inside
    (`why_not` asks `holds`), and a writer may read; a reader must not write.
    """

    building: Lock = field(default_factory=threading.RLock, init=False)
    """Held, while reading, by whoever makes what is made once, when it is first asked for."""
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
