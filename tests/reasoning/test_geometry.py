"""The fast engine against the oracle and against the GNN equation on sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from reshuffle.errors import BudgetError, NotExpressibleError, UnknownNameError
from reshuffle.kg import KnowledgeGraph, Triple
from reshuffle.reasoning.geometry.answers import GeometryAnswers
from reshuffle.reasoning.reasoner import Reasoner
from reshuffle.reasoning.reference import captured, propagate
from reshuffle.rulegraphs import constraints_for
from reshuffle.rules import IntersectionRule, PathRule, RuleBase
from reshuffle.rules.entailment import closure, entails_within
from strategies import fact_lists, rule_bases

if TYPE_CHECKING:
    from reshuffle.constraints import OrderingConstraints

MIXED = rule_bases(intersections=True, inverses=True)
TRANSITIVE = RuleBase((PathRule(("r", "r"), "r"),))
CHAIN = [("a", "r", "b"), ("b", "r", "c"), ("c", "r", "d")]


def compiled(base: RuleBase, *, bound: int | None = None) -> OrderingConstraints:
    try:
        return constraints_for(base, bound=bound)
    except (NotExpressibleError, BudgetError):
        assume(False)
        raise


def everything(answers: GeometryAnswers) -> set[Triple]:
    return set(answers.triples()) | set(answers.facts)


@given(MIXED, fact_lists())
def test_answers_are_what_the_oracle_entails(base, facts):
    answers = GeometryAnswers(compiled(base), KnowledgeGraph(facts))
    expected = closure(base, facts)
    assert everything(answers) == expected
    counts = answers.counts()
    for relation, count in counts.items():
        assert count.total == sum(r == relation for _, r, _ in expected)
        assert count.derived == count.total - sum(r == relation for _, r, _ in set(facts))
    assert {r for _, r, _ in expected} <= set(counts)


@settings(max_examples=80)
@given(MIXED, fact_lists(most=8))
def test_single_questions_agree_with_the_oracle(base, facts):
    answers = GeometryAnswers(compiled(base), KnowledgeGraph(facts))
    expected = closure(base, facts)
    for relation in answers.relations:
        pairs = {(e, f) for e, r, f in expected if r == relation}
        for entity in answers.facts.entities:
            assert sorted(answers.tails(entity, relation)) == sorted(f for e, f in pairs if e == entity)
            assert sorted(answers.heads(relation, entity)) == sorted(e for e, f in pairs if f == entity)
            for other in answers.facts.entities:
                assert answers.holds(entity, relation, other) == ((entity, other) in pairs)


@given(MIXED, fact_lists(most=8))
def test_the_gnn_equation_on_sets_captures_the_same(base, facts):
    constraints = compiled(base)
    answers = GeometryAnswers(constraints, KnowledgeGraph(facts))
    states = propagate(constraints, facts)
    for head in answers.facts.entities:
        for tail in answers.facts.entities:
            for relation in constraints.roots:
                if relation in answers.relations:
                    triple = (head, relation, tail)
                    assert answers.holds(*triple) == captured(constraints, states, triple)


@given(rule_bases(), fact_lists(), st.integers(0, 3))
def test_a_bound_gives_exactly_the_triples_that_so_many_steps_derive(base, facts, bound):
    answers = GeometryAnswers(compiled(base, bound=bound), KnowledgeGraph(facts))
    expected = {triple for triple in closure(base, facts) if entails_within(base, facts, triple, bound)}
    assert everything(answers) == expected
    assert answers.exactness == f"exact within {bound} step{'' if bound == 1 else 's'}"


@settings(max_examples=80)
@given(MIXED, fact_lists(), st.booleans())
def test_sorted_triples_are_the_triples_sorted(base, facts, stored):
    answers = GeometryAnswers(compiled(base), KnowledgeGraph(facts))
    if stored:
        answers.materialise()
    assert list(answers.sorted_triples()) == sorted(answers.triples())


def test_sorting_goes_by_name_and_not_by_first_appearance():
    facts = [("é", "r", "z"), ("z", "r", "m"), ("m", "r", "b"), ("b", "r", "a")]
    answers = GeometryAnswers(constraints_for(TRANSITIVE), KnowledgeGraph(facts))
    pairs = [(head, tail) for head, _, tail in answers.sorted_triples()]
    assert pairs == [("m", "a"), ("z", "a"), ("z", "b"), ("é", "a"), ("é", "b"), ("é", "m")]


@settings(max_examples=80)
@given(MIXED, fact_lists())
def test_little_memory_changes_no_answer(base, facts):
    constraints = compiled(base)
    answers = GeometryAnswers(constraints, KnowledgeGraph(facts), memory=34_000)
    assert everything(answers) == closure(base, facts)
    assert answers.count() == len(everything(answers)) - len(answers.facts)


def test_memory_that_cannot_do_says_what_is_needed():
    answers = GeometryAnswers(constraints_for(TRANSITIVE), KnowledgeGraph(CHAIN), memory=1000)
    with pytest.raises(
        BudgetError, match=r"memory of 1.0 kB is too small: .* need 32.8 kB\n.*at least 32848 bytes"
    ):
        answers.count()


changes = st.lists(st.tuples(st.booleans(), fact_lists(entities=4, most=3)), min_size=1, max_size=5)


@settings(max_examples=60)
@given(MIXED, fact_lists(entities=4, most=8), changes, st.booleans())
def test_any_order_of_adds_and_removes_equals_from_scratch(base, facts, changes, stored):
    constraints = compiled(base)
    answers = GeometryAnswers(constraints, KnowledgeGraph(facts))
    if stored:
        answers.materialise()
    current = set(facts)
    for is_addition, some in changes:
        if is_addition:
            answers.add(some)
            current |= set(some)
        else:
            names, relations = set(answers.facts.entities), set(answers.relations)
            known = [t for t in some if {t[0], t[2]} <= names and t[1] in relations]
            gone = known + sorted(current)[:1]
            answers.remove(gone)
            current -= set(gone)
        assert set(answers.facts) == current
        assert everything(answers) == closure(base, current)
        assert answers.count() == len(everything(answers)) - len(current)


@given(fact_lists(relations=2, entities=9, most=14), st.booleans())
def test_components_share_their_answers(facts, through_another):
    """Symmetric and transitive, alone or after another step: one search serves a whole component."""
    rules = [PathRule(("r1", "r1"), "r1"), PathRule(("r1",), "r1^-1"), PathRule(("r2", "r1"), "s")]
    base = RuleBase(tuple(rules if through_another else rules[:2]))
    answers = GeometryAnswers(constraints_for(base), KnowledgeGraph(facts))
    assert everything(answers) == closure(base, facts)
    assert answers.count() == len(closure(base, facts)) - len(set(facts))


@given(fact_lists(relations=1, entities=6, most=20), st.data())
def test_updates_of_a_recursive_relation_keep_the_stored_answers(facts, data):
    """Symmetric and transitive: the case in which one fact has many ways round it."""
    base = RuleBase((PathRule(("r1", "r1"), "r1"), PathRule(("r1",), "r1^-1")))
    answers = GeometryAnswers(constraints_for(base), KnowledgeGraph(facts))
    answers.materialise()
    current = set(facts)
    for triple in data.draw(st.permutations(sorted(current))):
        answers.remove([triple])
        current.discard(triple)
        assert everything(answers) == closure(base, current)
    for triple in facts:
        answers.add([triple])
        current.add(triple)
        assert everything(answers) == closure(base, current)


def test_many_facts_at_once_and_new_names():
    answers = GeometryAnswers(constraints_for(TRANSITIVE), KnowledgeGraph(CHAIN))
    answers.materialise()
    answers.add((f"n{i}", "r", f"n{i + 1}") for i in range(60))
    answers.add([("d", "r", "n0"), ("x", "other", "y")])
    assert answers.counts()["r"].total == 65 * 64 // 2
    assert answers.counts()["other"].total == 1
    answers.add((f"m{i}", "r", "a") for i in range(3000))
    assert answers.counts()["r"].total == 65 * 64 // 2 + 3000 * 65
    assert len(answers.facts) == 3 + 60 + 2 + 3000


def test_a_relation_may_get_its_first_facts_later():
    answers = GeometryAnswers(constraints_for(TRANSITIVE), KnowledgeGraph([("a", "s", "b")]))
    answers.materialise()
    answers.add(CHAIN)
    assert answers.count() == 3


def test_triples_notice_a_change_while_they_are_read():
    answers = GeometryAnswers(constraints_for(TRANSITIVE), KnowledgeGraph(CHAIN))
    reading = answers.triples()
    next(reading)
    answers.add([("d", "r", "e")])
    with pytest.raises(RuntimeError, match="while the triples were being read"):
        list(reading)


def test_facts_named_like_identities_never_match_them():
    facts = [("a", "r", "b"), ("b", "eq", "c"), ("c", "r", "d")]
    base = RuleBase((PathRule(("r", "r"), "r"), PathRule(("r^-1",), "s")))
    constraints = constraints_for(base)
    answers = GeometryAnswers(constraints, KnowledgeGraph(facts))
    assert everything(answers) == closure(base, facts)
    assert list(answers.tails("b", "eq")) == ["c"]


def test_intersection_of_recursive_relations():
    base = RuleBase((*TRANSITIVE.rules, PathRule(("s", "s"), "s"), IntersectionRule(("r", "s"), "both")))
    facts = [*CHAIN, ("a", "s", "x"), ("x", "s", "d")]
    answers = GeometryAnswers(constraints_for(base), KnowledgeGraph(facts))
    assert list(answers.tails("a", "both")) == ["d"]
    assert list(answers.heads("both", "d")) == ["a"]


def test_unknown_names_are_refused_with_near_ones():
    answers = GeometryAnswers(constraints_for(TRANSITIVE), KnowledgeGraph([("ada", "r", "bob")]))
    with pytest.raises(UnknownNameError, match="unknown entity 'adaa'; did you mean 'ada'"):
        answers.holds("adaa", "r", "bob")
    with pytest.raises(UnknownNameError, match="unknown relation 'q'"):
        answers.tails("ada", "q")
    with pytest.raises(UnknownNameError, match="unknown relation 'eq'"):
        answers.tails("ada", "eq")


def test_rules_and_facts_that_share_no_relation_are_noted():
    notes: list[str] = []
    constraints = constraints_for(RuleBase((PathRule(("bornIn", "cityIn"), "citizenOf"),)))
    Reasoner(constraints).on(KnowledgeGraph([("ada", "born_in", "london")]), notes=notes.append)
    assert notes == [
        "warning: facts and rules share no relation, so nothing follows; near names: 'bornIn' (facts: 'born_in')"
    ]
    met = KnowledgeGraph([("ada", "bornIn", "london"), ("london", "cityIn", "uk")])
    Reasoner(constraints).on(met, notes=notes.append)
    assert len(notes) == 1


def test_a_fact_relation_that_rules_do_not_know_answers_with_its_facts():
    answers = GeometryAnswers(constraints_for(TRANSITIVE), KnowledgeGraph([*CHAIN, ("a", "s", "b")]))
    assert list(answers.tails("a", "s")) == ["b"]
    assert answers.holds("a", "s", "b") and not answers.holds("b", "s", "a")
    assert answers.counts()["s"].derived == 0
