"""Closures of random graphs: the stored times, the page, and what is measured."""

from __future__ import annotations

from benchmarks.pages import page_with
from benchmarks.result_files import read_document
from benchmarks.speed import closures
from benchmarks.speed.measure import RESULTS

from reshuffle import parse_rules
from reshuffle.rules.entailment import closure


def test_the_page_shows_the_stored_times() -> None:
    content = closures.PAGE.read_text(encoding="utf-8")
    assert page_with(content, closures.made_tables()) == content


def test_the_pairs_are_those_of_the_rules() -> None:
    stored = read_document(RESULTS / "closures.json")["work"]
    assert stored.keys() == closures.WORK.keys()
    for name, work in closures.WORK.items():
        small = closures.measured(**{**work, "nodes": 70})
        facts = set(closures.random_graph(70))
        held = {one for one in closure(parse_rules(work["rules"]), facts) if one[1] == work["relation"]}
        assert small["pairs"] == len(held) and small.keys() == stored[name].keys()
