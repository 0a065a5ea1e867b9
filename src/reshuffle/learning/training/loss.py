"""The losses, of the true triples' scores and those of their corruptions [triple, negative].

The paper's: L(e, r, f) = sum over negatives of max(0, s(negative) - s(e, r, f) + margin). The other one asks for the
true triple to be told from all its corruptions at once: -log softmax. A corruption of score -infinity does not count.
"""

from __future__ import annotations

import torch
from torch import Tensor


def margin_ranking(positives: Tensor, negatives: Tensor, *, margin: float) -> Tensor:
    """The paper's loss, as the mean over all pairs: Adam does not care for the factor, and a step size does."""
    return torch.relu(negatives - positives + margin).mean()


def softmax(positives: Tensor, negatives: Tensor) -> Tensor:
    """-log of the share that the true triple has among it and its corruptions, as the mean over triples."""
    everything = torch.cat([positives.reshape(-1, 1), negatives], dim=1)
    return (torch.logsumexp(everything, dim=1) - positives.flatten()).mean()
