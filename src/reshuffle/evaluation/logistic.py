"""Logistic regression of greatest likelihood: how sure a number or several make it that something is true."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

_PULL = 1.0  # towards the start, as strong as a few examples: little data should not bend much
_PULL_OF_GROUPS = 3.0  # of which each has few examples
_STEPS = 50
_CLOSE = 1e-9


def logistic(
    columns: Numbers,
    labels: NDArray[np.bool_],
    start: Numbers,
    *,
    weights: Numbers | None = None,
    groups: NDArray[np.int64] | None = None,
) -> tuple[Numbers, Numbers]:
    """A factor for each column, and a constant for each group of rows, where there are groups; by Newton's method.

    >>> factors, _ = logistic(np.array([[3.0], [-3.0]]), np.array([True, False]), np.array([1.0]))
    >>> bool(factors[0] > 1)
    True
    """
    weights = np.ones(len(labels)) if weights is None else weights
    number = 0 if groups is None or not len(groups) else int(groups.max()) + 1
    found, constants = start.astype(np.float64), np.zeros(number)
    for _ in range(_STEPS):
        odds = columns @ found + (0 if groups is None else constants[groups])
        chances = 1 / (1 + np.exp(-np.clip(odds, -60, 60)))
        left, spread = weights * (labels - chances), weights * chances * (1 - chances)
        gradient = columns.T @ left - _PULL * (found - start)
        curvature = (columns * spread[:, None]).T @ columns + _PULL * np.eye(len(start))
        if groups is None:
            step, other = np.linalg.solve(curvature, gradient), constants
        else:
            step, other = _with_groups(columns, groups, constants, (left, spread), (gradient, curvature))
        longest = max(1.0, float(np.abs(step).max()), float(np.abs(other).max(initial=0)))
        found, constants = (
            found + step / longest,
            constants + other / longest,
        )  # far from the top steps are too long
        if max(np.abs(step).max(), np.abs(other).max(initial=0)) < _CLOSE:
            break
    return found, constants


def _with_groups(
    columns: Numbers,
    groups: NDArray[np.int64],
    constants: Numbers,
    rows: tuple[Numbers, Numbers],
    whole: tuple[Numbers, Numbers],
) -> tuple[Numbers, Numbers]:
    """Newton's step of factors and constants; constants of different groups have nothing to do with each other."""
    (left, spread), (gradient, curvature), number = rows, whole, len(constants)

    def summed(values: Numbers) -> Numbers:
        sums: Numbers = np.bincount(groups, values, minlength=number).astype(np.float64)
        return sums

    own = summed(spread) + _PULL_OF_GROUPS
    own_gradient = summed(left) - _PULL_OF_GROUPS * constants
    mixed = np.stack([summed(spread * column) for column in columns.T])
    left_over = gradient - (mixed / own) @ own_gradient
    step: Numbers = np.linalg.solve(curvature - (mixed / own) @ mixed.T, left_over).astype(np.float64)
    return step, (own_gradient - mixed.T @ step) / own
