"""Corrupted triples under the partial completeness assumption: a random entity in place of the head or the tail."""

from __future__ import annotations

import torch
from torch import Tensor


def random_others(
    entities: Tensor, num_negatives: int, *, num_entities: int, generator: torch.Generator
) -> Tensor:  # triple negative
    """Uniform over all entities but the true one: draw from one fewer and step over it."""
    drawn = torch.randint(
        max(num_entities - 1, 1), (len(entities), num_negatives), generator=generator, device=entities.device
    )
    return (drawn + (drawn >= entities[:, None])).clamp(max=num_entities - 1)
