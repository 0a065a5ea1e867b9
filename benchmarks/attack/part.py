"""What a part of the attack is, a kind of cases: it makes cases, runs one, and says which smaller cases to try."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from random import Random

Case: TypeAlias = dict[str, Any]
"""Plain data, as JSON holds it."""

Counts: TypeAlias = dict[str, int]
"""What a case has compared or sent, by a word in the plural."""

Item = TypeVar("Item")


class WrongAnswerError(Exception):
    """The library answered, and not what it should have."""


class Part(ABC):
    """One kind of attack."""

    name: str
    seconds: float = 60
    """How long one case may take."""

    def missing(self) -> str | None:
        """Why this part cannot run here, or None."""
        return None

    @abstractmethod
    def made(self, random: Random) -> Case:
        """A random case."""

    @abstractmethod
    def run(self, case: Case, folder: Path) -> Counts | None:
        """Run a case in an empty folder, and tell what it counted; whatever it raises is a failure."""

    @abstractmethod
    def smaller(self, case: Case) -> Iterator[Case]:
        """Smaller cases, the smallest first."""


def without_pieces(items: Sequence[Item]) -> Iterator[list[Item]]:
    """The items without a half, a quarter, ... down to a single one (delta debugging).

    >>> list(without_pieces("abc"))
    [['b', 'c'], ['a', 'c'], ['a', 'b']]
    """
    size = max(1, len(items) // 2)
    while size >= 1 and items:
        for first in range(0, len(items), size):
            yield [*items[:first], *items[first + size :]]
        size //= 2
