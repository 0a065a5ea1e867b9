"""From scores to confidences: how likely a candidate is the answer, if the question has one that is not known yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LEAST = 1e-12


@dataclass(frozen=True)
class Calibration:
    """confidence = sigmoid(slope x + intercept), where x is the log-odds of a candidate's share of the question.

    The share is the softmax of the scores over the candidates that are not known to be true.
    """

    slope: float
    intercept: float

    def to_array(self) -> torch.Tensor:
        """As it is stored beside the model's arrays."""
        return torch.tensor([self.slope, self.intercept], dtype=torch.float64)

    @classmethod
    def of_array(cls, array: torch.Tensor | None) -> Calibration | None:
        """What was stored; None for a model without."""
        return None if array is None else cls(*array.tolist())

    def confidences(
        self, scores: NDArray[np.floating[Any]], known: NDArray[np.bool_]
    ) -> NDArray[np.float64]:  # query candidate
        """Of every candidate of each question; those that are known have none (nan)."""
        return 1 / (1 + np.exp(-(self.slope * log_odds(scores, known) + self.intercept)))


def log_odds(
    scores: NDArray[np.floating[Any]], known: NDArray[np.bool_]
) -> NDArray[np.float64]:  # query candidate
    """log p / (1 - p) of the shares p among the candidates that are not known; nan for those that are."""
    unknown = np.where(known, -np.inf, scores.astype(np.float64))
    highest = unknown.max(axis=-1, keepdims=True, initial=-np.finfo(np.float64).max)
    parts = np.exp(unknown - highest)
    total = parts.sum(axis=-1, keepdims=True)
    odds = np.log(np.maximum(parts, _LEAST)) - np.log(np.maximum(total - parts, _LEAST))
    return np.where(known, np.nan, odds)
