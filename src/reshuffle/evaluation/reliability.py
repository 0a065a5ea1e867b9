"""Whether stated probabilities are true: the first answers that are no facts, in bins of equal count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

BINS = 15
_DIGITS = 4


class Bin(NamedTuple):
    """Questions whose first answers are said to be about as likely."""

    stated: float
    """The mean of the probabilities."""
    true: float
    """The share of the answers that are true."""
    answers: int


@dataclass(frozen=True)
class Reliability:
    """For each question how likely its first answer that is no fact is said to be, and whether it is true."""

    probabilities: NDArray[np.float64]
    true: NDArray[np.bool_]

    @classmethod
    def of(cls, parts: Sequence[tuple[NDArray[np.float64], NDArray[np.bool_]]]) -> Reliability | None:
        """Of several parts; None where nothing was said."""
        probabilities, true = (np.concatenate(column) for column in zip(*parts, strict=True))
        said = ~np.isnan(probabilities)
        return cls(probabilities[said], true[said]) if said.any() else None

    def bins(self, number: int = BINS) -> list[Bin]:
        """Bins of about equal count, by rising probability."""
        order = np.argsort(self.probabilities, kind="stable")
        return [
            Bin(float(self.probabilities[part].mean()), float(self.true[part].mean()), len(part))
            for part in np.array_split(order, number)
            if len(part)
        ]

    @property
    def error(self) -> float:
        """The expected calibration error: the mean distance of stated and true shares, by the answers in each bin.

        >>> Reliability(np.array([0.9, 0.9, 0.4]), np.array([True, True, False])).error
        0.2
        """
        found = sum(one.answers * abs(one.stated - one.true) for one in self.bins())
        return round(float(found / len(self.true)), 9)

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "error": round(self.error, _DIGITS),
            "questions": len(self.true),
            "stated": round(float(self.probabilities.mean()), _DIGITS),
            "true": round(float(self.true.mean()), _DIGITS),
            "bins": [
                {
                    "stated": round(one.stated, _DIGITS),
                    "true": round(one.true, _DIGITS),
                    "answers": one.answers,
                }
                for one in self.bins()
            ],
        }

    def __str__(self) -> str:
        return (
            f"first answers that are no facts: {self.probabilities.mean():.1%} likely by what is stated, "
            f"{self.true.mean():.1%} true; expected calibration error {self.error:.3f}"
        )
