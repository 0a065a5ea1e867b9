"""HTML for notebooks: `_repr_html_` of result classes, in one style."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from reshuffle.pictures.markup import SHOWN, fragment, paragraph, picture, table_html
from reshuffle.pictures.svg import svg_of
from reshuffle.pictures.tree_layout import tree_scene

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from reshuffle.pictures.diagram import Diagram
    from reshuffle.pictures.scene import Scene

_FEW = 10
_LOOKED_AT = 1_000


def drawn_tree(heading: str, diagram: Diagram) -> str:
    """A tree of reasons."""
    return fragment(heading, picture(svg_of(tree_scene(diagram))))


def drawn(heading: str, *scenes: Scene, below: str = "") -> str:
    """Plots, and what is said below them, which is HTML."""
    return fragment(heading, *(picture(svg_of(scene)) for scene in scenes), below)


def shown_rows(
    heading: str,
    rows: Sequence[Mapping[str, object]],
    *,
    columns: Sequence[str] = (),
    total: int | None = None,
    remarks: Iterable[str] = (),
    most: int = SHOWN,
) -> str:
    """Rows by column as a table, of which only the first are shown; columns without any value are left out."""
    shown = rows[:most]
    names = [
        name
        for name in columns or (shown[0] if shown else ())
        if any(row.get(name) is not None for row in shown)
    ]
    cells = [[row.get(name) for name in names] for row in shown]
    table = table_html(names, cells, total=len(rows) if total is None else total) if cells else ""
    return fragment(heading, table, *(paragraph(remark, faint=True) for remark in remarks))


def shown_triples(heading: str, triples: Iterable[tuple[str, str, str]]) -> str:
    """The first triples of a stream that may be long: it is followed for a while, and no further."""
    found = list(islice(triples, _LOOKED_AT + 1))
    left = len(found) - _FEW
    more = f"and more than {_LOOKED_AT - _FEW:,} more" if len(found) > _LOOKED_AT else f"and {left:,} more"
    table = table_html(["head", "relation", "tail"], found[:_FEW], most=None)
    remark = paragraph(more, faint=True) if left > 0 else ""
    return fragment(heading, table if found else paragraph("nothing is derived", faint=True), remark)
