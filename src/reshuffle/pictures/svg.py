"""Scenes as SVG, for light and dark backgrounds; shortened texts have their full text as tooltip."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from reshuffle.pictures.markup import escaped, escaped_lines
from reshuffle.pictures.scene import Box, Curve, baselines

if TYPE_CHECKING:
    from reshuffle.pictures.scene import Label, Scene, Shape

Fills: TypeAlias = dict[str, tuple[str, str]]
"""By kind: the colour inside, and that of the edge."""

INKS = {"ground": "#ffffff", "ink": "#1c2024", "faint": "#5c6670", "line": "#8a949e"}
FILLS: Fills = {
    "fact": ("#e3f3e8", "#1f6b3f"),
    "derived": ("#e4edfb", "#1f4f96"),
    "rule": ("#fbf0d9", "#7a4d00"),
    "part": ("#f1f3f5", "#7b858f"),
    "missing": ("#fdeaea", "#c03b3b"),
    "more": ("#ffffff", "#a5aeb7"),
    "plain": ("#ffffff", "#8a949e"),
}
_DARK_INKS = {"ground": "#16191c", "ink": "#e8eaed", "faint": "#a9b3bd", "line": "#7d8791"}
_DARK_FILLS: Fills = {
    "fact": ("#1c3527", "#8fd6a8"),
    "derived": ("#1e2f4b", "#a3c6ff"),
    "rule": ("#3a2f17", "#f0c87a"),
    "part": ("#23282c", "#98a2ac"),
    "missing": ("#3b1a1a", "#ef8080"),
    "more": ("#16191c", "#6d7781"),
    "plain": ("#16191c", "#7d8791"),
}
_MARGIN = 12.0


def svg_of(scene: Scene) -> str:
    """The scene as one SVG element, with its own styles."""
    width, height = scene.width + 2 * _MARGIN, scene.height + 2 * _MARGIN
    body, title = "\n".join(map(_shape, scene.shapes)), escaped(scene.title)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="rs-picture" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="{-_MARGIN:g} {-_MARGIN:g} {width:.0f} {height:.0f}" role="img" aria-label="{title}">\n'
        f"<title>{title}</title>\n<style>{_styles()}</style>\n"
        '<defs><marker id="rs-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto-start-reverse"><path d="M0 0L8 4L0 8z" class="rs-tip"/></marker></defs>\n'
        f'<rect class="rs-ground" x="{-_MARGIN:g}" y="{-_MARGIN:g}" width="{width:.0f}" height="{height:.0f}"/>\n'
        f"{body}\n</svg>"
    )


def _styles() -> str:
    fixed = (
        ".rs-picture text{font-family:system-ui,'DejaVu Sans',Verdana,sans-serif}"
        ".rs-picture .bold{font-weight:600}.rs-picture path{fill:none;stroke-width:1.3}"
        ".rs-picture .strong{stroke-width:2.2}.rs-picture .dashed{stroke-dasharray:4 3}"
    )
    dark = _theme(_DARK_INKS, _DARK_FILLS)
    return f"{fixed}{_theme(INKS, FILLS)}@media(prefers-color-scheme:dark){{{dark}}}"


def _theme(inks: dict[str, str], fills: Fills) -> str:
    rules = [
        f".rs-picture .rs-ground{{fill:{inks['ground']}}}",
        f".rs-picture text{{fill:{inks['ink']}}}.rs-picture text.faint{{fill:{inks['faint']}}}",
        f".rs-picture path{{stroke:{inks['line']}}}.rs-picture .rs-tip{{fill:{inks['line']};stroke:none}}",
    ]
    for name, (fill, edge) in fills.items():
        rules.append(
            f".rs-picture rect.{name}{{fill:{fill};stroke:{edge}}}.rs-picture path.{name}{{stroke:{edge}}}"
        )
    return "".join(rules)


def _shape(shape: Shape) -> str:
    if isinstance(shape, Box):
        return _box(shape)
    return _curve(shape) if isinstance(shape, Curve) else _label(shape)


def _box(box: Box) -> str:
    side = _anchor("middle" if box.centred else "start")
    texts = "".join(
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{line.size:g}"{side}{_classes("faint" if line.faint else "")}>'
        f"{escaped(line.text)}</text>"
        for x, y, line in baselines(box)
    )
    round_by = min(5.0, box.height / 4)
    dashed = " dashed" if box.kind in ("missing", "more") else ""
    return (
        f'<g><rect class="{box.kind}{dashed}" x="{box.x:.1f}" '
        f'y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="{round_by:g}"/>'
        f"{texts}{_full(box.full)}</g>"
    )


def _curve(curve: Curve) -> str:
    start, *others = curve.points
    path = f"M{_point(start)}"
    for before, after in zip(curve.points, others, strict=False):
        middle = (before[0] + after[0]) / 2
        bend = f"C{_point((middle, before[1]))} {_point((middle, after[1]))} " if curve.bent else "L"
        path += f"{bend}{_point(after)}"
    arrow = ' marker-end="url(#rs-arrow)"' if curve.arrow else ""
    strong = " strong" if curve.strong else ""
    return f'<path class="{curve.kind}{strong}" d="{path}"{arrow}>{_full(curve.full)}</path>'


def _label(label: Label) -> str:
    classes = _classes(" ".join(name for name in ("faint", "bold") if getattr(label, name)))
    return (
        f'<text x="{label.x:.1f}" y="{label.y:.1f}" font-size="{label.size:g}"{_anchor(label.side)}{classes}>'
        f"{escaped(label.text)}{_full(label.full)}</text>"
    )


def _classes(names: str) -> str:
    return f' class="{names}"' if names else ""


def _anchor(side: str) -> str:
    return "" if side == "start" else f' text-anchor="{side}"'


def _full(text: str) -> str:
    return f"<title>{escaped_lines(text)}</title>" if text else ""


def _point(point: tuple[float, float]) -> str:
    return f"{point[0]:.1f} {point[1]:.1f}"
