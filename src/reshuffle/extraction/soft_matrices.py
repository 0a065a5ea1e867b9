"""Soft matrices: the view of a trained model that extraction uses, without torch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from reshuffle.errors import InputError, UnknownNameError
from reshuffle.kg import inverse_name
from reshuffle.text import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reshuffle.constraints import OrderingConstraints

_ROUNDING = 1e-4
"""Rows of single precision may sum to a little more than 1; they are scaled down."""

_LEAST_DEMAND = 0.5


@dataclass(frozen=True)
class SoftMatrices:
    """B_r for relations, inverses and identities by name; entries in [0, 1], rows that sum to at most 1.

    A model that answers queries of relation r from a vector of starts p_r and reads the answer by positive weights
    w_r (see `soft`) also has `starts` and `weights`; both or neither.
    """

    relations: tuple[str, ...]
    values: NDArray[np.float64]  # relation slot slot
    identities: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()
    starts: NDArray[np.float64] | None = None  # relation slot
    weights: NDArray[np.float64] | None = None  # relation slot

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", _checked(self.values, len(self.relations)))
        if (self.starts is None) != (self.weights is None):
            raise InputError(
                "found one of starts and weights", hint="evidence needs both, the degree of a rule neither"
            )
        for name in ("starts", "weights"):
            if (vector := getattr(self, name)) is not None:
                object.__setattr__(self, name, _checked_vectors(vector, self.values, name))

    @classmethod
    def of(cls, constraints: OrderingConstraints) -> SoftMatrices:
        """Hard constraints as 0/1 matrices; their roots are not kept."""
        values = [constraints.matrix(relation) for relation in constraints.relations]
        shape = (len(values), constraints.num_slots, constraints.num_slots)
        return cls(
            constraints.relations,
            np.array(values, dtype=np.float64).reshape(shape),
            constraints.identities,
            constraints.hidden,
        )

    @property
    def num_slots(self) -> int:
        """The number of slots, l in the paper."""
        return int(self.values.shape[1])

    @cached_property
    def relation_ids(self) -> dict[str, int]:
        """Position of each relation in `relations`."""
        return {relation: position for position, relation in enumerate(self.relations)}

    def id_of(self, relation: str) -> int:
        """The position, or an error with near names."""
        if relation not in self.relation_ids:
            raise UnknownNameError("relation", relation, self.relations)
        return self.relation_ids[relation]

    @cached_property
    def letters(self) -> NDArray[np.int64]:
        """The positions of the relations that rules may mention: neither identities nor hidden."""
        silent = self.identities | self.hidden
        places = [place for place, relation in enumerate(self.relations) if relation not in silent]
        return np.array(places, dtype=np.int64)

    @cached_property
    def constrained(self) -> NDArray[np.bool_]:  # relation
        """Does some row sum to at least a half? On hard matrices: is there any constraint?"""
        most: NDArray[np.float64] = self.values.sum(axis=2).max(axis=1, initial=0.0)
        return most >= _LEAST_DEMAND

    @cached_property
    def inverse_ids(self) -> NDArray[np.int64]:  # relation
        """The position of each relation's inverse, -1 where there is none."""
        known = self.relation_ids
        return np.array([known.get(inverse_name(name), -1) for name in self.relations], dtype=np.int64)


@runtime_checkable
class HasSoftMatrices(Protocol):
    """A learned model that can show its matrices."""

    def soft_matrices(self) -> SoftMatrices:
        """All B_r, and starts and weights where the model has them."""
        ...


@runtime_checkable
class Hardenable(Protocol):
    """A model that only gives hard constraints."""

    def harden(self) -> OrderingConstraints:
        """The nearest hard constraints."""
        ...


def _checked(values: NDArray[np.floating], num_relations: int) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 3 or array.shape[0] != num_relations or array.shape[1] != array.shape[2]:
        raise InputError(
            f"found matrices of shape {array.shape} for {counted(num_relations, 'relation')}",
            hint="the shape is [relation, slot, slot]",
        )
    sums = array.sum(axis=2)
    if not np.isfinite(array).all() or (array < 0).any() or (sums > 1 + _ROUNDING).any():
        raise InputError(
            "found a matrix with negative entries or rows that sum to more than 1",
            hint="the squared variant is not supported; train with row_function = 'softmax'",
        )
    scaled: NDArray[np.float64] = array / np.maximum(sums, 1.0)[:, :, None]
    return scaled


def _checked_vectors(
    vectors: NDArray[np.floating], values: NDArray[np.float64], name: str
) -> NDArray[np.float64]:
    array = np.asarray(vectors, dtype=np.float64)
    if array.shape != values.shape[:2]:
        raise InputError(
            f"found {name} of shape {array.shape}, expected {values.shape[:2]}",
            hint="give one number per relation and slot",
        )
    if not np.isfinite(array).all() or (array < 0).any():
        raise InputError(f"found negative or unbounded {name}", hint="evidence is never negative")
    return array
