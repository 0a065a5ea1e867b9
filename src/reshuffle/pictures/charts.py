"""Plots as scenes: curves over epochs, and bars beside each other."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from reshuffle.pictures.lettering import lines_of, width_of
from reshuffle.pictures.scene import SMALL, Box, Curve, Label, Scene

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reshuffle.pictures.scene import Kind, Shape

_KINDS: tuple[Kind, ...] = ("derived", "fact", "rule", "part")
_WIDTH, _HEIGHT, _LEFT, _TOP, _BELOW = 420.0, 170.0, 52.0, 40.0, 34.0
_NAME, _BAR, _BETWEEN = 250.0, 10.0, 8.0
_MOST_POINTS = 1_000


def curves(title: str, series: Mapping[str, Sequence[tuple[float, float]]], *, across: str) -> Scene:
    """Curves through points (x, y), each with its name; what is no number is left out."""
    kept = {name: _thinned([point for point in points if _finite(point)]) for name, points in series.items()}
    points = [point for found in kept.values() for point in found]
    shapes: list[Shape] = [Label(0, SMALL + 2, title, 13, faint=False, bold=True)]
    if not points:
        return Scene(title, _LEFT + _WIDTH, 2 * _TOP, (*shapes, Label(0, _TOP, "nothing yet")))
    x_ticks, y_ticks = _ticks([x for x, _ in points], whole=True), _ticks([y for _, y in points])

    def place(point: tuple[float, float]) -> tuple[float, float]:
        right = (point[0] - x_ticks[0]) / (x_ticks[-1] - x_ticks[0])
        up = (point[1] - y_ticks[0]) / (y_ticks[-1] - y_ticks[0])
        return _LEFT + right * _WIDTH, _TOP + (1 - up) * _HEIGHT

    shapes += _axes(x_ticks, y_ticks, across)
    for (name, found), kind in zip(kept.items(), _cycled(len(kept)), strict=True):
        if len(found) == 1:
            x, y = place(found[0])
            shapes.append(Box(x - 2, y - 2, 4, 4, kind, full=f"{name}: {found[0][1]:g}"))
        elif found:
            shapes.append(Curve(tuple(map(place, found)), kind, strong=True, full=name))
    shapes += _names(list(kept), width_of(title, 13) + 24)
    return Scene(title, _LEFT + _WIDTH + 20, _TOP + _HEIGHT + _BELOW, tuple(shapes))


def bars(
    title: str,
    rows: Sequence[tuple[str, Sequence[float | None]]],
    names: Sequence[str],
    *,
    whole: float | None = 1.0,
) -> Scene:
    """For each row a bar of every name, with its number; `whole` is the value of a full bar, None for the largest."""
    shapes: list[Shape] = [Label(0, SMALL + 2, title, 13, faint=False, bold=True)]
    largest = max((value for _, values in rows for value in values if value is not None), default=0.0)
    scale, y = _WIDTH / (whole or largest or 1.0), 2 * _TOP - 28
    for name, values in rows:
        lines = lines_of(name, size=SMALL, width=_NAME - 12, most=1)
        middle = y + len(values) * _BAR / 2 + 4
        full = name if lines != [name] else ""
        shapes.append(Label(_NAME - 12, middle, lines[0], SMALL, "end", faint=False, full=full))
        for value, kind, told in zip(values, _cycled(len(values)), names, strict=True):
            if value is not None:
                shapes += _bar(y, value * scale, kind, value, told)
            y += _BAR
        y += _BETWEEN
    return Scene(title, _NAME + _WIDTH + 60, y, (*shapes, *_names(names, width_of(title, 13) + 24)))


def _bar(y: float, width: float, kind: Kind, value: float, told: str) -> list[Shape]:
    text = f"{value:,}" if isinstance(value, int) else f"{value:.3f}"
    bar = Box(_NAME, y, max(1.0, width), _BAR - 1, kind, full=f"{told}: {text}")
    return [bar, Label(_NAME + max(1.0, width) + 5, y + _BAR - 1, text, 9)]


def _names(names: Sequence[str], x: float) -> list[Shape]:
    """Which colour is whose, beside the title; one alone needs no name."""
    shapes: list[Shape] = []
    for name, kind in zip(names, _cycled(len(names)), strict=True):
        if len(names) > 1:
            shapes += [Box(x, 4, 10, 10, kind), Label(x + 15, SMALL + 2, name, SMALL)]
            x += 32 + width_of(name, SMALL)
    return shapes


def _axes(x_ticks: list[float], y_ticks: list[float], across: str) -> list[Shape]:
    bottom = _TOP + _HEIGHT
    shapes: list[Shape] = []
    for number, tick in enumerate(y_ticks):
        y = bottom - _HEIGHT * number / (len(y_ticks) - 1)
        shapes += [
            Curve(((_LEFT, y), (_LEFT + _WIDTH, y)), "more"),
            Label(_LEFT - 6, y + 4, f"{tick:g}", SMALL, "end"),
        ]
    for number, tick in enumerate(x_ticks):
        x = _LEFT + _WIDTH * number / (len(x_ticks) - 1)
        shapes.append(Label(x, bottom + 15, f"{tick:g}", SMALL, "middle"))
    return [*shapes, Label(_LEFT + _WIDTH / 2, bottom + 30, across, SMALL, "middle")]


def _cycled(count: int) -> list[Kind]:
    return [_KINDS[number % len(_KINDS)] for number in range(count)]


def _finite(point: tuple[float, float]) -> bool:
    return math.isfinite(point[0]) and math.isfinite(point[1])


def _thinned(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """As many points as can be seen, the last one among them."""
    step = -(-len(points) // _MOST_POINTS) or 1
    return points[::-1][::step][::-1]


def _ticks(values: Sequence[float], *, whole: bool = False) -> list[float]:
    """Round numbers from below the least to above the largest value, a few of them.

    >>> _ticks([0.03, 0.57]), _ticks([1, 12], whole=True)
    ([0.0, 0.2, 0.4, 0.6], [0.0, 5.0, 10.0, 15.0])
    """
    low, high = min(values), max(values)
    step = _round_step((high - low) / 4 or abs(high) / 4 or 1.0)
    step = max(1.0, step) if whole else step
    first, last = math.floor(low / step), math.ceil(high / step)
    last = max(last, first + 1)
    return [round(number * step, 12) for number in range(first, last + 1)]


def _round_step(rough: float) -> float:
    unit = 10.0 ** math.floor(math.log10(rough))
    return next((unit * factor for factor in (1, 2, 5) if rough <= unit * factor * 1.001), unit * 10)
