"""How kernels are compiled: one decorator for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, overload

from numba import njit

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
        try:
            return njit(cache=True, **options)(kernel)  # type: ignore[no-any-return]
        except RuntimeError:  # neither the package nor the home can be written: compile in every process
            return njit(**options)(kernel)  # type: ignore[no-any-return]

    return of if function is None else of(function)
