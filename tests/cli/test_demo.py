from __future__ import annotations

import json

from reshuffle.cli.main import main


def test_the_tour_finds_every_fact_that_was_taken_out(capsys) -> None:
    assert main(["demo", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["class"] == "mixed"
    assert data["queries_found"] == data["queries"] > 0
    assert data["derived"] > data["queries"]
    assert data["proof"]["triple"][1] == "cousin"
    assert data["update_derived"] > 0


def test_the_tour_reads_as_four_chapters(capsys) -> None:
    assert main(["demo"]) == 0
    text = capsys.readouterr().out
    for chapter in ("1. RULES.", "2. ANSWERS.", "3. REASONS.", "4. UPDATES."):
        assert chapter in text
    assert "parent(X, Y) & brother(Y, Z) -> uncle(X, Z)" in text
