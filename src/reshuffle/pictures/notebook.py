"""What notebooks show of results: `_repr_html_` of the classes that hold them, all in one style."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reshuffle.pictures.markup import fragment, picture
from reshuffle.pictures.svg import svg_of
from reshuffle.pictures.tree_layout import tree_scene

if TYPE_CHECKING:
    from reshuffle.pictures.diagram import Diagram


def drawn_tree(heading: str, diagram: Diagram) -> str:
    """A tree of reasons."""
    return fragment(heading, picture(svg_of(tree_scene(diagram))))
