"""Facts that come and go: the answers are those of a computation from scratch, and little is computed again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from predicting_worlds import RELATIONS, random_graph, random_model

from reshuffle.errors import InputError, UnknownNameError
from reshuffle.evaluation import evaluate, with_isolated
from reshuffle.kg import KnowledgeGraph
from reshuffle.model.answers.model_answers import ModelAnswers
from reshuffle.model.architecture import Architecture
from reshuffle.model.channels.entity_states import Draw
from reshuffle.model.channels.registry import KINDS, channel_kind
from reshuffle.model.evidence.registry import EVIDENCE, LOCAL
from reshuffle.model.scoring import Calibration


def all_scores(answers: ModelAnswers) -> np.ndarray:
    """Every question that the graph can be asked."""
    entities, relations = answers.graph.num_entities, len(answers.graph.relations)
    anchors, numbers = np.divmod(np.arange(entities * relations, dtype=np.int32), relations)
    learned = answers.learned_relations[numbers]
    found = [
        answers.scores(anchors[learned], numbers[learned].astype(np.int32), side=side, candidates=None)
        for side in ("tail", "head")
    ]
    return np.stack(found)


def answers_of(seed: int, initial: str, **changes: Any) -> ModelAnswers:
    head = {"slot_weights": True, "evidence": EVIDENCE}
    options = head if initial == "head" else {"num_channels": 6, "evidence": LOCAL, "direct_facts": "both"}
    model = random_model(
        seed, **{"initial": "bits" if initial == "private" else initial, **options, **changes}
    )
    return ModelAnswers(model, RELATIONS, random_graph(seed), seed=seed, initial=initial)


def calibrated(answers: ModelAnswers) -> ModelAnswers:
    """With confidences, which depend on who else is a candidate."""
    answers.calibration = Calibration(1.0, 0.5)
    return answers


def some_facts(chance: np.random.Generator, count: int) -> list[tuple[str, str, str]]:
    """Between old entities and new ones, one of them of a relation that no model knows."""
    names = [f"e{n}" for n in range(7)] + ["new", "newer", "newest", "latest"]
    relations = [*RELATIONS, "likes"]
    return [
        (names[chance.integers(11)], relations[chance.integers(3)], names[chance.integers(11)])
        for _ in range(count)
    ]


@given(
    st.integers(0, 10**6),
    st.sampled_from(KINDS),
    st.booleans(),
    st.lists(st.sampled_from(["add", "remove"]), min_size=1, max_size=6),
)
@settings(max_examples=60)
def test_updates_equal_recomputation(seed: int, initial: str, identity: bool, steps: list[str]) -> None:
    chance = np.random.default_rng(seed)
    answers = answers_of(seed, initial, identity=identity)
    all_scores(answers)
    for step in steps:
        facts = list(answers.graph)
        if step == "add":
            answers.add(some_facts(chance, 3))
        else:
            answers.remove([facts[place] for place in chance.permutation(len(facts))[:4]])
        assert np.array_equal(all_scores(answers), all_scores(answers.on(answers.graph)))


@pytest.mark.parametrize("initial", KINDS)
def test_a_first_fact_of_a_relation_equals_recomputation(initial: str) -> None:
    answers = answers_of(1, initial).on(KnowledgeGraph([("x", "r", "y"), ("y", "r", "z")]))
    all_scores(answers)
    before = answers.judge("x", "s", "z")
    for change in (answers.add, answers.remove, answers.add):
        change([("x", "s", "z"), ("x", "s", "y")])
        assert np.array_equal(all_scores(answers), all_scores(answers.on(answers.graph)))
    afresh = answers.on(KnowledgeGraph(sorted(answers.graph)))
    assert list(afresh.graph.entities) == list(answers.graph.entities)  # so the draws are the same
    assert afresh.judge("x", "s", "z") == answers.judge("x", "s", "z") != before


def test_adding_is_a_union_and_removing_a_difference() -> None:
    answers = answers_of(1, "bits")
    before = set(answers.graph)
    answers.add(iter([("x", "r", "z"), ("x", "r", "y")]))
    assert set(answers.graph) == before | {("x", "r", "z")}
    answers.remove([("x", "r", "z"), ("z", "r", "x")])
    assert set(answers.graph) == before


NEW = [(f"zz{n}", "r", "x") for n in range(3)]


@pytest.mark.parametrize("initial", KINDS)
def test_who_came_with_a_fact_goes_with_it(initial: str) -> None:
    answers = calibrated(answers_of(1, initial))
    fresh = calibrated(answers_of(1, initial))
    all_scores(answers)
    asked = {"relation": "r", "tail": "x", "top": 10_000}
    for _ in range(2):  # the second time states are kept
        answers.add(NEW)
        all_scores(answers)
        assert {"zz0", "zz1", "zz2"} <= {row.triple.head for row in answers.predict(known="mark", **asked)}
        answers.remove(NEW)
        assert list(answers.graph.entities) == list(fresh.graph.entities)
        assert answers.predict(**asked) == fresh.predict(**asked)
        assert answers.missing(relation="s") == fresh.missing(relation="s")
        queries = [("x", "r", "e1")]
        one, other = (evaluate(scorer, queries, protocol="sampled-50") for scorer in (answers, fresh))
        assert one.rows() == other.rows()


@pytest.mark.parametrize("initial", KINDS)
def test_who_comes_between_two_that_go_is_as_if_alone(initial: str) -> None:
    answers = answers_of(1, initial)
    all_scores(answers)
    for _ in range(2):
        answers.add(NEW)
        all_scores(answers)
        answers.remove([NEW[0], NEW[2]])
        assert [name for name in answers.graph.entities if name.startswith("zz")] == ["zz1"]
        assert np.array_equal(all_scores(answers), all_scores(answers.on(answers.graph)))
        answers.remove([NEW[1]])


def test_entities_without_facts_that_were_given_stay() -> None:
    graph = with_isolated(random_graph(1), ["alone"])
    answers = answers_of(1, "head").on(graph)
    answers.add([("alone", "r", "x"), ("new", "r", "x")])
    facts = [fact for fact in answers.graph if "x" in fact]
    answers.remove(facts)
    assert list(answers.graph.entities) == list(graph.entities)
    heads = {row.triple.head for row in answers.predict(relation="r", tail="e1", top=100, known="mark")}
    assert heads == set(graph.entities) - {"e1"}  # no fact leads from anyone to itself


def test_what_is_no_fact_is_passed_over_and_told() -> None:
    answers, told = answers_of(1, "bits"), []
    before = set(answers.graph)
    answers.remove([("x", "r", "y")], notes=told.append)
    assert told == [] and set(answers.graph) == before - {("x", "r", "y")}
    answers.remove([("x", "r", "y"), ("y", "s", "x"), ("x", "s", "y")], notes=told.append)
    assert told == ["2 of 3 triples are no facts, and skipped: r(x, y), s(y, x)"]
    assert set(answers.graph) == before - {("x", "r", "y"), ("x", "s", "y")}


def test_taking_a_fact_back_twice_is_no_error() -> None:
    answers = answers_of(1, "bits")
    answers.add(NEW)
    for _ in range(2):
        answers.remove(NEW)
        answers.remove([("x", "r", "e1")])
    with pytest.raises(UnknownNameError, match="unknown entity 'zz0'"):
        answers.predict(relation="r", tail="zz0")


@pytest.mark.parametrize("change", ["add", "remove"])
@pytest.mark.parametrize(("given", "found"), [("new.tsv", "'new.tsv'"), ([("x", "r")], r"\('x', 'r'\)")])
def test_what_are_no_triples_is_refused(change: str, given: Any, found: str) -> None:
    answers = answers_of(1, "bits")
    before = answers.graph
    with pytest.raises(InputError, match=f"found {found}, expected"):
        getattr(answers, change)(given)
    assert answers.graph is before


def test_unknown_names_are_refused_before_anything_is_taken_back() -> None:
    answers = answers_of(1, "bits")
    before = set(answers.graph)
    for triple, message in (
        (("x", "r", "yy"), "unknown entity 'yy'"),
        (("x", "rr", "y"), "unknown relation 'rr'"),
    ):
        with pytest.raises(UnknownNameError, match=message):
            answers.remove([("x", "r", "y"), triple])
    assert set(answers.graph) == before


def test_only_what_changes_is_computed_again() -> None:
    line = KnowledgeGraph([(f"e{n}", "r", f"e{n + 1}") for n in range(200)] + [("a", "s", "b")])
    model = random_model(0, initial="continuous", num_layers=3, num_channels=4)
    answers = ModelAnswers(model, RELATIONS, line, seed=3)
    _ = answers.states
    answers.add([("e50", "s", "e51")])  # computes all states again, and keeps every layer
    layers = answers._on_graph.channels.layers
    assert layers is None
    _ = answers.states
    layers = answers._on_graph.channels.layers
    assert layers is not None and layers.recomputed == [202 + 1] * 3
    answers.add([("e100", "s", "e101")])
    assert answers._on_graph.channels.layers is layers
    assert layers.recomputed[0] == 2 and max(layers.recomputed) <= 6
    assert torch.equal(answers.states, answers.on(answers.graph).states)


@pytest.mark.parametrize("kind", ["bits", "official", "continuous", "shared"])
def test_the_draw_of_an_entity_does_not_depend_on_who_comes_later(kind: str) -> None:
    architecture = Architecture(num_slots=3, num_channels=5)
    whole = Draw(channel_kind(kind), architecture, 7).next(20)
    pieces = Draw(channel_kind(kind), architecture, 7)
    assert torch.equal(torch.cat([pieces.next(count) for count in (1, 13, 0, 6)]), whole)
    assert not torch.equal(Draw(channel_kind(kind), architecture, 8).next(20), whole)


def test_predictions_and_reasons_see_the_new_facts() -> None:
    answers = answers_of(1, "head")
    answers.add([("lone", "r", "other"), ("other", "s", "third"), ("x", "s", "third")])
    assert answers.predict(head="lone", relation="r", top=100, known="mark")
    (reason,) = answers.reasons("lone", "r", "third", most=1)
    assert reason.facts == (("lone", "r", "other"), ("other", "s", "third"))
    answers.remove([("other", "s", "third")])
    assert answers.reasons("lone", "r", "third") == ()
