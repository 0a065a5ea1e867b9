"""How many channels a sketch needs.

A triple (a, r, b) that does not follow is told from one that does by a channel in which the value of a is above
everything that arrived at b. With p initial values that can arrive there, independent between channels:

- bits with P(1) = 1/2, the paper's choice: a channel separates with probability 2^-(p+1) / 2 at worst, so k grows
  exponentially with p;
- bits with P(1) = q: with probability q (1-q)^(p+1), which is largest at q = 1/(p+2) and then at least 1/(e(p+2)):
  k >= e (p+2) ln(1/epsilon);
- continuous values, all distinct: the value of a is the largest of p+2 with probability 1/(p+2):
  k >= (p+2) ln(1/epsilon), without having to know p.

(p+2: the p values, the one of a, and one in reserve for the slot's own; theory notes, section 5.)
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def separation_of_bits(fan_in: NDArray[np.float64] | float, density: float) -> NDArray[np.float64]:
    """The probability q (1-q)^(p+1) that one channel of bits with P(1) = q separates."""
    return np.asarray(density * (1.0 - density) ** (np.asarray(fan_in, dtype=np.float64) + 1.0))


def separation_of_values(fan_in: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """The probability 1/(p+2) that one channel of continuous values separates."""
    return np.asarray(1.0 / (np.asarray(fan_in, dtype=np.float64) + 2.0))


def best_density(fan_in: float) -> float:
    """The q that separates best: 1/(p+2)."""
    return 1.0 / (fan_in + 2.0)


def channels_for_paper_bits(fan_in: int, epsilon: float) -> int:
    """The channels that bits with P(1) = 1/2 need, the paper's bound.

    >>> channels_for_paper_bits(10, 0.01)
    18861
    """
    return _channels(float(separation_of_bits(fan_in, 0.5)), epsilon)


def channels_for_sparse_bits(fan_in: int, epsilon: float) -> int:
    """The channels that bits with P(1) = 1/(p+2) need: e (p+2) ln(1/epsilon) at most.

    >>> channels_for_sparse_bits(10, 0.01)
    151
    """
    return math.ceil(math.e * (fan_in + 2) * math.log(1 / epsilon))


def channels_for_values(fan_in: int, epsilon: float) -> int:
    """The channels that continuous values need: (p+2) ln(1/epsilon).

    >>> channels_for_values(19_382, 0.01)
    89267
    """
    return math.ceil((fan_in + 2) * math.log(1 / epsilon))


def _channels(separation: float, epsilon: float) -> int:
    return math.ceil(math.log(epsilon) / math.log1p(-separation))


def mean_false_positives(separations: NDArray[np.float64], channels: int) -> float:
    """The bound on the mean rate over triples whose channels separate with these probabilities."""
    return float(np.mean((1.0 - separations) ** channels)) if len(separations) else 0.0


def channels_for_mean(separations: NDArray[np.float64], epsilon: float, *, most: int = 1 << 40) -> int:
    """The fewest channels for which the mean of the bounds is at most `epsilon`."""
    low, high = 1, 1
    while mean_false_positives(separations, high) > epsilon:
        if high >= most:
            return most
        low, high = high, 2 * high
    while low < high:
        middle = (low + high) // 2
        if mean_false_positives(separations, middle) <= epsilon:
            high = middle
        else:
            low = middle + 1
    return high


def density_for(fan_in: NDArray[np.float64], channels: int) -> float:
    """The P(1) with the least mean bound for a number of channels of bits, where the fan-ins differ."""
    return min(
        _densities(fan_in), key=lambda q: mean_false_positives(separation_of_bits(fan_in, q), channels)
    )


def fewest_bits(fan_in: NDArray[np.float64], epsilon: float) -> tuple[float, int]:
    """The P(1) that needs the fewest channels for a mean bound of `epsilon`, and their number."""
    needed = {q: channels_for_mean(separation_of_bits(fan_in, q), epsilon) for q in _densities(fan_in)}
    best = min(needed, key=lambda q: needed[q])
    return best, needed[best]


def _densities(fan_in: NDArray[np.float64]) -> list[float]:
    """The densities to try: from 1/2 down to the best for the largest fan-in, in steps of a factor 2^(1/2)."""
    least = best_density(float(fan_in.max())) if len(fan_in) else 0.5
    least = max(least, 2.0**-15)  # bits are drawn with 16 binary digits
    steps = math.ceil(2 * math.log2(0.5 / least))
    return [0.5 / 2 ** (step / 2) for step in range(steps + 1)]
