"""The embedded demo data is what it says: true rules, two populations, the same for the same seed."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

import pytest

from reshuffle.cli.console import Console
from reshuffle.cli.verbs.train import facts_of
from reshuffle.data import file_cards
from reshuffle.data.families import RULES, families
from reshuffle.data.load import benchmark_names, data_cards, load_benchmark
from reshuffle.errors import InputError, UnknownNameError
from reshuffle.kg.splits import GraphSplit, InductiveBenchmark
from reshuffle.rules import IntersectionRule, PathRule, RuleBase
from reshuffle.rules.entailment import closure
from reshuffle.rules.mining import measure

if TYPE_CHECKING:
    from pathlib import Path

SEEDS = range(5)


def both_graphs(seed: int) -> list[GraphSplit]:
    benchmark = families(seed).benchmark
    return [benchmark.train, benchmark.test]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_rules_derive_all_that_is_true_and_nothing_else(seed: int) -> None:
    for graph in both_graphs(seed):
        true = set(graph.triples)
        given = {triple for triple in true if triple.relation not in RULES.by_head}
        assert closure(RULES, given) == true


@pytest.mark.parametrize("seed", SEEDS)
def test_every_rule_derives_something(seed: int) -> None:
    for graph in both_graphs(seed):
        for rule in RULES:
            body = [triple for triple in graph.triples if triple.relation in rule.body]
            derived = {relation for _, relation, _ in closure(RuleBase((rule,)), body)}
            assert rule.head in derived, rule


@pytest.mark.parametrize("seed", SEEDS)
def test_held_out_triples_are_derived_and_follow_from_the_facts(seed: int) -> None:
    for graph in both_graphs(seed):
        held_out = set(graph.valid) | set(graph.queries)
        assert len(held_out) == len(graph.valid) + len(graph.queries)
        assert {triple.relation for triple in held_out} <= set(RULES.head_relations)
        assert {triple.relation for triple in graph.queries} >= set(RULES.head_relations) - {"twin"}
        assert not held_out & set(graph.facts)
        assert held_out <= closure(RULES, graph.facts)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_populations_are_disjoint_and_of_a_few_hundred(seed: int) -> None:
    train, test = both_graphs(seed)
    assert not set(train.facts.entities) & set(test.facts.entities)
    for graph in (train, test):
        assert 100 <= graph.facts.num_entities <= 300


ACCIDENTS = {
    PathRule(("wife^-1",), "husband"): "marriages known from one side",
    PathRule(("parent^-1",), "child"): "births known from one side",
    PathRule(("brother", "mother"), "mother"): "half-siblings",
    PathRule(("mother", "husband"), "father"): "unmarried parents, and second marriages",
    PathRule(("sharesBirthday^-1",), "sharesBirthday"): "birthdays known from one side",
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("rule", ACCIDENTS, ids=str)
def test_the_rules_are_never_wrong_and_roundabout_ones_often(rule: PathRule, seed: int) -> None:
    for graph in both_graphs(seed):
        counts = measure(graph.triples, [rule, *RULES.path_rules])
        assert counts[rule].support > 0 and counts[rule].standard_confidence < 0.8, ACCIDENTS[rule]
        assert all(counts[made].standard_confidence == 1.0 for made in RULES.path_rules)


def test_nobody_is_their_own_kin() -> None:
    for graph in both_graphs(0):
        assert not [triple for triple in graph.triples if triple.head == triple.tail]


def test_the_same_seed_gives_the_same_data_everywhere() -> None:
    first, again, other = families(7).benchmark, families(7).benchmark, families(8).benchmark
    assert list(first.train.facts) == list(again.train.facts)
    assert list(first.test.queries) == list(again.test.queries)
    assert set(first.train.facts) != set(other.train.facts)
    # Pinned, since the tutorial and the recovery of rules should not depend on the Python version.
    bench = families(0).benchmark
    assert (len(bench.train.triples), len(bench.test.triples)) == (3452, 2786)
    assert min(bench.train.facts.entities) == "Aaron Birkenfall"


def test_persons_have_a_first_name_and_a_surname() -> None:
    for graph in both_graphs(0):
        assert all(len(name.split()) == 2 for name in graph.facts.entities)


def test_the_rule_base_has_every_kind_of_rule_and_one_recursion() -> None:
    recursive = [rule for rule in RULES if rule.head in rule.body]
    assert recursive == [PathRule(("parent", "ancestor"), "ancestor")]
    assert RULES.intersection_rules == (IntersectionRule(("sibling", "sharesBirthday"), "twin"),)
    assert any(len(rule.body) == 1 for rule in RULES.path_rules)
    assert not RULES.uses_inverses


def test_size_is_kept_within_the_stock_of_names() -> None:
    with pytest.raises(InputError, match="size=1001: a population has 20 to 1,000 persons"):
        families(size=1001)
    with pytest.raises(InputError, match="size=19"):
        families(size=19)
    assert families(size=1000).benchmark.train.facts.num_entities >= 1000


def test_families_is_a_named_benchmark_with_a_true_card() -> None:
    bench = load_benchmark("families")
    assert isinstance(bench, InductiveBenchmark)
    card = data_cards()["families"]
    for role, graph in (("train", bench.train), ("test", bench.test)):
        counts = card.graphs[role]
        assert counts.triples == len(graph.triples) == sum(counts.splits.values())
        assert counts.entities == len({name for t in graph.triples for name in (t.head, t.tail)})
        assert counts.relations == len({triple.relation for triple in graph.triples})


def test_suggestions_know_embedded_and_file_based_names() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'families' or 'family'"):
        load_benchmark("familie")


def test_no_family_is_generated_to_tell_a_file_from_a_benchmark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise AssertionError("generated")

    monkeypatch.setattr("reshuffle.data.load.families", fail)
    monkeypatch.setattr("reshuffle.data.load.families_card", fail)
    facts = tmp_path / "my.tsv"
    facts.write_text("a\tr\tb\n", encoding="utf-8")
    assert set(
        facts_of(
            Namespace(facts=[str(facts)], columns=None, format=None, bad_rows="refuse", report=None),
            Console(verbosity=-1),
        )
    ) == {("a", "r", "b")}
    with pytest.raises(UnknownNameError, match="did you mean 'families'"):
        load_benchmark("famlies")
    assert "families" in benchmark_names()
    assert [*benchmark_names()] == [*file_cards(), "families"]
