"""A training's loss and validation results as small curves beside its bar, on a terminal that can show them."""

from __future__ import annotations

import math
import sys
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from reshuffle.learning.training.history import Epoch, Glance
    from reshuffle.progress import Progress, Report

_HEIGHTS = "▁▂▃▄▅▆▇█"
_WIDTH = 12


def sparkline(values: Sequence[float], *, width: int = _WIDTH) -> str:
    """The values as a line of blocks, from the least to the largest; more than fit are averaged.

    >>> sparkline([0, 1, 2, 3]), sparkline([5.0, 5.0]), sparkline([])
    ('▁▃▆█', '▁▁', '')
    """
    found = [value for value in values if math.isfinite(value)]
    count = min(width, len(found))
    edges = [place * len(found) // count for place in range(count + 1)] if count else []
    means = [sum(found[start:end]) / (end - start) for start, end in pairwise(edges)]
    low, high = min(means, default=0.0), max(means, default=0.0)
    scale = (len(_HEIGHTS) - 1) / (high - low) if high > low else 0.0
    return "".join(_HEIGHTS[round((value - low) * scale)] for value in means)


class TrainingCurve:
    """Hears of every epoch, and puts the curves before what the bar of the training says."""

    def __init__(self, progress: Progress, *, measure: str) -> None:
        """`measure` is the validation metric that is followed: mrr or hits@10."""
        self._progress, self._attribute = progress, measure.replace("@", "_at_")
        self._losses: list[float] = []
        self._looks: list[float] = []

    def after_epoch(self, epoch: Epoch) -> None:
        """Take an epoch in."""
        self._losses.append(epoch.loss)
        if (looked := getattr(epoch, self._attribute)) is not None:
            self._looks.append(looked)

    def after_glance(self, glance: Glance) -> None:
        """Take a validation along the way in."""
        self._looks.append(getattr(glance, self._attribute))

    @contextmanager
    def progress(self, description: str, *, total: int | None = None, unit: str = "it") -> Iterator[Report]:
        """A `Progress`: the one given, with the curves where they can be seen."""
        with self._progress(description, total=total, unit=unit) as report:
            shows = description == "training" and _is_terminal()

            def with_curves(done: int, /, note: str = "") -> None:
                report(done, f"{self.text()}{note}" if shows and note else note)

            yield with_curves

    def text(self) -> str:
        """The curves of two epochs or more: the loss, and the validation results."""
        curves = [sparkline(values) for values in (self._losses, self._looks) if len(values) > 1]
        return "".join(f"{curve} " for curve in curves)


def _is_terminal() -> bool:
    """Is stderr a terminal that can show the blocks?"""
    try:
        _HEIGHTS.encode(getattr(sys.stderr, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return sys.stderr.isatty()
