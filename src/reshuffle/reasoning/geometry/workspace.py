"""The memory that searches write on, and how much of it a user allows."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from reshuffle.errors import BudgetError, InputError
from reshuffle.reasoning.geometry.kernels.search import Scratch

_LAST_TICK = 2**30  # stamps are 32-bit; one call never uses as many ticks again
_BYTES_PER_WORD, _BYTES_PER_ENTITY = 12, 8
_BYTES_PER_PAIR = 32  # ids, names' references and the sorted copy, while a block is handed out
_FEWEST_PAIRS, _MOST_PAIRS = 1024, 1 << 20


class Ticks(ABC):
    """Hands out numbers that no earlier search used, so that marks never need clearing."""

    def __init__(self) -> None:
        self.tick = 1

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


class Workspace(Ticks):
    """Scratch arrays for one thread. Pages that no search touches cost nothing."""

    def __init__(self, num_entities: int, words: int) -> None:
        super().__init__()
        self.num_entities, self.words = num_entities, words
        self.scratch = Scratch(
            np.zeros(num_entities * words, dtype=np.int32),
            np.zeros(num_entities * words, dtype=np.uint64),
            np.zeros(num_entities, dtype=np.int64),
        )

    def forget(self) -> None:
        """Clear the stamps."""
        self.scratch.stamps.fill(0)
        self.scratch.met.fill(0)

    def fits(self, num_entities: int, words: int) -> bool:
        """Is there room for a graph and automata of this size?"""
        return num_entities <= self.num_entities and words <= self.words


def workspace_bytes(num_entities: int, words: int) -> int:
    """What one workspace takes at most."""
    return num_entities * (words * _BYTES_PER_WORD + _BYTES_PER_ENTITY)


@dataclass(frozen=True)
class Budget:
    """How many threads may work, how many pairs one block may hold, and what is left besides."""

    threads: int
    pairs: int
    bytes_left: float


def budget(memory: int | None, *, per_thread: int, cores: int) -> Budget:
    """Share the allowed bytes out; raises `BudgetError` with what is needed when one thread does not fit."""
    if memory is None:
        return Budget(cores, _MOST_PAIRS, math.inf)
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


def parsed_bytes(text: str) -> int:
    """A size as people write it.

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
    """A size for people.

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
