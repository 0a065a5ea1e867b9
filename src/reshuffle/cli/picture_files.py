"""Pictures and pages as files, by ending: what `-o` of several verbs writes."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from reshuffle import __version__
from reshuffle.kg.io.files import written_whole
from reshuffle.pictures.markup import definitions, page, section
from reshuffle.pictures.svg import svg_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from reshuffle.pictures.diagram import Diagram
    from reshuffle.pictures.scene import Scene


def write_drawing(path: Path, scene: Scene, diagram: Diagram) -> None:
    """Write a picture: the scene as SVG, or the diagram for programs that have layouts of their own."""
    if path.suffix == ".svg":
        _write(path, svg_of(scene) + "\n")
    else:
        _write(path, diagram.to_dot() if path.suffix == ".dot" else diagram.to_mermaid() + "\n")


def write_page(path: str | Path, title: str, *parts: str) -> None:
    """Write a page that needs no other file."""
    _write(Path(path), page(title, *parts))


def how_made(arguments: argparse.Namespace, more: Sequence[tuple[str, object]] = ()) -> str:
    """The part of a page that says how it was made."""
    now = datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z")
    made = [("command", arguments.command), *more, ("reshuffle", __version__), ("date", now)]
    return section("How this was made", definitions(made))


def _write(path: Path, content: str) -> None:
    with written_whole(path) as aside:
        aside.write_bytes(content.encode())
