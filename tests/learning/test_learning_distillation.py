"""Rule models of soft models: what is fitted, and what is told."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from reshuffle.cli.main import main
from reshuffle.cli.verbs.demo import SETTINGS
from reshuffle.data.families import families
from reshuffle.data.load import load_benchmark
from reshuffle.kg import KnowledgeGraph
from reshuffle.learning.distillation import distilled, parted, rules_of
from reshuffle.learning.estimator import Reshuffle
from reshuffle.rulelist import load_rule_model
from reshuffle.rulelist.learner import RuleSettings, measured_on
from reshuffle.rules import IntersectionRule, Rule

if TYPE_CHECKING:
    from pathlib import Path

FAST = {
    "rules_weight": 0.0,
    "num_slots": 4,
    "num_layers": 2,
    "epoch_steps": 20,
    "max_epochs": 2,
    "device": "cpu",
}


@pytest.fixture(scope="module")
def facts() -> KnowledgeGraph:
    graph = load_benchmark("families").train.facts
    return KnowledgeGraph(list(graph)[::3])


@pytest.fixture(scope="module")
def soft(facts: KnowledgeGraph) -> Reshuffle:
    return Reshuffle(**FAST).fit(facts)


def test_what_is_held_out_is_told_and_not_fitted_to(soft: Reshuffle, facts: KnowledgeGraph) -> None:
    known, held_out = parted(facts, seed=1)
    assert len(held_out) == int(len(facts) * 0.05) and known | held_out == facts and not known & held_out
    found = distilled(soft, facts, settings=RuleSettings().changed(steps=20), seed=1)
    assert found.held_out == len(held_out) and found.compared is not None
    assert [report.queries for report in found.compared] == [len(held_out)] * 2
    tiny = distilled(soft, KnowledgeGraph(list(facts)[:12]), settings=RuleSettings().changed(steps=2))
    assert tiny.compared is None and tiny.held_out == 0


def test_rules_are_measured_and_read_on_all_facts(soft: Reshuffle, facts: KnowledgeGraph) -> None:
    """One of twenty facts is held out to compare; counts and order are those of all facts, mined rules among them."""
    settings = RuleSettings().changed(steps=20)
    found = distilled(soft, facts, max_length=1, settings=settings).model
    assert found == measured_on(found, facts)
    alone = distilled(soft, facts, max_length=1, mine=False, settings=settings).model
    assert any(isinstance(one.rule, IntersectionRule) for one in found.rules)  # the soft model gives none
    assert not any(isinstance(one.rule, IntersectionRule) for one in alone.rules)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_the_rules_that_made_the_families_are_the_first_of_a_distilled_list(seed: int) -> None:
    """All 28, of the demo's model and of two others, in a list that knows a twentieth of the facts less than all."""
    demo = families()
    model = Reshuffle(device="cpu", seed=seed, **SETTINGS).fit(demo.benchmark.train)
    found = distilled(model, demo.benchmark.train.triples, max_length=2).model

    def claim(rule: Rule) -> tuple[str, frozenset[str] | tuple[str, ...]]:
        return rule.head, frozenset(rule.body) if isinstance(rule, IntersectionRule) else rule.body

    assert {claim(rule) for rule in demo.rules} <= {claim(one.rule) for one in found.rules[:30]}


def test_the_verb(soft: Reshuffle, facts: KnowledgeGraph, tmp_path: Path, capsys) -> None:
    soft.save(tmp_path / "soft")
    (tmp_path / "facts.tsv").write_text(
        "".join("\t".join(triple) + "\n" for triple in facts), encoding="utf-8"
    )
    command = [
        "distil",
        str(tmp_path / "soft"),
        "--on",
        str(tmp_path / "facts.tsv"),
        "-o",
        str(tmp_path / "list"),
    ]
    assert main([*command, "--max-length", "2", "--device", "cpu", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    model = load_rule_model(tmp_path / "list")
    assert told["rules"] == len(model) > 0 and told["held_out"] == int(len(facts) * 0.05)
    assert all(0 < told[name] <= 1 for name in ("mrr", "soft_mrr", "hits@10", "soft_hits@10"))
    assert main(["predict", str(tmp_path / "list"), str(tmp_path / "facts.tsv"), "--all", "--top", "3"]) == 0


def test_the_rules_of_a_soft_model_take_part_in_a_list(
    soft: Reshuffle, facts: KnowledgeGraph, tmp_path: Path, capsys
) -> None:
    soft.save(tmp_path / "soft")
    (tmp_path / "facts.tsv").write_text(
        "".join("\t".join(triple) + "\n" for triple in facts), encoding="utf-8"
    )
    command = ["train", str(tmp_path / "facts.tsv"), "-o", str(tmp_path / "list"), "--recipe", "rules"]
    few = ["--set", "steps=5", "--set", "longest=1", "--rules", str(tmp_path / "soft")]
    assert main([*command, *few, "-q"]) == 0
    listed = {one.rule for one in load_rule_model(tmp_path / "list").rules}
    longer = [rule for rule in rules_of(soft, facts, max_length=2).rules if len(rule.body) == 2]
    assert len(set(longer) & listed) > len(longer) / 2  # found by the soft model, as mining stops at one atom
