"""Between learned matrices and hard constraints.

A row of B_r is a softmax over l + 1 logits, so the slot that it takes from is the largest of them, or none where the
last is. The other way, logits of 0 for the one and -infinity for the rest give exactly one-hot rows: exp(-inf) is 0 and
exp(0) is 1, without rounding, so that a score is 0 iff the triple is captured in floating point too.
"""

from __future__ import annotations

import copy
import math
from itertools import count
from typing import TYPE_CHECKING

import numpy as np
import torch

from reshuffle.constraints import UNCONSTRAINED, OrderingConstraints
from reshuffle.errors import ReshuffleError
from reshuffle.kg import identity_name, inverse_name, refuse_inverse_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from reshuffle.model.reshuffle import ReshuffleModel


def all_names(relations: Sequence[str], identities: Sequence[str]) -> tuple[str, ...]:
    """Of relations, inverses and identities, as a model numbers them."""
    refuse_inverse_names(relations)
    return (*relations, *(inverse_name(relation) for relation in relations), *identities)


def identity_names(relations: Sequence[str], number: int) -> tuple[str, ...]:
    """eq, eq1, ...: the first ones that are not names of relations."""
    free = (name for index in count() if (name := identity_name(index)) not in relations)
    return tuple(next(free) for _ in range(number))


@torch.no_grad()
def harden(model: ReshuffleModel, relations: Sequence[str], identities: Sequence[str]) -> OrderingConstraints:
    """The constraints nearest to a model's matrices: per row its largest logit."""
    _check_hardenable(model)
    names = all_names(relations, identities)
    largest = model.matrices.shared_logits().argmax(dim=-1).cpu().numpy().astype(np.int32)
    sources = np.where(largest == model.matrices.num_slots, UNCONSTRAINED, largest).astype(np.int32)
    return OrderingConstraints(names, sources, identities=frozenset(identities))


@torch.no_grad()
def hardened(model: ReshuffleModel, *, paths: bool = False) -> ReshuffleModel:
    """The same model with every row of its matrices the one slot it takes most from; slot weights stay.

    Evidence guarantees nothing and stays as it was learned: "paths" goes on to see the states of the soft matrices,
    unless `paths` is True. Then its weights, learned on soft states, meet hard ones.
    """
    _check_hardenable(model)
    twin = copy.deepcopy(model)
    if paths:
        twin.path_matrices = None
    elif twin.path_matrices is None:
        twin.keep_path_matrices()
    logits = twin.matrices.logits
    largest = logits.argmax(dim=-1, keepdim=True)
    logits.fill_(-math.inf).scatter_(-1, largest, 0.0)
    return twin


def _check_hardenable(model: ReshuffleModel) -> None:
    if model.architecture.row_function != "softmax":
        raise ReshuffleError(
            "the squared variant cannot be hardened: its rows are not distributions over slots",
            hint="train with row_function = 'softmax'",
        )
    if model.bias is not None and bool((model.bias != 0).any()):
        raise ReshuffleError(
            "a model with a bias c_r has no hard form: ordering constraints compare values, and adding to one is not "
            "an ordering",
            hint="train with bias = false",
        )


def hard_logits(
    constraints: OrderingConstraints, names: Sequence[str], *, strength: float
) -> Tensor:  # relation slot slot+1
    """Logits whose rows choose what the constraints say; names that they do not have are unconstrained."""
    slots = constraints.num_slots
    logits = torch.full((len(names), slots, slots + 1), -strength)
    for number, name in enumerate(names):
        known = name in constraints.relation_ids
        sources = constraints.source_of(name) if known else np.full(slots, UNCONSTRAINED)
        columns = torch.from_numpy(np.where(sources == UNCONSTRAINED, slots, sources).astype(np.int64))
        logits[number, torch.arange(slots), columns] = 0.0
    return logits
