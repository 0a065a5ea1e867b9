"""The losses. The paper's: L(e, r, f) = sum over negatives of max(0, s(negative) - s(e, r, f) + margin)."""

from __future__ import annotations

import torch
from torch import Tensor


def margin_ranking(positives: Tensor, negatives: Tensor, *, margin: float) -> Tensor:
    """The paper's loss, as the mean over all pairs: Adam does not care for the factor, and a step size does."""
    return torch.relu(negatives - positives + margin).mean()
