"""Pictures of rule graphs, laid out like the paper's figures: DOT and Mermaid always, SVG by Graphviz."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from reshuffle.errors import BudgetError, InputError, Place
from reshuffle.kg.io.files import written_whole
from reshuffle.pictures.diagram import quoted_label
from reshuffle.pictures.graphviz import MOST_ARROWS, svg_by_graphviz
from reshuffle.rules.encoding import spoken
from reshuffle.text import visible

if TYPE_CHECKING:
    from reshuffle.rulegraphs.graph import RuleGraph

ENDINGS = (".svg", ".dot", ".mmd")


def node_names(graph: RuleGraph) -> list[str]:
    """n_0 for the common start, n_r for the node that decides relation r, a number for the others.

    >>> from reshuffle.rules import parse_rules
    >>> from reshuffle.rulegraphs import build
    >>> node_names(build(parse_rules("a(X, Y) & b(Y, Z) -> c(X, Z)")))
    ['n0', 'n_c', 'n_a']
    """
    names = [f"n{node}" for node in range(graph.num_nodes)]
    decides: dict[int, str] = {}
    for relation, clauses in graph.roots.items():
        if len(clauses) == 1:
            decides.setdefault(clauses[0][1], relation)
    for node, relation in decides.items():
        if spoken(graph.rules, relation) == relation:
            names[node] = f"n_{relation}"
    return names


def to_dot(graph: RuleGraph) -> str:
    """Graphviz source. Labels between the same two nodes share an edge; identities are dashed."""
    lines = ["digraph rules {", "  rankdir=LR;", '  node [shape=box, fontname="Helvetica"];']
    lines += [f"  {node} [label={quoted_label(name)}];" for node, name in enumerate(node_names(graph))]
    for (source, target, identity), labels in _bundles(graph).items():
        style = ", style=dashed" if identity else ""
        lines.append(f"  {source} -> {target} [label={quoted_label(', '.join(labels))}{style}];")
    return "\n".join([*lines, "}", ""])


def to_mermaid(graph: RuleGraph) -> str:
    """Mermaid source, which many Markdown viewers draw."""
    lines = ["graph LR"]
    lines += [f"  {node}[{_entities(name)}]" for node, name in enumerate(node_names(graph))]
    for (source, target, identity), labels in _bundles(graph).items():
        arrow = "-.->" if identity else "-->"
        lines.append(f"  {source} {arrow}|{_entities(', '.join(labels))}| {target}")
    return "\n".join([*lines, ""])


def draw(graph: RuleGraph, path: str | Path) -> None:
    """Write a picture in the format that the ending of `path` names."""
    path = Path(path)
    if path.suffix not in ENDINGS:
        raise InputError(
            f"cannot draw a {path.suffix or 'file without an ending'}",
            place=Place(str(path)),
            hint=f"use one of {', '.join(ENDINGS)}",
        )
    if path.suffix == ".mmd":
        content = to_mermaid(graph).encode()
    elif path.suffix == ".dot":
        content = to_dot(graph).encode()
    elif len(_bundles(graph)) > MOST_ARROWS:
        raise BudgetError(
            f"{path}: {len(_bundles(graph)):,} arrows are too many for Graphviz; at most {MOST_ARROWS:,}",
            hint="write .dot or .mmd, or draw fewer rules",
        )
    else:
        content = svg_by_graphviz(to_dot(graph))
    with written_whole(path) as aside:
        aside.write_bytes(content)


def _bundles(graph: RuleGraph) -> dict[tuple[int, int, bool], list[str]]:
    bundles: dict[tuple[int, int, bool], list[str]] = {}
    for source, label, target in graph.edges:
        found = bundles.setdefault((source, target, label in graph.identities), [])
        if (told := spoken(graph.rules, label)) not in found:
            found.append(told)
    return bundles


def _entities(text: str) -> str:
    """Quoted for Mermaid, which knows no escapes but numbered entities, and reads labels as HTML."""
    numbered = {ord(sign): f"#{ord(sign)};" for sign in '#"<>&'}
    return f'"{visible(text).translate(numbered)}"'
