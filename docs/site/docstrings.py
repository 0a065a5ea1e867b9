"""Docstrings as autodoc wants them: what is indented in ours is a table or an example, shown as it stands.

Types in signatures are written as the module that has them imports them. They are found by their last part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sphinx.util.nodes import make_refnode

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.addnodes import pending_xref
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment


def as_written(*given: Any) -> None:
    """Put `::` before each indented block, so that it is taken literally; the last thing given is the lines."""
    lines: list[str] = given[-1]
    found: list[str] = []
    before = ""
    for line in lines:
        if line.startswith(" ") and before and not before.startswith(" "):
            found += [""] if found and found[-1] else []
            found += ["::", ""]
        elif line and not line.startswith(" ") and found and found[-1].startswith(" "):
            found.append("")
        found.append(line)
        before = line or before
    lines[:] = found


def by_last_part(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, text: nodes.Element
) -> nodes.Node | None:
    """A link to the one class of this name that is documented; other types stand as they are, without a link."""
    if node.get("refdomain") != "py" or node.get("reftype") not in {"class", "obj"}:
        return None
    name = node["reftarget"].rpartition(".")[2]
    python = env.domains.python_domain
    found = [
        full
        for full, entry in python.objects.items()
        if full.rpartition(".")[2] == name and entry.objtype != "method"
    ]
    if len(found) != 1:
        return text
    place = python.objects[found[0]]
    return make_refnode(app.builder, node["refdoc"], place.docname, place.node_id, text, found[0])


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx."""
    app.connect("autodoc-process-docstring", as_written)
    app.connect("missing-reference", by_last_part)
    return {"parallel_read_safe": True}
