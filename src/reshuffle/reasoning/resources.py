"""The memory that a user allows and the cores that there are, shared out among searches."""

from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass

from reshuffle.errors import BudgetError, InputError

_BYTES_PER_WORD, _BYTES_PER_ENTITY = 12, 8  # of `Scratch`, which each thread has for itself
_BYTES_PER_PAIR = 32  # ids, names' references and the sorted copy, while a block is handed out
_FEWEST_PAIRS, _MOST_PAIRS = 1024, 1 << 20


@dataclass(frozen=True)
class Budget:
    """How many threads may work, how many pairs one block may hold, and the bytes that are left besides."""

    threads: int
    pairs: int
    bytes_left: float


def budget(memory: int | None, *, num_entities: int, words: int, cores: int) -> Budget:
    """Share the allowed bytes out among threads that search with so many mask words per entity.

    Raises `BudgetError` with the bytes that are needed where not even one thread fits.
    """
    if memory is None:
        return Budget(cores, _MOST_PAIRS, math.inf)
    per_thread = num_entities * (words * _BYTES_PER_WORD + _BYTES_PER_ENTITY)
    needed = per_thread + _FEWEST_PAIRS * _BYTES_PER_PAIR
    if memory < needed:
        raise BudgetError(
            f"memory of {spelled_bytes(memory)} is too small: the searches over this graph need "
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
