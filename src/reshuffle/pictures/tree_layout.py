"""Tree layout from left to right: a conclusion on the left, its premises to the right, centred.

A premise of several nodes is drawn once, and only named elsewhere. If a tree is too large for a picture, the nodes
nearest to the root are drawn; a box counts the nodes that are left out.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from reshuffle.pictures.scene import Box, Curve, Scene, stacked, text_box
from reshuffle.text import counted

if TYPE_CHECKING:
    from reshuffle.pictures.diagram import Diagram

MOST_BOXES = 250
_ACROSS, _DOWN = 46.0, 12.0  # between boxes
_LEGENDS = {
    "fact": "fact",
    "derived": "derived",
    "rule": "rule",
    "part": "other evidence",
    "missing": "missing",
}


@dataclass
class _Placed:
    """A box of the tree with those to its right."""

    box: Box
    depth: int
    children: list[_Placed] = field(default_factory=list)


def tree_scene(diagram: Diagram) -> Scene:
    """The trees of a diagram below each other, with a legend."""
    room = max(20, MOST_BOXES // max(1, len(diagram.roots)))
    trees = [_tree(_unfolded(diagram, root, room)) for root in diagram.roots]
    kinds = {node.kind for node in diagram.nodes}
    return stacked(diagram.title, [*trees, *_legend([kind for kind in _LEGENDS if kind in kinds])], gap=24)


def _unfolded(diagram: Diagram, root: int, room: int) -> list[_Placed]:
    """The boxes of the tree below a root, each before those that it rests on; a node has its own parts only once."""
    first = _Placed(_box_of(diagram, root, again=False), 0)
    placed, waiting, drawn = [first], deque([(root, first)]), {root}
    while waiting:
        number, here = waiting.popleft()
        below = diagram.nodes[number].below
        if len(placed) + len(below) > room and below:
            left = _num_below(diagram, number, drawn)
            more = text_box(f"… {counted(left, 'more step')} not drawn", kind="more")
            placed.append(_Placed(more, here.depth + 1))
            here.children.append(placed[-1])
            continue
        for other in below:
            again = other in drawn and bool(diagram.nodes[other].below)
            placed.append(_Placed(_box_of(diagram, other, again=again), here.depth + 1))
            here.children.append(placed[-1])
            if other not in drawn:
                drawn.add(other)
                waiting.append((other, placed[-1]))
    return placed


def _box_of(diagram: Diagram, number: int, *, again: bool) -> Box:
    node = diagram.nodes[number]
    note, kind = ("drawn elsewhere", "more") if again else (node.note, node.kind)
    box = text_box(node.text, note, kind=kind)  # type: ignore[arg-type]
    return replace(box, full=node.full) if node.full else box


def _num_below(diagram: Diagram, number: int, drawn: set[int]) -> int:
    """How many nodes there are below one that are not drawn."""
    seen, waiting = {number}, [number]
    while waiting:
        for other in diagram.nodes[waiting.pop()].below:
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    return len(seen - drawn)


def _tree(placed: list[_Placed]) -> Scene:
    columns = _columns(placed)
    height = _rows(placed)
    boxes = {id(one): one.box.at(columns[one.depth], one.box.y) for one in placed}
    curves = [_joined(boxes[id(one)], boxes[id(child)]) for one in placed for child in one.children]
    width = max(box.x + box.width for box in boxes.values())
    return Scene("", width, height, (*curves, *boxes.values()))


def _columns(placed: list[_Placed]) -> list[float]:
    """Where the boxes of each depth begin."""
    widths = [0.0] * (1 + max(one.depth for one in placed))
    for one in placed:
        widths[one.depth] = max(widths[one.depth], one.box.width)
    starts = [0.0]
    for width in widths:
        starts.append(starts[-1] + width + _ACROSS)
    return starts


def _rows(placed: list[_Placed]) -> float:
    """Give each box its height in the picture: the last ones below each other, the others in the middle of theirs.

    A box that is taller than all to its right takes the room that it needs.
    """
    heights: dict[int, float] = {}
    for one in reversed(placed):  # those to the right come first
        inner = sum(heights[id(child)] for child in one.children)
        heights[id(one)] = max(one.box.height + _DOWN, inner)
    tops = {id(placed[0]): 0.0}
    for one in placed:
        top, height = tops[id(one)], heights[id(one)]
        one.box = one.box.at(0, top + (height - one.box.height) / 2)
        start = top + (height - sum(heights[id(child)] for child in one.children)) / 2
        for child in one.children:
            tops[id(child)], start = start, start + heights[id(child)]
    return heights[id(placed[0])]


def _joined(left: Box, right: Box) -> Curve:
    start = (left.x + left.width, left.y + left.height / 2)
    return Curve((start, (right.x, right.y + right.height / 2)), bent=True)


def _legend(kinds: list[str]) -> list[Scene]:
    boxes, x = [], 0.0
    for kind in kinds:
        boxes.append(text_box(_LEGENDS[kind], kind=kind).at(x, 0))  # type: ignore[arg-type]
        x += boxes[-1].width + 10
    return [Scene("", x, boxes[0].height, tuple(boxes))] if len(kinds) > 1 else []
