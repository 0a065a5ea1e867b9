"""The exact size of the smallest proof, for every triple up to a goal: slower than a search, but never lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reshuffle.reasoning.chase.store import Store, doubled
from reshuffle.reasoning.kernels.chase import keysets
from reshuffle.reasoning.kernels.chase.cheapest import (
    ENTRIES,
    NONE,
    NUMBERED,
    Costs,
    Weights,
    offer,
    settle,
    settled_costs,
)
from reshuffle.reasoning.kernels.chase.joins import NO_ROOM

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reshuffle.reasoning.chase.program import Program


class CheapestSizes:
    """Settles triples from the facts upward, as far as asked; a later goal goes on where this one ended."""

    def __init__(
        self, program: Program, facts: NDArray[np.int64], entity_bits: int, num_entities: int
    ) -> None:
        given = facts[facts >= 0]
        num_relations = max(program.num_relations, 1 + int((given >> 2 * entity_bits).max(initial=0)))
        # The store lends its rows and their growth; its own fixpoint never runs.
        self._store = Store(program, num_entities, entity_bits=entity_bits, layout="sparse")
        self._store.enlarge(num_entities, num_relations)
        self._weights = _weights(program)
        self._costs = _no_costs(len(given))
        for key in given:
            offer(self._costs, key, 0)

    def reach(self, goal: int) -> None:
        """Go on until the triple with this key is settled."""
        while settle(self._store.pairs, self._store.triggers, self._weights, self._costs, goal) == NO_ROOM:
            self._store.make_room()
            self._make_room()

    def least(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """The sizes of triples settled so far; for others, what they need at least."""
        found: NDArray[np.int64] = settled_costs(self._costs, keys)
        return found

    def _make_room(self) -> None:
        costs, counters = self._costs, self._costs.counters
        if 2 * counters[NUMBERED] > len(costs.keys):
            keys, number_of = keysets.rehashed_map(costs.keys, costs.number_of, 2 * len(costs.keys))
            costs = costs._replace(keys=keys, number_of=number_of)
        if 2 * counters[NUMBERED] > len(costs.cost):
            costs = costs._replace(
                key_at=doubled(costs.key_at), cost=doubled(costs.cost), settled=doubled(costs.settled)
            )
        if 2 * counters[ENTRIES] > len(costs.next_entry):
            costs = costs._replace(
                next_entry=doubled(costs.next_entry), entry_number=doubled(costs.entry_number)
            )
        levels = doubled(costs.first_entry)  # small, and a cost beyond it is not counted anywhere
        levels[len(costs.first_entry) :] = NONE
        self._costs = costs._replace(first_entry=levels)


def _weights(program: Program) -> Weights:
    makes_user_relation = np.array([rule.source is not None for rule in program.coded], dtype=np.int32)
    return Weights(*(makes_user_relation[rules] for rules in program.trigger_rules()))


def _no_costs(num_facts: int) -> Costs:
    size = 1 << max(10, (2 * num_facts).bit_length())
    return Costs(
        keys=np.full(size, keysets.EMPTY, dtype=np.int64),
        number_of=np.empty(size, dtype=np.int32),
        key_at=np.empty(size, dtype=np.int64),
        cost=np.empty(size, dtype=np.int32),
        settled=np.zeros(size, dtype=np.bool_),
        first_entry=np.full(64, NONE, dtype=np.int64),
        next_entry=np.empty(size, dtype=np.int64),
        entry_number=np.empty(size, dtype=np.int32),
        counters=np.zeros(3, dtype=np.int64),
    )
