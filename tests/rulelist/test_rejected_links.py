"""Rejected links in a fit: which rows they change, and what that does to weights and ranks."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from reshuffle import KnowledgeGraph, RuleModel, parse_rules
from reshuffle.errors import InputError
from reshuffle.kg import Triple
from reshuffle.rulelist import RuleSettings, refit
from reshuffle.rulelist.features import FeatureGraph
from reshuffle.rulelist.programs import Program
from reshuffle.rulelist.rejected_links import RejectedLinks
from reshuffle.rulelist.training_rows import Room, questions_of, training_rows

RULES = parse_rules("knows(X, Y) -> likes(X, Y)\nmeets(X, Y) -> likes(X, Y)")
PEOPLE = [f"p{number}" for number in range(12)]
FACTS = KnowledgeGraph(
    [("p0", "knows", name) for name in PEOPLE[1:6]]
    + [("p0", "meets", name) for name in PEOPLE[1:4]]
    + [("p0", "likes", name) for name in PEOPLE[1:3]]
    + [(one, "near", other) for one, other in pairwise(PEOPLE)]
)
KNOWN_ONLY = [Triple("p0", "likes", "p4"), Triple("p0", "likes", "p5")]


def rows_with(weight: int, rejected: list[Triple] = KNOWN_ONLY):
    program = Program.of(list(RULES.rules), list(FACTS.relations), loops=None)
    links = RejectedLinks.of(rejected, FACTS, weight=weight)
    return training_rows(FeatureGraph(FACTS), program, room=Room(window=3), seed=0, rejected=links)


def told(rows, question: int) -> list[tuple[int, list[tuple[int, float]]]]:
    """The candidates of a question that rules reach, each with its entries."""
    first, reached = int(rows.starts[question]), int(rows.reached[question])
    own = slice(int(rows.entry_starts[question]), int(rows.entry_starts[question + 1]))
    entries = list(
        zip(rows.places[own].tolist(), rows.rules[own].tolist(), rows.logs[own].tolist(), strict=True)
    )
    return [
        (int(rows.entities[first + place]), sorted((rule, log) for at, rule, log in entries if at == place))
        for place in range(reached)
    ]


def test_a_rejected_candidate_stands_there_as_often_as_it_counts() -> None:
    once, often = rows_with(1), rows_with(4)
    assert len(once) == len(often) == len(questions_of(FACTS).anchors)
    gone = {FACTS.entities.id("p4"), FACTS.entities.id("p5")}
    changed = 0
    for question in range(len(once)):
        before, after = told(once, question), told(often, question)
        again = [one for one in before[1:] if one[0] in gone]
        assert sorted(after) == sorted(before + 3 * again)
        assert after[: len(before)] == before
        behind = slice(int(once.starts[question] + once.reached[question]), int(once.starts[question + 1]))
        window = slice(int(often.starts[question] + often.reached[question]), int(often.starts[question + 1]))
        assert once.entities[behind].tolist() == often.entities[window].tolist()
        changed += bool(again)
    assert changed == 2  # the two facts (p0, likes, ?)
    assert len(often.distances) == len(often.entities) == int(often.starts[-1])
    assert np.array_equal(once.boosts, often.boosts)


def test_what_is_a_fact_or_unknown_is_not_rejected() -> None:
    links = RejectedLinks.of([Triple("p0", "likes", "p1"), Triple("p0", "likes", "zoe")], FACTS, weight=5)
    assert links.answers == {}


def test_a_rule_that_leads_to_rejected_links_loses_weight() -> None:
    settings = RuleSettings().changed(prior=0.05, steps=200)
    model = RuleModel.from_rules(RULES)
    first, again = (refit(model, FACTS, settings=settings, rejected=KNOWN_ONLY, weight=w) for w in (1, 50))
    knows, meets = (one.weight + one.count_weight for one in first.rules)
    then_knows, then_meets = (one.weight + one.count_weight for one in again.rules)
    assert then_knows - then_meets < knows - meets - 0.05
    plain = refit(model, FACTS, settings=settings)
    assert [one.weight for one in plain.rules] == [one.weight for one in first.rules]


def test_a_weight_below_one_is_refused() -> None:
    with pytest.raises(InputError, match="found the weight 0 of a rejected link"):
        refit(RuleModel.from_rules(RULES), FACTS, rejected=KNOWN_ONLY, weight=0)
