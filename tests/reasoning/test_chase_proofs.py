"""Proofs from the chase: valid, smallest first, at any depth; and why something does not follow."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from tests.strategies import fact_lists, rule_bases

from reshuffle.kg import KnowledgeGraph, Triple, inverse_name
from reshuffle.reasoning.chase import ChaseAnswers, proof_search
from reshuffle.reasoning.chase.proof_sizes import CheapestSizes, LevelSizes
from reshuffle.reasoning.proofs import Proof, check_proof
from reshuffle.reasoning.why_not import UNBOUND
from reshuffle.rules import IntersectionRule, PathRule, RuleBase
from reshuffle.rules.entailment import Fact, closure

ANY_RULES = rule_bases(intersections=True, inverses=True, longest=4, most_rules=5)


def smallest_sizes(rules: RuleBase, facts: list[Fact]) -> dict[Fact, int]:
    """Brute force: relax every instance of every rule until no triple gets cheaper."""
    sizes = dict.fromkeys(facts, 0)
    entities = sorted({end for e, _, f in facts for end in (e, f)})
    changed = True
    while changed:
        changed = False
        for rule in rules:
            for start, end in itertools.product(entities, repeat=2):
                cost = 1 + least_body(rule, sizes, entities, start, end)
                fact = as_fact(rule.head, start, end)
                if cost < sizes.get(fact, float("inf")):
                    sizes[fact] = cost
                    changed = True
    return sizes


def least_body(rule, sizes: dict[Fact, int], entities: list[str], start: str, end: str) -> float:
    def cost(relation: str, one: str, other: str) -> float:
        return sizes.get(as_fact(relation, one, other), float("inf"))

    if isinstance(rule, IntersectionRule):
        return sum(cost(relation, start, end) for relation in rule.body)
    least = {entity: (0 if entity == start else float("inf")) for entity in entities}
    for relation in rule.body:
        least = {to: min(least[via] + cost(relation, via, to) for via in entities) for to in entities}
    return least[end]


def as_fact(relation: str, start: str, end: str) -> Fact:
    return (end, inverse_name(relation), start) if relation.endswith("^-1") else (start, relation, end)


def uses_itself(proof: Proof) -> bool:
    def below(step: Proof, above: frozenset[Triple]) -> bool:
        if step.triple in above:
            return True
        return any(below(premise, above | {step.triple}) for premise in step.premises)

    return below(proof, frozenset())


@pytest.mark.parametrize("effort", [0, 2_000], ids=["by exact sizes", "by search"])
@settings(max_examples=80, deadline=None)
@given(rules=ANY_RULES, facts=fact_lists(entities=4, most=10))
def test_the_first_proof_is_a_smallest_one(effort: int, rules: RuleBase, facts: list[Fact]):
    answers = ChaseAnswers(rules, KnowledgeGraph(facts))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(proof_search, "_EFFORT", effort)
        for fact, size in smallest_sizes(rules, facts).items():
            proof = answers.explain(*fact)
            assert proof is not None
            assert proof.triple == fact
            assert proof.size == size
            check_proof(proof, rules, set(facts))


@pytest.mark.parametrize("kind", [CheapestSizes, LevelSizes])
@settings(max_examples=60, deadline=None)
@given(rules=ANY_RULES, facts=fact_lists(entities=4, most=10))
def test_the_exact_sizes_are_exact(
    kind: type[CheapestSizes | LevelSizes], rules: RuleBase, facts: list[Fact]
):
    answers = ChaseAnswers(rules, KnowledgeGraph(facts))
    store, numbers = answers._store, answers._relations
    sizes = kind(store.program, answers._facts.places, answers._bits, store.num_entities)
    sizes.reach(-1)  # no such triple: settle everything
    expected = smallest_sizes(rules, facts)
    entity = answers._entities.id
    keys = [store.key(2 * numbers[r], entity(e), entity(f)) for e, r, f in expected]
    assert sizes.least(np.array(keys, dtype=np.int64)).tolist() == list(expected.values())


@pytest.mark.parametrize("rule", [PathRule(("a", "b"), "r^-1"), PathRule(("a", "b", "c^-1"), "r^-1")])
def test_a_rule_whose_head_runs_backwards_keeps_the_order_of_its_body(rule: PathRule):
    facts = [("0", "a", "1"), ("1", "b", "2"), ("3", "c", "2")]
    proof = ChaseAnswers(RuleBase((rule,)), KnowledgeGraph(facts)).explain(str(len(rule.body)), "r", "0")
    assert proof is not None
    check_proof(proof, RuleBase((rule,)), set(facts))


@settings(max_examples=80, deadline=None)
@given(rules=ANY_RULES, facts=fact_lists(entities=4, most=10))
def test_in_a_huge_fixpoint_the_first_proof_is_a_low_one(rules: RuleBase, facts: list[Fact]):
    answers = ChaseAnswers(rules, KnowledgeGraph(facts))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(proof_search, "_EFFORT", -(10**9))
        patch.setattr(proof_search, "_MOST_EXACT", -1)
        for fact in closure(rules, facts):
            proof = answers.explain(*fact)
            assert proof is not None
            assert proof.triple == fact
            check_proof(proof, rules, set(facts))


@settings(max_examples=60, deadline=None)
@given(rules=ANY_RULES, facts=fact_lists(entities=4, most=8))
def test_several_proofs_are_different_valid_sorted_and_not_circular(rules: RuleBase, facts: list[Fact]):
    answers = ChaseAnswers(rules, KnowledgeGraph(facts))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(proof_search, "_EFFORT", 200)
        for fact in sorted(closure(rules, facts))[:6]:
            proofs = answers.proofs(*fact, most=4)
            assert 1 <= len(set(proofs)) == len(proofs) <= 4
            assert [proof.size for proof in proofs] == sorted(proof.size for proof in proofs)
            for proof in proofs:
                check_proof(proof, rules, set(facts))
                assert not uses_itself(proof)


def test_what_does_not_follow_has_no_proof():
    answers = ChaseAnswers(RuleBase((PathRule(("r", "r"), "r"),)), KnowledgeGraph([("a", "r", "b")]))
    assert answers.proofs("b", "r", "a") == []
    assert not answers.explain("b", "r", "a")


def test_all_proofs_of_a_small_case():
    rules = RuleBase((PathRule(("p", "q"), "s"), PathRule(("u",), "s")))
    facts = [
        ("a", "p", "m"),
        ("a", "p", "n"),
        ("m", "q", "b"),
        ("n", "q", "b"),
        ("a", "u", "b"),
        ("a", "s", "b"),
    ]
    proofs = ChaseAnswers(rules, KnowledgeGraph(facts)).proofs("a", "s", "b", most=10)
    assert [proof.size for proof in proofs] == [0, 1, 1, 1]
    middles = {proof.leaves() for proof in proofs if proof.rule == rules.rules[0]}
    assert {leaves[0].tail for leaves in middles} == {"m", "n"}


def chain(length: int, relation: str) -> list[Fact]:
    return [(str(number), relation, str(number + 1)) for number in range(length)]


def test_a_chain_of_five_thousand():
    rules = RuleBase((PathRule(("reached", "next"), "reached"),))
    facts = [("0", "reached", "0"), *chain(5_000, "next")]
    proof = ChaseAnswers(rules, KnowledgeGraph(facts)).explain("0", "reached", "5000")
    assert proof is not None
    assert (proof.size, proof.depth) == (5_000, 5_000)
    check_proof(proof, rules, set(facts))


@pytest.mark.parametrize(
    ("bodies", "size"),
    [([("r", "r")], 399), ([("r", "r", "r", "r"), ("r", "r")], 133), ([("r", "r", "r"), ("r", "r")], 200)],
    ids=["two at a time", "four at a time", "three at a time"],
)
def test_a_chain_of_which_every_split_is_as_good(bodies: list[tuple[str, ...]], size: int):
    rules = RuleBase(tuple(PathRule(body, "r") for body in bodies))
    facts = chain(400, "r")
    answers = ChaseAnswers(rules, KnowledgeGraph(facts))
    proof = answers.explain("0", "r", "400")
    assert proof is not None
    assert proof.size == size
    check_proof(proof, rules, set(facts))
    assert answers._search is not None
    assert answers._search._sizes is None  # the search alone found it


def test_a_hierarchy_a_thousand_deep():
    rules = RuleBase(tuple(PathRule((f"r{number}",), f"r{number + 1}") for number in range(1_000)))
    proof = ChaseAnswers(rules, KnowledgeGraph([("a", "r0", "b")])).explain("a", "r1000", "b")
    assert proof is not None
    assert proof.depth == 1_000


def test_proofs_see_updates():
    rules = RuleBase((PathRule(("r", "r"), "r"),))
    answers = ChaseAnswers(rules, KnowledgeGraph([("a", "r", "b")]))
    answers.add([("b", "r", "new")])
    proof = answers.explain("a", "r", "new")
    assert proof is not None
    assert proof.leaves() == (("a", "r", "b"), ("b", "r", "new"))
    answers.remove([("b", "r", "new")])
    assert not answers.explain("a", "r", "new")


# --- why not ----------------------------------------------------------------------------------------

SPEAKS = RuleBase(
    (
        PathRule(("bornIn", "cityIn", "hasLanguage"), "speaks"),
        PathRule(("teaches^-1",), "speaks"),
        IntersectionRule(("reads", "writes"), "speaks"),
    )
)


def test_why_not_finds_the_smallest_gap_from_both_ends():
    facts = [("ada", "bornIn", "london"), ("uk", "hasLanguage", "english"), ("eve", "cityIn", "eve")]
    partials = ChaseAnswers(SPEAKS, KnowledgeGraph(facts)).why_not("ada", "speaks", "english")
    assert [len(partial.missing) for partial in partials] == [1, 1, 2]
    assert str(partials[0]).splitlines()[1:] == [
        "  holds:   bornIn(ada, london)",
        "  holds:   hasLanguage(uk, english)",
        "  missing: cityIn(london, uk)",
    ]
    assert partials[1].missing == (("english", "teaches", "ada"),)


def test_why_not_leaves_open_what_nothing_determines():
    facts = [("ada", "bornIn", "london"), ("bob", "hasLanguage", "bob"), ("uk", "cityIn", "english")]
    nearest = ChaseAnswers(SPEAKS, KnowledgeGraph(facts)).why_not("ada", "speaks", "english", most=3)
    path = next(partial for partial in nearest if len(partial.rule.body) == 3)
    assert path.missing == (("london", "cityIn", UNBOUND), (UNBOUND, "hasLanguage", "english"))
    assert path.to_dict()["matched"] == [["ada", "bornIn", "london"]]


def test_why_not_of_an_intersection_and_of_what_holds():
    facts = [("ada", "reads", "greek"), ("bob", "reads", "greek"), ("bob", "writes", "greek")]
    answers = ChaseAnswers(SPEAKS, KnowledgeGraph(facts))
    nearest = answers.why_not("ada", "speaks", "greek")[0]
    assert nearest.matched == (("ada", "reads", "greek"),)
    assert nearest.missing == (("ada", "writes", "greek"),)
    assert answers.why_not("bob", "speaks", "greek") == []
    assert answers.why_not("greek", "reads", "ada") == []
