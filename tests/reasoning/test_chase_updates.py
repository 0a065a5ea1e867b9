"""Any order of additions and removals gives what a fresh start gives."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import fact_lists, rule_bases

from reshuffle.errors import BudgetError, UnknownNameError
from reshuffle.kg import KnowledgeGraph
from reshuffle.reasoning.chase import ChaseAnswers
from reshuffle.reasoning.chase.kernels import retraction
from reshuffle.reasoning.chase.store import Store
from reshuffle.rules import PathRule, RuleBase
from reshuffle.rules.entailment import Fact, closure

TRANSITIVE = RuleBase((PathRule(("r", "r"), "r"),))
UPDATES = st.lists(st.tuples(st.booleans(), fact_lists(entities=7, most=4)), max_size=6)


def derived(answers: ChaseAnswers) -> list[Fact]:
    return sorted(tuple(triple) for triple in answers.triples())


@pytest.mark.parametrize("layout", ["sparse", "dense", "mixed"])
@settings(max_examples=120, deadline=None)
@given(
    rules=rule_bases(intersections=True, inverses=True, most_rules=5),
    start=fact_lists(most=14),
    updates=UPDATES,
)
def test_updates_equal_a_fresh_start(layout: str, rules: RuleBase, start: list[Fact], updates):
    with pytest.MonkeyPatch.context() as patch:
        if layout == "mixed":
            patch.setattr("reshuffle.reasoning.chase.store._SMALL_STORE", 0)
            patch.setattr(Store, "_dense_at", lambda _self, _words: 3)
        layout = "auto" if layout == "mixed" else layout
        check_updates(ChaseAnswers(rules, KnowledgeGraph(start), layout=layout), rules, start, updates)


def check_updates(answers: ChaseAnswers, rules: RuleBase, start: list[Fact], updates) -> None:
    facts = set(start)
    answers.count()
    for is_addition, triples in updates:
        known = [t for t in triples if {t[0], t[2]} <= set(answers.facts.entities)]
        known = [t for t in known if t[1] in answers.counts()]
        if is_addition:
            answers.add(triples)
            facts |= set(triples)
        else:
            answers.remove(known)
            facts -= set(known)
        assert derived(answers) == sorted(closure(rules, facts) - facts)
        assert {tuple(triple) for triple in answers.facts} == facts


def test_a_small_removal_from_a_large_fixpoint_touches_little(monkeypatch: pytest.MonkeyPatch):
    facts = [(f"e{number}", "r", f"e{number + 1}") for number in range(400)]
    answers = ChaseAnswers(TRANSITIVE, KnowledgeGraph(facts), layout="sparse")
    answers.count()
    deleted = []
    rederive = retraction.rederive
    monkeypatch.setattr(
        retraction, "rederive", lambda *given: deleted.append(len(given[2])) or rederive(*given)
    )
    answers.remove([facts[-1]])
    assert answers.count() == 400 * 399 // 2 - 399
    assert deleted == [400]


def test_a_removal_that_puts_most_in_doubt_starts_afresh():
    ring = [(f"e{number}", "r", f"e{(number + 1) % 80}") for number in range(80)]
    answers = ChaseAnswers(TRANSITIVE, KnowledgeGraph(ring))
    assert answers.count() == 6_400 - 80
    answers.remove([ring[0]])
    assert answers._computed is None
    assert answers.count() == 80 * 79 // 2 - 79


def test_a_fact_that_also_follows_stays_when_taken_back():
    answers = ChaseAnswers(TRANSITIVE, KnowledgeGraph([("a", "r", "b"), ("b", "r", "c"), ("a", "r", "c")]))
    answers.count()
    answers.remove([("a", "r", "c")])
    assert answers.holds("a", "r", "c")
    assert answers.count() == 1


def test_what_supports_itself_in_a_circle_goes_with_its_reason():
    mutual = RuleBase((PathRule(("p",), "q"), PathRule(("q",), "p"), PathRule(("f",), "p")))
    answers = ChaseAnswers(mutual, KnowledgeGraph([("a", "f", "b")]))
    assert answers.holds("a", "q", "b")
    answers.remove([("a", "f", "b")])
    assert not answers.holds("a", "q", "b")


@pytest.mark.parametrize("layout", ["sparse", "dense", "auto"])
def test_new_entities_beyond_every_reserve(layout: str):
    answers = ChaseAnswers(TRANSITIVE, KnowledgeGraph([("e0", "r", "e1")]), layout=layout)
    answers.count()
    for number in range(1, 300):
        answers.add([(f"e{number}", "r", f"e{number + 1}")])
    assert answers.count() == 301 * 300 // 2 - 300
    assert set(answers.tails("e298", "r")) == {"e299", "e300"}


def test_more_entities_than_the_keys_have_room_for(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("reshuffle.reasoning.chase.answers._LEAST_BITS", 1)
    answers = ChaseAnswers(TRANSITIVE, KnowledgeGraph([("a", "r", "b"), ("b", "r", "c")]))
    answers.count()
    answers.add([(f"x{number}", "r", f"x{number + 1}") for number in range(40)])
    assert answers.holds("a", "r", "c")
    assert answers.count() == 1 + 41 * 40 // 2 - 40
    assert len(answers.facts) == 42


def test_new_relations_come_with_updates():
    answers = ChaseAnswers(RuleBase((PathRule(("a", "b", "c"), "r"),)), KnowledgeGraph([("0", "a", "1")]))
    answers.count()
    answers.add([("x", "new", "y"), ("1", "b", "2"), ("2", "c", "3")])
    assert answers.holds("x", "new", "y")
    assert answers.holds("0", "r", "3")
    assert list(answers.facts.relations) == ["a", "new", "b", "c"]


def test_removing_what_is_no_fact_changes_nothing_but_unknown_names_are_refused():
    answers = ChaseAnswers(TRANSITIVE, KnowledgeGraph([("a", "r", "b"), ("b", "r", "c")]))
    answers.remove([("a", "r", "c")])
    assert answers.holds("a", "r", "c")
    with pytest.raises(UnknownNameError):
        answers.remove([("a", "r", "nobody")])


def test_an_update_that_breaks_the_limit_leaves_no_half_done_answers():
    facts = [(f"e{number}", "r", f"e{number + 1}") for number in range(100)]
    answers = ChaseAnswers(TRANSITIVE, KnowledgeGraph(facts), memory=400_000, layout="sparse")
    answers.count()
    more = [(f"e{number}", "r", f"e{number + 1}") for number in range(100, 1_000)]
    with pytest.raises(BudgetError):
        answers.add(more)
    answers.remove(more)
    assert answers.count() == 101 * 100 // 2 - 100
