"""Proof trees: printing, exporting and checking them, at any depth."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from tests.strategies import fact_lists, rule_bases

from reshuffle.errors import BudgetError, NotExpressibleError
from reshuffle.kg import KnowledgeGraph, Triple
from reshuffle.reasoning import Reasoner
from reshuffle.reasoning.proofs import Proof, WrongStepError, check_proof
from reshuffle.rules import IntersectionRule, PathRule, RuleBase, parse_rules
from reshuffle.rules.entailment import closure

CITIZEN = PathRule(("bornIn", "cityIn"), "citizenOf")
SPEAKS = PathRule(("citizenOf", "hasLanguage"), "speaks")
CHILD = PathRule(("parent^-1",), "child")
LOCAL = IntersectionRule(("livesIn", "worksIn"), "localTo")
BASE = RuleBase((CITIZEN, SPEAKS, CHILD, LOCAL))
TRANSITIVE = PathRule(("r", "r"), "r")


def fact(head: str, relation: str, tail: str) -> Proof:
    return Proof(Triple(head, relation, tail))


def ada() -> Proof:
    citizen = Proof(
        Triple("ada", "citizenOf", "uk"),
        CITIZEN,
        (fact("ada", "bornIn", "london"), fact("london", "cityIn", "uk")),
    )
    return Proof(Triple("ada", "speaks", "english"), SPEAKS, (citizen, fact("uk", "hasLanguage", "english")))


def chain(length: int) -> Proof:
    proof = fact("0", "r", "1")
    for end in range(2, length + 2):
        step = fact(str(end - 1), "r", str(end))
        proof = Proof(Triple("0", "r", str(end)), TRANSITIVE, (proof, step))
    return proof


def test_a_proof_prints_as_a_tree_with_its_rules():
    assert str(ada()).splitlines() == [
        "speaks(ada, english)    [citizenOf(X, Y) & hasLanguage(Y, Z) -> speaks(X, Z)]",
        "├─ citizenOf(ada, uk)    [bornIn(X, Y) & cityIn(Y, Z) -> citizenOf(X, Z)]",
        "│  ├─ bornIn(ada, london)    fact",
        "│  └─ cityIn(london, uk)    fact",
        "└─ hasLanguage(uk, english)    fact",
    ]


def test_size_depth_and_leaves():
    proof = ada()
    assert (proof.size, proof.depth) == (2, 2)
    assert [leaf.relation for leaf in proof.leaves()] == ["bornIn", "cityIn", "hasLanguage"]


def test_equal_proofs_are_equal_and_hash_alike_and_others_are_not():
    assert ada() == ada()
    assert len({ada(), ada(), fact("a", "r", "b")}) == 2
    assert ada() != fact("ada", "speaks", "english")


def test_json_has_every_step_before_it_is_used():
    steps = json.loads(json.dumps(ada().to_dict()))["steps"]
    assert [step["triple"][1] for step in steps] == ["bornIn", "cityIn", "citizenOf", "hasLanguage", "speaks"]
    assert steps[-1]["premises"] == [2, 3]


def test_mermaid_draws_facts_round_and_escapes_quotes():
    drawn = Proof(Triple('"a"', "child", "b"), CHILD, (fact("b", "parent", '"a"'),)).to_mermaid()
    assert '(["parent(b, #quot;a#quot;)"])' in drawn
    assert "n0 --> n1" in drawn


def test_a_shared_step_is_shown_once():
    step = Proof(Triple("a", "citizenOf", "a"), CITIZEN, (fact("a", "bornIn", "b"), fact("b", "cityIn", "a")))
    rule = PathRule(("citizenOf", "citizenOf"), "s")
    lines = str(Proof(Triple("a", "s", "a"), rule, (step, step))).splitlines()
    assert [line for line in lines if line.endswith("(shown above)")] == [
        "└─ citizenOf(a, a)    (shown above)"
    ]


def test_ten_thousand_steps_deep_without_recursion_or_indentation_without_end():
    facts = {Triple(str(end), "r", str(end + 1)) for end in range(10_001)}
    proof, twin = chain(10_000), chain(10_000)
    assert (proof.size, proof.depth) == (10_000, 10_000)
    assert proof == twin
    check_proof(proof, RuleBase((TRANSITIVE,)), facts)
    assert len(proof.leaves()) == 10_001
    assert len(proof.to_dict()["steps"]) == 20_001
    assert len(str(proof)) < 3_000_000  # plain indentation would take 300 MB
    assert len(proof.to_mermaid().splitlines()) > 20_000


def test_a_deep_proof_is_printed_in_numbered_blocks():
    text = str(chain(30))
    assert "see [1] below" in text
    assert "\n[1]\nr(0, 7)    [r(X, Y) & r(Y, Z) -> r(X, Z)]\n" in text


def test_inverse_atoms_and_intersections_check():
    check_proof(
        Proof(Triple("a", "child", "b"), CHILD, (fact("b", "parent", "a"),)), BASE, {("b", "parent", "a")}
    )
    both = (fact("a", "livesIn", "b"), fact("a", "worksIn", "b"))
    check_proof(Proof(Triple("a", "localTo", "b"), LOCAL, both), BASE, {p.triple for p in both})


@pytest.mark.parametrize(
    ("proof", "message"),
    [
        (fact("a", "nofact", "b"), "nofact(a, b) is no fact of the graph"),
        (Proof(Triple("a", "bornIn", "b"), None, (fact("a", "bornIn", "b"),)), "has premises but no rule"),
        (Proof(Triple("a", "r", "b"), TRANSITIVE, ()), "uses a rule that is not in the base"),
        (
            Proof(Triple("b", "child", "a"), CHILD, (fact("b", "parent", "a"),)),
            "does not follow from parent(b, a)",
        ),
        (Proof(Triple("a", "child", "b"), CHILD, (fact("b", "bornIn", "a"),)), "do not fit the rule"),
        (
            Proof(
                Triple("a", "citizenOf", "c"), CITIZEN, (fact("a", "bornIn", "b"), fact("x", "cityIn", "c"))
            ),
            "does not follow from bornIn(a, b), cityIn(x, c)",
        ),
        (
            Proof(Triple("a", "localTo", "b"), LOCAL, (fact("a", "livesIn", "b"), fact("a", "worksIn", "c"))),
            "does not follow",
        ),
    ],
)
def test_the_wrong_step_is_named(proof: Proof, message: str):
    facts = {step.triple for step in proof.steps() if step.triple.relation != "nofact"}
    with pytest.raises(WrongStepError) as caught:
        check_proof(proof, BASE, facts)
    assert message in str(caught.value)


# --- no triple rests on itself ------------------------------------------------------------------------------------

ENGINES = {"auto": {}, "bound": {"bound": 3}, "chase": {"engine": "chase"}}


def rests_on_itself(proof: Proof, above: frozenset[Triple] = frozenset()) -> bool:
    return proof.triple in above or any(
        rests_on_itself(premise, above | {proof.triple}) for premise in proof.premises
    )


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=60, deadline=None)
@given(rules=rule_bases(intersections=True, inverses=True), facts=fact_lists(entities=3, most=8))
def test_no_proof_has_its_conclusion_below_itself(engine: str, rules: RuleBase, facts):
    try:
        answers = Reasoner(rules, **ENGINES[engine]).on(facts)
    except (NotExpressibleError, BudgetError):
        return
    for triple in sorted(closure(rules, facts)):
        for most in (1, 2, 4):
            proofs = answers.proofs(*triple, most=most)
            assert len(set(proofs)) == len(proofs) <= most
            for proof in proofs:
                assert not rests_on_itself(proof)
                check_proof(proof, rules, set(facts))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("rules", ["u(Y, X) -> u(X, Y)", "u(X, Y) & u(Y, Z) -> u(X, Z)"])
def test_a_loop_is_no_reason_for_itself(engine: str, rules: str):
    answers = Reasoner(parse_rules(rules), **ENGINES[engine]).on([("f", "u", "f")])
    assert answers.proofs("f", "u", "f", most=5) == [fact("f", "u", "f")]


@pytest.mark.parametrize("engine", ENGINES)
def test_cutting_circles_out_leaves_the_other_proofs(engine: str):
    rules = parse_rules("u(Y, X) -> u(X, Y)\nu(X, Y) & u(Y, Z) -> u(X, Z)")
    facts = KnowledgeGraph([("a", "u", "b"), ("b", "u", "c"), ("a", "u", "c")])
    proofs = Reasoner(rules, **ENGINES[engine]).on(facts).proofs("a", "u", "c", most=2)
    assert [proof.size for proof in proofs] == [0, 1]
    assert proofs[1].leaves() == (Triple("a", "u", "b"), Triple("b", "u", "c"))
