"""How small a proof can be at least: what the search for the smallest one is guided by.

Two bounds, both on the number of rule applications, and neither ever too high. By *relation*: a relation
without facts needs at least the cheapest of its rules. By *distance*: a rule of n atoms makes one step of n, so
a triple whose ends are d facts apart needs at least (d - 1) / (n - 1) rules of at most n atoms; d is at least
the difference of two distances from any landmark. On chains, where proofs are deep, the second is exact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reshuffle.kg.rows import Rows
from reshuffle.reasoning.chase.kernels import keysets
from reshuffle.reasoning.chase.kernels.cheapest import distances

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reshuffle.reasoning.chase.program import Program

UNREACHABLE = 1 << 40


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
        self._longest = max((len(rule.body) for rule in program.rules.path_rules), default=2)
        self._landmarks: list[NDArray[np.int32]] = []

    def set_landmarks(self, entities: tuple[int, ...]) -> None:
        """Measure distances from these from now on."""
        rows = self._neighbours
        self._landmarks = [distances(rows.starts, rows.values, entity) for entity in dict.fromkeys(entities)]

    def are_facts(self, keys: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of the triples are given?"""
        found: NDArray[np.bool_] = keysets.has_keys(self.facts, keys)
        return found

    def least(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """For each triple, a number of rule applications below which it has no proof."""
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
    """1 for the user's relations, the length of the prefix for a fresh one."""
    atoms = np.ones(program.num_relations, dtype=np.int64)
    for rule in program.coded:  # in the order of the base, so shorter prefixes come first
        if rule.source is None:
            atoms[rule.head >> 1] = sum(int(atoms[atom >> 1]) for atom in rule.body)
    return atoms
