"""Sizes of proofs: bounds that guide the search, and exact sizes where the bounds are misleading.

There are four computations; each is for a case in which the others are too slow:

- `Bounds` cost next to nothing and suffice over sparse facts, where most questions are asked.
- `CheapestSizes` settles the exact sizes instance by instance, for sparse fixpoints of any number of entities.
- `LevelSizes` settles them by rows of bits, for dense fixpoints, whose instances are too many to look at each.
- `Heights` only finds how deep the lowest proofs are, for dense fixpoints of millions of triples: enough to walk
  straight down to a low proof, where exact sizes would take minutes.

`Bounds` has two bounds, both on the number of rule applications, and neither ever too high. By *relation*: a relation
without facts needs at least the cheapest of its rules. By *distance*: a rule of n atoms makes one step of n, so
a triple whose ends are d facts apart needs at least (d - 1) / (n - 1) rules of at most n atoms; d is at least
the difference of two distances from any landmark. On chains, where proofs are deep, the second is exact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from reshuffle.kg.rows import Rows
from reshuffle.reasoning import keysets
from reshuffle.reasoning.chase.kernels import levels as by_level
from reshuffle.reasoning.chase.kernels import rounds as by_round
from reshuffle.reasoning.chase.kernels.cheapest import (
    ENTRIES,
    NONE,
    NUMBERED,
    Costs,
    Weights,
    distances,
    offer,
    settle,
    settled_costs,
)
from reshuffle.reasoning.chase.kernels.joins import NO_ROOM
from reshuffle.reasoning.chase.store import Store, doubled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reshuffle.reasoning.chase.program import CodedRule, Program

UNREACHABLE = 1 << 40
_ENTRIES = 1 << 10  # rows of levels at first


class CheapestSizes:
    """Settles triples from the facts upward as far as a goal asks; the next goal continues from there."""

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


class LevelSizes:
    """Settles triples from the facts upward, level by level, over rows of bits."""

    def __init__(
        self, program: Program, facts: NDArray[np.int64], entity_bits: int, num_entities: int
    ) -> None:
        self._bits, self._program = entity_bits, program
        self._triggers, self._weights = program.triggers(program.num_relations), _weights(program)
        self._levels = _no_levels(program.num_relations, num_entities)
        for relation, head, tail in _triples(facts[facts >= 0], entity_bits):
            if relation < program.num_relations:
                while not by_level.offer_pair(self._levels, 2 * relation, head, tail, 0):
                    self._make_room()

    @staticmethod
    def num_bytes(num_relations: int, num_entities: int) -> int:
        """The bytes that sizes and settled pairs take; the rows of each level come on top."""
        return num_relations * (64 * _words(num_entities)) ** 2 * 9 // 4

    def reach(self, goal: int) -> None:
        """Go on until the triple with this key is settled; a key below zero means all triples."""
        target = _triples(np.array([goal]), self._bits)[0] if goal >= 0 else ()
        if target and self._levels.sizes[target] != by_level.UNSETTLED:
            return
        wanted = np.array(target, dtype=np.int64)
        while by_level.settle_levels(self._triggers, self._weights, self._levels, wanted) == NO_ROOM:
            self._make_room()

    def least(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """The sizes of triples settled so far; for others, what they need at least."""
        mask = (1 << self._bits) - 1
        sizes = self._levels.sizes[keys >> 2 * self._bits, keys >> self._bits & mask, keys & mask]
        level = self._levels.counters[by_level.LEVEL]
        found: NDArray[np.int64] = np.where(sizes == by_level.UNSETTLED, level, sizes).astype(np.int64)
        return found

    def _make_room(self) -> None:
        entries = ("words", "level", "row", "next_of_row", "next_of_all")
        larger = {name: doubled(getattr(self._levels, name)) for name in entries}
        offered_at = doubled(self._levels.offered_at)
        offered_at[len(self._levels.offered_at) :] = NONE
        arrays: dict[str, Any] = {**self._levels._asdict(), **larger, "offered_at": offered_at}
        self._levels = by_level.Levels(**arrays)


class Heights:
    """The height of the lowest proof of every triple, fresh relations counted as steps."""

    def __init__(
        self, program: Program, facts: NDArray[np.int64], entity_bits: int, num_entities: int
    ) -> None:
        self._bits = entity_bits
        rounds = _no_rounds(program.num_relations, num_entities)
        for relation, head, tail in _triples(facts[facts >= 0], entity_bits):
            if relation < program.num_relations:
                by_round.come(rounds, 2 * relation, head, tail)
                by_round.come(rounds, 2 * relation + 1, tail, head)
        by_round.all_rounds(rounds, program.triggers(program.num_relations))
        self._heights = rounds.heights

    def of(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """The heights of triples that follow."""
        mask = (1 << self._bits) - 1
        heights = self._heights[keys >> 2 * self._bits, keys >> self._bits & mask, keys & mask]
        found: NDArray[np.int64] = heights.astype(np.int64)
        return found


def _triples(keys: NDArray[np.int64], entity_bits: int) -> list[tuple[int, int, int]]:
    mask = (1 << entity_bits) - 1
    columns = (keys >> 2 * entity_bits, keys >> entity_bits & mask, keys & mask)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def _no_rounds(num_relations: int, num_entities: int) -> by_round.Rounds:
    words = _words(num_entities)
    shape = (2, num_relations, 64 * words, words)
    num_rows = 2 * num_relations * 64 * words
    return by_round.Rounds(
        known=np.zeros(shape, dtype=np.uint64),
        new=np.zeros(shape, dtype=np.uint64),
        coming=np.zeros(shape, dtype=np.uint64),
        rows=np.empty(num_rows, dtype=np.int64),
        has_coming=np.zeros(num_rows, dtype=np.bool_),
        heights=np.full((num_relations, 64 * words, 64 * words), by_round.UNREACHED, dtype=np.uint16),
        counters=np.zeros(1, dtype=np.int64),
    )


def _words(num_entities: int) -> int:
    return -(-max(num_entities, 1) // 64)


def _no_levels(num_relations: int, num_entities: int) -> by_level.Levels:
    words = _words(num_entities)
    height, entries = 64 * words, _ENTRIES
    num_rows = 2 * num_relations * height
    return by_level.Levels(
        settled=np.zeros((2, num_relations, height, words), dtype=np.uint64),
        sizes=np.full((num_relations, height, height), by_level.UNSETTLED, dtype=np.uint16),
        settled_of=np.full(num_rows, NONE, dtype=np.int64),
        offered_of=np.full(num_rows, NONE, dtype=np.int64),
        news_of=np.full(num_rows, NONE, dtype=np.int64),
        offered_at=np.full(64, NONE, dtype=np.int64),
        words=np.empty((entries, words), dtype=np.uint64),
        level=np.empty(entries, dtype=np.int32),
        row=np.empty(entries, dtype=np.int64),
        next_of_row=np.empty(entries, dtype=np.int64),
        next_of_all=np.empty(entries, dtype=np.int64),
        counters=np.array([0, NONE, 0, NONE, 0], dtype=np.int64),
    )


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


class Bounds:
    """Lower bounds for the proofs of many triples at once."""

    def __init__(
        self, program: Program, facts: NDArray[np.int64], entity_bits: int, num_entities: int
    ) -> None:
        """`facts` is the set of given triples, as places of keys."""
        self.program, self.facts, self.bits = program, facts, entity_bits
        given = facts[facts >= 0]
        self._neighbours = _undirected(given, entity_bits, num_entities)
        size = program.num_relations
        has_facts = np.bincount(given >> 2 * entity_bits, minlength=size)[:size] > 0
        self._by_relation = _relation_bounds(program, has_facts)
        self._atoms = _atoms_spanned(program)
        user = (rule for rule in program.coded if rule.source is not None)
        self._longest = max((_spanned(rule, self._atoms) for rule in user), default=2)
        self._landmarks: list[NDArray[np.int32]] = []

    def set_landmarks(self, entities: tuple[int, ...]) -> None:
        """Measure distances from these entities from now on."""
        rows = self._neighbours
        self._landmarks = [distances(rows.starts, rows.values, entity) for entity in dict.fromkeys(entities)]

    def are_facts(self, keys: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of the triples are given?"""
        found: NDArray[np.bool_] = keysets.has_keys(self.facts, keys)
        return found

    def least(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """For each triple, the least number of rule applications that a proof of it could have."""
        mask = (1 << self.bits) - 1
        relations, heads, tails = keys >> 2 * self.bits, keys >> self.bits & mask, keys & mask
        apart = np.zeros(len(keys), dtype=np.int64)
        for steps in self._landmarks:
            # All entities of one proof lie in one component, so no distance is missing on one side only.
            np.maximum(apart, np.abs(steps[heads] - steps[tails]), out=apart)
        by_distance = -((self._atoms[relations] - apart) // max(1, self._longest - 1))
        bound: NDArray[np.int64] = np.maximum(self._by_relation[relations], by_distance)
        bound[self.are_facts(keys)] = 0
        return bound


def _undirected(keys: NDArray[np.int64], bits: int, num_entities: int) -> Rows:
    """The neighbours of each entity, along facts in either direction."""
    mask = (1 << bits) - 1
    heads, tails = keys >> bits & mask, keys & mask
    rows, ends = np.concatenate([heads, tails]), np.concatenate([tails, heads])
    return Rows.grouped(rows, ends.astype(np.int32), num_rows=num_entities)


def _relation_bounds(program: Program, has_facts: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Per relation, the least cost of a triple that is *not* a fact, from which relations have facts at all."""
    free = np.where(has_facts, 0, UNREACHABLE)
    bound = np.full(len(free), UNREACHABLE, dtype=np.int64)
    changed = True
    while changed:
        changed = False
        for rule in program.coded:
            relation = rule.head >> 1
            cost = sum(int(min(free[atom >> 1], bound[atom >> 1])) for atom in rule.body)
            cost = min(UNREACHABLE, cost + (rule.source is not None))
            if cost < bound[relation]:
                bound[relation] = cost
                changed = True
    return bound


def _atoms_spanned(program: Program) -> NDArray[np.int64]:
    """For each relation how many atoms it spans: 1, or the length of the part of a body that a fresh one stands for."""
    atoms = np.ones(program.num_relations, dtype=np.int64)
    for rule in program.coded:  # in the order of the base, so shorter parts come first
        if rule.source is None:
            atoms[rule.head >> 1] = _spanned(rule, atoms)
    return atoms


def _spanned(rule: CodedRule, atoms: NDArray[np.int64]) -> int:
    """How many atoms there can be between the ends of what the rule derives."""
    each = [int(atoms[atom >> 1]) for atom in rule.body]
    return sum(each) if rule.kind == "chain" else max(each)
