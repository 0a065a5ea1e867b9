"""The stored comparison of injected rules: that it is whole, and that the page shows it."""

from __future__ import annotations

from benchmarks import injection
from benchmarks.pages import page_with


def test_the_page_shows_the_stored_results() -> None:
    content = injection.PAGE.read_text(encoding="utf-8")
    assert page_with(content, injection.made_tables()) == content


def test_the_stored_results_are_whole() -> None:
    results = injection.stored()
    assert {"command", "hardware", "settings", "protocol"} == set(results.about)
    cells = injection.chosen(results.rows)
    assert len(results.rows) == len(injection.RATES) * len(cells)
    assert len(cells) == len(injection.WAYS) * len(injection.SHARES) * len(injection.SEEDS)
