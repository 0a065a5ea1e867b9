"""Rule bases: binarisation, reversal, duplicates and tautologies."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reshuffle.kg import inverse_name
from reshuffle.kg.inverses import base_relation
from reshuffle.rules import IntersectionRule, PathRule, RuleBase, parse_rules
from reshuffle.rules.entailment import Fact, closure
from strategies import fact_lists, rule_bases


def on_user_relations(facts: set[Fact], base: RuleBase) -> set[Fact]:
    return {fact for fact in facts if fact[1] not in base.fresh}


@given(rule_bases(longest=5, intersections=True, inverses=True), fact_lists())
def test_binarisation_keeps_what_follows(base: RuleBase, facts: list[Fact]):
    binarised = base.binarised()
    assert all(len(rule.body) <= 2 for rule in binarised.path_rules)
    assert on_user_relations(closure(binarised, facts), binarised) == closure(base, facts)


@given(
    st.lists(
        st.builds(
            PathRule,
            st.lists(st.sampled_from(["~1", "~2^-1", "~3", "a", "a^-1"]), min_size=1, max_size=5).map(tuple),
            st.sampled_from(["~1", "~3", "a"]),
        ),
        min_size=1,
        max_size=4,
    ),
    st.lists(
        st.tuples(st.sampled_from("xyz"), st.sampled_from(["~1", "~2", "~3", "a"]), st.sampled_from("xyz"))
    ),
)
def test_fresh_names_never_take_a_users_name(rules: list[PathRule], facts: list[Fact]):
    base = RuleBase(tuple(rules))
    binarised = base.binarised()
    assert not binarised.fresh & {base_relation(relation) for relation in base.relations}
    # A fact of a relation that no rule mentions is no business of the rules, whatever its name.
    facts = [fact for fact in facts if fact[1] in {base_relation(relation) for relation in base.relations}]
    assert on_user_relations(closure(binarised, facts), binarised) == closure(base, facts)


def test_fresh_relations_are_listed_and_shared():
    base = parse_rules("a(X,Y) & b(Y,Z) & c(Z,W) -> r(X,W)\na(X,Y) & b(Y,Z) & d(Z,W) -> s(X,W)").binarised()
    assert base.fresh == {"~1"}
    assert [str(rule) for rule in base.rules] == [
        'a(X, Y) & b(Y, Z) -> "~1"(X, Z)',
        '"~1"(X, Y) & c(Y, Z) -> r(X, Z)',
        '"~1"(X, Y) & d(Y, Z) -> s(X, Z)',
    ]
    assert base.binarised() == base


def test_fresh_relations_stay_known_under_reversal():
    base = parse_rules("a(X,Y) & b(Y,Z) & c(W,Z) -> r(X,W)").binarised().closed_under_reversal()
    assert base.fresh == {"~1", "~1^-1"}


@given(rule_bases(intersections=True, inverses=True), fact_lists())
def test_closure_under_reversal_reads_each_rule_both_ways(base: RuleBase, facts: list[Fact]):
    closed = base.closed_under_reversal()
    assert closure(closed, facts) == closure(base, facts)
    if base.uses_inverses:
        assert {rule.reversed() for rule in closed.rules} == set(closed.rules)
        assert {inverse_name(relation) for relation in closed.head_relations} == set(closed.head_relations)
    else:
        assert closed is base


def test_constraints_and_what_was_not_read_survive_the_rewritings():
    text = "a(X,Y) & b(Z,Y) & c(Z,W) -> r(X,W)\na(X,Y) & b(X,Y) -> false\nr(X,london) <= a(X,uk)"
    base = parse_rules(text, skip_unsupported=True)
    for rewritten in (base.binarised(), base.closed_under_reversal()):
        assert rewritten.disjointness == base.disjointness
        assert rewritten.unread == base.unread


def test_rules_are_those_that_say_something_once():
    twice, idle = PathRule(("a",), "b"), IntersectionRule(("a", "b"), "b")
    base = RuleBase((twice, idle, twice, PathRule(("c",), "c")))
    assert base.rules == (twice,)
    assert base.duplicates == (twice,)
    assert base.tautologies == (idle, PathRule(("c",), "c"))
    assert base.relations == ("a", "b", "c")
    assert base.by_head == {"b": (twice,)}


def test_relations_that_only_a_tautology_mentions_survive_reversal():
    closed = parse_rules("a(X,Y) -> a(X,Y)\nb(X,Y) -> c(Y,X)").closed_under_reversal()
    assert {"a", "a^-1", "b", "b^-1", "c", "c^-1"} == set(closed.relations)
