from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import reshuffle
from reading_pictures import HOSTILE, SHOWN_HOSTILE, page_texts, svg_texts
from reshuffle.errors import ReshuffleError
from reshuffle.kg import Triple
from reshuffle.pictures.diagram import Diagram, Growing, Node
from reshuffle.pictures.figures import pyplot
from reshuffle.pictures.lettering import lines_of, width_of
from reshuffle.pictures.scene import Box, text_box
from reshuffle.pictures.svg import FILLS, svg_of
from reshuffle.pictures.tree_layout import MOST_BOXES, tree_scene
from reshuffle.reasoning.proofs import Proof
from reshuffle.rules import PathRule

if TYPE_CHECKING:
    from reshuffle.pictures.scene import Scene

LONG = "/people/person/place_of_birth./location/location/" * 10
RULE = PathRule(("r", "r"), "r")


def boxes(scene: Scene) -> list[Box]:
    return [shape for shape in scene.shapes if isinstance(shape, Box)]


def overlap(one: Box, two: Box) -> bool:
    return (
        one.x < two.x + two.width
        and two.x < one.x + one.width
        and one.y < two.y + two.height
        and two.y < one.y + one.height
    )


def binary(depth: int, start: int = 0) -> Proof:
    end = start + 2**depth
    if not depth:
        return Proof(Triple(str(start), "r", str(end)))
    halves = (binary(depth - 1, start), binary(depth - 1, start + 2 ** (depth - 1)))
    return Proof(Triple(str(start), "r", str(end)), RULE, halves)


def chain(length: int) -> Proof:
    proof = Proof(Triple("0", "r", "1"))
    for end in range(2, length + 2):
        step = Proof(Triple(str(end - 1), "r", str(end)))
        proof = Proof(Triple("0", "r", str(end)), RULE, (proof, step))
    return proof


def test_every_step_and_rule_of_a_proof_is_in_the_picture() -> None:
    texts = svg_texts(svg_of(tree_scene(binary(3).diagram())))
    for step in binary(3).steps():
        assert f"r({step.triple.head}, {step.triple.tail})" in texts
    assert texts.count(str(RULE)) == 7
    assert {"fact", "derived"} <= set(texts)


@pytest.mark.parametrize("proof", [binary(4), chain(12), Proof(Triple("a", "r", "b"))])
def test_boxes_do_not_overlap_and_lie_in_the_picture(proof: Proof) -> None:
    scene = tree_scene(proof.diagram())
    drawn = boxes(scene)
    assert len(drawn) >= len(list(proof.steps()))
    assert not any(overlap(one, two) for one, two in itertools.combinations(drawn, 2))
    assert all(box.x >= 0 and box.x + box.width <= scene.width for box in drawn)
    assert all(box.y >= 0 and box.y + box.height <= scene.height for box in drawn)


def test_a_parent_stands_in_the_middle_of_what_it_rests_on() -> None:
    root, *below = boxes(tree_scene(binary(1).diagram()))[:3]
    middle = sum(box.y + box.height / 2 for box in below) / 2
    assert abs(root.y + root.height / 2 - middle) < 1
    assert all(box.x > root.x + root.width for box in below)


def test_hostile_names_are_text() -> None:
    proof = Proof(
        Triple(HOSTILE, HOSTILE, "b"), PathRule((HOSTILE,), HOSTILE), (Proof(Triple(HOSTILE, HOSTILE, "b")),)
    )
    svg = svg_of(tree_scene(proof.diagram()))
    assert any(SHOWN_HOSTILE in text for text in svg_texts(svg))
    assert any(SHOWN_HOSTILE in text for text in page_texts(proof._repr_html_()))
    mermaid, dot = proof.diagram().to_mermaid(), proof.diagram().to_dot()
    assert "<img" not in mermaid and "\u202e" not in mermaid + dot
    assert dot.count('"') % 2 == dot.count('\\"') % 2


def test_halves_of_characters_do_not_break_xml() -> None:
    svg_texts(svg_of(tree_scene(Diagram("half \ud800", (Node("half \udfff \uffff"),), (0,)))))


def test_long_names_are_shortened_and_told_in_full() -> None:
    scene = tree_scene(Proof(Triple("a", LONG, "b")).diagram())
    assert scene.width < 400
    texts = svg_texts(svg_of(scene))
    assert any(text.endswith("…") for text in texts)
    assert any(LONG in text for text in texts)


def test_a_shared_step_is_drawn_once_and_named_again() -> None:
    step = binary(2)
    twice = Proof(Triple("0", "r", "x"), RULE, (step, step))
    texts = svg_texts(svg_of(tree_scene(twice.diagram())))
    assert texts.count("drawn elsewhere") == 1
    assert texts.count("r(1, 2)") == 1


@pytest.mark.parametrize("proof", [chain(5_000), binary(10)])
def test_a_huge_proof_is_drawn_as_far_as_there_is_room(proof: Proof) -> None:
    scene = tree_scene(proof.diagram())
    assert MOST_BOXES // 2 < len(boxes(scene)) <= 2 * MOST_BOXES
    assert any("not drawn" in line.text for box in boxes(scene) for line in box.lines)
    assert len(svg_of(scene)) < 1_000_000


def test_several_proofs_are_below_each_other() -> None:
    tree = Growing()
    first, second = tree.take(binary(1).diagram()), tree.take(binary(2).diagram())
    scene = tree_scene(Diagram("two", tuple(tree.nodes), (*first, *second)))
    roots = [box for box in boxes(scene) if box.x == 0 and box.kind == "derived"][:2]
    assert roots[0].y + roots[0].height < roots[1].y


def test_lines_fit_their_width_and_lose_nothing_but_blanks() -> None:
    text = "citizenOf(X, Y) & hasLanguage(Y, Z) -> speaks(X, Z) " + "名前" * 30
    lines = lines_of(text, size=11, width=200, most=50)
    assert all(width_of(line, 11) <= 200 for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert len(lines_of(text, size=11, width=200, most=2)) == 2


def test_both_grounds_are_in_the_picture() -> None:
    svg = svg_of(tree_scene(binary(1).diagram()))
    assert "prefers-color-scheme:dark" in svg and 'role="img"' in svg


def test_plots_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reshuffle.packages.find_spec", lambda _: None)
    with pytest.raises(ReshuffleError, match="plots need the package matplotlib, which is not installed"):
        pyplot()


def test_a_box_is_as_large_as_its_text() -> None:
    small, large = text_box("a"), text_box("a much longer text", "and a note below it")
    assert small.width < large.width and small.height < large.height


def test_pictures_have_the_colours_of_the_explorer() -> None:
    """A report and the explorer's pages show the same fact in the same green."""
    style = (Path(reshuffle.__file__).parent / "explorer" / "static" / "style.css").read_text()
    for kind in ("fact", "derived", "rule"):
        fill, stroke = FILLS[kind]
        assert f"--{kind}: {stroke}" in style and f"--{kind}-ground: {fill}" in style
