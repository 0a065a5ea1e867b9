"""Layouts by Graphviz, for graphs that this package cannot lay out."""

from __future__ import annotations

import shutil
import subprocess

from reshuffle.errors import ReshuffleError

MOST_ARROWS = 2_000
"""Graphviz places this many in seconds, and ten times as many in hours."""


def svg_by_graphviz(dot: str) -> bytes:
    """What Graphviz makes of a DOT text."""
    program = shutil.which("dot")
    if program is None:
        raise ReshuffleError(
            "drawing SVG needs the program `dot` of Graphviz, which is not installed",
            hint="install Graphviz, or draw a .dot or .mmd file, which needs nothing",
        )
    done = subprocess.run([program, "-Tsvg"], input=dot.encode(), capture_output=True, check=False)
    if done.returncode != 0:
        raise ReshuffleError(f"dot could not draw the graph: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout
