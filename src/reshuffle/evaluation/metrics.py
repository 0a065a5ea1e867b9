"""Compute metrics from ranks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reshuffle.evaluation.ranks import Ranks, TiePolicy

HITS_AT = (1, 3, 10)
_RESAMPLES = 1000
_BLOCK = 1 << 22


@dataclass(frozen=True)
class Metrics:
    """Means over queries. `values` has `hits@1`, `hits@3`, `hits@10`, `mrr` and `mean_rank`.

    `tie_rate` is the share of queries whose true answer ties with a wrong candidate: the higher it is, the
    more the numbers depend on how ties are read.
    """

    values: dict[str, float]
    tie_rate: float
    queries: int

    def __getitem__(self, name: str) -> float:
        return self.values[name]

    def to_dict(self) -> dict[str, float | int]:
        """All numbers in one flat dict."""
        return {**self.values, "tie_rate": self.tie_rate, "queries": self.queries}


def per_query(ranks: Ranks, ties: TiePolicy, *, draws: int | None = None) -> dict[str, NDArray[np.float64]]:
    """The value of each metric for each query. `draws`: also Hits@10 estimated for that number of wrong candidates."""
    chosen = ranks.by(ties)
    values = {f"hits@{k}": (chosen <= k).astype(np.float64) for k in HITS_AT}
    if draws is not None:
        values[f"hits@10_{draws + 1}"] = estimated_hits(chosen, ranks.negatives, k=10, draws=draws)
    return values | {"mrr": 1 / chosen, "mean_rank": chosen}


def summarised(ranks: Ranks, ties: TiePolicy, *, draws: int | None = None) -> Metrics:
    """The mean of each metric over all queries."""
    values = {name: float(value.mean()) for name, value in per_query(ranks, ties, draws=draws).items()}
    return Metrics(values, float(ranks.tied.mean()), len(ranks))


def estimated_hits(
    ranks: NDArray[np.float64], negatives: NDArray[np.int64], *, k: int, draws: int
) -> NDArray[np.float64]:
    """The chance to rank within k among `draws` wrong candidates, drawn with replacement from all of them.

    With p = (rank - 1) / negatives, the share of wrong candidates above the true answer, this is

        sum over i < k of  C(draws, i) p^i (1 - p)^(draws - i)

    NBFNet and ULTRA print it as `hits@10_50`, with 49 draws.
    """
    above = (ranks - 1) / np.maximum(negatives, 1)
    terms = [math.comb(draws, i) * above**i * (1 - above) ** (draws - i) for i in range(k)]
    total: NDArray[np.float64] = np.sum(terms, axis=0)
    return total


def bootstrap_interval(
    values: NDArray[np.float64], *, seed: int = 0, resamples: int = _RESAMPLES, level: float = 0.95
) -> tuple[float, float]:
    """A bootstrap confidence interval of the mean: where it lies with probability `level` if queries are drawn anew.

    >>> low, high = bootstrap_interval(np.array([0.0, 1.0] * 50))
    >>> 0.35 < low < 0.45 < 0.55 < high < 0.65
    True
    """
    rng = np.random.default_rng(seed)
    means = np.concatenate([_resampled(values, rng, count) for count in _blocks(resamples, len(values))])
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _blocks(resamples: int, queries: int) -> list[int]:
    """Sizes of blocks of resamples, small enough that the indices of a block fit in memory."""
    size = max(1, _BLOCK // max(1, queries))
    return [min(size, resamples - start) for start in range(0, resamples, size)]


def _resampled(values: NDArray[np.float64], rng: np.random.Generator, count: int) -> NDArray[np.float64]:
    means: NDArray[np.float64] = values[rng.integers(0, len(values), (count, len(values)))].mean(axis=1)
    return means
