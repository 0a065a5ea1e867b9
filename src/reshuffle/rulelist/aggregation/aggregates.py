"""How the confidences of the rules that lead to one answer become its place among the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from reshuffle.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from numpy.typing import NDArray

Aggregate = Literal["max-plus", "noisy-or", "top5"]
AGGREGATES: tuple[Aggregate, ...] = get_args(Aggregate)
_FIVE = 5


@dataclass(frozen=True)
class Ordered:
    """The answers of one question, by id: what each is worth, and its place, the least first; equal ones share one."""

    answers: NDArray[np.int64]
    values: NDArray[np.float64]
    places: NDArray[np.int64]


def check_aggregate(by: str) -> None:
    """Refuse what is no aggregate."""
    if by not in AGGREGATES:
        raise InputError(
            f"found the aggregate {by!r}{did_you_mean(by, AGGREGATES)}",
            hint=f"give one of {', '.join(AGGREGATES)}",
        )


def ordered(
    by: Aggregate,
    answers: NDArray[np.int64],  # entry
    levels: NDArray[np.int64],  # entry: which of the confidences, the least first
    confidences: NDArray[np.float64],  # level
) -> Ordered:
    """The answers in order; an entry is one rule that leads to one answer.

    >>> answers, levels = np.array([7, 7, 8, 9, 9]), np.array([2, 0, 2, 1, 1])
    >>> confidences = np.array([0.1, 0.7, 0.8])
    >>> found = ordered("max-plus", answers, levels, confidences)
    >>> found.answers.tolist(), found.values.tolist(), found.places.tolist()
    ([7, 8, 9], [0.8, 0.8, 0.7], [2, 1, 0])
    >>> ordered("noisy-or", answers, levels, confidences).values.round(2).tolist()
    [0.82, 0.8, 0.91]
    """
    count = len(confidences)
    keys = np.sort(answers * count + (count - 1 - levels))
    answers, levels = keys // count, count - 1 - keys % count  # of each answer the surest rule first
    found, starts, counts = np.unique(answers, return_index=True, return_counts=True)
    if by == "max-plus":
        return Ordered(found, confidences[levels[starts]], _by_surest(levels, starts, counts))
    of_entry = np.repeat(np.arange(len(found)), counts)
    chosen = slice(None)
    if by == "top5":
        chosen = np.arange(len(answers)) - starts[of_entry] < _FIVE  # type: ignore[assignment]
    with np.errstate(divide="ignore"):  # a confidence of 1 leaves no doubt
        doubts = np.log1p(-confidences)[levels[chosen]]
    sums = np.bincount(of_entry[chosen], weights=doubts, minlength=len(found))
    return Ordered(found, -np.expm1(sums), np.unique(-sums, return_inverse=True)[1])


def _by_surest(
    levels: NDArray[np.int64], starts: NDArray[np.int64], counts: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Places by the surest rule, then the second surest, and so on: the order of bytes is this one."""
    written, size = levels.astype(">u4").tobytes(), 4
    ends = (starts + counts) * size
    words = [written[first:end] for first, end in zip((starts * size).tolist(), ends.tolist(), strict=True)]
    place = {word: number for number, word in enumerate(sorted(set(words)))}
    return np.array([place[word] for word in words], dtype=np.int64)
