"""The tables and the picture of rule models are those of the stored results; one cell runs."""

from __future__ import annotations

import pytest
from benchmarks import rule_models
from benchmarks.pages import page_with
from benchmarks.paper import DATASETS

from datasets import data_folder
from reshuffle.data.families import families


def test_the_page_and_the_picture_show_what_is_stored() -> None:
    content = rule_models.PAGE.read_text(encoding="utf-8")
    assert page_with(content, rule_models.made_tables()) == content
    assert rule_models.PICTURE.read_text(encoding="utf-8") == rule_models.picture()


def test_all_cells_are_stored() -> None:
    cells = {cell[:2] for cell in rule_models.stored()}
    assert cells == {(dataset, form) for dataset in DATASETS for form in rule_models.FORMS}


def test_a_cell_has_what_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    few = families(size=40).benchmark
    monkeypatch.setattr("reshuffle.data.load.load_benchmark", {"families": few}.__getitem__)
    row = rule_models.run(rule_models.Cell("families", "mined-100", 0))
    assert all(row.keys() == stored.keys() for stored in rule_models.stored().values())
    assert row["rules"] == 100 and row["mrr"] > 0.5


@pytest.mark.slow  # its rules are mined for ten seconds
def test_one_cell() -> None:
    data_folder("NELL-995-v1")
    row = rule_models.run(rule_models.Cell("NELL-995-v1", "mined-100", 0))
    (stored,) = (one for cell, one in rule_models.stored().items() if cell == ("NELL-995-v1", "mined-100", 0))
    assert row["rules"] == stored["rules"] == 100
    assert abs(row["mrr"] - stored["mrr"]) < 0.02
