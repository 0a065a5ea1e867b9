"""How kernels are compiled: one decorator for all of them.

Compiling takes seconds where no machine code is on disk, and to load what compiles takes .4 seconds. So both wait for
the first call that needs them, and a kernel that allows it runs as the Python function it is while its arrays are
small: a graph of two facts is answered before numba would be loaded.
"""

from __future__ import annotations

import functools
import time
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Function = TypeVar("Function", bound="Callable[..., Any]")

SMALL = 4096
"""Numbers. A kernel whose arrays together have more is compiled at once."""


class Interpreting:
    """How long kernels may still run as Python in this process: less than it takes to load their machine code."""

    def __init__(self, seconds: float) -> None:
        self.seconds_left = seconds

    def run(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        """The result of the function, whose time counts."""
        began = time.perf_counter()
        try:
            found = function(*arguments)
        finally:
            self.seconds_left -= time.perf_counter() - began
        return found.item() if isinstance(found, np.generic) else found  # as machine code returns numbers


INTERPRETING = Interpreting(0.3)


class Kernel:
    """A function that numba compiles when it is first called, and when a kernel that calls it is."""

    def __init__(
        self, function: Callable[..., Any], options: Mapping[str, Any], *, small_in_python: bool
    ) -> None:
        functools.update_wrapper(self, function)
        self._function, self._options, self._small_in_python = function, options, small_in_python
        self.__code__ = function.__code__

    @functools.cached_property
    def dispatcher(self) -> Any:
        """What numba makes of the function."""
        from reshuffle.machine_code import dispatcher_of  # noqa: PLC0415 - numba is slow to import

        return dispatcher_of(self._function, self._options)

    @property
    def _numba_type_(self) -> Any:
        """By this numba finds what a kernel is that another one calls."""
        return self.dispatcher._numba_type_

    def __call__(self, *arguments: Any) -> Any:
        """Run it: as machine code, unless all is small."""
        if self._small_in_python and INTERPRETING.seconds_left > 0 and _size(arguments) <= SMALL:
            return INTERPRETING.run(self._function, arguments)
        return self.dispatcher(*arguments)

    def __reduce__(self) -> str:
        """By name, as functions are pickled."""
        return self._function.__qualname__


def _size(values: tuple[Any, ...]) -> int:
    """How many numbers arrays have, and those in tuples."""
    total = 0
    for value in values:
        if isinstance(value, np.ndarray):
            total += value.size
        elif isinstance(value, tuple):
            total += _size(value)
    return total


@overload
def compiled(function: Function, /) -> Function: ...


@overload
def compiled(
    *,
    parallel: bool = False,
    inline: bool = False,
    fastmath: bool | set[str] = False,
    small_in_python: bool = False,
) -> Callable[[Function], Function]: ...


def compiled(
    function: Function | None = None,
    /,
    *,
    parallel: bool = False,
    inline: bool = False,
    fastmath: bool | set[str] = False,
    small_in_python: bool = False,
) -> Function | Callable[[Function], Function]:
    """Compile a kernel to machine code, cached on disk where that is possible; it runs without holding the GIL.

    `parallel`: loops over `numba.prange` use all threads. `inline`: the code is copied into its callers.
    `fastmath`: which rules of floating point arithmetic may be broken, in LLVM's words. `small_in_python`: it may run
    as Python while arrays are small: it computes with whole numbers that then stay small, and gives the same.
    """
    options = {"nogil": True, "parallel": parallel, "forceinline": inline, "fastmath": fastmath}

    def of(function: Function) -> Function:
        return Kernel(function, options, small_in_python=small_in_python)  # type: ignore[return-value]

    return of if function is None else of(function)
