"""Proofs from the geometry: every leaf a fact, every step a rule, at any depth."""

from __future__ import annotations

from cProfile import Profile

import numpy as np
from hypothesis import assume, given

from reshuffle.constraints import OrderingConstraints
from reshuffle.errors import BudgetError, NotExpressibleError
from reshuffle.kg import KnowledgeGraph, Triple
from reshuffle.reasoning.geometry.answers import GeometryAnswers
from reshuffle.reasoning.proofs import check_proof
from reshuffle.rulegraphs import constraints_for
from reshuffle.rules import IntersectionRule, PathRule, RuleBase
from reshuffle.rules.entailment import closure
from strategies import fact_lists, rule_bases


def compiled(base: RuleBase, *, bound: int | None = None) -> OrderingConstraints:
    try:
        return constraints_for(base, bound=bound)
    except (NotExpressibleError, BudgetError):
        assume(False)
        raise


@given(rule_bases(intersections=True, inverses=True), fact_lists(most=10))
def test_all_that_follows_has_a_proof_and_nothing_else_has(base, facts):
    answers = GeometryAnswers(compiled(base), KnowledgeGraph(facts))
    for triple in closure(base, facts):
        proof = answers.explain(*triple)
        assert proof is not None and proof.triple == triple
        check_proof(proof, base, answers.facts)
    entities, relations = list(answers.facts.entities), answers.relations
    for head in entities[:2]:
        for relation in relations:
            if relation in base.relations and (head, relation, head) not in closure(base, facts):
                assert not answers.explain(head, relation, head)


@given(rule_bases(intersections=True, inverses=True), fact_lists(most=8))
def test_several_proofs_are_different_correct_and_smallest_first(base, facts):
    answers = GeometryAnswers(compiled(base), KnowledgeGraph(facts))
    for triple in sorted(closure(base, facts))[:4]:
        proofs = answers.proofs(*triple, most=4)
        assert len(set(proofs)) == len(proofs) >= 1
        assert [proof.size for proof in proofs] == sorted(proof.size for proof in proofs)
        assert proofs[0].size == answers.explain(*triple).size
        for proof in proofs:
            assert proof.triple == triple
            check_proof(proof, base, answers.facts)


@given(rule_bases(), fact_lists(most=8))
def test_bounded_answers_have_proofs_too(base, facts):
    answers = GeometryAnswers(compiled(base, bound=2), KnowledgeGraph(facts))
    for triple in answers.triples():
        check_proof(answers.explain(*triple), base, answers.facts)


def chain(length: int) -> KnowledgeGraph:
    return KnowledgeGraph((f"n{i}", "r", f"n{i + 1}") for i in range(length))


def test_a_chain_of_five_thousand_facts():
    base = RuleBase((PathRule(("r", "r"), "r"),))
    answers = GeometryAnswers(constraints_for(base), chain(5000))
    proof = answers.explain("n0", "r", "n5000")
    assert proof.size == proof.depth == 4999
    check_proof(proof, base, answers.facts)


def test_a_chain_read_from_the_right():
    base = RuleBase((PathRule(("r", "s"), "s"), PathRule(("t",), "s")))
    facts = KnowledgeGraph([*chain(3000), ("n3000", "t", "end")])
    answers = GeometryAnswers(constraints_for(base), facts)
    proof = answers.explain("n0", "s", "end")
    assert proof.size == 3001
    check_proof(proof, base, facts)


def test_a_chain_of_three_atoms_that_recurs_on_the_right():
    """Of 300 levels each looks at its own part of the chain, and not at all that the last atom could spell."""
    bodies = {"r": [("a", "b", "r"), ("a", "a")], "b": [("c",), ("b", "d")]}
    base = RuleBase(tuple(PathRule(body, head) for head in bodies for body in bodies[head]))
    labels = ["a", "c"] * 300 + ["a", "a", "d"]
    facts = KnowledgeGraph((f"e{place}", label, f"e{place + 1}") for place, label in enumerate(labels))
    answers = GeometryAnswers(constraints_for(base), facts)
    with Profile() as calls:
        proof = answers.explain("e0", "r", "e602")
    calls.create_stats()
    assert sum(count for count, *_ in calls.stats.values()) < 300_000
    assert proof.depth == 301
    check_proof(proof, base, facts)


