"""Rules with constants: every engine derives what the definition says, and shows no trace of the helpers."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, example, given, settings

from reshuffle import KnowledgeGraph, Reasoner, parse_rules
from reshuffle.errors import InputError, NotExpressibleError, UnknownNameError
from reshuffle.reasoning.proofs import check_proof
from reshuffle.rulegraphs import build
from reshuffle.rulegraphs.draw import to_dot, to_mermaid
from reshuffle.rules.classes import classify
from reshuffle.rules.encoding import HUB
from reshuffle.rules.entailment import closure
from reshuffle.rules.rule_pictures import rules_diagram, rules_scene
from strategies import bases_with_constants, fact_lists

if TYPE_CHECKING:
    from pathlib import Path

    from reshuffle.reasoning import Answers
    from reshuffle.rules import RuleBase
    from reshuffle.rules.entailment import Fact

MIXING = parse_rules(
    """
    r1(X, "e1") & r2("e1", Y) -> r3(X, Y)
    r1(X, "e2") & r2("e2", Y) -> r3(X, Y)
    r1(X, A) & r2(A, "e1") -> r3(X, "k1")
    r1(X, A) & r2(A, "e2") -> r3(X, "e1")
    r1(X, "e1") & r2(X, "e2") -> r3("k1", X)
    r1(X, "e2") & r2(X, "e1") -> r3("e1", X)
    """
)


def check(answers: Answers, rules: RuleBase, present: set[Fact]) -> None:
    """All that is derived, counted, proved and kept is what the definition says."""
    expected = closure(rules, present) - present
    assert set(answers.triples()) == expected
    assert list(answers.sorted_triples()) == sorted(expected)
    assert answers.count() == len(expected)
    assert set(answers.facts) == present
    assert {name for triple in present for name in (triple[0], triple[2])} == set(answers.facts.entities)
    assert not any("~" in name for name in answers.counts())
    for head, relation, tail in sorted(expected):
        assert answers.holds(head, relation, tail)
        for proof in answers.proofs(head, relation, tail, most=2):
            check_proof(proof, rules, answers.facts)
            assert "~" not in str(proof)


@given(rules=bases_with_constants(), facts=fact_lists(relations=3), later=fact_lists(relations=3, most=4))
@example(
    rules=MIXING, facts=[("a", "r1", "e1"), ("e2", "r2", "b"), ("a", "r2", "e2")], later=[("a", "r1", "e2")]
)
@settings(deadline=None)
def test_the_chase_is_exact_with_constants_and_after_every_change(
    rules: RuleBase, facts: list[Fact], later: list[Fact]
):
    answers = Reasoner(rules, engine="chase").on(KnowledgeGraph(facts))
    check(answers, rules, set(facts))
    answers.add(later)
    check(answers, rules, {*facts, *later})
    answers.remove(sorted({*later} - {*facts}))
    check(answers, rules, set(facts))


@given(
    rules=bases_with_constants(most_rules=3),
    facts=fact_lists(relations=3),
    later=fact_lists(relations=3, most=4),
)
@settings(deadline=None)
def test_the_geometry_is_exact_where_there_is_one(rules: RuleBase, facts: list[Fact], later: list[Fact]):
    try:
        answers = Reasoner(rules, engine="geometry").on(KnowledgeGraph(facts))
    except NotExpressibleError as error:
        assert "~" not in str(error)
        assume(False)
    check(answers, rules, set(facts))
    answers.add(later)
    check(answers, rules, {*facts, *later})
    answers.remove(sorted({*later} - {*facts}))
    check(answers, rules, set(facts))


@given(rules=bases_with_constants(), facts=fact_lists(relations=3))
@settings(deadline=None)
def test_why_not_speaks_of_the_rules(rules: RuleBase, facts: list[Fact]):
    answers = Reasoner(rules, engine="chase").on(KnowledgeGraph(facts))
    known = closure(rules, facts)
    for relation in rules.head_relations:
        if ("e1", relation, "e2") in known or not {"e1", "e2"} <= set(answers.facts.entities):
            continue
        for partial in answers.why_not("e1", relation, "e2"):
            assert partial.rule in rules.given
            assert set(partial.matched) <= known
            assert not set(partial.missing) & known
            assert "~" not in str(partial)


SPEAKS = parse_rules('bornIn(X, "london") -> speaks(X, "english")\nspeaks(X, A) -> speaker(X)')


@pytest.mark.parametrize("engine", ["geometry", "chase"])
def test_proofs_and_why_not_name_the_rule_with_its_constants(engine: str):
    answers = Reasoner(SPEAKS, engine=engine).on([("ada", "bornIn", "london"), ("eve", "bornIn", "paris")])
    assert str(answers.explain("ada", "speaker", "true")) == (
        'speaker(ada, true)    [speaks(X, Y) -> speaker(X, "true")]\n'
        '└─ speaks(ada, english)    [bornIn(X, "london") -> speaks(X, "english")]\n'
        "   └─ bornIn(ada, london)    fact"
    )
    assert "missing: bornIn(eve, london)" in str(answers.explain("eve", "speaks", "english"))
    with pytest.raises(UnknownNameError):
        answers.holds("ada", "speaks", HUB)
    with pytest.raises(InputError, match="kept for rules with constants"):
        answers.add([(HUB, "bornIn", "london")])
    with pytest.raises(InputError, match="kept for rules with constants"):
        Reasoner(SPEAKS, engine=engine).on([(HUB, "bornIn", "london")])


def test_ends_that_exclude_each_other_are_violations():
    rules = parse_rules('r(X, "a") & s("b", X) -> false\nt(X, Y) -> r(X, Y)')
    answers = Reasoner(rules).on([("u", "t", "a"), ("b", "s", "u"), ("v", "t", "a")])
    (violation,) = answers.violations()
    assert (violation.first.triple, violation.second.triple) == (("u", "r", "a"), ("b", "s", "u"))


def test_compiled_rules_keep_their_constants(tmp_path: Path):
    Reasoner(SPEAKS, engine="geometry").save(tmp_path / "compiled.json")
    loaded = Reasoner.load(tmp_path / "compiled.json")
    assert loaded.rules == SPEAKS
    facts = [("ada", "bornIn", "london")]
    derived = {("ada", "speaks", "english"), ("ada", "speaker", "true")}
    assert set(loaded.on(facts).triples()) == set(Reasoner(SPEAKS).on(facts).triples()) == derived


def test_an_entity_that_is_gone_is_no_longer_spoken_of():
    answers = Reasoner(parse_rules('-> knows(X, "k")\na(X, Y) -> b(X, Y)')).on([("u", "a", "v")])
    answers.add([("w", "a", "v")])
    answers.remove([("w", "a", "v")])
    assert {head for head, relation, _ in answers.triples() if relation == "knows"} == {"u", "v", "k"}


def test_pictures_and_classes_name_no_helper():
    rules = parse_rules('a(X, "d") & b(X, "e") -> h(X, "c")\nk(X, A) & a(A, "d") -> k(X, "c")')
    assert "~" not in str(classify(rules).why_not)
    graph = build(SPEAKS)
    assert "~" not in to_dot(graph) + to_mermaid(graph)
    assert any("london" in str(shape) for shape in rules_scene(SPEAKS).shapes)
    assert "~" not in rules_diagram(SPEAKS).to_mermaid()


def test_answers_can_be_copied():
    answers = Reasoner(SPEAKS).on([("ada", "bornIn", "london")])
    twin = copy.deepcopy(answers)
    assert set(twin.triples()) == set(answers.triples())
