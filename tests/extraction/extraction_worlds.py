"""Random constraints and all bodies: what extraction is compared with."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import strategies as st

from reshuffle.constraints import OrderingConstraints
from reshuffle.extraction.hard import forward
from reshuffle.extraction.soft_matrices import SoftMatrices
from reshuffle.rules import PathRule

if TYPE_CHECKING:
    from collections.abc import Iterator


@st.composite
def any_constraints(draw: st.DrawFn, *, most_slots: int = 4, relations: int = 2) -> OrderingConstraints:
    """Partial functions, with or without inverses, an identity or two, and a hidden relation."""
    names = [f"r{number}" for number in range(1, relations + 1)]
    with_inverse = draw(st.lists(st.sampled_from(names), unique=True))
    names += [f"{name}^-1" for name in with_inverse]
    identities = ["eq", "eq1"][: draw(st.integers(0, 2))]
    hidden = ["~1"] if draw(st.booleans()) else []
    everyone = (*names, *hidden, *identities)
    slots = draw(st.integers(1, most_slots))
    # Few unconstrained slots, or hardly any body would lead anywhere.
    slot = st.one_of(st.integers(0, slots - 1), st.integers(-1, slots - 1))
    row = st.lists(slot, min_size=slots, max_size=slots)
    sources = np.array([draw(row) for _ in everyone], dtype=np.int32)
    return OrderingConstraints(everyone, sources, identities=frozenset(identities), hidden=frozenset(hidden))


def all_rules(constraints: OrderingConstraints | SoftMatrices, max_length: int) -> Iterator[PathRule]:
    """Every body and head over the visible relations, about the relation where the head is an inverse."""
    silent = constraints.identities | constraints.hidden
    names = [name for name in constraints.relations if name not in silent]
    for length in range(1, max_length + 1):
        for *body, head in product(names, repeat=length + 1):
            yield PathRule(tuple(body), head)


def captured_by_trying(constraints: OrderingConstraints, max_length: int) -> set[PathRule]:
    """By definition, for heads that have a constraint at all."""
    return {
        forward(rule)
        for rule in all_rules(constraints, max_length)
        if constraints.constrained_slots(rule.head)
        and constraints.captures_rule(rule)
        and not rule.is_tautology
    }


@st.composite
def soft_matrices(
    draw: st.DrawFn, *, most_slots: int = 3, free: bool = True, evidence: bool = False
) -> SoftMatrices:
    """Rows of quarters that sum to at most 1; with `free`, also inverses and identities."""
    names = ["r1", "r2"]
    identities: list[str] = []
    if free:
        names += [f"{name}^-1" for name in draw(st.lists(st.sampled_from(names), unique=True))]
        identities = ["eq", "eq1"][: draw(st.integers(0, 2))]
    slots = draw(st.integers(1, most_slots))
    # Each quarter goes to a slot, or to none; rows of zeros are where bounds go wrong.
    quarters = st.one_of(
        st.lists(st.integers(0, slots), min_size=4, max_size=4), st.sampled_from([[slots] * 4, [0] * 4])
    )
    row = quarters.map(lambda places: np.bincount(places, minlength=slots + 1)[:slots] / 4)
    everyone = (*names, *identities)
    values = np.array([[draw(row) for _ in range(slots)] for _ in everyone])
    vector = st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=slots, max_size=slots)
    positive = st.lists(st.sampled_from([0.25, 1.0, 3.0]), min_size=slots, max_size=slots)
    return SoftMatrices(
        everyone,
        values,
        identities=frozenset(identities),
        starts=np.array([draw(vector) for _ in everyone]) if evidence else None,
        weights=np.array([draw(positive) for _ in everyone]) if evidence else None,
    )
