"""Drawings as data: boxes with lines of text, curves and labels, with positions in pixels from the top left."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from reshuffle.pictures.lettering import lines_of, width_of

Kind: TypeAlias = Literal["fact", "derived", "rule", "part", "missing", "more", "plain"]
"""What a shape stands for; it says the colours."""

LARGE, SMALL = 13.0, 11.0  # sizes of letters
_LEAD = 1.35  # from line to line, in sizes
_PAD = 8.0


@dataclass(frozen=True)
class Line:
    """One line of text in a box."""

    text: str
    size: float = LARGE
    faint: bool = False


@dataclass(frozen=True)
class Box:
    """A rectangle with lines of text; `full` is what the text says in full, where it was shortened."""

    x: float
    y: float
    width: float
    height: float
    kind: Kind = "plain"
    lines: tuple[Line, ...] = ()
    full: str = ""
    centred: bool = False

    def at(self, x: float, y: float) -> Box:
        """The same box elsewhere."""
        return replace(self, x=x, y=y)


@dataclass(frozen=True)
class Curve:
    """A line through points, straight or bent like an S, or several curves in one; may end in an arrow."""

    points: tuple[tuple[float, float], ...]
    kind: Kind = "plain"
    bent: bool = False
    arrow: bool = False
    strong: bool = False
    full: str = ""


@dataclass(frozen=True)
class Label:
    """A text without a box; `side` says which end of it is at the place."""

    x: float
    y: float
    text: str
    size: float = SMALL
    side: Literal["start", "middle", "end"] = "start"
    faint: bool = True
    bold: bool = False
    full: str = ""


Shape: TypeAlias = Box | Curve | Label


@dataclass(frozen=True)
class Scene:
    """A picture: its size, what it is called, and its shapes, those behind first."""

    title: str
    width: float
    height: float
    shapes: tuple[Shape, ...] = field(repr=False)

    def moved(self, right: float, down: float) -> tuple[Shape, ...]:
        """The shapes at another place."""
        return tuple(_moved(shape, right, down) for shape in self.shapes)


def stacked(title: str, scenes: list[Scene], *, gap: float = 16.0) -> Scene:
    """Scenes below each other as one."""
    shapes: list[Shape] = []
    height = 0.0
    for scene in scenes:
        shapes += scene.moved(0, height)
        height += scene.height + gap
    return Scene(title, max((one.width for one in scenes), default=0), max(0.0, height - gap), tuple(shapes))


def _moved(shape: Shape, right: float, down: float) -> Shape:
    if isinstance(shape, Curve):
        return replace(shape, points=tuple((x + right, y + down) for x, y in shape.points))
    return replace(shape, x=shape.x + right, y=shape.y + down)


def text_box(
    text: str,
    note: str = "",
    *,
    kind: Kind = "plain",
    width: float = 250.0,
    most: int = 4,
    centred: bool = False,
) -> Box:
    """A box just large enough for a text and, below it, a smaller note; each with a maximum number of lines."""
    lines = [Line(line) for line in lines_of(text, size=LARGE, width=width, most=most)]
    if note:
        lines += [Line(line, SMALL, True) for line in lines_of(note, size=SMALL, width=width, most=most)]
    widest = max(width_of(line.text, line.size) for line in lines)
    height = sum(line.size * _LEAD for line in lines)
    told = [part for part in (text, note) if part]
    full = "" if [line.text for line in lines] == told else "\n".join(told)
    return Box(0, 0, widest + 2 * _PAD, height + 2 * _PAD - 4, kind, tuple(lines), full, centred)


def baselines(box: Box) -> list[tuple[float, float, Line]]:
    """Where each line of a box begins (or, if centred, has its middle)."""
    found, y = [], box.y + (box.height - sum(line.size * _LEAD for line in box.lines)) / 2
    for line in box.lines:
        found.append((box.x + (box.width / 2 if box.centred else _PAD), y + line.size, line))
        y += line.size * _LEAD
    return found
