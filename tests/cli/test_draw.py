"""`reshuffle draw`: the rules, or with --slots their rule graph."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from reading_pictures import svg_texts
from reshuffle.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def rules(tmp_path: Path) -> str:
    (tmp_path / "family.rules").write_text(
        "parent(X, Y) & parent(Y, Z) -> grandparent(X, Z)\n", encoding="utf-8"
    )
    return str(tmp_path / "family.rules")


def test_the_rules_as_svg_need_nothing(
    rules: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "rules.svg"
    assert main(["draw", rules, "-o", str(target), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == {"file": str(target), "nodes": 3, "edges": 2, "rules": 1, "relations": 2}
    texts = svg_texts(target.read_text(encoding="utf-8"))
    assert texts.count("parent") == 3 and "grandparent" in texts


def test_rules_without_geometry_are_drawn_too(tmp_path: Path) -> None:
    counting = "a(X, Y) & s(Y, Z) & b(Z, W) -> s(X, W)\na(X, Y) & b(Y, Z) -> s(X, Z)\n"
    (tmp_path / "counting.rules").write_text(counting, encoding="utf-8")
    command = ["draw", str(tmp_path / "counting.rules"), "-o", str(tmp_path / "rules.mmd")]
    assert main(command) == 0
    assert main([*command, "--slots"]) == 1


def test_slots_are_the_rule_graph(rules: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["draw", rules, "-o", str(tmp_path / "slots.mmd"), "--slots"]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'slots.mmd'}: 3 nodes, 3 edges\n"
    assert (tmp_path / "slots.mmd").read_text(encoding="utf-8").startswith("graph LR")


def test_a_bound_is_of_a_rule_graph(rules: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["draw", rules, "-o", str(tmp_path / "rules.mmd"), "--bound", "2"]) == 2
    assert capsys.readouterr().err == (
        "--bound is for rule graphs, and the picture is of the rules\n"
        "  hint: add --slots to draw the rule graph, or leave --bound out\n"
    )
    assert not (tmp_path / "rules.mmd").exists()
