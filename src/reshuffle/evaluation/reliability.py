"""Whether stated probabilities are true: the first answers that are no facts, in bins of equal count. And what answers
to questions about validation triples count, to which probabilities are fitted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

BINS = 15
BEST = 5
"""Answers of each question to which probabilities are fitted."""
AS_MANY_OTHERS = 2.0
"""How many triples nobody knows for each validation triple: test triples, or what an editor finds, are unknown, too."""
_RARELY = 0.05
"""What a wrong answer counts at least."""
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


def weights_of_answers(
    there: NDArray[np.bool_], own: NDArray[np.bool_], true: NDArray[np.bool_], *, times: float
) -> NDArray[np.float64]:  # question answer
    """What answers count: true ones that were not asked about for all that are unknown like them.

    Of each rank, wrong ones count as much less as there are more true ones.
    """
    others = true & ~own
    wrong = there & ~true
    gained = (times - 1) * others.sum(axis=0)
    left = np.maximum(_RARELY, 1 - gained / np.maximum(1, wrong.sum(axis=0)))
    return np.where(others, times, np.where(wrong, left, 1.0))
