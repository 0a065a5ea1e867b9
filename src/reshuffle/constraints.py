"""The narrow waist: ordering constraints.

A hard B_r of the paper (rows one-hot or zero) is a partial function from slots to slots: row i of B_r has its
one in column `sources[r, i]`, or is zero where that is -1. A triple (e, r, f) is captured when every
constrained slot i has Z_e[sources[r, i]] <= Z_f[i]. Rule graphs compile to this object and learned models
harden to it; reasoning, extraction and injection start from it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from reshuffle.errors import UnknownNameError
from reshuffle.kg import inverse_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from reshuffle.rules import RuleBase

UNCONSTRAINED = -1


@dataclass(frozen=True)
class OrderingConstraints:
    """`sources[relation, slot]`, and what its users need to know about it.

    `roots` gives, per relation, the (start, exit) slots that decide it: (a, r, b) follows iff for every pair
    the value that starts in slot `start` of a arrives in slot `exit` of b. A relation without an entry is
    decided by all of its constrained slots, as for a hardened model.
    """

    relations: tuple[str, ...]
    sources: NDArray[np.int32]  # relation slot
    identities: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()
    roots: Mapping[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    bound: int | None = None
    rules: RuleBase | None = None

    def __post_init__(self) -> None:
        self.sources.flags.writeable = False

    @property
    def num_slots(self) -> int:
        """The paper's l."""
        return int(self.sources.shape[1])

    @cached_property
    def relation_ids(self) -> dict[str, int]:
        """Position of each relation in `relations`."""
        return {relation: position for position, relation in enumerate(self.relations)}

    def inverse_of(self, relation: str) -> str | None:
        """The inverse relation, where the constraints have one."""
        inverse = inverse_name(relation)
        return inverse if inverse in self.relation_ids else None

    def source_of(self, relation: str) -> NDArray[np.int32]:
        """The partial function of one relation, the paper's sigma_r."""
        if relation not in self.relation_ids:
            raise UnknownNameError("relation", relation, self.relations)
        source: NDArray[np.int32] = self.sources[self.relation_ids[relation]]
        return source

    def matrix(self, relation: str) -> NDArray[np.int8]:
        """B_r as a 0/1 matrix."""
        return _matrix(self.source_of(relation))

    def composed(self, word: Sequence[str]) -> NDArray[np.int32]:
        """The partial function of a path r1;...;rp, whose matrix is B_rp ... B_r1."""
        source = np.arange(self.num_slots, dtype=np.int32)
        for relation in word:
            step = self.source_of(relation)
            source = np.where(step == UNCONSTRAINED, UNCONSTRAINED, source[step])
        return source

    def decisive_slots(self, relation: str) -> tuple[tuple[int, int], ...]:
        """The (start, exit) pairs that decide `relation`."""
        if relation in self.roots:
            return self.roots[relation]
        source = self.source_of(relation)
        return tuple((int(source[slot]), int(slot)) for slot in np.flatnonzero(source != UNCONSTRAINED))


def _matrix(source: NDArray[np.int32]) -> NDArray[np.int8]:
    matrix = np.zeros((len(source), len(source)), dtype=np.int8)
    rows = np.flatnonzero(source != UNCONSTRAINED)
    matrix[rows, source[rows]] = 1
    return matrix
