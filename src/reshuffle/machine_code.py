"""Machine code of kernels, by numba: imported when the first kernel is compiled, since that alone takes .2 seconds."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numba import njit
from numba.core import event
from numba.core.caching import FunctionCache, IndexDataCacheFile

from reshuffle.locks import locked

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

LONGEST_WAIT = 60.0
"""Seconds. A process that another one waits for so long may have been stopped, and both compile the kernel."""


class Compiling(event.Listener):
    """Hears of it when machine code is made, so that who shows progress can say what one waits for."""

    def __init__(self) -> None:
        self._under_way, self._began, self._seconds = 0, 0.0, 0.0

    @property
    def is_under_way(self) -> bool:
        """Is some kernel being compiled now?"""
        return self._under_way > 0

    @property
    def seconds(self) -> float:
        """How long kernels were compiled so far in this process."""
        return self._seconds + (time.monotonic() - self._began if self.is_under_way else 0.0)

    def on_start(self, event: Any) -> None:
        """A kernel, or one that it calls, begins."""
        del event
        if not self._under_way:
            self._began = time.monotonic()
        self._under_way += 1

    def on_end(self, event: Any) -> None:
        """It is done, or has failed."""
        del event
        self._under_way -= 1
        if not self._under_way:
            self._seconds += time.monotonic() - self._began


COMPILING = Compiling()
event.register("numba:compile", COMPILING)  # type: ignore[no-untyped-call]


def dispatcher_of(function: Callable[..., Any], options: Mapping[str, Any]) -> Any:
    """What compiles the function for each signature, and keeps the code on disk where that is possible."""
    dispatcher = njit(**options)(function)
    # Where neither the package nor the home can be written, every process compiles anew.
    with suppress(RuntimeError):
        dispatcher._cache = _Cache(function)
    return dispatcher


class _Cache(FunctionCache):
    """Machine code on disk. Files that are cut short, or of another version, are as good as none.

    A kernel holds copies of those that it calls, so its code is of another version also where one of their files has
    changed. numba looks at the kernel's own file only; `stamps` are those of all files that it may have code from.

    Of several processes one compiles a kernel, and the others wait for its code. Nor do they write the kernel's list of
    signatures at the same time, where numba would lose one, or keep the code of one under the name of another.
    """

    stamps: tuple[tuple[Any, ...], ...]
    _turn: int | None = None
    """The lock, while this process compiles. Threads take turns by a lock of numba's."""

    def __init__(self, kernel: Callable[..., Any]) -> None:
        super().__init__(kernel)  # type: ignore[no-untyped-call]
        own = (Path(kernel.__code__.co_filename).name, *self._impl.locator.get_source_stamp())
        imported = (value for value in kernel.__globals__.values() if _is_from_elsewhere(value, kernel))
        caches = (getattr(getattr(value, "dispatcher", None), "_cache", None) for value in imported)
        others = [stamp for found in caches if isinstance(found, _Cache) for stamp in found.stamps]
        self.stamps = tuple(sorted({own, *others}))
        self._cache_file = IndexDataCacheFile(  # type: ignore[no-untyped-call]
            cache_path=self._cache_path, filename_base=self._impl.filename_base, source_stamp=self.stamps
        )

    def load_overload(self, *arguments: Any) -> Any:
        """The machine code of a signature, or None: then this process compiles it."""
        found = self._loaded(*arguments)
        if found is None and self._turn is None:
            self._take_turn()
            found = self._loaded(*arguments)  # another process may have compiled it meanwhile
            if found is not None:
                self._end_turn()
        return found

    def save_overload(self, *arguments: Any) -> None:
        """Keep the machine code of a signature, where the disk has room and what lies there can be read."""
        with suppress(Exception):  # it only costs the next process a compilation
            super().save_overload(*arguments)  # type: ignore[no-untyped-call]
        self._end_turn()

    def _loaded(self, *arguments: Any) -> Any:
        try:
            return super().load_overload(*arguments)  # type: ignore[no-untyped-call]
        except Exception:  # noqa: BLE001 - what a damaged pickle raises depends on the damage
            with suppress(OSError):
                self.flush()  # type: ignore[no-untyped-call]
            return None

    def _take_turn(self) -> None:
        path, end = (
            Path(self._cache_path, f"{self._impl.filename_base}.lock"),
            time.monotonic() + LONGEST_WAIT,
        )
        with suppress(OSError):  # where nothing can be written, every process compiles
            while (turn := locked(path)) is None and time.monotonic() < end:
                time.sleep(0.02)
            self._turn = turn

    def _end_turn(self) -> None:
        if self._turn is not None:
            os.close(self._turn)
            self._turn = None


def _is_from_elsewhere(value: Any, kernel: Callable[..., Any]) -> bool:
    """Is it of another file? A kernel of the same file has the same stamps."""
    code = getattr(value, "__code__", None)
    return code is not None and code.co_filename != kernel.__code__.co_filename
