"""Reasons: every step a fact, the best walk of all, none that is not there, and texts that say it."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from predicting_worlds import RELATIONS, random_answers

from reshuffle.errors import InputError, UnknownNameError
from reshuffle.kg import KnowledgeGraph, Triple
from reshuffle.learning.estimator import Reshuffle
from reshuffle.model.questions import question_of
from reshuffle.reasoning.proofs import check_proof
from reshuffle.rulegraphs import constraints_for
from reshuffle.rules import RuleBase, parse_rules
from reshuffle.rules.entailment import closure

if TYPE_CHECKING:
    from reshuffle.model.answering import ModelAnswers


def triples_of(answers: ModelAnswers) -> list[Triple]:
    names = list(answers.graph.entities)
    return [Triple(head, "r", tail) for head in names[:3] for tail in names if head != tail]


@given(
    st.integers(0, 10**6),
    st.sampled_from(["head", "bits", "private"]),
    st.booleans(),
    st.sampled_from(["tail", "head"]),
)
@settings(max_examples=40)
def test_every_step_is_a_fact_and_follows_the_rule(
    seed: int, initial: str, identity: bool, side: str
) -> None:
    answers = random_answers(seed, initial=initial, identity=identity, num_layers=3)
    for triple in triples_of(answers):
        found = answers.reasons(*triple, most=4, side=side)
        for reason in found:
            assert triple not in reason.facts  # a fact is no reason for itself
            check_proof(reason.proof, RuleBase((reason.rule,)), answers.graph)
            assert 0 < reason.share <= 1 + 1e-5
        assert len({reason.proof for reason in found}) == len(found)
        assert [reason.support for reason in found] == sorted((r.support for r in found), reverse=True)


def walks(edges: list[tuple[int, int, int]], head: int, tail: int, most: int) -> list[tuple[int, ...]]:
    """The words of all walks that do not come back to their head, by brute force."""
    found = []
    for length in range(1, most + 1):
        for steps in itertools.product(edges, repeat=length):
            joined = all(one[2] == two[0] for one, two in itertools.pairwise(steps))
            comes_back = head in [step[2] for step in steps]
            if joined and not comes_back and (steps[0][0], steps[-1][2]) == (head, tail):
                found.append(tuple(step[1] for step in steps))
    return found


@given(st.integers(0, 10**6))
@settings(max_examples=25)
def test_the_first_reason_is_the_best_walk_of_all(seed: int) -> None:
    answers = random_answers(seed)
    model, graph = answers._model, answers.graph
    matrices, weights = answers._placed.matrices.numpy(), model.slot_weights().detach().numpy()[0]
    bodies = matrices[0].sum(1)
    for triple in triples_of(answers)[::3]:
        facts = [fact for fact in graph if fact != triple]
        ids = [(graph.entities.id(h), RELATIONS.index(r), graph.entities.id(t)) for h, r, t in facts]
        edges = ids + [(t, r + 2, h) for h, r, t in ids]
        head, tail = graph.entities.id(triple.head), graph.entities.id(triple.tail)
        states = np.zeros((graph.num_entities, 3))
        states[head] = 1
        for _ in range(2):
            before = states.copy()
            for start, relation, end in edges:
                states[end] = np.maximum(states[end], matrices[relation] @ before[start])
        reached = states[tail]
        supports = [0.0]
        for word in walks(edges, head, tail, 2):
            brought = np.ones(3)
            for relation in word:
                brought = matrices[relation] @ brought
            part = np.divide(bodies, reached, out=np.zeros(3), where=reached > 0)
            supports.append(float((weights * np.minimum(1, part) * brought).sum()))
        found = answers.reasons(*triple, most=3)
        best = sorted(supports[1:], reverse=True)[:3]
        assert [reason.support for reason in found] == pytest.approx(best, rel=1e-4)
        met = float((weights * np.minimum(bodies, reached)).sum())
        assert answers.explain(*triple).met == pytest.approx(met / float((weights * bodies).sum()), rel=1e-4)


RULES = [
    "parent(X, Y) & parent(Y, Z) -> grandparent(X, Z)",
    "r(X, Y) & s(Y, Z) -> t(X, Z)\nt(X, Y) & s(Y, Z) -> t(X, Z)",
    "r(X, Y) -> s(X, Y)\ns(X, Y) & t(Y, Z) -> u(X, Z)",
]


@pytest.mark.parametrize("text", RULES)
def test_what_rules_entail_has_reasons_that_entail_it(text: str) -> None:
    rules = parse_rules(text)
    names = sorted(set(rules.relations))
    chance = np.random.default_rng(len(text))
    triples = [
        (f"e{chance.integers(5)}", names[chance.integers(len(names))], f"e{chance.integers(5)}")
        for _ in range(10)
    ]
    graph = KnowledgeGraph([*triples, *((f"x{name}", name, f"y{name}") for name in names)])
    answers = Reshuffle.from_constraints(constraints_for(rules), device="cpu", num_layers=8).on(graph)
    entailed = closure(rules, triples) - set(triples)
    assert entailed
    for triple in entailed:
        explanation = answers.explain(*triple)
        assert explanation.judgement.captured
        assert any(
            triple in closure(rules, [tuple(f) for f in reason.facts]) for reason in explanation.reasons
        )
        assert explanation.reasons[0].share == 1


def chain() -> ModelAnswers:
    """A model that has learned r(X, Y) & s(Y, Z) -> t(X, Z), softly."""
    constraints = constraints_for(parse_rules("r(X, Y) & s(Y, Z) -> t(X, Z)"))
    model = Reshuffle.from_constraints(constraints, strength=6, device="cpu", initial="head", num_layers=3)
    facts = [
        ("a", "r", "b"),
        ("b", "s", "c"),
        ("a", "r", "d"),
        ("d", "s", "c"),
        ("x", "t", "y"),
        ("z", "r", "z"),
    ]
    return model.on(KnowledgeGraph(facts))


def test_several_walks_are_several_reasons_in_text_json_and_mermaid() -> None:
    explanation = chain().explain("a", "t", "c", most=2)
    rule = "r(X, Y) & s(Y, Z) -> t(X, Z)"
    assert [str(reason.rule) for reason in explanation.reasons] == [rule, rule]
    assert {reason.facts[0].tail for reason in explanation.reasons} == {"b", "d"}
    text = str(explanation)
    assert f"t(a, c)    [{rule}]\n├─ r(a, b)    fact\n└─ s(b, c)    fact" in text
    data = json.loads(json.dumps(explanation.to_dict()))
    assert data["supported"] is True and data["known"] is False and data["confidence"] is None
    assert [reason["facts"][1] for reason in data["reasons"]] == [["b", "s", "c"], ["d", "s", "c"]]
    chart = explanation.to_mermaid().splitlines()
    assert chart[:2] == ["flowchart BT", '  goal["t(a, c)"]']
    assert sum("--> goal" in line for line in chart) == 2
    assert '  fact1(["s(b, c)"])' in chart


def test_what_nothing_leads_to_has_no_reason() -> None:
    explanation = chain().explain("a", "t", "x")
    assert not explanation.supported and explanation.met == 0
    assert str(explanation).splitlines()[1:3] == ["nothing leads to it", "nothing supports it"]


def test_a_walk_that_leads_to_many_supports_nobody() -> None:
    """In the channel of a, everyone that r and s reach is met in part: only c by both of them."""
    answers = chain()
    best, other = answers.explain("a", "t", "c"), answers.explain("a", "t", "b")
    assert other.reasons and other.judgement.constraint_score < best.judgement.constraint_score
    scores = answers.scored(question_of(answers, "t", head="a")).constraint
    for explanation in (best, other):
        left_out = [answers.graph.entities.id(name) for name in ("a", explanation.judgement.triple[2])]
        lower = float((np.delete(scores, left_out) < explanation.judgement.constraint_score).mean())
        assert explanation.better_than == lower
        captured = explanation.judgement.captured
        assert explanation.supported == (captured or lower >= 0.9)
    assert not other.supported
    assert f"which fits better than {other.better_than:.0%} of the others\nnothing supports it" in str(other)


def test_a_fact_is_known_and_explained_without_itself() -> None:
    explanation = chain().explain("x", "t", "y")
    assert explanation.known and explanation.supported and not explanation.reasons
    assert str(explanation).splitlines()[0].endswith(", a fact")
    assert "nothing else in the graph leads to it" in str(explanation)


def test_evidence_in_words() -> None:
    answers = random_answers(3)
    graph = answers.graph
    explanation = answers.explain("x", "r", "y")
    said = {remark.kind: remark for remark in explanation.remarks}
    assert said["unary"].words == "y is the tail of no other fact of r"
    assert said["proximity"].words == "y is 1 step away from x"
    assert said["negative"].words == "s(x, y)"
    other = next(iter(graph.entities))
    words = {remark.kind: remark.words for remark in answers.explain("x", "r", other).remarks}
    assert words["proximity"] == f"{other} is more than 3 steps away from x"
    assert words["negative"] == "no other fact holds between the two"
    scored = answers.scored(question_of(answers, "r", head="x"))
    assert said["unary"].average == pytest.approx(float(scored.evidence["unary"].mean()), abs=1e-6)
    value, average = said["unary"].value, said["unary"].average
    expected = "little" if abs(value - average) < 0.1 else "for" if value > average else "against"
    assert said["unary"].speaks == expected


def test_asking_for_no_reason_or_for_unknown_names() -> None:
    answers = chain()
    with pytest.raises(InputError, match="most = 0 asks for no reason\n  hint: give 1 or more"):
        answers.reasons("a", "t", "c", most=0)
    with pytest.raises(UnknownNameError, match="unknown entity 'aa'; did you mean 'a'"):
        answers.explain("aa", "t", "c")
    with pytest.raises(UnknownNameError, match="unknown relation 'tt'; did you mean 't'"):
        answers.explain("a", "tt", "c")


def test_head_and_tail_alike_have_no_walk() -> None:
    assert chain().reasons("a", "t", "a") == ()


def test_injected_rules_prove_what_they_capture() -> None:
    facts = KnowledgeGraph(
        [(f"p{n}", "bornIn", f"c{n % 4}") for n in range(12)]
        + [(f"c{n}", "cityIn", f"s{n % 2}") for n in range(4)]
        + [(f"p{n}", "citizenOf", f"s{n % 2}") for n in range(6)]
    )
    rules = parse_rules("bornIn(X, Y) & cityIn(Y, Z) -> citizenOf(X, Z)")
    model = Reshuffle(device="cpu", num_slots=4, num_layers=2, max_epochs=1, epoch_steps=1, batch_size=8)
    answers = model.fit(facts, inject=rules).on(facts)
    for triple in (("p7", "citizenOf", "s1"), ("p1", "citizenOf", "s1")):  # one to predict, one that is known
        explanation = answers.explain(*triple)
        assert explanation.known == (triple in facts)
        assert "injected" in explanation.judgement.captured_by and explanation.supported
        (proof,) = explanation.proofs
        check_proof(proof, rules, facts)
        assert f"by injected rules:\n{proof}" in str(explanation)
        assert explanation.to_dict()["proofs"] == [proof.to_dict()]
    other = answers.explain("p7", "citizenOf", "s0")
    assert other.proofs == () and "injected" not in other.judgement.captured_by
    assert "proofs" not in other.to_dict()
