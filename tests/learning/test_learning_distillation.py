"""Rule models of soft models: what the teacher says, what is fitted, and what is told."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from reshuffle.cli.main import main
from reshuffle.cli.verbs.demo import SETTINGS
from reshuffle.data.families import families
from reshuffle.data.load import load_benchmark
from reshuffle.kg import KnowledgeGraph
from reshuffle.learning.distillation import SoftTeacher, distilled, parted, rules_of
from reshuffle.learning.estimator import Reshuffle
from reshuffle.rulelist import load_rule_model
from reshuffle.rulelist.features import FeatureGraph, Questions
from reshuffle.rulelist.learner import RuleSettings, learn_rules, measured_on
from reshuffle.rulelist.programs import Program
from reshuffle.rulelist.training_rows import Room, training_rows
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


def asked(graph: KnowledgeGraph, places: list[int], *, inverse: bool) -> Questions:
    rows, shift = np.array(places), len(graph.relations) if inverse else 0
    ends = (graph.heads[rows], graph.tails[rows])
    anchors, answers = ends[::-1] if inverse else ends
    return Questions(anchors, (graph.relation_ids[rows] + shift).astype(np.int32), answers)


@pytest.mark.parametrize("inverse", [False, True])
def test_the_teacher_does_not_see_the_fact_that_is_asked_about(
    soft: Reshuffle, facts: KnowledgeGraph, inverse: bool
) -> None:
    place = 7
    triple = list(facts)[place]
    taught = SoftTeacher(soft, facts).scores(asked(facts, [place], inverse=inverse))[0]
    answers = soft.on(facts)
    answers.remove([triple])
    graph = answers.graph
    anchor = graph.entities.id(triple[2 if inverse else 0])
    expected = answers.scores(
        np.array([anchor], dtype=np.int32),
        np.array([graph.relations.id(triple[1])], dtype=np.int32),
        side="head" if inverse else "tail",
        candidates=None,
    )[0]
    assert list(graph.entities) == list(facts.entities)
    np.testing.assert_allclose(taught, expected, rtol=1e-4, atol=1e-4)
    seen = soft.on(facts).scores(
        np.array([anchor], dtype=np.int32),
        np.array([facts.relations.id(triple[1])], dtype=np.int32),
        side="head" if inverse else "tail",
        candidates=None,
    )[0]
    assert not np.allclose(taught, seen, atol=1e-4)


def test_a_teacher_without_channels_of_single_questions(facts: KnowledgeGraph) -> None:
    paper = Reshuffle(recipe="paper", num_slots=4, num_channels=4, max_epochs=1, device="cpu").fit(facts)
    questions = asked(facts, [0, 3], inverse=True)
    taught = SoftTeacher(paper, facts).scores(questions)
    relations = (questions.relations - len(facts.relations)).astype(np.int32)
    expected = paper.on(facts).scores(questions.anchors, relations, side="head", candidates=None)
    np.testing.assert_allclose(taught, expected, rtol=1e-5)


def test_targets_are_half_the_answer_and_half_the_teachers_shares(
    soft: Reshuffle, facts: KnowledgeGraph
) -> None:
    rules = rules_of(soft, facts, max_length=2).rules
    features = FeatureGraph(facts)
    program = Program.of(list(rules), list(facts.relations), loops=frozenset())
    rows = training_rows(features, program, room=Room(window=16), seed=0, teacher=SoftTeacher(soft, facts))
    sums = np.add.reduceat(rows.targets.astype(np.float64), rows.starts[:-1])
    np.testing.assert_allclose(sums, 1, atol=1e-5)
    assert (rows.targets[rows.starts[:-1]] >= 0.5).all() and (rows.targets >= 0).all()
    plain = training_rows(features, program, room=Room(window=16), seed=0)
    assert len(plain.targets) == 0 and np.array_equal(plain.entities, rows.entities)


def test_a_taught_list_ranks_more_as_its_teacher_does(soft: Reshuffle, facts: KnowledgeGraph) -> None:
    rules = rules_of(soft, facts, max_length=2)
    settings = RuleSettings().changed(steps=100)
    taught = learn_rules(facts, rules=rules, mine=False, teacher=SoftTeacher(soft, facts), settings=settings)
    plain = learn_rules(facts, rules=rules, mine=False, settings=settings)
    anchors = facts.heads[::7].astype(np.int32)
    relations = facts.relation_ids[::7].astype(np.int32)
    teacher, *lists = (
        model.on(facts).scores(anchors, relations, side="tail", candidates=None).astype(np.float64)
        for model in (soft, taught, plain)
    )

    def logs(scores: np.ndarray) -> np.ndarray:
        shifted = scores - scores.max(axis=1, keepdims=True)
        return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))

    def distance(scores: np.ndarray) -> float:
        """The divergence of the shares from the teacher's, on average."""
        return float((np.exp(logs(teacher)) * (logs(teacher) - logs(scores))).sum(axis=1).mean())

    assert distance(lists[0]) < distance(lists[1])


def test_what_is_held_out_is_told_and_not_fitted_to(soft: Reshuffle, facts: KnowledgeGraph) -> None:
    known, held_out = parted(facts, seed=1)
    assert len(held_out) == int(len(facts) * 0.05) and known | held_out == facts and not known & held_out
    found = distilled(soft, facts, settings=RuleSettings().changed(steps=20), seed=1)
    assert found.held_out == len(held_out) and found.compared is not None
    assert set(found.compared.reports) == {"soft", "rules"}
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
    assert 0 <= told["first_answers_agree"] <= 1 and {"mrr", "soft_mrr", "hits@10", "soft_hits@10"} <= set(
        told
    )
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
