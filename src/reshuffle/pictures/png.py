"""Scenes as PNG: by matplotlib, or by Graphviz, which draws the diagram in its own way, where only that is there."""

from __future__ import annotations

import shutil
import subprocess
from importlib.util import find_spec
from io import BytesIO
from typing import TYPE_CHECKING, Any

from reshuffle.errors import BudgetError, ReshuffleError
from reshuffle.pictures.scene import Box, Curve, Line, baselines
from reshuffle.pictures.svg import FILLS, INKS

if TYPE_CHECKING:
    from reshuffle.pictures.diagram import Diagram
    from reshuffle.pictures.scene import Label, Scene

_MARGIN = 12.0
_DOTS = 100  # per inch, which is as many pixels of the scene
_MOST_PIXELS = 12_000  # in width and in height
_SHARPER = 2.0
MOST_ARROWS = 2_000
"""Graphviz places this many in seconds, and ten times as many in hours."""


def check_png() -> None:
    """Can PNG be drawn here? To be asked before work whose picture would be lost otherwise."""
    if find_spec("matplotlib") is None and shutil.which("dot") is None:
        raise ReshuffleError(
            "drawing PNG needs the package matplotlib, or the program `dot` of Graphviz, and neither is installed",
            hint="pip install matplotlib, or write an .svg file, which needs nothing",
        )


def png_of(scene: Scene, diagram: Diagram) -> bytes:
    """The picture as PNG."""
    if find_spec("matplotlib") is not None:
        return _plotted(scene)
    check_png()
    if diagram.num_edges > MOST_ARROWS:
        raise BudgetError(
            f"{diagram.num_edges:,} arrows are too many for Graphviz to place; at most {MOST_ARROWS:,}",
            hint="pip install matplotlib, or write an .svg file, which needs nothing",
        )
    return by_graphviz(diagram.to_dot(), "png")


def by_graphviz(dot: str, file_format: str) -> bytes:
    """What Graphviz makes of a DOT text."""
    program = shutil.which("dot")
    if program is None:
        raise ReshuffleError(
            f"drawing {file_format.upper()} needs the program `dot` of Graphviz, which is not installed",
            hint="install Graphviz, or draw a .dot or .mmd file, which needs nothing",
        )
    done = subprocess.run([program, f"-T{file_format}"], input=dot.encode(), capture_output=True, check=False)
    if done.returncode != 0:
        raise ReshuffleError(f"dot could not draw the graph: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def _plotted(scene: Scene) -> bytes:
    """The same shapes as in the SVG, light, drawn by matplotlib without a screen."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415 - an optional package
    from matplotlib.figure import Figure  # noqa: PLC0415

    width, height = scene.width + 2 * _MARGIN, scene.height + 2 * _MARGIN
    figure = Figure(figsize=(width / _DOTS, height / _DOTS), facecolor=INKS["ground"])
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(-_MARGIN, scene.width + _MARGIN)
    axes.set_ylim(scene.height + _MARGIN, -_MARGIN)
    axes.axis("off")
    for shape in scene.shapes:
        if isinstance(shape, Box):
            _draw_box(axes, shape)
        elif isinstance(shape, Curve):
            _draw_curve(axes, shape)
        else:
            _draw_label(axes, shape)
    written = BytesIO()
    figure.set_dpi(_DOTS * min(_SHARPER, _MOST_PIXELS / max(width, height)))
    canvas.print_png(written)
    return written.getvalue()


def _draw_box(axes: Any, box: Box) -> None:
    from matplotlib.patches import FancyBboxPatch  # noqa: PLC0415 - an optional package

    fill, edge = FILLS[box.kind]
    dashes = "--" if box.kind in ("missing", "more") else "-"
    axes.add_patch(
        FancyBboxPatch(
            (box.x + 4, box.y + 4),
            max(0.1, box.width - 8),
            max(0.1, box.height - 8),
            boxstyle="round,pad=4,rounding_size=4" if min(box.width, box.height) > 8 else "square,pad=0",
            facecolor=fill,
            edgecolor=edge,
            linestyle=dashes,
            linewidth=0.8,
        )
    )
    for x, y, line in baselines(box):
        _draw_text(axes, x, y, line, side="center" if box.centred else "left")


def _draw_curve(axes: Any, curve: Curve) -> None:
    from matplotlib.patches import FancyArrowPatch  # noqa: PLC0415 - an optional package
    from matplotlib.path import Path  # noqa: PLC0415

    points, codes = [curve.points[0]], [Path.MOVETO]
    for before, after in zip(curve.points, curve.points[1:], strict=False):
        middle = (before[0] + after[0]) / 2
        points += [(middle, before[1]), (middle, after[1]), after] if curve.bent else [after]
        codes += [Path.CURVE4] * 3 if curve.bent else [Path.LINETO]
    colour = FILLS[curve.kind][1]
    axes.add_patch(
        FancyArrowPatch(
            path=Path(points, codes),
            arrowstyle="-|>" if curve.arrow else "-",
            mutation_scale=7,
            color=colour,
            fill=curve.arrow,
            linewidth=1.6 if curve.strong else 0.9,
            shrinkA=0,
            shrinkB=0,
        )
    )


def _draw_label(axes: Any, label: Label) -> None:
    line = Line(label.text, label.size, label.faint)
    side = {"start": "left", "middle": "center", "end": "right"}[label.side]
    _draw_text(axes, label.x, label.y, line, side=side, bold=label.bold)


def _draw_text(axes: Any, x: float, y: float, line: Line, *, side: str, bold: bool = False) -> None:
    axes.text(
        x,
        y,
        line.text,
        parse_math=False,  # a name with two dollar signs is no formula
        fontsize=line.size * 72 / _DOTS,
        ha=side,
        va="baseline",
        color=INKS["faint" if line.faint else "ink"],
        weight="bold" if bold else "normal",
    )
