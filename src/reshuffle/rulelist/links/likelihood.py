"""How likely a link is that a rule leads to: a logistic regression on what its score is made of.

    log-odds = by_rules * log(1 + what rules add) + by_tables * (what distance and types add)
               + by_share * log(share of the question) + a constant of the relation

It is fitted to the training facts. A fact is an example that is true, judged without itself; a pair that a rule leads
to and that is no fact is one that is not. A graph is never complete, and a link is asked for where no fact is. So the
numbers are those of a graph that lacks one fact in ten (`MISSING`): facts count that much less than other pairs. The
logarithm is there because ten rules that say the same are not ten reasons.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from reshuffle.rulelist.links.answer_likelihood import AnswerLikelihood

MISSING = 0.1
"""The share of its facts that a graph is taken to lack."""


@dataclass(frozen=True)
class Likelihood:
    """Factors, and the constants of directed relations; relations without one have that of none."""

    by_rules: float
    by_tables: float
    by_share: float
    constant: float
    constants: tuple[tuple[str, float], ...] = ()
    """What the relations of these names have instead."""
    answers: AnswerLikelihood | None = None
    """How likely the answers of a question are that has one; None where that was not fitted."""

    def of_rows(self, names: Sequence[str]) -> NDArray[np.float64]:  # directed relation
        """The constants of directed relations."""
        known = dict(self.constants)
        return np.array([known.get(name, self.constant) for name in names], dtype=np.float64)


def probability(log_odds: float) -> float:
    """How likely something with these log-odds is.

    >>> probability(0.0)
    0.5
    """
    return float(1 / (1 + np.exp(-log_odds)))


def log_odds(chance: float) -> float:
    """The least log-odds of what is at least that likely.

    >>> round(probability(log_odds(0.8)), 9), log_odds(0.0) < -1e300
    (0.8, True)
    """
    return float(np.log(chance / (1 - chance))) if chance > 0 else -float(np.finfo(np.float64).max)
