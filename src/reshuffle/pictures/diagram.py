"""Graphs as data: nodes, each with its premises. Written as DOT and Mermaid; layouts draw them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from reshuffle.text import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from reshuffle.pictures.scene import Kind

_BRACKETS: dict[str, tuple[str, str]] = {"fact": ("([", "])"), "rule": ("{{", "}}")}
_SHAPES = {"fact": "style=rounded", "rule": "shape=hexagon"}


@dataclass(frozen=True)
class Node:
    """A text with a smaller note, and the numbers of the nodes that it rests on."""

    text: str
    note: str = ""
    kind: Kind = "derived"
    below: tuple[int, ...] = ()
    full: str = ""
    """The text and the note in full, where other words stand for them."""

    def worded(self, shown: Callable[[str], str]) -> Node:
        """The same with other words, which keeps its own."""
        text, note = shown(self.text), shown(self.note)
        if (text, note) == (self.text, self.note):
            return self
        return replace(self, text=text, note=note, full="\n".join(filter(None, (self.text, self.note))))


@dataclass(frozen=True)
class Diagram:
    """Nodes by number, and those at the top. A tree of reasons has no circles; a graph of relations may have some."""

    title: str
    nodes: tuple[Node, ...]
    roots: tuple[int, ...]

    @property
    def num_edges(self) -> int:
        """How many arrows there are."""
        return sum(len(node.below) for node in self.nodes)

    def worded(self, shown: Callable[[str], str]) -> Diagram:
        """The same with other words, such as short names."""
        return Diagram(shown(self.title), tuple(node.worded(shown) for node in self.nodes), self.roots)

    def to_mermaid(self) -> str:
        """A flow chart from what nodes rest on up to them; facts are round."""
        lines = ["flowchart BT"]
        for number, node in enumerate(self.nodes):
            opened, closed = _BRACKETS.get(node.kind, ("[", "]"))
            note = f"<br/><small>{mermaid_text(node.note)}</small>" if node.note else ""
            lines.append(f'  n{number}{opened}"{mermaid_text(node.text)}{note}"{closed}')
            lines.extend(f"  n{other} --> n{number}" for other in node.below)
        return "\n".join(lines)

    def to_dot(self) -> str:
        """Graphviz source."""
        lines = ["digraph reshuffle {", "  rankdir=LR;", '  node [shape=box, fontname="Helvetica"];']
        for number, node in enumerate(self.nodes):
            text = "\n".join(part for part in (node.text, node.note) if part)
            shape = f", {_SHAPES[node.kind]}" if node.kind in _SHAPES else ""
            tooltip = f", tooltip={quoted_label(node.full)}" if node.full else ""
            lines.append(f"  {number} [label={quoted_label(text)}{shape}{tooltip}];")
            lines.extend(f"  {other} -> {number};" for other in node.below)
        return "\n".join([*lines, "}", ""])


@dataclass
class Growing:
    """A diagram in the making: first what is below, then what rests on it."""

    nodes: list[Node] = field(default_factory=list)

    def add(self, text: str, note: str = "", kind: Kind = "derived", below: Iterable[int] = ()) -> int:
        """Add a node; its number."""
        self.nodes.append(Node(text, note, kind, tuple(below)))
        return len(self.nodes) - 1

    def take(self, other: Diagram) -> list[int]:
        """Add all nodes of another diagram; the numbers of its roots here."""
        shift = len(self.nodes)
        self.nodes += [replace(node, below=tuple(shift + one for one in node.below)) for node in other.nodes]
        return [shift + root for root in other.roots]

    def grown(self, title: str) -> Diagram:
        """The diagram, with the node that was added last at the top."""
        return Diagram(title, tuple(self.nodes), (len(self.nodes) - 1,))


def quoted_label(text: str) -> str:
    """A label as DOT quotes it; line breaks stay, other control characters are written out."""
    escaped = visible(text, but="\n").replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def mermaid_text(text: str) -> str:
    """As Mermaid takes it, which knows no escapes but numbered entities, and reads labels as HTML."""
    signs = {"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "&": "#amp;", "`": "#96;"}
    return "".join(signs.get(sign, sign) for sign in visible(text))
