"""The paper's GNN with dense matrices, as printed: Z_f <- max(Z_f, B_r Z_e). Shares nothing with `reasoning`."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from reshuffle.kg import inverse_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from reshuffle.constraints import OrderingConstraints
    from reshuffle.rules.entailment import Fact

States: TypeAlias = "NDArray[np.float64]"  # entity slot channel


class Network:
    """The constraints of a rule base and an eq-complete graph; entities are numbered in order."""

    def __init__(self, constraints: OrderingConstraints, facts: Iterable[Fact]) -> None:
        facts = list(facts)
        self.constraints = constraints
        self.entities = sorted({entity for head, _, tail in facts for entity in (head, tail)})
        self.number = {entity: number for number, entity in enumerate(self.entities)}
        self.matrices = {r: constraints.matrix(r).astype(np.float64) for r in constraints.relations}
        self.edges = sorted(set(self._completed(facts)))

    def _completed(self, facts: Iterable[Fact]) -> Iterator[tuple[int, str, int]]:
        """The facts, backwards too where the constraints know the inverse, and a self-loop per identity."""
        for head, relation, tail in facts:
            for start, label, end in ((head, relation, tail), (tail, inverse_name(relation), head)):
                if label in self.matrices:
                    yield self.number[start], label, self.number[end]
        for identity in self.constraints.identities:
            yield from ((entity, identity, entity) for entity in self.number.values())

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.entities), self.constraints.num_slots

    def one_column_per_initial_value(self) -> States:
        """All initialisations with a single one, side by side: column (e, i) has its one in slot i of entity e."""
        size = self.shape[0] * self.shape[1]
        return np.eye(size).reshape(*self.shape, size)

    def single_bit(self, entity: str, slot: int) -> States:
        """k = 1, a one in one slot of one entity, zeros elsewhere."""
        states = np.zeros((*self.shape, 1))
        states[self.number[entity], slot, 0] = 1
        return states

    def layer(self, states: States) -> States:
        """One layer of the GNN."""
        updated = states.copy()
        for head, relation, tail in self.edges:
            np.maximum(updated[tail], self.matrices[relation] @ states[head], out=updated[tail])
        return updated

    def layers(self, states: States) -> Iterator[States]:
        """The states of layers 0, 1, ... until nothing moves."""
        while True:
            yield states
            updated = self.layer(states)
            if np.array_equal(updated, states):
                return
            states = updated

    def converged(self, states: States) -> States:
        """The last of the layers."""
        for last in self.layers(states):
            states = last
        return states

    def captures(self, states: States, triple: Fact) -> bool:
        """B_r Z_a ⪯ Z_b, on every r-edge."""
        head, relation, tail = triple
        image = self.matrices[relation] @ states[self.number[head]]
        return bool((image <= states[self.number[tail]]).all())

    def triples(self, relations: Iterable[str]) -> Iterator[Fact]:
        """Everything one can ask about these entities."""
        yield from itertools.product(self.entities, relations, self.entities)
