"""What a report says beside its numbers."""

from __future__ import annotations

from reshuffle.evaluation import RuleBaseline, evaluate
from reshuffle.kg import KnowledgeGraph
from reshuffle.rules import PathRule, Quality, RuleBase

FACTS = KnowledgeGraph(
    [
        ("ada", "bornIn", "uk"),
        ("bob", "bornIn", "italy"),
        ("eve", "livesIn", "italy"),
        ("bob", "livesIn", "uk"),
    ]
)
RULES = RuleBase((PathRule(("bornIn",), "livesIn", Quality(10, 8, 0.8)),))


def test_a_report_says_how_many_queries_are_facts() -> None:
    scorer = RuleBaseline(RULES).on(FACTS)
    asked = [("bob", "livesIn", "uk"), ("bob", "livesIn", "italy")]
    report = evaluate(scorer, asked, protocol="full")
    assert report.queries_among_facts == report.to_dict()["queries_among_facts"] == 1
    told = "1 of 2 queries is a fact of the graph: it is ranked with itself in it"
    assert report.remarks() == (told,) and str(report).splitlines()[-1] == told
    both = evaluate(scorer, FACTS, unknown="skip", protocol="full")
    assert both.remarks() == (
        f"{both.queries} of {both.queries} queries are facts of the graph: they are ranked with themselves in it",
    )
    none = evaluate(scorer, asked[1:], protocol="full")
    assert none.remarks() == () and none.to_dict()["queries_among_facts"] == 0
