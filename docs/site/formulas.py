"""Formulas as MathML, which browsers draw themselves: no script, no font and no picture from elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.writers.html5 import HTML5Translator


def in_a_line(writer: HTML5Translator, node: nodes.math) -> None:
    """A formula in a line of text."""
    writer.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def as_a_block(writer: HTML5Translator, node: nodes.math_block) -> None:
    """A formula of its own, which scrolls where it is too wide."""
    writer.body.append(f'<div class="formula">{tex2mathml(node.astext(), as_block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx."""
    app.add_html_math_renderer(
        "mathml", inline_renderers=(in_a_line, None), block_renderers=(as_a_block, None)
    )
    return {"parallel_read_safe": True}