def test_a_proof_reads_as_the_user_wrote_the_rules():
    base = RuleBase(
        (PathRule(("bornIn", "cityIn"), "citizenOf"), PathRule(("citizenOf", "hasLanguage"), "speaks"))
    )
    facts = [("ada", "bornIn", "london"), ("london", "cityIn", "uk"), ("uk", "hasLanguage", "english")]
    answers = GeometryAnswers(constraints_for(base), KnowledgeGraph(facts))
    assert str(answers.explain("ada", "speaks", "english")) == (
        "speaks(ada, english)    [citizenOf(X, Y) & hasLanguage(Y, Z) -> speaks(X, Z)]\n"
        "├─ citizenOf(ada, uk)    [bornIn(X, Y) & cityIn(Y, Z) -> citizenOf(X, Z)]\n"
        "│  ├─ bornIn(ada, london)    fact\n"
        "│  └─ cityIn(london, uk)    fact\n"
        "└─ hasLanguage(uk, english)    fact"
    )


def test_a_rule_read_backwards_keeps_its_premises_in_order():
    base = RuleBase(
        (PathRule(("parent", "parent"), "grandparent"), PathRule(("grandparent^-1",), "grandchild"))
    )
    facts = KnowledgeGraph([("ann", "parent", "bob"), ("bob", "parent", "cleo")])
    answers = GeometryAnswers(constraints_for(base), facts)
    proof = answers.explain("cleo", "grandchild", "ann")
    check_proof(proof, base, facts)
    (premise,) = proof.premises
    assert [leaf.triple.head for leaf in premise.premises] == ["ann", "bob"]


def test_proofs_follow_updates():
    base = RuleBase((PathRule(("r", "r"), "r"),))
    answers = GeometryAnswers(constraints_for(base), chain(3))
    assert answers.explain("n0", "r", "n3").size == 2
    answers.add([("n0", "r", "n2"), ("n3", "r", "new")])
    assert answers.explain("n0", "r", "n3").size == 1
    assert answers.explain("n0", "r", "new").size == 2
    answers.remove([("n2", "r", "n3")])
    assert not answers.explain("n0", "r", "n3")


def test_two_ways_are_two_proofs():
    base = RuleBase((PathRule(("r", "r"), "s"), IntersectionRule(("r", "t"), "s")))
    facts = [
        ("a", "r", "b"),
        ("b", "r", "c"),
        ("a", "r", "x"),
        ("x", "r", "c"),
        ("a", "r", "c"),
        ("a", "t", "c"),
    ]
    answers = GeometryAnswers(constraints_for(base), KnowledgeGraph(facts))
    proofs = answers.proofs("a", "s", "c", most=9)
    assert len(proofs) == 3
    for proof in proofs:
        check_proof(proof, base, answers.facts)


def test_constraints_without_rules_show_the_facts_that_carry_each_slot():
    sources = np.full((3, 3), -1, dtype=np.int32)
    sources[0, 1], sources[1, 2], sources[2, 2] = 0, 1, 0  # r1: 0 -> 1, r2: 1 -> 2, r3: 0 -> 2
    constraints = OrderingConstraints(("r1", "r2", "r3"), sources)
    facts = [("a", "r1", "b"), ("b", "r2", "c")]
    answers = GeometryAnswers(constraints, KnowledgeGraph(facts))
    assert answers.holds("a", "r3", "c")
    proof = answers.explain("a", "r3", "c")
    assert proof.leaves() == tuple(map(Triple._make, facts))
    assert not answers.explain("b", "r3", "c")


def test_what_does_not_follow_names_the_slots_and_the_nearest_rules():
    base = RuleBase((PathRule(("r", "r"), "r"), IntersectionRule(("r", "t"), "both")))
    answers = GeometryAnswers(constraints_for(base), KnowledgeGraph([*chain(2), ("n0", "t", "n1")]))
    assert answers.failed_slots("n0", "both", "n1") == []
    by_t = answers.failed_slots("n0", "both", "n2")
    by_both = answers.failed_slots("n2", "both", "n0")
    assert len(by_t) == 1 and len(by_both) == 2 and set(by_t) < set(by_both)
    (nearest,) = answers.why_not("n0", "both", "n2")
    assert nearest.missing == (Triple("n0", "t", "n2"),)
