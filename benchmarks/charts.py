"""Charts as SVG text: bars and lines, drawn on white, with a title on every mark. They need no package."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

BLUES = ("#9ecae1", "#4292c6", "#08519c")
GREY = "#bdbdbd"
COLOURS = ("#08519c", "#d95f02", "#1b9e77", "#7570b3", "#a6761d", "#666666", "#e7298a")
_GRID, _WIDE, _HIGH = "#ddd", 560, 240


@dataclass(frozen=True)
class Series:
    """One kind of bar, or one line."""

    name: str
    colour: str


@dataclass(frozen=True)
class Axis:
    """From numbers to places between 0 and 1."""

    label: str
    low: float
    high: float
    logarithmic: bool = False

    def place(self, value: float) -> float:
        """Where a number lies between the ends."""
        low, high, value = (log10(x) if self.logarithmic else x for x in (self.low, self.high, value))
        return (value - low) / (high - low)

    def ticks(self) -> list[float]:
        """Powers of ten, or five or so round numbers."""
        if self.logarithmic:
            return [10.0**power for power in range(ceil(log10(self.low)), floor(log10(self.high)) + 1)]
        step = next(
            size * 10.0**power
            for power in range(-3, 9)
            for size in (1, 2, 5)
            if (self.high - self.low) / (size * 10.0**power) <= 6
        )
        return [step * number for number in range(ceil(self.low / step), floor(self.high / step + 1e-9) + 1)]


def grouped_bars(groups: Mapping[str, Sequence[float]], series: Sequence[Series], label: str) -> str:
    """For each group one bar per series, side by side, from 0 on."""
    left, high, step = 40, 220, 72
    wide = left + step * len(groups)
    axis = Axis(label, 0.0, 0.8 if max(map(max, groups.values())) <= 0.8 else 1.0)
    parts = [_opened(max(wide, left + 140 * len(series)), high + 70, label)]
    for tick in axis.ticks():
        y = high - 200 * axis.place(tick)
        parts += [_line(left, y, wide, y, _GRID), _text(left - 6, y + 4, f"{tick:.1f}", "end")]
    for place, (name, values) in enumerate(groups.items()):
        for number, (value, one) in enumerate(zip(values, series, strict=True)):
            size = 200 * axis.place(value)
            x = left + place * step + 6 + 15 * number
            parts.append(_bar(x, high - size, 13, size, one.colour, f"{name}, {one.name}: {value:.3f}"))
        parts.append(_text(left + place * step + 36, high + 16, name, "middle"))
    return "\n".join([*parts, *_legend(series, left, high + 36), "</svg>", ""])


def ranked_bars(rows: Sequence[tuple[str, float, str]], label: str) -> str:
    """Names with a number and a colour each, as bars to the right, in the order given."""
    left, step, wide = 190, 22, 420
    longest = max(value for _, value, _ in rows)
    parts = [_opened(left + wide + 60, step * len(rows) + 34, label), _text(left, 16, label, "start")]
    for place, (name, value, colour) in enumerate(rows):
        y, size = 26 + step * place, wide * value / longest
        parts.append(_text(left - 8, y + 13, name, "end"))
        parts.append(_bar(left, y, size, 17, colour, f"{name}: {value:.3f}"))
        parts.append(_text(left + size + 6, y + 13, f"{value:.3f}", "start"))
    return "\n".join([*parts, "</svg>", ""])


def lines(points: Mapping[str, Sequence[tuple[float, float]]], x_axis: Axis, y_axis: Axis) -> str:
    """One line with dots per name."""
    left, top = 60, 16
    label = f"{y_axis.label} against {x_axis.label}"
    series = [Series(name, colour) for name, colour in zip(points, COLOURS, strict=False)]
    parts = [_opened(left + _WIDE + 44, top + _HIGH + 66 + 20 * ((len(series) - 1) // 3), label)]
    for tick in y_axis.ticks():
        y = top + _HIGH * (1 - y_axis.place(tick))
        parts += [_line(left, y, left + _WIDE, y, _GRID), _text(left - 6, y + 4, _number(tick), "end")]
    for tick in x_axis.ticks():
        x = left + _WIDE * x_axis.place(tick)
        parts += [_line(x, top, x, top + _HIGH, _GRID), _text(x, top + _HIGH + 16, _number(tick), "middle")]
    for one in series:
        places = [
            (left + _WIDE * x_axis.place(x), top + _HIGH * (1 - y_axis.place(y)), x, y)
            for x, y in points[one.name]
        ]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y, *_ in places)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{one.colour}" stroke-width="2"/>')
        parts += [
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{one.colour}">'
            f"<title>{escape(one.name)}: {y_axis.label} {_number(told_y)} at {_number(told_x)}</title></circle>"
            for x, y, told_x, told_y in places
        ]
    parts.append(_text(left, 11, y_axis.label, "start"))
    parts.append(_text(left + _WIDE, top + _HIGH + 34, x_axis.label, "end"))
    return "\n".join([*parts, *_legend(series, left, top + _HIGH + 46), "</svg>", ""])


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.3g}"


def _opened(wide: float, high: float, label: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide:.0f}" height="{high:.0f}" '
        f'viewBox="0 0 {wide:.0f} {high:.0f}" font-family="sans-serif" font-size="11" role="img" '
        f'aria-label="{escape(label)}">\n<rect width="100%" height="100%" fill="#fff"/>'
    )


def _line(x1: float, y1: float, x2: float, y2: float, colour: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _bar(x: float, y: float, wide: float, high: float, colour: str, told: str) -> str:
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{high:.1f}" fill="{colour}">'
        f"<title>{escape(told)}</title></rect>"
    )


def _legend(series: Sequence[Series], left: float, top: float) -> list[str]:
    """Three names to a row, or four where they are short."""
    row = 4 if max(len(one.name) for one in series) < 15 else 3
    parts = []
    for number, one in enumerate(series):
        x, y = left + 560 / row * (number % row), top + 20 * (number // row)
        parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="12" height="12" fill="{one.colour}"/>')
        parts.append(_text(x + 17, y + 10, one.name, "start"))
    return parts
