"""Sequences of changes beside worlds that are made anew from facts and rules to which they were applied one by one."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reshuffle import KnowledgeGraph, Reshuffle, RuleModel, parse_rules
from reshuffle.explorer.changes import FACT_KINDS, RULE_KINDS, Change, edits_of
from reshuffle.explorer.exhibits import Exhibit
from reshuffle.explorer.rule_bases import RuleBaseSubject
from reshuffle.explorer.rule_lists import RuleListSubject
from reshuffle.explorer.soft_models import SoftModelSubject
from reshuffle.explorer.subject import Source
from reshuffle.explorer.web.sessions import Session
from reshuffle.kg import Triple
from reshuffle.rules import RuleBase

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reshuffle.explorer.subject import Subject, World
    from reshuffle.rules import Rule

RULES = parse_rules("""
    r(X, Y)           -> s(X, Y)
    r(X, Y) & s(Y, Z) -> t(X, Z)
    t(Y, X)           -> r(X, Y)
""")
NEW_RULES = parse_rules("""
    s(X, Y) & s(Y, Z) -> r(X, Z)
    r(X, Y) & t(X, Y) -> s(X, Y)
""")
FACTS = KnowledgeGraph([("a", "r", "b"), ("b", "s", "c"), ("c", "r", "d"), ("d", "t", "a"), ("b", "t", "d")])
SOURCE = Source("letters", FACTS)

SOME_FACTS = [
    *FACTS,
    *(
        Triple(*names)
        for names in (("a", "s", "c"), ("d", "r", "b"), ("a", "r", "new"), ("new", "s", "newer"))
    ),
]
SOME_RULES = [*RULES.rules, *NEW_RULES.rules]

of_facts = st.builds(Change, st.sampled_from(FACT_KINDS), triple=st.sampled_from(SOME_FACTS))
of_rules = st.builds(
    lambda kind, rule, to: Change(kind, rule=rule, to=to if kind == "edit-rule" else None),
    st.sampled_from(RULE_KINDS),
    st.sampled_from(SOME_RULES),
    st.sampled_from(SOME_RULES),
)
sequences = st.lists(st.one_of(of_facts, of_rules), max_size=12)


def applied(changes: Sequence[Change]) -> tuple[set[Triple], list[Rule], set[Rule]]:
    """The facts, the rules and the accepted rules after each change in its turn."""
    facts, rules, accepted = set(FACTS), list(RULES.rules), set()

    def take(rule: Rule) -> None:
        rules[:] = [one for one in rules if one != rule]
        accepted.discard(rule)

    def put(rule: Rule) -> None:
        if rule not in rules:
            rules.append(rule)

    for change in changes:
        if change.kind == "add-fact":
            facts.add(change.triple)
        elif change.kind == "remove-fact":
            facts.discard(change.triple)
        elif change.kind == "reject-rule":
            take(change.rule)
        elif change.kind == "edit-rule":
            take(change.rule)
            put(change.to)
        else:
            put(change.rule)
        if change.kind == "accept-rule":
            accepted.add(change.rule)
    return facts, rules, accepted


def anew(facts: set[Triple]) -> Source:
    """The facts in a graph of their own, over the names of the subject and those that came."""
    gone, new = set(FACTS) - facts, sorted(facts - set(FACTS))
    return Source("letters", (FACTS - KnowledgeGraph(gone)) | KnowledgeGraph(new))


def fresh_rules(facts: set[Triple], rules: list[Rule]) -> RuleBaseSubject:
    return RuleBaseSubject(RuleBase(tuple(rules)), anew(facts))


@cache
def listed() -> RuleModel:
    model = RuleModel.from_rules(RULES)
    weighted = tuple(replace(one, weight=1.5 + place) for place, one in enumerate(model.rules))
    return replace(model, rules=weighted)


def fresh_list(facts: set[Triple], rules: list[Rule]) -> RuleListSubject:
    left = replace(listed(), rules=tuple(one for one in listed().rules if one.rule in rules))
    new = [rule for rule in rules if rule not in RULES.rules]
    return RuleListSubject(left.with_rules(RuleBase(tuple(new))), anew(facts))


@cache
def trained() -> Reshuffle:
    return Reshuffle(num_slots=4, num_layers=2, max_epochs=1, seed=1).fit(FACTS)


def fresh_model(facts: set[Triple], rules: list[Rule]) -> SoftModelSubject:
    del rules  # what a model answers goes by its weights
    return SoftModelSubject(trained(), anew(facts))


KINDS = {
    "rules": (lambda: RuleBaseSubject(RULES, SOURCE), fresh_rules),
    "rule model": (lambda: RuleListSubject(listed(), SOURCE), fresh_list),
    "soft model": (lambda: SoftModelSubject(trained(), SOURCE), fresh_model),
}


@cache
def exhibit_of(kind: str) -> Exhibit:
    return Exhibit(kind, kind, kind, lambda _: KINDS[kind][0]())


def answers_of(world: World, kind: str) -> Any:
    """Everything that a world says: what follows, or the score of every triple."""
    if kind == "rules":
        return set(world.answers.triples())  # type: ignore[attr-defined]
    scores = {}
    for relation in world.asked_relations:
        for head in world.facts.entities:
            rows = world.predictions(relation=relation, head=head, top=100, known="mark")  # type: ignore[attr-defined]
            scores |= {row.triple: row.score for row in rows}
    return scores


def assert_same(world: World, fresh: World, kind: str) -> None:
    found, expected = answers_of(world, kind), answers_of(fresh, kind)
    if kind == "rules":
        assert found == expected
        return
    assert found.keys() == expected.keys()
    assert np.allclose([found[key] for key in expected], list(expected.values()), atol=1e-5)


def check(kind: str, changes: Sequence[Change]) -> World:
    facts, rules, accepted = applied(changes)
    edits = edits_of(changes)
    world = exhibit_of(kind).world(edits)
    fresh: Subject = KINDS[kind][1](facts, rules)
    assert set(world.facts) == facts
    if kind != "soft model":
        assert set(world.rules.rules) == set(rules)
        assert len(world.rules.given) == len(rules)  # none counts twice
    assert edits.accepted == accepted
    assert_same(world, fresh.as_given, kind)
    return world


@pytest.mark.parametrize("kind", ["rules", "rule model"])
@settings(deadline=None, max_examples=60)
@given(changes=sequences)
def test_changes_are_applied_one_after_the_other(kind: str, changes: list[Change]) -> None:
    check(kind, changes)


@settings(deadline=None, max_examples=15)
@given(changes=st.lists(of_facts, max_size=8))
def test_a_trained_model_sees_the_facts_after_all_changes(changes: list[Change]) -> None:
    check("soft model", changes)


@pytest.mark.parametrize("kind", ["rules", "rule model"])
@settings(deadline=None, max_examples=40)
@given(changes=sequences.filter(len))
def test_undo_leads_back_to_the_state_before(kind: str, changes: list[Change]) -> None:
    session, states = Session(), []
    for change in changes:
        states.append(session.edits_of(kind))
        session.add(kind, change)
        assert session.edits_of(kind) == states[-1].after(change)
    while states:
        session.undo(kind)
        before = states.pop()
        assert session.edits_of(kind) == before and session.edits_of(kind).accepted == before.accepted
        world = exhibit_of(kind).world(session.edits_of(kind))
        assert set(world.facts) == applied(session.changes_of(kind))[0]
    assert world is exhibit_of(kind).subject().as_given


KNOWN, UNKNOWN = Triple("a", "r", "b"), Triple("a", "s", "c")
THERE, ABSENT = RULES.rules[0], NEW_RULES.rules[0]


@pytest.mark.parametrize(
    "changes",
    [
        [Change("add-fact", KNOWN), Change("remove-fact", KNOWN)],
        [Change("remove-fact", UNKNOWN), Change("add-fact", UNKNOWN)],
        [Change("add-rule", rule=THERE), Change("reject-rule", rule=THERE)],
        [Change("edit-rule", rule=RULES.rules[1], to=THERE), Change("reject-rule", rule=THERE)],
        [Change("reject-rule", rule=ABSENT), Change("add-rule", rule=ABSENT)],
        [Change("reject-rule", rule=ABSENT), Change("edit-rule", rule=THERE, to=ABSENT)],
    ],
    ids=["add a fact", "take a fact", "add a rule", "edit into a rule", "reject a rule", "edit a rule"],
)
@pytest.mark.parametrize("kind", ["rules", "rule model"])
def test_the_last_of_two_changes_counts_whatever_was_there_before(kind: str, changes: list[Change]) -> None:
    check(kind, changes)


@pytest.mark.parametrize("kind", KINDS)
def test_what_comes_to_nothing_needs_no_new_world(kind: str) -> None:
    exhibit = exhibit_of(kind)
    there = [Change("remove-fact", KNOWN), Change("add-fact", KNOWN)]
    absent = [Change("add-fact", UNKNOWN), Change("remove-fact", UNKNOWN)]
    assert exhibit.world(edits_of([*there, *absent])) is exhibit.subject().as_given


def test_a_rule_that_was_struck_out_and_comes_back_keeps_its_weight_and_place() -> None:
    back = [Change("reject-rule", rule=THERE), Change("add-rule", rule=THERE)]
    assert exhibit_of("rule model").world(edits_of(back)) is exhibit_of("rule model").subject().as_given
    restored = edits_of([Change("reject-rule", rule=THERE), Change("restore-rule", rule=THERE)])
    assert restored.written == () and edits_of(back).written == (THERE,)
