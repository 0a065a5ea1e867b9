"""Every format that an explanation goes out in, by the ending of the file. To add one, write a function here."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from reshuffle.errors import InputError, Place
from reshuffle.kg.io.files import written_whole
from reshuffle.pictures.markup import page, picture, preformatted, section
from reshuffle.pictures.svg import svg_of
from reshuffle.pictures.tree_layout import tree_scene
from reshuffle.text import json_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from reshuffle.pictures.diagram import Diagram
    from reshuffle.results.explanation import Explanation


@dataclass(frozen=True)
class Told:
    """An explanation with names as the reader sees them: drawn, in words, and as JSON."""

    diagram: Diagram
    text: str
    as_json: str
    made: str = ""
    """HTML at the end of a page, which says how it was made."""

    @classmethod
    def of(cls, explanation: Explanation) -> Told:
        """With full names."""
        return cls(explanation.diagram(), str(explanation), json_text(explanation.to_dict()))


def write_explanation(told: Told, path: str) -> None:
    """Write an explanation, whole or not at all; the ending names the format."""
    ending = Path(path).suffix
    if ending not in FORMATS:
        hint = f"explanations go to {', '.join(FORMATS)}"
        raise InputError(f"found the ending '{ending}'", place=Place(path), hint=hint)
    with written_whole(path) as aside:
        aside.write_bytes(FORMATS[ending](told).encode())


def _svg(told: Told) -> str:
    return svg_of(tree_scene(told.diagram)) + "\n"


def _html(told: Told) -> str:
    drawn = picture(svg_of(tree_scene(told.diagram)))
    return page(told.diagram.title, drawn, section("In words", preformatted(told.text)), told.made)


def _mermaid(told: Told) -> str:
    return told.diagram.to_mermaid() + "\n"


def _dot(told: Told) -> str:
    return told.diagram.to_dot()


def _json(told: Told) -> str:
    return told.as_json + "\n"


def _text(told: Told) -> str:
    return told.text + "\n"


FORMATS: dict[str, Callable[[Told], str]] = {
    ".svg": _svg,
    ".html": _html,
    ".mmd": _mermaid,
    ".dot": _dot,
    ".json": _json,
    ".txt": _text,
}
