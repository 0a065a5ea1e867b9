"""A rule list beside a model: it adds what the list says, in every form of the model, and is kept in files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch

from reshuffle.errors import InputError
from reshuffle.kg import KnowledgeGraph
from reshuffle.learning.estimator import Reshuffle
from reshuffle.learning.training.trainer import not_lone
from reshuffle.model.evidence.far import surroundings
from reshuffle.model.propagation import EvidenceGraph

if TYPE_CHECKING:
    from pathlib import Path

SMALL = {"num_slots": 3, "num_layers": 2, "epoch_steps": 3, "max_epochs": 1, "device": "cpu"}
FACTS = KnowledgeGraph(
    [(f"p{n}", "parent", f"p{n + 1}") for n in range(12)]
    + [(f"p{n}", "grandparent", f"p{n + 2}") for n in range(11)]
)
NEW = ("p0", "grandparent", "p5")


@pytest.fixture(scope="module")
def model() -> Reshuffle:
    return Reshuffle(**SMALL).fit(FACTS)


@pytest.mark.parametrize("initial", ["head", "bits"])
@pytest.mark.parametrize("side", ["head", "tail"])
def test_the_part_is_the_weighted_score_of_the_list(model: Reshuffle, initial: str, side: str) -> None:
    assert model.listed is not None and len(model.listed.rules)
    answers = model.on(FACTS, initial=initial)  # type: ignore[arg-type]
    anchors, relations = np.arange(4, dtype=np.int32), np.zeros(4, dtype=np.int32)
    listed = model.listed.on(FACTS).scores(anchors, relations, side=side, candidates=None)  # type: ignore[arg-type]
    found = answers._on_graph.scores(anchors, relations, side=side)  # type: ignore[arg-type]
    weight = model.settings.architecture.rules_weight
    assert np.allclose(found.evidence["rules"], weight * listed, atol=1e-5)
    assert weight > 0 and np.abs(listed).max() > 0


def test_the_parts_add_up_and_the_list_is_told_in_words(model: Reshuffle) -> None:
    answers = model.on(FACTS)
    judged = answers.judge(*NEW)
    assert judged.score == pytest.approx(judged.constraint_score + sum(judged.evidence.values()))
    told = {remark.kind: remark.words for remark in answers.explain("p0", "grandparent", "p2").remarks}
    assert "of the list" in told["rules"] and "walk" in told["rules"]


def test_facts_that_come_and_go_are_seen_by_the_list(model: Reshuffle) -> None:
    answers, before = model.on(FACTS), model.on(FACTS).judge(*NEW)
    more = [("p3", "parent", "p5"), ("p0", "parent", "p3")]
    answers.add(more)
    fresh = model.on(FACTS | KnowledgeGraph(more))
    assert answers.judge(*NEW).evidence["rules"] == pytest.approx(fresh.judge(*NEW).evidence["rules"])
    assert answers.judge(*NEW).evidence["rules"] > before.evidence["rules"]
    answers.remove(more)
    assert answers.judge(*NEW).evidence == pytest.approx(before.evidence)


def test_a_saved_model_keeps_its_list(model: Reshuffle, tmp_path: Path) -> None:
    model.save(tmp_path)
    assert "parent" in (tmp_path / "list.rules").read_text(encoding="utf-8")
    assert Reshuffle.load(tmp_path, device="cpu").on(FACTS).judge(*NEW) == model.on(FACTS).judge(*NEW)
    hard = model.hardened().on(FACTS).judge(*NEW)
    assert hard.evidence["rules"] == model.on(FACTS).judge(*NEW).evidence["rules"]

    Reshuffle(**SMALL, rules_weight=0.0).fit(FACTS).save(tmp_path)
    assert not (tmp_path / "list.rules").exists()
    assert "rules" not in Reshuffle.load(tmp_path, device="cpu").on(FACTS).judge(*NEW).evidence


def test_a_list_that_was_changed_or_lost_is_refused(model: Reshuffle, tmp_path: Path) -> None:
    model.save(tmp_path)
    file = tmp_path / "list.rules"
    file.write_text(file.read_text(encoding="utf-8") + "# mine\n", encoding="utf-8")
    with pytest.raises(InputError, match="does not match the settings"):
        Reshuffle.load(tmp_path)
    file.unlink()
    with pytest.raises(InputError, match="cannot be read"):
        Reshuffle.load(tmp_path)


def test_facts_of_entities_without_another_are_left_out() -> None:
    # 0 - 1, 1 - 2, and 3 - 4 alone, asked from both ends.
    facts = torch.tensor([[0, 0, 1], [1, 0, 2], [0, 0, 2], [3, 0, 4]])
    examples = torch.cat([facts, facts[:, [2, 1, 0]]])
    assert not_lone(examples, num_entities=5).tolist() == [0, 1, 2, 4, 5, 6]
    assert not_lone(facts[3:], num_entities=5).tolist() == [0]  # nothing else is there to train on


def test_surroundings_count_walks_without_hidden_facts() -> None:
    facts = np.array([[0, 0, 1], [1, 0, 2], [1, 0, 3]])
    graph = EvidenceGraph.build(facts, num_entities=4, num_relations=1, device=torch.device("cpu"))
    edges = np.zeros((4, 4))
    edges[[0, 1, 1], [1, 2, 3]] = 1
    for hidden, there in ((None, edges), (torch.tensor([2]), edges * (np.arange(4) != 3))):
        both = there + there.T
        for steps, row in enumerate(surroundings(graph, hidden), start=1):
            logs = np.log1p(np.linalg.matrix_power(both, steps).sum(1))
            assert np.allclose(row, (logs - logs.mean()) / max(logs.std(), 1e-3), atol=1e-5)


def test_far_evidence_is_about_who_is_further_away(model: Reshuffle) -> None:
    two = KnowledgeGraph([*FACTS, ("q0", "parent", "q1")])
    trained = Reshuffle(**{**SMALL, "max_epochs": 2}, num_hops=2).fit(two)
    with torch.no_grad():
        trained.model.evidence.of_surroundings += 1.0  # type: ignore[union-attr, operator]
    answers = trained.on(two)
    found = answers._on_graph.scores(np.array([0]), np.array([0]), side="tail").evidence["far"][0]
    names = dict(zip(two.entities, found.tolist(), strict=True))
    near = {name for name, value in names.items() if value == 0}
    assert near == {"p0", "p1", "p2", "p3", "p4"}


def test_the_list_may_have_rules_about_particular_entities() -> None:
    people = [
        fact
        for place in range(60)
        for fact in ((f"p{place}", "bornIn", f"c{place % 3}"), (f"p{place}", "speaks", f"t{place % 3}"))
    ]
    small = {**SMALL, "num_slots": 2}
    model, without = (
        Reshuffle(**small, **more).fit(KnowledgeGraph(people)) for more in ({}, {"rules_constants": False})
    )
    assert model.listed is not None and without.listed is not None
    assert model.listed.constants and not without.listed.constants
    assert model.listed.without_constants() == without.listed
    told = {remark.kind: remark.words for remark in model.on(people).explain("p0", "speaks", "t0").remarks}
    assert "of the list" in told["rules"]
