"""The learned matrices as `extract_rules` takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from reshuffle.extraction.matrices import SoftMatrices
from reshuffle.model.hardening import all_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from reshuffle.model.reshuffle import ReshuffleModel


@torch.no_grad()
def soft_matrices(model: ReshuffleModel, relations: Sequence[str], identities: Sequence[str]) -> SoftMatrices:
    """All matrices with their names; with slot weights, also what one path adds to a score."""
    values = model.matrices().double().cpu().numpy()
    weighted = model.slot_logits is not None
    return SoftMatrices(
        all_names(relations, identities),
        values,
        frozenset(identities),
        starts=np.ones(values.shape[:2]) if weighted else None,
        weights=_weights(model, values) if weighted else None,
    )


def _weights(model: ReshuffleModel, values: NDArray[np.float64]) -> NDArray[np.float64]:  # relation slot
    """What slot x of the tail is worth: its weight as far as B_r asks for it, and what evidence gives for it.

    A query lights all slots of its head.
    """
    weights = np.zeros(values.shape[:2])
    learned = model.slot_weights().double().cpu().numpy()
    weights[: len(learned)] = learned * values.sum(axis=2)[: len(learned)]
    # The evidence of a hardened model goes by other matrices than these.
    evidence = model.evidence if model.path_matrices is None else None
    worth = None if evidence is None else evidence.worth_of_slots()
    if worth is not None:
        weights[: len(learned)] += worth.double().cpu().numpy()
    return weights
