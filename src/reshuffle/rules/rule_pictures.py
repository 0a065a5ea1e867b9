"""Pictures of rules: each derived relation, with the chains of relations that lead to it.

Relations are in the order in which they can be derived. A line on the left leads from a relation to those that use it.
The diagram, for programs with their own layout, has an edge from a relation to its rules, and from a rule to the
relations of its body.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from reshuffle.kg.vocabulary import base_relation, is_inverse
from reshuffle.pictures.diagram import Diagram, Node
from reshuffle.pictures.lettering import lines_of, width_of
from reshuffle.pictures.scene import LARGE, SMALL, Box, Curve, Label, Line, Scene, text_box
from reshuffle.rules.digraphs import strongly_connected
from reshuffle.rules.rule import ConstantRule, IntersectionRule, variables
from reshuffle.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from reshuffle.pictures.scene import Kind, Shape
    from reshuffle.rules.rule import Rule, RuleBase

MOST_RULES = 500
"""More than that are counted; nobody reads on."""

_PILL, _PILL_LINES = 190.0, 3  # the width of a relation's text, and how many lines it may take
_ARROW, _GAP, _INDENT, _LANE = 20.0, 12.0, 28.0, 11.0
_WIDTH = 900.0  # for what is not a chain


def forwards(rules: RuleBase) -> dict[str, list[Rule]]:
    """The rules of each derived relation, read so that their heads are no inverses, in an order of derivation."""
    by_head: dict[str, list[Rule]] = {}
    for rule in rules:
        turned = rule.reversed() if is_inverse(rule.head) else rule
        by_head.setdefault(turned.head, []).append(turned)
    needs = {head: _derived_in(found, by_head) for head, found in by_head.items()}
    order = [head for component in strongly_connected(needs) for head in component]
    return {head: by_head[head] for head in order}


def _derived_in(rules: Iterable[Rule], by_head: Mapping[str, object]) -> list[str]:
    """The derived relations that the bodies of rules use."""
    used = dict.fromkeys(base_relation(name) for rule in rules for name in rule.body)
    return [name for name in used if name in by_head]


# --- for layouts of others ------------------------------------------------------------------------------------------


def rules_diagram(rules: RuleBase) -> Diagram:
    """Relations and rules as nodes."""
    by_head = forwards(rules)
    names = list(dict.fromkeys(base_relation(name) for name in rules.relations))
    number = {name: place for place, name in enumerate(names)}
    below: dict[str, list[int]] = defaultdict(list)
    nodes: list[Node] = []
    for head, found in by_head.items():
        for rule in found:
            below[head].append(len(names) + len(nodes))
            body = dict.fromkeys(number[base_relation(name)] for name in rule.body)
            nodes.append(Node(str(rule), kind="rule", below=tuple(body)))
    relations = [
        Node(name, kind="derived" if name in by_head else "fact", below=tuple(below[name])) for name in names
    ]
    return Diagram(_title(rules), (*relations, *nodes), tuple(number[head] for head in by_head))


def _title(rules: RuleBase) -> str:
    names = {base_relation(name) for name in rules.relations}
    return f"{counted(len(rules), 'rule')} of {counted(len(names), 'relation')}"


# --- our own picture ------------------------------------------------------------------------------------------------


def rules_scene(rules: RuleBase, *, most: int = MOST_RULES) -> Scene:
    """The rules below each other, by the relation that they derive."""
    by_head = forwards(rules)
    users = _users(by_head)
    shapes: list[Shape] = []
    y = _given(rules, by_head, shapes)
    headers: dict[str, Box] = {}
    left = most
    for head, found in by_head.items():
        if left <= 0:
            break
        headers[head] = text_box(head, kind="derived", width=_WIDTH, most=2).at(0, y)
        _name(headers[head], _told_users(head, users.get(head, ())), shapes)
        y = _chains(found[:left], by_head, y + headers[head].height, shapes)
        left -= len(found)
    y = _never_together(rules, y, shapes)
    if len(rules) > most:
        shapes.append(Label(0, y + LARGE, f"and {counted(len(rules) - most, 'more rule')}", LARGE))
        y += LARGE * 2
    return _with_lines(_title(rules), shapes, users, headers, y)


def _users(by_head: Mapping[str, list[Rule]]) -> dict[str, list[str]]:
    """Which relations use a derived one, itself included where it is recursive."""
    users: dict[str, list[str]] = {}
    for head, found in by_head.items():
        for name in _derived_in(found, by_head):
            users.setdefault(name, []).append(head)
    return users


def _pill(name: str, kind: Kind) -> Box:
    return text_box(name, kind=kind, width=_PILL, most=_PILL_LINES, centred=True)


def _kind(name: str, by_head: Mapping[str, object]) -> Kind:
    return "derived" if base_relation(name) in by_head else "fact"


def _given(rules: RuleBase, by_head: Mapping[str, object], shapes: list[Shape]) -> float:
    """The relations that no rule derives, side by side; where the next part begins."""
    names = [name for name in dict.fromkeys(map(base_relation, rules.relations)) if name not in by_head]
    if not names:
        return 0.0
    shapes.append(Label(0, SMALL, "given by facts alone", SMALL))
    x, y, tallest = 0.0, SMALL + 8, 0.0
    for name in names:
        pill = _pill(name, "fact")
        if x and x + pill.width > _WIDTH:
            x, y, tallest = 0.0, y + tallest + 6, 0.0
        shapes.append(pill.at(x, y))
        x, tallest = x + pill.width + 6, max(tallest, pill.height)
    return y + tallest + 2 * _GAP


def _name(header: Box, told: str, shapes: list[Shape]) -> None:
    """A derived relation, and what it is used for."""
    shapes.append(header)
    if told:
        x = header.width + 10
        line = lines_of(told, size=SMALL, width=max(200.0, _WIDTH - x), most=1)[0]
        full = told if line != told else ""
        shapes.append(Label(x, header.y + header.height / 2 + 4, line, SMALL, full=full))


def _chains(found: Sequence[Rule], by_head: Mapping[str, object], top: float, shapes: list[Shape]) -> float:
    """The rules of a relation, each a row below its name; where the next relation begins."""
    y, middle = top + 6, top
    for rule in found:
        row, height = _row(rule, by_head, _INDENT, y)
        middle = y + height / 2
        shapes += [Curve(((10, middle), (_INDENT - 2, middle))), *row]
        y += height + 6
    shapes.append(Curve(((10, top), (10, middle))))
    return y + _GAP


def _told_users(head: str, users: Sequence[str]) -> str:
    others = [name for name in users if name != head]
    parts = ["uses itself"] if head in users else []
    parts += [f"used for {', '.join(others)}"] if others else []
    return "; ".join(parts)


def _row(rule: Rule, by_head: Mapping[str, object], x: float, y: float) -> tuple[list[Shape], float]:
    """A body as a chain from the first variable to the last; conditions on the same two stand above each other."""
    if isinstance(rule, ConstantRule):
        return _row_of_atoms(rule, by_head, x, y)
    links = [rule.body] if isinstance(rule, IntersectionRule) else [(name,) for name in rule.body]
    pills = [[(_pill(base_relation(name), _kind(name, by_head)), name) for name in link] for link in links]
    height = max(map(_height, pills))
    shapes: list[Shape] = []
    first, *others = variables(rule.num_variables)
    middle = y + height / 2
    x = _variable(first, x, middle, shapes)
    for link, end in zip(pills, others, strict=True):
        x = _variable(end, _joined(link, x, middle, shapes), middle, shapes)
    return [*shapes, *_confidence(rule, x, middle)], height


def _row_of_atoms(
    rule: ConstantRule, by_head: Mapping[str, object], x: float, y: float
) -> tuple[list[Shape], float]:
    """The atoms of a rule with constants side by side, and what they conclude."""
    *atoms, conclusion = rule.spelled_atoms
    kinds = [*(_kind(name, by_head) for name in rule.body), "derived"]
    pills = [_pill(text, kind) for text, kind in zip((*atoms, conclusion), kinds, strict=True)]
    height = max(pill.height for pill in pills)
    shapes: list[Shape] = []
    middle = y + height / 2
    for place, pill in enumerate(pills):
        if place == len(atoms):
            shapes.append(Curve(((x, middle), (x + 2 * _ARROW, middle)), arrow=True))
            x += 2 * _ARROW
        shapes.append(pill.at(x, middle - pill.height / 2))
        x += pill.width + 6
    return [*shapes, *_confidence(rule, x, middle)], height


def _confidence(rule: Rule, x: float, middle: float) -> Iterator[Shape]:
    if rule.quality is not None and rule.quality.confidence is not None:
        yield Label(x + 10, middle + 4, f"confidence {rule.quality.confidence:.2f}", SMALL)


def _height(link: list[tuple[Box, str]]) -> float:
    return sum(pill.height + 4 for pill, _ in link) - 4


def _joined(link: list[tuple[Box, str]], x: float, middle: float, shapes: list[Shape]) -> float:
    """The relations between two variables, with arrows the way they run; where the second variable begins."""
    width = max(pill.width for pill, _ in link)
    top = middle - _height(link) / 2
    for pill, name in link:
        at, centre = x + _ARROW + (width - pill.width) / 2, top + pill.height / 2
        before = ((x, middle), (x + _ARROW / 2, centre), (at, centre))
        after = (
            (at + pill.width, centre),
            (x + 1.5 * _ARROW + width, centre),
            (x + 2 * _ARROW + width, middle),
        )
        turned = is_inverse(name)
        shapes.append(Curve(before[::-1] if turned else before, arrow=turned))
        shapes.append(Curve(after, arrow=not turned))
        shapes.append(pill.at(at, top))
        top += pill.height + 4
    return x + width + 2 * _ARROW


def _variable(name: str, x: float, middle: float, shapes: list[Shape]) -> float:
    """A variable; where it ends."""
    width = width_of(name, SMALL) + 10
    shapes.append(Box(x, middle - 10, width, 20, "plain", (Line(name, SMALL),), centred=True))
    return x + width


def _never_together(rules: RuleBase, y: float, shapes: list[Shape]) -> float:
    for pair in rules.disjointness:
        line = lines_of(f"never both: {pair}", size=SMALL, width=_WIDTH, most=1)[0]
        shapes.append(Label(0, y + SMALL, line, SMALL, full=str(pair)))
        y += 2 * SMALL
    return y


def _with_lines(
    title: str,
    shapes: list[Shape],
    users: Mapping[str, Sequence[str]],
    headers: Mapping[str, Box],
    height: float,
) -> Scene:
    """The picture with a lane on the left for each relation that others use, nearer ones for shorter ways."""
    ways = {
        name: [headers[user] for user in found if user in headers and user != name]
        for name, found in users.items()
        if name in headers
    }
    ways = {name: boxes for name, boxes in ways.items() if boxes}
    lanes, taken = _lanes({name: _span(headers[name], boxes) for name, boxes in ways.items()})
    curves: list[Shape] = []
    for name, boxes in ways.items():
        lane, start = -_LANE * (1 + lanes[name]), _middle(headers[name])
        told = f"{name} is used for {', '.join(user for user in users[name] if user != name)}"
        curves += [
            Curve(((0, start), (lane, start), (lane, end), (0, end)), "derived", arrow=True, full=told)
            for end in map(_middle, boxes)
        ]
    wide = max((_right(shape) for shape in shapes), default=0.0)
    gutter = _LANE * (1 + taken) if ways else 0.0
    scene = Scene(title, wide, height, (*curves, *shapes))
    return replace(scene, width=wide + gutter, shapes=scene.moved(gutter, 0))


def _middle(box: Box) -> float:
    return box.y + box.height / 2


def _span(source: Box, users: Sequence[Box]) -> tuple[float, float]:
    places = [_middle(box) for box in (source, *users)]
    return min(places), max(places)


def _lanes(spans: Mapping[str, tuple[float, float]]) -> tuple[dict[str, int], int]:
    """A lane for each span in which no other span overlaps it, and how many there are."""
    lanes: dict[str, int] = {}
    held: list[list[tuple[float, float]]] = []
    for name, (low, high) in sorted(spans.items(), key=lambda item: item[1][1] - item[1][0]):
        free = (
            place
            for place, lane in enumerate(held)
            if all(high < other_low - 2 or low > other_high + 2 for other_low, other_high in lane)
        )
        lanes[name] = next(free, len(held))
        if lanes[name] == len(held):
            held.append([])
        held[lanes[name]].append((low, high))
    return lanes, len(held)


def _right(shape: Shape) -> float:
    if isinstance(shape, Box):
        return shape.x + shape.width
    if isinstance(shape, Label):
        return shape.x + width_of(shape.text, shape.size)
    return max(x for x, _ in shape.points)
