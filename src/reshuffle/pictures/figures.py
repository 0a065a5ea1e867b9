"""The same plots as matplotlib figures, for further editing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reshuffle.errors import ReshuffleError
from reshuffle.packages import is_installed, package

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def pyplot() -> Any:
    """matplotlib's figures, or the error that says how to get them."""
    if not is_installed("matplotlib"):
        raise ReshuffleError(
            "plots need the package matplotlib, which is not installed", hint="pip install matplotlib"
        )
    return package("matplotlib.pyplot")


def curve_figure(plots: Mapping[tuple[str, str], Mapping[str, Sequence[tuple[float, float]]]]) -> Any:
    """A figure with a plot for each title and what it goes over, and in each its curves by name."""
    figure, axes = pyplot().subplots(1, len(plots), figsize=(5 * len(plots), 3.5), constrained_layout=True)
    for place, ((title, across), series) in zip(axes, plots.items(), strict=True):
        for name, points in series.items():
            marker = "." if len(points) < 50 else None
            place.plot([x for x, _ in points], [y for _, y in points], marker=marker, label=name)
        place.set(title=title, xlabel=across)
        if len(series) > 1:
            place.legend()
    return figure


def bar_figure(
    charts: Sequence[tuple[str, Sequence[tuple[str, Sequence[float | None]]]]], names: Sequence[str]
) -> Any:
    """A figure with a plot for each chart: rows of bars, one for each name."""
    tall = 1 + max(len(rows) for _, rows in charts) * 0.15 * (len(names) + 1)
    figure, axes = pyplot().subplots(
        1, len(charts), figsize=(5 * len(charts), max(3.5, tall)), constrained_layout=True, squeeze=False
    )
    width = 0.8 / len(names)
    for place, (title, rows) in zip(axes[0], charts, strict=True):
        for number, name in enumerate(names):
            values = [found[number] or 0.0 for _, found in rows]
            place.barh([row + number * width for row in range(len(rows))], values, width, label=name)
        middle = 0.4 - width / 2
        place.set_yticks([row + middle for row in range(len(rows))], [name for name, _ in rows])
        for tick in place.get_yticklabels():
            tick.set_parse_math(False)  # a name with two dollar signs is no formula
        place.invert_yaxis()
        place.set_title(title)
    axes[0][0].legend()
    return figure
