"""Evidence beside states that are computed once per graph: the same as with a channel per query, and told apart."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from predicting_worlds import RELATIONS, random_graph, random_model

from reshuffle.extraction import extract_rules
from reshuffle.kg import KnowledgeGraph
from reshuffle.learning.estimator import Reshuffle
from reshuffle.model.answers.model_answers import ModelAnswers
from reshuffle.model.evidence.registry import EVIDENCE, LOCAL
from reshuffle.rulegraphs import constraints_for
from reshuffle.rules import parse_rules
from reshuffle.rules.entailment import closure

if TYPE_CHECKING:
    from pathlib import Path

    from reshuffle.evaluation.scorer import Side
    from reshuffle.model.scoring import Scores

KINDS = ["bits", "official", "continuous", "shared", "private"]


def worlds(
    seed: int, initial: str, *, through_inverse: bool = True, **changes: Any
) -> tuple[ModelAnswers, ModelAnswers, ModelAnswers]:
    """A model with evidence, the same with a channel per query, and the same without evidence."""
    model = random_model(
        seed, **{"initial": "bits", "num_channels": 5, "evidence": LOCAL, "bias": seed % 2 == 0, **changes}
    )
    bare = random_model(seed, initial="bits", num_channels=5, bias=model.bias is not None)
    bare.load_state_dict(
        {name: value for name, value in model.state_dict().items() if "evidence" not in name}
    )
    graph, options = random_graph(seed), {"seed": seed, "heads_through_inverse": through_inverse}
    return (
        ModelAnswers(model, RELATIONS, graph, initial=initial, **options),
        ModelAnswers(model, RELATIONS, graph, initial="head", seed=seed),
        ModelAnswers(bare, RELATIONS, graph, initial=initial, **options),
    )


def all_scored(answers: ModelAnswers, side: Side) -> Scores:
    anchors, relations = everything(answers)
    return answers._on_graph.scores(anchors, relations, side=side)


def everything(answers: ModelAnswers) -> tuple[np.ndarray, np.ndarray]:
    return np.divmod(np.arange(answers.graph.num_entities * len(RELATIONS)), len(RELATIONS))


@given(
    st.integers(0, 10**6),
    st.sampled_from(KINDS),
    st.sampled_from(["tail", "head"]),
    st.booleans(),
    st.sampled_from(["against", "both"]),
)
@settings(max_examples=40)
def test_a_score_is_that_of_the_constraints_and_the_evidence_of_a_channel_per_query(
    seed: int, initial: str, side: Side, through_inverse: bool, direct: str
) -> None:
    """Also where heads are scored as heads: their evidence is asked for through the inverse all the same."""
    answers, by_query, bare = worlds(seed, initial, through_inverse=through_inverse, direct_facts=direct)
    found, wanted = all_scored(answers, side), all_scored(by_query, side).evidence
    assert list(found.evidence) == list(wanted)
    assert set(wanted) == ({*LOCAL, "proximity"} if direct == "both" else set(LOCAL))
    for kind, values in wanted.items():
        np.testing.assert_allclose(found.evidence[kind], values, atol=1e-5)
    without = all_scored(bare, side)
    assert without.evidence == {}
    np.testing.assert_array_equal(found.constraint, without.constraint)
    anchors, relations = (ids.astype(np.int32) for ids in everything(answers))
    scores = answers.scores(anchors, relations, side=side, candidates=None)
    np.testing.assert_allclose(scores, found.constraint + sum(found.evidence.values()), atol=1e-5)
    some = np.random.default_rng(seed).integers(answers.graph.num_entities, size=(len(anchors), 4))
    of_some = answers.scores(anchors, relations, side=side, candidates=some.astype(np.int32))
    np.testing.assert_allclose(of_some, np.take_along_axis(scores, some, axis=1), atol=1e-5)


@pytest.mark.parametrize("initial", KINDS)
@pytest.mark.parametrize("side", ["tail", "head"])
def test_judgements_predictions_and_explanations_tell_the_same_parts(initial: str, side: Side) -> None:
    answers = worlds(3, initial)[0]
    anchor = {"head": "x"} if side == "tail" else {"tail": "x"}
    for row in answers.predict(relation="r", top=100, known="mark", **anchor):
        judged = answers.judge(*row.triple, side=side)
        assert set(judged.evidence) == set(LOCAL)
        assert judged.score == pytest.approx(row.score, abs=1e-5)
        assert judged.constraint_score == pytest.approx(row.constraint_score, abs=1e-5)
        assert judged.evidence == pytest.approx(row.evidence, abs=1e-5)
        explained = answers.explain(*row.triple, side=side)
        assert explained.judgement.evidence == pytest.approx(row.evidence, abs=1e-5)
        assert {remark.kind for remark in explained.remarks} == set(LOCAL)
    assert set(answers.missing(top=3)[0].evidence) == set(LOCAL)


def test_without_evidence_there_is_a_constraint_score_to_judge_by() -> None:
    bare = worlds(3, "bits")[2]
    judged = bare.judge("x", "r", "y")
    assert judged.evidence == {} and judged.score == judged.constraint_score <= 0
    assert str(judged).startswith("x r y: ") and "evidence" not in str(judged)


def test_facts_that_speak_for_a_triple_are_named_where_nothing_looks_at_steps() -> None:
    words = {
        remark.kind: remark.words
        for remark in worlds(1, "bits", direct_facts="both")[0].explain("x", "r", "y").remarks
    }
    assert words["proximity"] == words["negative"] == "s(x, y)"


@pytest.mark.parametrize("initial", ["bits", "private"])
def test_evidence_that_needs_a_channel_per_query_stays_out_elsewhere(initial: str) -> None:
    model = random_model(1, evidence=EVIDENCE, num_channels=5)
    answers = ModelAnswers(model, RELATIONS, random_graph(1), initial=initial)
    assert answers.judge("x", "r", "y").evidence == {}
    assert all_scored(answers, "tail").evidence == {}


RULES = [
    "parent(X, Y) & parent(Y, Z) -> grandparent(X, Z)",
    "r(X, Y) -> s(X, Y)\ns(X, Y) & t(Y, Z) -> u(X, Z)",
]


@pytest.mark.parametrize("text", RULES)
@pytest.mark.parametrize("initial", ["private", "bits"])
def test_hard_matrices_stay_exact_whatever_the_evidence_says(text: str, initial: str) -> None:
    """Private channels know exactly what is entailed; random ones never miss it."""
    rules = parse_rules(text)
    names = sorted(set(rules.relations))
    chance = np.random.default_rng(len(text))
    triples = [
        (f"e{chance.integers(5)}", names[chance.integers(len(names))], f"e{chance.integers(5)}")
        for _ in range(10)
    ]
    graph = KnowledgeGraph([*triples, *((f"x{name}", name, f"y{name}") for name in names)])
    constraints = constraints_for(rules)
    model = Reshuffle.from_constraints(
        constraints, device="cpu", evidence=LOCAL, initial=initial, num_layers=8
    )
    for parameter in model.model.evidence.parameters():
        parameter.data.normal_(generator=torch.Generator().manual_seed(1))
    answers, entailed = model.on(graph), closure(rules, graph)
    assert entailed - set(graph)
    for triple in product(graph.entities, names, graph.entities):
        judged = answers.judge(*triple)
        assert judged.evidence["unary"] != 0
        if initial == "private":
            assert judged.captured == (triple in entailed)
        elif triple in entailed:
            assert judged.constraint_score == 0
        assert answers.judge(*triple, side="head").constraint_score == judged.constraint_score


def fitted(**changes: Any) -> Reshuffle:
    facts = KnowledgeGraph(
        [(f"p{n}", "parent", f"p{n + 1}") for n in range(12)]
        + [(f"p{n}", "grandparent", f"p{n + 2}") for n in range(11)]
    )
    small = {"num_slots": 4, "num_channels": 5, "num_layers": 2, "num_negatives": 5, "max_epochs": 2}
    return Reshuffle(recipe="paper", device="cpu", **{"evidence": LOCAL, **small, **changes}).fit(facts)


def test_it_is_saved_hardened_and_read_for_rules(tmp_path: Path) -> None:
    model = fitted()
    graph = KnowledgeGraph([("a", "parent", "b"), ("b", "parent", "c"), ("a", "grandparent", "c")])
    judged = model.on(graph).judge("a", "grandparent", "c")
    assert set(judged.evidence) == set(LOCAL)
    model.save(tmp_path)
    assert Reshuffle.load(tmp_path, device="cpu").on(graph).judge("a", "grandparent", "c") == judged
    hard = model.hardened().on(graph).judge("a", "grandparent", "c")
    assert hard.evidence == judged.evidence and hard.constraint_score != judged.constraint_score
    assert model.harden().num_slots == 4
    assert extract_rules(model, on=graph, max_length=2)
    assert extract_rules(model.harden(), on=graph, max_length=2) is not None
