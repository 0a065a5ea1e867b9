"""The overview: counts of relations, their rules, broken constraints, and what looks wrong."""

from __future__ import annotations

import pytest

from reshuffle import KnowledgeGraph, RuleModel, parse_rules
from reshuffle.explorer.relation_counts import RelationCounts
from reshuffle.explorer.rule_bases import RuleBaseSubject
from reshuffle.explorer.rule_lists import RuleListSubject
from reshuffle.explorer.subject import Source
from reshuffle.explorer.views.overview_page import alike_names, overview_page

PEOPLE = [f"person {letter}" for letter in "abcdefghijklmnopqrstuvwxy"]
FACTS = KnowledgeGraph(
    [(name, "bornIn", "London" if place % 2 else "Paris") for place, name in enumerate(PEOPLE)]
    + [("person a", "bornIn", "Rome")]
    + [
        ("person a", "knows", "person b"),
        ("person b", "knows", "person a"),
        ("person c", "knows", "person d"),
    ]
    + [("Person-A", "bornIn", "rome!"), ("Q1", "knows", "Q-1")]
)
RULES = parse_rules("""
    knows(X, Y) -> meets(X, Y)
    knows(X, Y) -> avoids(X, Y)
    meets(X, Y) & avoids(X, Y) -> false
""")


def row_of(page: dict, relation: str) -> dict:
    return next(row for row in page["relations"] if row["relation"] == relation)


def test_relations_are_counted() -> None:
    rows = RelationCounts(FACTS).rows()
    assert [row["relation"] for row in rows] == ["bornIn", "knows"]
    born, knows = rows
    assert (born["facts"], born["heads"], born["tails"]) == (27, 26, 4)
    assert born["typical_heads"][0] == ("person a", 2) and dict(born["typical_tails"])["Paris"] == 13
    assert born["one_tail"] == pytest.approx(25 / 26) and born["symmetric"] == 0
    assert knows["symmetric"] == 0.5 and knows["one_tail"] == knows["one_head"] == 1


def test_what_has_a_second_value_where_others_have_one() -> None:
    (found,) = RelationCounts(FACTS).exceptions()
    assert found["relation"] == "bornIn" and found["count"] == 1
    assert found["heads"] == [{"head": "person a", "tails": ["Paris", "Rome"], "count": 2}]
    assert RelationCounts(KnowledgeGraph()).rows() == []


def test_names_that_are_nearly_others_but_no_identifiers() -> None:
    assert alike_names(FACTS, {}) == [["person a", "Person-A"], ["Rome", "rome!"]]
    labels = {"Q1": "Universe", "Q-1": "universe"}
    assert ["Q1", "Q-1"] in alike_names(FACTS, labels)


def test_rules_stand_with_what_they_conclude() -> None:
    rules = parse_rules(
        "10\t8\t0.8\tknows(X,Y) <= bornIn(X,A), bornIn(Y,A)\n10\t3\t0.3\tknows(X,Y) <= knows(Y,X)"
    )
    subject = RuleListSubject(RuleModel.from_rules(rules), Source("people", FACTS))
    page = overview_page(subject.as_given, {})
    assert row_of(page, "bornIn")["rules"] is None
    told = row_of(page, "knows")["rules"]
    assert told["count"] == 2 and told["over_half"] == 1
    assert told["best"]["confidence"] == 0.8 and "bornIn" in told["best"]["rule"]
    assert page["violations"]["constraints"] == 0


def test_broken_constraints_have_their_proofs() -> None:
    page = overview_page(RuleBaseSubject(RULES, Source("people", FACTS)).as_given, {})
    found = page["violations"]
    assert (found["constraints"], found["count"], found["more"]) == (1, 4, False)
    assert "meets" in found["found"][0]["text"] and "avoids" in found["found"][0]["text"]


def test_lone_entities() -> None:
    page = overview_page(RuleBaseSubject(RULES, Source("people", FACTS)).as_given, {})
    assert page["lone"]["count"] == 26 and len(page["lone"]["names"]) == 20
