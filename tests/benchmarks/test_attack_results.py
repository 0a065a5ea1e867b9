"""The stored attack: that it is whole, and that the page shows it."""

from __future__ import annotations

from benchmarks.attack import page
from benchmarks.attack.registry import PARTS
from benchmarks.pages import page_with
from benchmarks.result_files import read_document


def test_the_page_shows_the_stored_attack() -> None:
    content = page.PAGE.read_text(encoding="utf-8")
    assert page_with(content, page.made_tables()) == content


def test_the_stored_attack_is_whole() -> None:
    stored = read_document(page.RESULT)
    assert {"command", "seed", "date", "hardware", "versions"} == set(stored["about"])
    assert f"--seed {stored['about']['seed']}" in stored["about"]["command"]
    assert {*stored["parts"], *stored["skipped"]} == set(PARTS)
    assert stored["skipped"] == []
    assert all(part["cases"] > 0 for part in stored["parts"].values())


def test_every_kind_is_explained() -> None:
    assert list(page.WHAT) == list(PARTS)
