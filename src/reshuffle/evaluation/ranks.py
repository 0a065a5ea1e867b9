"""Ranks with three ways to count ties.

With g candidates that score above the true answer and t that score the same,

    optimistic = 1 + g        pessimistic = 1 + g + t        realistic = (optimistic + pessimistic) / 2

The realistic rank is the mean over the orders in which tied candidates could be listed. A scorer with
many ties has a very good optimistic rank and a very bad pessimistic one, so all three are kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from reshuffle.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

TiePolicy: TypeAlias = Literal["optimistic", "realistic", "pessimistic"]


@dataclass(frozen=True)
class Ranks:
    """The ranks of true answers, and among how many wrong candidates each was ranked.

    >>> ranks = Ranks.from_scores(np.array([3.0]), np.array([[5.0, 3.0, 3.0, 1.0]]))
    >>> int(ranks.optimistic[0]), float(ranks.realistic[0]), int(ranks.pessimistic[0])
    (2, 3.0, 4)
    """

    optimistic: NDArray[np.int64]  # query
    pessimistic: NDArray[np.int64]  # query
    negatives: NDArray[np.int64]  # query

    @classmethod
    def from_scores(
        cls,
        true: NDArray[np.floating],  # query
        wrong: NDArray[np.floating],  # query candidate
        present: NDArray[np.bool_] | None = None,  # query candidate
    ) -> Ranks:
        """From the scores of the true answers and of their wrong candidates, of which only some may count."""
        refuse_nan(true, wrong)
        counted = np.ones(wrong.shape, dtype=np.bool_) if present is None else present
        above = ((wrong > true[:, None]) & counted).sum(axis=1)
        tied = ((wrong == true[:, None]) & counted).sum(axis=1)
        return cls(1 + above, 1 + above + tied, counted.sum(axis=1))

    @classmethod
    def joined(cls, parts: Sequence[Ranks]) -> Ranks:
        """The ranks of several parts as one."""
        empty = np.zeros(0, dtype=np.int64)
        return cls(
            np.concatenate([empty, *(part.optimistic for part in parts)]),
            np.concatenate([empty, *(part.pessimistic for part in parts)]),
            np.concatenate([empty, *(part.negatives for part in parts)]),
        )

    def __len__(self) -> int:
        return len(self.optimistic)

    @property
    def realistic(self) -> NDArray[np.float64]:
        """The mean of optimistic and pessimistic."""
        return (self.optimistic + self.pessimistic) / 2

    @property
    def tied(self) -> NDArray[np.bool_]:
        """Does the true answer score the same as some wrong candidate?"""
        return self.pessimistic > self.optimistic

    def by(self, policy: TiePolicy) -> NDArray[np.float64]:
        """The ranks under one reading of ties."""
        ranks: NDArray[np.float64] = np.asarray(getattr(self, policy), dtype=np.float64)
        return ranks


def refuse_nan(*scores: NDArray[np.floating]) -> None:
    """Raise an error for NaN, which is neither above nor equal to anything and would make any answer look best."""
    if any(np.isnan(part).any() for part in scores):
        raise found_nan()


def found_nan() -> InputError:
    """The error for a score that is no number."""
    return InputError(
        "the scorer returned NaN for a candidate, expected a number",
        hint="the training may have diverged; use an earlier checkpoint",
    )
