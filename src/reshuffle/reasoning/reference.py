"""The GNN equation on Python sets, slow and obvious on purpose; everything fast is tested against it.

    Z_f <- Z_f  u  union over (e, r, f) in G of B_r Z_e,    (B_r Z_e)[i] = Z_e[sources[r, i]]

with private initial states: slot i of entity e starts as the set {(e, i)}, so a set says exactly which
initial values have arrived, and max over values becomes union.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from reshuffle.constraints import UNCONSTRAINED
from reshuffle.kg import inverse_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from reshuffle.constraints import OrderingConstraints

Edge: TypeAlias = tuple[str, str, str]
States: TypeAlias = dict[tuple[str, int], set[tuple[str, int]]]  # (entity, slot) to initial values


def propagate(
    constraints: OrderingConstraints, facts: Iterable[Edge], *, layers: int | None = None
) -> States:
    """The states after `layers` layers, or at the fixpoint."""
    facts = list(facts)
    entities = {entity for head, _, tail in facts for entity in (head, tail)}
    edges = list(_completed(constraints, facts, entities))
    states = {(e, slot): {(e, slot)} for e in entities for slot in range(constraints.num_slots)}
    while layers is None or layers > 0:
        updated = {place: set(values) for place, values in states.items()}
        for head, relation, tail in edges:
            for slot, source in enumerate(constraints.source_of(relation)):
                if source != UNCONSTRAINED:
                    updated[tail, slot] |= states[head, int(source)]
        if updated == states:
            break
        states = updated
        layers = None if layers is None else layers - 1
    return states


def captured(constraints: OrderingConstraints, states: States, triple: Edge) -> bool:
    """Is B_r Z_a ⪯ Z_b on the slots that decide r?"""
    head, relation, tail = triple
    return all(
        states[head, start] <= states[tail, leave] for start, leave in constraints.decisive_slots(relation)
    )


def _completed(constraints: OrderingConstraints, facts: Iterable[Edge], entities: set[str]) -> Iterator[Edge]:
    """The facts that the constraints know, their inverses, and the identity self-loops."""
    silent = constraints.identities | constraints.hidden
    known = set(constraints.relations) - silent
    for head, relation, tail in facts:
        if relation in known:
            yield head, relation, tail
        if inverse_name(relation) in known:
            yield tail, inverse_name(relation), head
    for identity in constraints.identities:
        yield from ((entity, identity, entity) for entity in entities)
