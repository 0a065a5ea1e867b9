"""How kernels are compiled: one decorator for all of them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

from numba import njit
from numba.core.caching import FunctionCache, IndexDataCacheFile

if TYPE_CHECKING:
    from collections.abc import Callable

Kernel = TypeVar("Kernel", bound="Callable[..., Any]")


@overload
def compiled(function: Kernel, /) -> Kernel: ...


@overload
def compiled(
    *, parallel: bool = False, inline: bool = False, fastmath: bool | set[str] = False
) -> Callable[[Kernel], Kernel]: ...


def compiled(
    function: Kernel | None = None,
    /,
    *,
    parallel: bool = False,
    inline: bool = False,
    fastmath: bool | set[str] = False,
) -> Kernel | Callable[[Kernel], Kernel]:
    """Compile a kernel to machine code, cached on disk where that is possible; it runs without holding the GIL.

    `parallel`: loops over `numba.prange` use all threads. `inline`: the code is copied into its callers.
    `fastmath`: which rules of floating point arithmetic may be broken, in LLVM's words.
    """
    options: dict[str, Any] = {
        "nogil": True,
        "parallel": parallel,
        "forceinline": inline,
        "fastmath": fastmath,
    }

    def of(kernel: Kernel) -> Kernel:
        dispatcher = njit(**options)(kernel)
        # Where neither the package nor the home can be written, every process compiles anew.
        with suppress(RuntimeError):
            dispatcher._cache = _Cache(kernel)
        return dispatcher  # type: ignore[no-any-return]

    return of if function is None else of(function)


class _Cache(FunctionCache):
    """Machine code on disk. Files that are cut short, or of another version, are as good as none.

    A kernel holds copies of those that it calls, so its code is of another version also where one of their files has
    changed. numba looks at the kernel's own file only; `stamps` are those of all files that it may have code from.
    """

    stamps: tuple[tuple[Any, ...], ...]

    def __init__(self, kernel: Callable[..., Any]) -> None:
        super().__init__(kernel)  # type: ignore[no-untyped-call]
        own = (Path(kernel.__code__.co_filename).name, *self._impl.locator.get_source_stamp())
        imported = (getattr(value, "_cache", None) for value in kernel.__globals__.values())
        others = [stamp for found in imported if isinstance(found, _Cache) for stamp in found.stamps]
        self.stamps = tuple(sorted({own, *others}))
        self._cache_file = IndexDataCacheFile(  # type: ignore[no-untyped-call]
            cache_path=self._cache_path, filename_base=self._impl.filename_base, source_stamp=self.stamps
        )

    def load_overload(self, *arguments: Any) -> Any:
        """The machine code of a signature, or None."""
        try:
            return super().load_overload(*arguments)  # type: ignore[no-untyped-call]
        except Exception:  # noqa: BLE001 - what a damaged pickle raises depends on the damage
            with suppress(OSError):
                self.flush()  # type: ignore[no-untyped-call]
            return None

    def save_overload(self, *arguments: Any) -> None:
        """Keep the machine code of a signature, where the disk has room and what lies there can be read."""
        with suppress(Exception):  # it only costs the next process a compilation
            super().save_overload(*arguments)  # type: ignore[no-untyped-call]
