"""Hardened models: hard constraints, evidence as it was learned, and everything that a model can do."""

from __future__ import annotations

import re
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from predicting_worlds import RELATIONS, random_graph, random_model

from reshuffle.errors import InputError
from reshuffle.extraction import extract_rules
from reshuffle.kg import KnowledgeGraph
from reshuffle.learning.estimator import Reshuffle
from reshuffle.model.answers.model_answers import ModelAnswers
from reshuffle.model.evidence.registry import EVIDENCE
from reshuffle.model.hardening import harden, hardened, identity_names
from reshuffle.reasoning.reference import captured, propagate
from reshuffle.rules import parse_rules

if TYPE_CHECKING:
    from pathlib import Path

    from reshuffle.extraction.result import ExtractedRule, ExtractedRules
    from reshuffle.model.reshuffle import ReshuffleModel
    from reshuffle.model.scoring import Scores

SEEDS = st.integers(0, 10**6)
SMALL = {
    "recipe": "best-0.1",
    "num_slots": 3,
    "num_layers": 2,
    "epoch_steps": 3,
    "max_epochs": 1,
    "device": "cpu",
}
FACTS = KnowledgeGraph(
    [(f"p{n}", "parent", f"p{n + 1}") for n in range(9)]
    + [(f"p{n}", "grandparent", f"p{n + 2}") for n in range(8)]
)


def soft_model(seed: int, **changes: Any) -> ReshuffleModel:
    return random_model(seed, **{"slot_weights": True, "evidence": EVIDENCE, **changes})


def answers_of(model: ReshuffleModel, seed: int, **options: Any) -> ModelAnswers:
    return ModelAnswers(model, RELATIONS, random_graph(seed), seed=seed, **options)


def all_parts(answers: ModelAnswers) -> list[Scores]:
    """Every question of both directions."""
    entities, relations = answers.graph.num_entities, len(RELATIONS)
    anchors, numbers = np.divmod(np.arange(entities * relations), relations)
    return [answers._on_graph.scores(anchors, numbers, side=side) for side in ("tail", "head")]


def same(one: list[Scores], other: list[Scores], *kinds: str) -> bool:
    """In these kinds of evidence, or "constraint"."""
    pairs = zip(one, other, strict=True)
    return all(
        np.array_equal(a.constraint, b.constraint)
        if kind == "constraint"
        else np.array_equal(a.evidence[kind], b.evidence[kind])
        for a, b in pairs
        for kind in kinds
    )


@given(SEEDS)
@settings(max_examples=20)
def test_evidence_stays_and_only_constraints_become_hard(seed: int) -> None:
    model = soft_model(seed)
    soft, hard, throughout = (
        all_parts(answers_of(one, seed)) for one in (model, hardened(model), hardened(model, paths=True))
    )
    assert same(soft, hard, *EVIDENCE)
    assert same(hard, throughout, "constraint", "unary", "proximity", "negative")
    assert not same(soft, hard, "constraint")
    assert not same(soft, throughout, "paths")


def test_what_paths_sees_is_kept_only_where_there_is_paths() -> None:
    assert hardened(soft_model(1)).path_matrices is not None
    assert hardened(soft_model(1), paths=True).path_matrices is None
    assert hardened(soft_model(1, evidence=("unary", "negative"))).path_matrices is None
    assert hardened(soft_model(1, evidence=())).path_matrices is None
    assert soft_model(1).path_matrices is None


def test_hardening_twice_is_hardening_once() -> None:
    once = hardened(soft_model(3))
    for paths in (False, True):
        one = all_parts(answers_of(hardened(soft_model(3), paths=paths), 3))
        other = all_parts(answers_of(hardened(once, paths=paths), 3))
        assert same(one, other, "constraint", *EVIDENCE)


@given(SEEDS, st.booleans(), st.booleans())
@settings(max_examples=30)
def test_a_constraint_score_is_0_iff_the_hard_constraints_capture_the_triple(
    seed: int, identity: bool, paths: bool
) -> None:
    graph = random_graph(seed)
    layers = 3 * graph.num_entities  # as many as there are slots: all that can arrive has arrived
    model = soft_model(seed, identity=identity, num_layers=layers)
    constraints = harden(model, RELATIONS, identity_names(RELATIONS, model.num_identities))
    states = propagate(constraints, graph)
    twin = hardened(model, paths=paths)
    private, by_head = (all_parts(answers_of(twin, seed, initial=kind))[0] for kind in ("private", "head"))
    for place, (head, relation) in enumerate(product(graph.entities, graph.relations)):
        expected = [captured(constraints, states, (head, relation, tail)) for tail in graph.entities]
        assert (private.constraint[place] == 0).tolist() == expected
        # A channel per head lights all of its slots: what arrives must be the head's, from whichever slot.
        asked = np.flatnonzero(constraints.source_of(relation) >= 0).tolist()
        reached = [
            all(head in {owner for owner, _ in states[tail, slot]} for slot in asked)
            for tail in graph.entities
        ]
        assert (by_head.constraint[place] == 0).tolist() == reached


