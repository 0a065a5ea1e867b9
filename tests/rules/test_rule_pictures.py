"""The picture of rules: every relation and rule in it, nothing on top of anything, and readable at fifty rules."""

from __future__ import annotations

import itertools

import pytest

from reading_pictures import HOSTILE, SHOWN_HOSTILE, svg_texts
from reshuffle.pictures.scene import Box, Curve
from reshuffle.pictures.svg import svg_of
from reshuffle.rules import IntersectionRule, PathRule, RuleBase, parse_rules
from reshuffle.rules.rule_pictures import forwards, rules_diagram, rules_scene

FAMILY = parse_rules("""
    father(X, Y) -> parent(X, Y)
    child(X, Y) -> parent(Y, X)
    parent(X, Y) & brother(Y, Z) -> uncle(X, Z)
    uncle(X, Y) & child(Y, Z) -> cousin(X, Z)
    livesIn(X, Y) & worksIn(X, Y) -> localTo(X, Y)
    ancestor(X, Y) & parent(Y, Z) -> ancestor(X, Z)
    father(X, Y) & mother(X, Y) -> false
""")


def long_name(number: int) -> str:
    return f"/people/person/place_of_birth./location/location/number_{number}_of_many/and_a_long_ending"


FIFTY = RuleBase(
    tuple(
        PathRule((long_name(n % 7), long_name(10 + n % 9), f"{long_name(n % 5)}^-1"), long_name(11 + n % 12))
        if n % 5
        else IntersectionRule((long_name(n % 7), long_name(10 + n % 4)), long_name(11 + n % 12))
        for n in range(50)
    )
)


def boxes(rules: RuleBase) -> list[Box]:
    return [shape for shape in rules_scene(rules).shapes if isinstance(shape, Box)]


def apart(one: Box, two: Box) -> bool:
    across = one.x + one.width <= two.x or two.x + two.width <= one.x
    return across or one.y + one.height <= two.y or two.y + two.height <= one.y


def test_relations_come_after_what_they_are_derived_from() -> None:
    order = list(forwards(FAMILY))
    assert order.index("parent") < order.index("uncle") < order.index("cousin")
    assert set(order) == {"parent", "uncle", "cousin", "localTo", "ancestor"}


def test_every_relation_stands_as_often_as_rules_say_it() -> None:
    texts = svg_texts(svg_of(rules_scene(FAMILY)))
    assert texts.count("parent") == 1 + 2  # its name, and in two bodies
    assert texts.count("child") == 1 + 2  # among the facts, and in two bodies
    assert "used for uncle, ancestor" in texts and "uses itself" in texts
    assert any(text.startswith("never both: father(X, Y) & mother(X, Y)") for text in texts)


def test_an_atom_that_runs_backwards_has_its_arrow_on_the_left() -> None:
    def arrow(text: str) -> Curve:
        shapes = rules_scene(parse_rules(text)).shapes
        return next(shape for shape in shapes if isinstance(shape, Curve) and shape.arrow)

    ahead, back = arrow("r(X, Y) -> s(X, Y)"), arrow("r(Y, X) -> s(X, Y)")
    assert ahead.points[0][0] < ahead.points[-1][0] and back.points[0][0] > back.points[-1][0]


@pytest.mark.parametrize("rules", [FAMILY, FIFTY])
def test_nothing_lies_on_anything_else(rules: RuleBase) -> None:
    assert all(apart(one, two) for one, two in itertools.combinations(boxes(rules), 2))


def test_fifty_rules_with_long_names_fit_a_page_in_width() -> None:
    scene = rules_scene(FIFTY)
    assert len(FIFTY) == 50
    assert scene.width < 1400
    texts = svg_texts(svg_of(scene))
    for name in {name.removesuffix("^-1") for name in FIFTY.relations}:
        assert name in texts  # in full, where the mouse rests


def test_lines_of_different_relations_share_no_lane() -> None:
    spans: dict[tuple[float, str], list[float]] = {}
    for shape in rules_scene(FIFTY).shapes:
        if isinstance(shape, Curve) and shape.full:
            lane = shape.points[1]
            spans.setdefault((lane[0], shape.full), []).extend(point[1] for point in shape.points)
    for (x, told), (other_x, other) in itertools.combinations(spans, 2):
        if x == other_x:
            one, two = spans[x, told], spans[other_x, other]
            assert max(one) < min(two) or max(two) < min(one)


def test_more_rules_than_anybody_reads_are_counted() -> None:
    scene = rules_scene(FIFTY, most=10)
    assert "and 40 more rules" in svg_texts(svg_of(scene))


def test_the_diagram_rests_relations_on_rules_and_rules_on_relations() -> None:
    diagram = rules_diagram(FAMILY)
    assert diagram.title == "6 rules of 11 relations"
    uncle = next(node for node in diagram.nodes if node.text == "uncle")
    (rule,) = (diagram.nodes[number] for number in uncle.below)
    assert rule.text == "parent(X, Y) & brother(Y, Z) -> uncle(X, Z)"
    assert [diagram.nodes[number].text for number in rule.below] == ["parent", "brother"]


def test_hostile_relations_are_text() -> None:
    rules = RuleBase((PathRule((HOSTILE, "s"), "t"),))
    assert SHOWN_HOSTILE in svg_texts(svg_of(rules_scene(rules)))


def test_no_rules_are_an_empty_picture() -> None:
    svg_texts(svg_of(rules_scene(RuleBase(()))))
