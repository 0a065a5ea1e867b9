"""`reshuffle explain -o`: the same explanation as a picture, for rules and for models."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from reading_pictures import HOSTILE, SHOWN_HOSTILE, page_texts, svg_texts
from reshuffle.cli.main import main
from reshuffle.kg import KnowledgeGraph
from reshuffle.learning.estimator import Reshuffle
from reshuffle.rulegraphs import constraints_for
from reshuffle.rules import parse_rules

if TYPE_CHECKING:
    from pathlib import Path

RULE = "parent(X, Y) & parent(Y, Z) -> grandparent(X, Z)"
TRIPLE = ("ann", "grandparent", "cleo")
FACTS = ("parent(ann, bob)", "parent(bob, cleo)")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pictures")
    (folder / "family.rules").write_text(RULE + "\n", encoding="utf-8")
    facts = [("ann", "parent", "bob"), ("bob", "parent", "cleo"), ("x", "grandparent", "y")]
    KnowledgeGraph(facts).write(folder / "facts.tsv")
    hard = Reshuffle.from_constraints(constraints_for(parse_rules(RULE)), num_layers=4, device="cpu")
    hard.save(folder / "hard")
    learn = ["train", str(folder / "facts.tsv"), "-o", str(folder / "list"), "--recipe", "rules", "-q"]
    assert main([*learn, "--set", "steps=2", "--rules", str(folder / "family.rules")]) == 0
    return folder


def drawn(world: Path, rules: str, target: Path, *more: str, triple: tuple[str, str, str] = TRIPLE) -> int:
    return main(["explain", str(world / rules), str(world / "facts.tsv"), *triple, "-o", str(target), *more])


WAYS = [
    ("family.rules", []),
    ("family.rules", ["--engine", "chase"]),
    ("family.rules", ["--bound", "2"]),
    ("hard", []),
    ("hard", ["--hard"]),
    ("list", []),
]


@pytest.mark.parametrize(("rules", "options"), WAYS)
def test_a_picture_and_a_page_of_every_kind_of_explanation(
    world: Path, tmp_path: Path, rules: str, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert drawn(world, rules, tmp_path / "proof.svg", *options) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'proof.svg'}: why grandparent(ann, cleo)\n"
    texts = svg_texts((tmp_path / "proof.svg").read_text(encoding="utf-8"))
    assert {"grandparent(ann, cleo)", *FACTS} <= set(texts)
    assert drawn(world, rules, tmp_path / "proof.html", *options) == 0
    page = (tmp_path / "proof.html").read_text(encoding="utf-8")
    assert {"grandparent(ann, cleo)", *FACTS, "How this was made"} <= set(page_texts(page))
    assert "reshuffle explain" in page and "default-src 'none'" in page
    assert {path.name for path in tmp_path.iterdir()} == {"proof.svg", "proof.html"}


@pytest.mark.parametrize(("rules", "options"), WAYS)
def test_data_and_sources_for_other_programs(
    world: Path, tmp_path: Path, rules: str, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for ending in ("json", "mmd", "dot"):
        assert drawn(world, rules, tmp_path / f"proof.{ending}", *options) == 0
    capsys.readouterr()
    assert main(["explain", str(world / rules), str(world / "facts.tsv"), *TRIPLE, "--json", *options]) == 0
    told = json.loads(capsys.readouterr().out)
    assert json.loads((tmp_path / "proof.json").read_text(encoding="utf-8")) == told
    chart = (tmp_path / "proof.mmd").read_text(encoding="utf-8")
    assert chart.startswith("flowchart BT\n") and '(["parent(ann, bob)"])' in chart
    assert (tmp_path / "proof.dot").read_text(encoding="utf-8").startswith("digraph")


def test_what_does_not_follow_is_drawn_with_what_is_missing(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "not.svg"
    assert drawn(world, "family.rules", target, "--json", triple=("bob", "grandparent", "ann")) == 1
    assert json.loads(capsys.readouterr().out) == {"file": str(target), "follows": False}
    texts = svg_texts(target.read_text(encoding="utf-8"))
    assert {"does not follow", "missing", "parent(cleo, ann)", "parent(bob, cleo)"} <= set(texts)


def test_hostile_names(tmp_path: Path) -> None:
    name = HOSTILE.replace("\x00", "")
    KnowledgeGraph([(name, "parent", "b"), ("b", "parent", "c")]).write(tmp_path / "facts.csv")
    (tmp_path / "family.rules").write_text(RULE + "\n", encoding="utf-8")
    files = [str(tmp_path / "family.rules"), str(tmp_path / "facts.csv")]
    assert main(["explain", *files, name, "grandparent", "c", "-o", str(tmp_path / "proof.html")]) == 0
    texts = page_texts((tmp_path / "proof.html").read_text(encoding="utf-8"))
    assert any(SHOWN_HOSTILE.replace("\\u0000", "") in text for text in texts)


def test_endings_that_nobody_knows_and_inputs_are_refused(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert drawn(world, "family.rules", tmp_path / "proof.pdf") == 2
    assert capsys.readouterr().err == (
        f"{tmp_path / 'proof.pdf'}: found the ending '.pdf', expected one of .svg, .html, .mmd, .dot, .json, .txt\n"
        "  hint: the ending names the format\n"
    )
    assert drawn(world, "family.rules", world / "facts.tsv") == 2
    assert "would replace the input" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_png_is_refused_with_a_way_out_before_the_facts_are_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in (["explain", "none.rules", "none.tsv", "a", "r", "b"], ["draw", "none.rules"]):
        assert main([*command, "-o", str(tmp_path / "proof.png")]) == 2
        assert "PNG files went with 0.3: convert an .svg" in capsys.readouterr().err