@given(SEEDS, st.lists(st.sampled_from(["add", "remove"]), min_size=1, max_size=3))
@settings(max_examples=15)
def test_updates_equal_recomputation(seed: int, steps: list[str]) -> None:
    answers, chance = answers_of(hardened(soft_model(seed)), seed), np.random.default_rng(seed)
    all_parts(answers)
    for step in steps:
        if step == "add":
            answers.add([(f"e{chance.integers(9)}", "r", f"e{chance.integers(9)}")])
        else:
            answers.remove([list(answers.graph)[chance.integers(len(answers.graph))]])
        again = all_parts(answers.on(answers.graph))
        assert same(all_parts(answers), again, "constraint", *EVIDENCE)


def test_it_moves_as_one() -> None:
    moved = hardened(soft_model(1, symmetric=())).to("meta")
    assert moved.path_matrices is not None
    assert {tensor.device.type for tensor in moved.state_dict().values()} == {"meta"}
    assert moved.path_matrices.owner.device.type == "meta"


def test_questions_about_a_hardened_model() -> None:
    answers = Reshuffle(**SMALL).fit(FACTS).hardened().on(FACTS)
    best = answers.predict(head="p0", relation="grandparent", top=3)[0]
    assert best.confidence is None
    judged = answers.judge(*best.triple)
    assert (judged.constraint_score, judged.evidence) == (best.constraint_score, best.evidence)
    told = answers.explain(*best.triple)
    assert told.judgement == judged
    assert told.reasons == answers.reasons(*best.triple)
    assert len(answers.missing(relation="grandparent", top=2)) == 2


@pytest.mark.parametrize("paths", [False, True])
def test_a_loaded_model_answers_as_the_saved_one(paths: bool, tmp_path: Path) -> None:
    soft = Reshuffle(**SMALL).fit(FACTS)
    saved = soft.hardened(paths=paths)
    saved.save(tmp_path)
    loaded = Reshuffle.load(tmp_path, device="cpu")
    anchors = np.arange(FACTS.num_entities, dtype=np.int32)
    for side in ("tail", "head"):
        one, other = (
            model.on(FACTS).scores(anchors, np.zeros_like(anchors), side=side, candidates=None)
            for model in (saved, loaded)
        )
        np.testing.assert_array_equal(one, other)
    kept, learned = (model.on(FACTS).judge("p0", "parent", "p3").evidence for model in (loaded, soft))
    assert (kept == learned) is not paths
    again = Reshuffle.load(tmp_path, device="cpu").hardened(paths=True)
    assert again.model.path_matrices is None


def test_kept_matrices_of_a_model_without_paths_are_refused(tmp_path: Path) -> None:
    Reshuffle(**SMALL).fit(FACTS).hardened().save(tmp_path)
    path = tmp_path / "settings.toml"
    content = path.read_text(encoding="utf-8")
    # Only a model of an older version can be edited without a word from the digest.
    older = re.sub("\ndigest = .*", "", content.replace("version = 3", "version = 2"))
    path.write_text(older.replace('"paths", ', ""), encoding="utf-8")
    with pytest.raises(InputError, match="the shapes of the arrays do not match the settings"):
        Reshuffle.load(tmp_path, device="cpu")


def test_what_paths_sees_is_exported(tmp_path: Path) -> None:
    soft = Reshuffle(**SMALL).fit(FACTS)
    written = soft.hardened().export(tmp_path)
    assert [path.name for path in written] == [
        "matrices.parquet",
        "path_matrices.parquet",
        "weights.parquet",
    ]
    values = [pq.read_table(path).column("value").to_numpy() for path in written[:2]]
    assert set(values[0].tolist()) <= {0.0, 1.0}
    np.testing.assert_array_equal(values[1], soft.model.matrices().detach().flatten())


def _same_rules(
    kept: ExtractedRules, throughout: ExtractedRules
) -> list[tuple[ExtractedRule, ExtractedRule]]:
    others = {one.rule: one for one in throughout}
    return [(one, others[one.rule]) for one in kept]


def test_rules_are_read_from_the_hard_matrices() -> None:
    soft = Reshuffle(**SMALL).fit(FACTS)
    kept, throughout = (
        extract_rules(soft.hardened(paths=paths), on=FACTS, max_length=2) for paths in (False, True)
    )
    assert {one.rule for one in kept} == {one.rule for one in throughout}
    # Only where "paths" sees the hard matrices do its weights count for what a path along them says.
    assert all(one.evidence < other.evidence for one, other in _same_rules(kept, throughout))
    assert torch.equal(
        torch.from_numpy(soft.hardened().soft_matrices().values).float(), soft.hardened().model.matrices()
    )


def test_injected_rules_are_scored_as_before(tmp_path: Path) -> None:
    rules = parse_rules("parent(X, Y) & parent(Y, Z) -> grandparent(X, Z)")
    soft = Reshuffle(**SMALL).fit(FACTS, inject=rules)
    hard = soft.hardened()
    hard.save(tmp_path)
    loaded = Reshuffle.load(tmp_path, device="cpu")
    facts = FACTS | KnowledgeGraph([("p9", "parent", "p10")])
    before, *after = (model.on(facts).judge("p8", "grandparent", "p10") for model in (soft, hard, loaded))
    assert before.injected == 0
    for judged in after:
        assert (judged.injected, judged.evidence) == (before.injected, before.evidence)
