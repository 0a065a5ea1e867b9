"""Notebooks as pages: their cells become Markdown, with the outputs that are stored in them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from myst_parser.parsers.sphinx_ import MystParser

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx


class NotebookParser(MystParser):
    """Reads `.ipynb` files."""

    supported = ("ipynb",)

    def parse(self, inputstring: str, document: nodes.document) -> None:
        """Parse the Markdown that the cells make."""
        super().parse(as_markdown(json.loads(inputstring)), document)


def as_markdown(notebook: dict[str, Any]) -> str:
    """All cells, one after the other."""
    return "\n\n".join(text for cell in notebook["cells"] for text in cell_texts(cell))


def cell_texts(cell: dict[str, Any]) -> list[str]:
    """A cell's text, or its code with what it printed."""
    source = "".join(cell["source"])
    if cell["cell_type"] != "code":
        return [source]
    outputs = [output_text(output) for output in cell["outputs"]]
    return [fenced(source, "python"), *filter(None, outputs)]


def output_text(output: dict[str, Any]) -> str:
    """An output; a table or a picture is shown as such."""
    data = output.get("data", {})
    if "text/html" in data:
        return fenced("".join(data["text/html"]), "{raw} html")
    if "image/svg+xml" in data:
        return fenced("".join(data["image/svg+xml"]), "{raw} html")
    text = "".join(data.get("text/plain", output.get("text", "")))
    return fenced(text.rstrip("\n"), "text") if text else ""


def fenced(text: str, kind: str) -> str:
    """A block of code or output."""
    return f"````{kind}\n{text}\n````"


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx about the kind of file."""
    app.add_source_suffix(".ipynb", "ipynb")
    app.add_source_parser(NotebookParser)
    return {"parallel_read_safe": True}
