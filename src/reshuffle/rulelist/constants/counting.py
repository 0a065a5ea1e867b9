"""Finding rules about particular entities: properties of which one makes another one more frequent.

Every property with enough members is looked at as a body, and all that its members have as heads. A head is kept where
it is more frequent among the members than among all that have some edge of its code.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from reshuffle.deadlines import NO_DEADLINE
from reshuffle.progress import SILENT, UNHEARD
from reshuffle.rulelist.features import in_order
from reshuffle.rulelist.kernels.constant_walks import count_heads

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from reshuffle.deadlines import Deadline
    from reshuffle.progress import Notes, Progress
    from reshuffle.rulelist.constants.properties import Properties
    from reshuffle.rulelist.features import FeatureGraph

_ROOM = 1 << 20
_PIECES = 64


@dataclass(frozen=True)
class Counting:
    """Which properties are looked at."""

    support: int = 2
    """The least number of members of a body that have the head; of many facts, one in `one_in`."""
    one_in: int = 100_000
    most_members: int = 2_000
    """Members of one body, and edges of one member, that are counted; of more, each second, third, ... one."""


@dataclass(frozen=True)
class Counted:
    """Rules by the numbers of properties, with what was counted."""

    bodies: NDArray[np.int32]
    heads: NDArray[np.int32]
    supports: NDArray[np.int32]
    predictions: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.bodies)

    def part(self, rows: NDArray[np.integer[Any]] | NDArray[np.bool_]) -> Counted:
        """Some of the rules."""
        return Counted(self.bodies[rows], self.heads[rows], self.supports[rows], self.predictions[rows])

    @classmethod
    def joined(cls, parts: list[Counted]) -> Counted:
        """One after the other."""
        empty, names = np.zeros(0, dtype=np.int32), tuple(cls.__annotations__)
        return cls(*(np.concatenate([empty, *(getattr(one, name) for one in parts)]) for name in names))


def counted_rules(
    facts: FeatureGraph,
    properties: Properties,
    settings: Counting,
    *,
    deadline: Deadline = NO_DEADLINE,
    progress: Progress = SILENT,
    notes: Notes = UNHEARD,
) -> Counted:
    """The rules between properties, or with a deadline those of the bodies that were reached."""
    number = len(properties.codes)
    cuts = _cuts(properties, number)
    sizes = properties.sizes.astype(np.int32), properties.having().astype(np.int32), properties.codes
    starts, codes, _ = facts.edges
    edges = starts, codes, properties.of_edges

    def count(piece: tuple[int, int]) -> list[Counted]:
        return list(_counted(piece, properties, edges, sizes, settings))

    found: dict[int, list[Counted]] = {}
    pieces = list(pairwise(cuts))
    # They lie by relation: drawn in any order, each relation has its share of what is reached.
    places = np.random.default_rng(0).permutation(len(pieces)).tolist()
    with progress("counting rules with constants", total=len(pieces), unit="parts") as report:
        for place, parts in zip(
            places, in_order(count, [pieces[place] for place in places], cores=facts.cores), strict=False
        ):
            found[place] = parts
            report(1)
            if deadline.is_over:
                break
    if len(found) < len(pieces):
        share = len(found) / len(pieces)
        notes(f"rules about entities were counted for {share:.0%} of what entities have in common")
    return Counted.joined([part for place in sorted(found) for part in found[place]])


def _counted(
    piece: tuple[int, int],
    properties: Properties,
    edges: tuple[NDArray[Any], ...],
    sizes: tuple[NDArray[np.int32], ...],
    settings: Counting,
) -> Iterator[Counted]:
    number = len(properties.codes)
    room = np.zeros(number, np.int32), np.zeros(len(sizes[1]), np.int32), np.zeros(number, np.int32)
    support = max(settings.support, len(properties.of_edges) // (2 * settings.one_in))
    limits = support, settings.most_members, settings.most_members
    size, body = _ROOM, piece[0]
    while body < piece[1]:
        columns = tuple(np.empty(size, dtype=np.int32) for _ in range(4))
        members = properties.starts, properties.members
        after, filled = count_heads((body, piece[1]), members, edges, sizes, limits, room, columns)
        if after == body:
            size *= 4
            continue
        yield Counted(*(column[:filled].copy() for column in columns))
        body = after


def _cuts(properties: Properties, number: int) -> list[int]:
    """Where the bodies are cut into parts of about as many members."""
    ends = properties.starts[1:]
    at = np.searchsorted(ends, np.linspace(0, ends[-1] if len(ends) else 0, _PIECES + 1)[1:-1])
    return sorted({0, *at.tolist(), number})
