"""The chase against the entailment oracle: every layout, every question, every kind of rule."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import fact_lists, rule_bases

from reshuffle.errors import BudgetError, UnknownNameError
from reshuffle.kg import KnowledgeGraph, inverse_name
from reshuffle.kg.inverses import base_relation
from reshuffle.reasoning.answers import Count
from reshuffle.reasoning.chase import ChaseAnswers
from reshuffle.reasoning.chase.store import Store
from reshuffle.rules import Disjointness, IntersectionRule, PathRule, RuleBase
from reshuffle.rules.entailment import Fact, closure

LAYOUTS = ["auto", "sparse", "dense"]
ANY_RULES = rule_bases(intersections=True, inverses=True, longest=4, most_rules=5)
TRANSITIVE = RuleBase((PathRule(("r", "r"), "r"),))


def everything(answers: ChaseAnswers) -> set[Fact]:
    return {tuple(triple) for triple in answers.triples()} | {tuple(triple) for triple in answers.facts}


@pytest.mark.parametrize("layout", LAYOUTS)
@settings(max_examples=150, deadline=None)
@given(rules=ANY_RULES, facts=fact_lists(most=16))
def test_the_chase_is_the_closure(layout: str, rules: RuleBase, facts: list[Fact]):
    check_all(ChaseAnswers(rules, KnowledgeGraph(facts), layout=layout), rules, facts)


@pytest.mark.parametrize("dense_at", [0, 3])
@settings(max_examples=100, deadline=None)
@given(rules=ANY_RULES, facts=fact_lists(most=16))
def test_sparse_and_dense_relations_side_by_side(dense_at: int, rules: RuleBase, facts: list[Fact]):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("reshuffle.reasoning.chase.store._SMALL_STORE", 0)
        patch.setattr(Store, "_dense_at", lambda _self, _words: dense_at)
        patch.setattr(Store, "_all_are_dense", lambda _self: False)
        check_all(ChaseAnswers(rules, KnowledgeGraph(facts)), rules, facts)


def check_all(answers: ChaseAnswers, rules: RuleBase, facts: list[Fact]) -> None:
    expected = closure(rules, facts)
    derived = [tuple(triple) for triple in answers.triples()]
    assert sorted(derived) == sorted(expected - set(facts))  # as lists: nothing is streamed twice
    for relation in {base_relation(name) for name in rules.relations} | {fact[1] for fact in facts}:
        total = sum(fact[1] == relation for fact in expected)
        given_ones = sum(fact[1] == relation for fact in set(facts))
        assert answers.counts()[relation] == Count(total - given_ones, total)


@settings(max_examples=60, deadline=None)
@given(rules=ANY_RULES, facts=fact_lists(most=16))
def test_heads_may_run_backwards(rules: RuleBase, facts: list[Fact]):
    turned = RuleBase(tuple(replace(rule, head=inverse_name(rule.head)) for rule in rules))
    check_all(ChaseAnswers(turned, KnowledgeGraph(facts)), turned, facts)


@settings(max_examples=60, deadline=None)
@given(rules=ANY_RULES, facts=fact_lists(most=16))
def test_single_questions_agree_with_the_closure(rules: RuleBase, facts: list[Fact]):
    graph = KnowledgeGraph(facts)
    answers = ChaseAnswers(rules, graph, layout="sparse")
    expected = closure(rules, facts)
    for relation in answers.counts():
        for entity in graph.entities:
            assert set(answers.tails(entity, relation)) == {
                f for e, r, f in expected if (e, r) == (entity, relation)
            }
            assert set(answers.heads(relation, entity)) == {
                e for e, r, f in expected if (r, f) == (relation, entity)
            }
            for other in graph.entities:
                assert answers.holds(entity, relation, other) == ((entity, relation, other) in expected)


def random_graph(entities: int, triples: int, relations: int, seed: int) -> list[Fact]:
    chance = random.Random(seed)
    return [
        (
            f"e{chance.randrange(entities)}",
            f"r{chance.randrange(relations)}",
            f"e{chance.randrange(entities)}",
        )
        for _ in range(triples)
    ]


MIXED = RuleBase(
    (
        PathRule(("r0", "r0"), "r0"),
        PathRule(("r0", "r1^-1"), "r2"),
        PathRule(("r2^-1", "r3"), "r4"),
        IntersectionRule(("r0", "r2"), "r5"),
    )
)


def test_layouts_agree_on_a_graph_that_outgrows_every_first_array():
    facts = random_graph(entities=300, triples=2_500, relations=5, seed=1)
    sizes = {layout: ChaseAnswers(MIXED, KnowledgeGraph(facts), layout=layout).counts() for layout in LAYOUTS}
    assert sizes["auto"] == sizes["sparse"] == sizes["dense"]
    assert sum(count.total for count in sizes["auto"].values()) > 100_000


def test_relations_turn_dense_one_by_one(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("reshuffle.reasoning.chase.store._SMALL_STORE", 0)
    monkeypatch.setattr(Store, "_dense_at", lambda _self, _words: 2_000)
    facts = random_graph(entities=150, triples=1_200, relations=5, seed=2)
    mixed = ChaseAnswers(MIXED, KnowledgeGraph(facts))
    assert everything(mixed) == everything(ChaseAnswers(MIXED, KnowledgeGraph(facts), layout="sparse"))
    dense = {mixed._store.is_dense(number) for number in range(6)}
    assert dense == {True, False}


def test_a_relation_of_the_facts_may_have_the_name_of_a_fresh_one():
    rules = RuleBase((PathRule(("a", "b", "c"), "r"),))
    facts = [("0", "a", "1"), ("1", "b", "2"), ("2", "c", "3"), ("7", "~1", "2")]
    answers = ChaseAnswers(rules, KnowledgeGraph(facts))
    assert [tuple(triple) for triple in answers.triples()] == [("0", "r", "3")]
    assert "~1" in answers.counts()
    assert list(ChaseAnswers(rules, KnowledgeGraph(facts[:3])).counts()) == ["a", "b", "c", "r"]


def test_nothing_is_computed_before_the_first_question():
    answers = ChaseAnswers(TRANSITIVE, KnowledgeGraph([("a", "r", "b")]))
    assert answers._computed is None
    assert answers.holds("a", "r", "b")
    assert answers._computed is not None


def test_unknown_names_are_refused_with_near_ones():
    answers = ChaseAnswers(TRANSITIVE, KnowledgeGraph([("anna", "r", "bert")]))
    with pytest.raises(UnknownNameError, match="unknown entity 'annna'; did you mean 'anna'"):
        answers.holds("annna", "r", "bert")
    with pytest.raises(UnknownNameError, match="unknown relation 'r2'"):
        answers.tails("anna", "r2")


def test_a_memory_limit_says_what_is_needed():
    facts = [(f"e{number}", "r", f"e{number + 1}") for number in range(2_000)]
    answers = ChaseAnswers(TRANSITIVE, KnowledgeGraph(facts), memory=500_000)
    with pytest.raises(
        BudgetError, match=r"needs more than memory=500,000 bytes.*\n  hint: give it at least"
    ):
        answers.count()
    enough = ChaseAnswers(TRANSITIVE, KnowledgeGraph(facts), memory=50_000_000)
    assert enough.count() == 2_001 * 2_000 // 2 - 2_000
    assert enough._store.num_bytes <= 50_000_000


def test_progress_counts_the_triples():
    told: list[int] = []

    class Bar:
        def __call__(self, description: str, *, total: int | None = None, unit: str = "it"):
            assert (description, total, unit) == ("chasing", None, "triples")
            return self

        def __enter__(self):
            return told.append

        def __exit__(self, *exc: object) -> None: ...

    facts = [(f"e{number}", "r", f"e{number + 1}") for number in range(50)]
    ChaseAnswers(TRANSITIVE, KnowledgeGraph(facts), progress=Bar()).count()
    assert sum(told) == 51 * 50 // 2


def test_violations_come_with_both_proofs():
    rules = RuleBase((PathRule(("r", "r"), "s"),), (Disjointness("s", "bad^-1"),))
    facts = [("a", "r", "b"), ("b", "r", "c"), ("c", "bad", "a"), ("b", "bad", "a")]
    found = list(ChaseAnswers(rules, KnowledgeGraph(facts)).violations())
    assert [(str(one.first.triple.relation), one.second.triple) for one in found] == [
        ("s", ("c", "bad", "a"))
    ]
    assert found[0].first.size == 1
    assert found[0].to_dict()["constraint"] == "s(X, Y) & bad(Y, X) -> false"


def test_no_entities_no_rules_no_facts():
    assert list(ChaseAnswers(TRANSITIVE, KnowledgeGraph()).triples()) == []
    assert ChaseAnswers(RuleBase(()), KnowledgeGraph([("a", "r", "b")])).count() == 0


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_the_same_entity_may_stand_for_several_variables(seed: int):
    facts = [(e, r, e) for e, r, _ in random_graph(3, 6, 2, seed)]
    rules = RuleBase((PathRule(("r0", "r0^-1", "r1"), "r2"),))
    assert everything(ChaseAnswers(rules, KnowledgeGraph(facts))) == closure(rules, facts)


def test_bits_beyond_the_limit_are_refused_and_not_taken_unasked():
    graph = KnowledgeGraph([(f"e{number}", "r", f"e{number + 1}") for number in range(5_000)])
    rules = RuleBase((PathRule(("r", "r"), "s"),))
    with pytest.raises(BudgetError, match="all pairs of all relations as bits take 12,505,000"):
        ChaseAnswers(rules, graph, layout="dense", memory=5_000_000).count()
    limited = ChaseAnswers(rules, graph, memory=5_000_000)
    assert limited.count() == 4_999
    assert limited._store.num_bytes <= 5_000_000


def test_more_names_than_fit_a_key_are_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("reshuffle.reasoning.chase.answers._LEAST_BITS", 31)
    rules = RuleBase(tuple(PathRule((f"r{number}",), "r") for number in range(3)))
    with pytest.raises(
        BudgetError, match=r"2 entities and 4 relations .* do not fit the chase's keys of 63 bits"
    ):
        ChaseAnswers(rules, KnowledgeGraph([("a", "r0", "b")])).count()
