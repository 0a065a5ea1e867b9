"""`extract_rules`: what it measures, orders, marks and gives back."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from extraction_worlds import any_constraints, soft_matrices
from hypothesis import given, settings
from hypothesis import strategies as st

import reshuffle as rs
from reshuffle.constraints import OrderingConstraints
from reshuffle.data.families import families
from reshuffle.errors import InputError
from reshuffle.evaluation import evaluate
from reshuffle.extraction import ExtractedRules, SoftMatrices, extract_rules
from reshuffle.extraction.measure import measured
from reshuffle.extraction.redundancy import redundant_rules
from reshuffle.extraction.type_rules import type_rules
from reshuffle.kg import KnowledgeGraph
from reshuffle.rulegraphs import constraints_for
from reshuffle.rules import IntersectionRule, PathRule, RuleBase, parse_rules
from reshuffle.rules.entailment import entails_rule
from strategies import fact_lists, relation_names, rule_bases

FAMILY = "parent(X, Y) -> ancestor(X, Y)\nparent(X, Y) & ancestor(Y, Z) -> ancestor(X, Z)"
FACTS = KnowledgeGraph(
    [
        ("ann", "parent", "bob"),
        ("bob", "parent", "cleo"),
        ("cleo", "parent", "dan"),
        *((e, "ancestor", f) for e, f in itertools.combinations(["ann", "bob", "cleo", "dan"], 2)),
        ("ann", "ancestor", "zoe"),
        ("ann", "ancestor", "yan"),
    ]
)


def family() -> OrderingConstraints:
    return constraints_for(parse_rules(FAMILY))


# --- redundancy ----------------------------------------------------------------------------------------------------


@given(rule_bases(intersections=True, inverses=True, most_rules=5))
@settings(max_examples=200)
def test_what_is_marked_follows_from_what_is_left(base: RuleBase) -> None:
    redundant = redundant_rules(base.rules)
    left = [rule for rule in base.rules if rule not in redundant]
    for rule in redundant:
        assert entails_rule(RuleBase(tuple(left)), rule)
    for rule in left:
        before = [
            other
            for other in sorted(base.rules, key=lambda one: len(one.body))
            if other != rule
            and (len(other.body), base.rules.index(other)) < (len(rule.body), base.rules.index(rule))
        ]
        assert not entails_rule(RuleBase(tuple(before)), rule)


# --- measures ------------------------------------------------------------------------------------------------------

meets = st.builds(
    IntersectionRule,
    st.lists(relation_names(4, inverses=True), min_size=2, max_size=3, unique=True).map(tuple),
    relation_names(3),
)


@given(fact_lists(entities=3, relations=3, most=15), meets)
@settings(max_examples=200)
def test_intersections_are_measured_by_brute_force(facts, rule):
    def pairs(name: str) -> set[tuple[str, str]]:
        turned = name.endswith("^-1")
        return {(f, e) if turned else (e, f) for e, r, f in facts if r == name.removesuffix("^-1")}

    predicted = set.intersection(*(pairs(name) for name in rule.body))
    true = pairs(rule.head)
    counts = measured([rule], KnowledgeGraph(facts))[rule]
    assert (counts.support, counts.predictions, counts.head_size) == (
        len(predicted & true),
        len(predicted),
        len(true),
    )
    assert counts.predictions_known == sum(start in {e for e, _ in true} for start, _ in predicted)


names = relation_names(2, inverses=True)
paths = st.builds(PathRule, st.lists(names, min_size=1, max_size=3).map(tuple), names)


@given(fact_lists(entities=3, relations=2, most=10), paths)
@settings(max_examples=300)
def test_a_fact_does_not_predict_itself(facts, rule):
    """Each true pair is looked for in the graph without its own fact."""

    def joined(known: set[tuple[str, str, str]]) -> set[tuple[str, str]]:
        pairs = {(entity, entity) for e, _, f in facts for entity in (e, f)}
        for name in rule.body:
            turned = name.endswith("^-1")
            steps = {(f, e) if turned else (e, f) for e, r, f in known if r == name.removesuffix("^-1")}
            pairs = {(e, g) for e, f in pairs for f2, g in steps if f == f2}
        return pairs

    graph, turned = set(facts), rule.head.endswith("^-1")
    base = rule.head.removesuffix("^-1")
    true = {(f, e) if turned else (e, f): (e, r, f) for e, r, f in graph if r == base}
    everything = joined(graph)
    support = {pair for pair, fact in true.items() if pair in joined(graph - {fact})}
    itself = (everything & set(true)) - support
    counts = measured([rule], KnowledgeGraph(facts))[rule]
    assert (counts.support, counts.predictions) == (len(support), len(everything - itself))
    assert counts.head_size == len(true)


@given(fact_lists(entities=4, relations=3, most=12), st.sampled_from([0.0, 0.5, 1.0]), st.integers(1, 2))
def test_type_rules_are_counted_by_brute_force(facts, floor, min_support):
    graph = KnowledgeGraph(facts)
    roles = [(name, side) for name in graph.relations for side in ("head", "tail")]

    def owners(role: tuple[str, str]) -> set[str]:
        return {e if role[1] == "head" else f for e, r, f in facts if r == role[0]}

    expected = {}
    for body, head in itertools.permutations(roles, 2):
        both, having = len(owners(body) & owners(head)), len(owners(body))
        if both >= min_support and both / having >= floor:
            expected[body, head] = (both, having)
    found = type_rules(graph, min_confidence=floor, min_support=min_support)
    assert {(rule.body, rule.head): (rule.support, rule.predictions) for rule in found} == expected
    assert [rule.confidence for rule in found] == sorted((rule.confidence for rule in found), reverse=True)


# --- the list ------------------------------------------------------------------------------------------------------


def test_without_a_graph_short_rules_come_first() -> None:
    found = extract_rules(family(), max_length=2)
    assert [(str(one.rule), one.degree, one.redundant) for one in found] == [
        ("parent(X, Y) -> ancestor(X, Y)", 1.0, False),
        ("parent(X, Y) & ancestor(Y, Z) -> ancestor(X, Z)", 1.0, False),
        ("parent(X, Y) & parent(Y, Z) -> ancestor(X, Z)", 1.0, True),
    ]
    assert found.complete and len(found) == 3 and found[0].measures is None


def test_on_a_graph_confident_rules_come_first() -> None:
    found = extract_rules(family(), max_length=2, on=FACTS)
    assert [round(one.measures.confidence, 3) for one in found] == [0.375, 0.375, 0.286]
    first = found[0].measures
    assert (first.support, first.predictions, first.pca_confidence, first.head_coverage) == (3, 3, 1.0, 0.375)
    sure = extract_rules(family(), max_length=2, on=FACTS, min_confidence=0.3)
    assert [str(one.rule) for one in sure] == [str(one.rule) for one in found.top(2)]


def test_the_table() -> None:
    found = extract_rules(family(), max_length=2, on=FACTS, types=True)
    assert str(found).splitlines()[:6] == [
        "3 rules",
        "confidence  support    pca  head coverage  degree  rule",
        "     0.375        3  1.000          0.375   1.000  parent(X, Y) -> ancestor(X, Y)",
        "     0.375        3  1.000          0.375   1.000  parent(X, Y) & ancestor(Y, Z) -> ancestor(X, Z)",
        "     0.286        2  1.000          0.250   1.000  parent(X, Y) & parent(Y, Z) -> ancestor(X, Z) *",
        "* follows from other rules of the list",
    ]
    assert "1.000  parent(X, _) -> ancestor(X, _)" in str(found).splitlines()
    assert str(ExtractedRules(())) == "0 rules"


def test_what_is_left_out_is_said() -> None:
    found = extract_rules(family(), max_length=2, most=2)
    assert len(found) == 2 and not found.complete
    assert str(found).endswith("not all: a limit was reached")
    zero = OrderingConstraints(("r",), np.array([[-1]], dtype=np.int32))
    assert str(extract_rules(zero)) == "0 rules\nunconstrained, so that any body captures them: r"
    assert extract_rules(SoftMatrices.of(zero)).unconstrained == ("r",)


def test_the_first_ones() -> None:
    found = extract_rules(family(), max_length=2, on=FACTS, types=True)
    assert len(found.top(2)) == 2 and found.top(2).rules == found.rules[:2]
    assert len(found.top(2).types) == 2
    assert len(found.top(0)) == len(found.top(-1)) == 0
    assert [one.redundant for one in found.without_redundant()] == [False, False]


def test_rules_seen_seldom_can_be_left_out_and_the_order_chosen() -> None:
    found = extract_rules(family(), max_length=2, on=FACTS, min_support=3)
    assert [one.measures.support for one in found] == [3, 3]
    every = extract_rules(family(), max_length=2, on=FACTS)
    assert [one.measures.support for one in every.sorted_by("support")] == [3, 3, 2]
    assert every.sorted_by("reading") is every
    assert [one.rule.head for one in every.sorted_by("head")] == ["ancestor"] * 3
    with pytest.raises(InputError, match="these rules have no support"):
        extract_rules(family(), max_length=2).sorted_by("support")
    with pytest.raises(InputError, match="found 'size' to sort by"):
        every.sorted_by("size")
    with pytest.raises(InputError, match="minimum support -1"):
        extract_rules(family(), on=FACTS, min_support=-1)


def test_tables_of_other_libraries() -> None:
    found = extract_rules(family(), max_length=2, on=FACTS)
    frame, polars = found.to_pandas(), found.to_polars()
    assert isinstance(frame, pd.DataFrame) and isinstance(polars, pl.DataFrame)
    assert frame["support"].tolist() == polars["support"].to_list() == [3, 3, 2]
    assert polars["body"].to_list()[0] == ["parent"]
    assert ExtractedRules(()).to_arrow().schema == found.to_arrow().schema
    assert json.loads(json.dumps(found.to_dict()))["rules"][0]["rule"] == "parent(X, Y) -> ancestor(X, Y)"


def test_as_a_rule_base_with_qualities() -> None:
    base = extract_rules(family(), max_length=2, on=FACTS).to_rule_base()
    assert [rule.quality.support for rule in base.rules] == [3, 3, 2]
    unmeasured = extract_rules(family(), max_length=1).to_rule_base()
    assert unmeasured.rules[0].quality.confidence == 1.0


def test_a_rule_list_is_a_scorer() -> None:
    facts = KnowledgeGraph([("ann", "parent", "bob"), ("bob", "parent", "cleo"), ("cleo", "ancestor", "ann")])
    scorer = extract_rules(family(), max_length=2, on=FACTS).on(facts)
    report = evaluate(scorer, [("ann", "ancestor", "cleo")], protocol="full", baseline=False)
    assert report["mrr"] < 1.0  # bob is the better answer, by the rule of one atom
    assert evaluate(scorer, [("ann", "ancestor", "bob")], protocol="full", baseline=False)["mrr"] == 1.0


def test_evidence_adds_up_in_the_scorer() -> None:
    values = np.array([[[1.0]], [[0.5]]])
    soft = SoftMatrices(("a", "b"), values, starts=np.ones((2, 1)), weights=np.full((2, 1), 2.0))
    found = extract_rules(soft, max_length=1)
    assert {str(one.rule): one.evidence for one in found} == {
        "a(X, Y) -> b(X, Y)": 2.0,
        "b(X, Y) -> a(X, Y)": 1.0,
    }
    graph = KnowledgeGraph([("x", "a", "y"), ("z", "b", "z")])
    scores = found.on(graph).scores(
        graph.entities.ids(["x"]), graph.relations.ids(["b"]), side="tail", candidates=None
    )
    assert dict(zip(graph.entities, scores[0].tolist(), strict=True)) == pytest.approx(
        {"x": 0, "y": 2, "z": 0}
    )


# --- models --------------------------------------------------------------------------------------------------------


class Soft:
    def __init__(self, matrices: SoftMatrices) -> None:
        self._matrices = matrices

    def soft_matrices(self) -> SoftMatrices:
        return self._matrices


class Hard:
    def harden(self) -> OrderingConstraints:
        return family()


@given(any_constraints(most_slots=3))
@settings(max_examples=40)
def test_hard_and_soft_agree_on_hard_matrices(constraints):
    hard = extract_rules(constraints, max_length=2)
    soft = extract_rules(Soft(SoftMatrices.of(constraints)), max_length=2, min_degree=1.0)
    assert soft.complete and [one.rule for one in hard] == [one.rule for one in soft]
    assert hard == soft


@given(soft_matrices(evidence=True))
@settings(max_examples=20)
def test_with_starts_and_weights_rules_have_evidence(soft):
    found = extract_rules(Soft(soft), max_length=2)
    assert all(one.degree is None and one.evidence > 0 for one in found)


def test_models_that_only_harden() -> None:
    assert rs.extract_rules(Hard(), max_length=2) == extract_rules(family(), max_length=2)


def test_something_else_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        extract_rules("model")  # type: ignore[arg-type]
    assert str(caught.value) == (
        "found str, expected constraints, soft matrices or a model that has one of them\n"
        "  hint: a model needs a method soft_matrices() or harden()"
    )


def test_confidence_needs_a_graph() -> None:
    with pytest.raises(InputError) as caught:
        extract_rules(family(), min_confidence=0.1)
    assert str(caught.value) == (
        "confidences, supports and type rules need a graph, but none was given\n"
        "  hint: pass on=graph, or --on FACTS"
    )


def test_the_graph_may_be_triples_and_is_no_path() -> None:
    demo = families(0)
    facts = demo.benchmark.train.facts
    assert extract_rules(family(), on=list(facts)) == extract_rules(family(), on=facts)
    with pytest.raises(InputError) as caught:
        extract_rules(family(), on="facts.tsv")  # type: ignore[arg-type]
    assert str(caught.value) == (
        "found 'facts.tsv', expected a graph or triples of names: (head, relation, tail)\n"
        "  hint: reshuffle.read_graph(path) reads a file"
    )
    with pytest.raises(InputError, match=r"found 'facts\.tsv', expected a graph or triples"):
        extract_rules(family()).on("facts.tsv")  # type: ignore[arg-type]


def test_the_rules_of_families_come_back() -> None:
    """From the compiled matrices, measured on the training facts: every rule of up to two atoms or its like."""
    demo = families(0)
    found = extract_rules(constraints_for(demo.rules), on=demo.benchmark.train.facts, max_length=2)
    extracted = found.to_rule_base()
    assert found.complete
    for rule in demo.rules:
        if len(rule.body) <= 2:
            assert entails_rule(extracted, rule), str(rule)


def test_going_forth_and_back_around_the_head_is_no_rule() -> None:
    """One slot that every relation takes from itself: every body of every head is captured."""
    everything = OrderingConstraints(("r", "s", "s^-1"), np.zeros((3, 1), dtype=np.int32))
    found = {one.rule.body for one in extract_rules(everything, max_length=3) if one.rule.head == "r"}
    assert ("s", "s^-1", "s") in found and ("r", "s", "s") in found
    assert not found & {("r", "s", "s^-1"), ("s^-1", "s", "r")}


@given(soft_matrices())
@settings(max_examples=30)
def test_without_a_graph_the_order_is_by_degree(soft):
    degrees = [one.degree for one in extract_rules(soft, max_length=2)]
    assert degrees == sorted(degrees, reverse=True)


def test_what_joins_too_much_to_be_counted_is_missing_and_said() -> None:
    """5,000 spokes of a hub make 25 million pairs."""
    everything = OrderingConstraints(("r", "s", "r^-1"), np.zeros((3, 1), dtype=np.int32))
    graph = KnowledgeGraph([*((f"e{number}", "r", "hub") for number in range(5000)), ("e0", "s", "e1")])
    found = extract_rules(everything, on=graph, max_length=2)
    bodies = {one.rule.body for one in found if one.rule.head == "s"}
    assert ("r", "r") in bodies and ("r", "r^-1") not in bodies
    assert not found.complete


def test_relations_named_like_inverses_are_not_measured_on():
    with pytest.raises(InputError, match=r"found the relation 'parent\^-1'"):
        extract_rules(family(), on=KnowledgeGraph([("bob", "parent^-1", "ann")]))
