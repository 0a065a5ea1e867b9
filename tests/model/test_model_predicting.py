"""`predict`: the order of the scores, known links out or marked, and tables of all kinds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from predicting_worlds import random_answers

from reshuffle.errors import InputError, UnknownNameError
from reshuffle.evaluation import TypeBaseline, evaluate
from reshuffle.kg import KnowledgeGraph, Triple, Vocabulary
from reshuffle.model.answers.model_answers import ModelAnswers
from reshuffle.model.answers.predictions import Prediction, ranked_links
from reshuffle.model.scoring import Calibration, log_odds


@given(st.integers(0, 10**6), st.sampled_from(["head", "bits", "private"]), st.sampled_from(["tail", "head"]))
@settings(max_examples=30)
def test_predictions_are_the_best_scores_without_the_facts(seed: int, initial: str, side: str) -> None:
    answers = random_answers(seed, initial=initial)
    graph = answers.graph
    anchor = int(np.random.default_rng(seed).integers(graph.num_entities))
    end = {"head" if side == "tail" else "tail": graph.entities[anchor]}
    found = answers.predict(relation="r", top=4, **end)
    everyone = answers.predict(relation="r", top=100, known="mark", **end)
    scores = answers.scores(
        np.array([anchor], dtype=np.int32),
        np.array([graph.relations.id("r")], dtype=np.int32),
        side=side,
        candidates=None,
    )[0]
    if not any(name == "r" and head == tail for head, name, tail in graph):
        scores[anchor] = -np.inf  # nobody is related to itself by it
    candidates = sorted(scores[np.isfinite(scores)], reverse=True)
    assert [row.score for row in everyone] == pytest.approx(candidates, abs=1e-5)
    for row in everyone:
        assert row.known == (row.triple in graph)
        assert getattr(row.triple, "head" if side == "tail" else "tail") == graph.entities[anchor]
        answer = graph.entities.id(getattr(row.triple, side))
        assert row.score == pytest.approx(scores[answer], abs=1e-5)
    assert list(found) == [row for row in everyone if not row.known][:4]


@given(st.integers(0, 10**6))
@settings(max_examples=40)
def test_rows_stand_in_the_order_of_the_scores_that_they_show(seed: int) -> None:
    answers = random_answers(seed)
    for name in list(answers.graph.entities)[:3]:
        shown = [row.score for row in answers.predict(relation="r", head=name, top=100, known="mark")]
        assert shown == sorted(shown, reverse=True)


def test_the_parts_are_those_of_the_judgement() -> None:
    answers = random_answers(5)
    for side, end in (("tail", {"head": "x"}), ("head", {"tail": "y"})):
        for row in answers.predict(relation="s", top=3, **end):
            judged = answers.judge(*row.triple, side=side)
            assert row.constraint_score == pytest.approx(judged.constraint_score, abs=1e-6)
            assert row.evidence == pytest.approx(judged.evidence, abs=1e-6)
            explained = row.explain()
            assert explained.judgement.score == pytest.approx(row.score, abs=1e-5)
            assert row.reasons() == explained.reasons


ROWS = ranked_links(
    (
        Prediction(Triple("ada", "speaks", "english"), 0.0, {"unary": 0.25}, 0.75),
        Prediction(Triple("ada", "speaks", "irish"), -1.5, {"unary": -0.5}, None, known=True),
    ),
    ("unary",),
)


def test_the_names_of_a_prediction_are_those_of_its_columns() -> None:
    row = ROWS[1]
    assert (row.head, row.relation, row.tail) == row.triple == ("ada", "speaks", "irish")
    assert all(getattr(row, column) == value for column, value in row.row().items() if column != "unary")


def test_a_readable_table() -> None:
    assert str(ROWS).splitlines() == [
        "rank   score  confidence  constraint   types  head  relation  tail",
        "   1   0.250       0.750    captured  +0.250  ada   speaks    english",
        "   2  -2.000           -      -1.500  -0.500  ada   speaks    irish    known",
    ]
    assert str(ranked_links(())) == "no predictions"


def test_tables_for_others() -> None:
    columns = [
        "head",
        "relation",
        "tail",
        "score",
        "constraint_score",
        "captured",
        "unary",
        "confidence",
        "known",
    ]
    table = ROWS.to_arrow()
    assert table.column_names == columns
    assert table.column("tail").to_pylist() == ["english", "irish"]
    assert table.column("confidence").to_pylist() == [0.75, None]
    assert ROWS.to_pandas()["score"].tolist() == [0.25, -2.0]
    assert ranked_links((), ("unary",)).to_arrow().schema == table.schema
    polars = pytest.importorskip("polars")
    assert isinstance(ROWS.to_polars(), polars.DataFrame)


def test_links_of_a_whole_graph_show_what_they_are_ranked_by() -> None:
    links = ranked_links(
        tuple(replace(row, plausibility=-0.5 - place) for place, row in enumerate(ROWS)),
        ("unary",),
        whole_graph=True,
    )
    assert str(links).splitlines() == [
        "rank  plausibility   score  confidence  constraint   types  head  relation  tail",
        "   1        -0.500   0.250       0.750    captured  +0.250  ada   speaks    english",
        "   2        -1.500  -2.000           -      -1.500  -0.500  ada   speaks    irish    known",
    ]
    assert links.to_arrow().column_names[3:5] == ["plausibility", "score"]
    assert links.to_arrow().column("plausibility").to_pylist() == [-0.5, -1.5]
    assert ranked_links((), ("unary",), whole_graph=True).to_arrow().schema == links.to_arrow().schema
    assert [row["plausibility"] for row in links.to_dict()["predictions"]] == [-0.5, -1.5]


def test_plain_data() -> None:
    first, _ = ROWS.to_dict()["predictions"]
    assert first == {
        "head": "ada",
        "relation": "speaks",
        "tail": "english",
        "score": 0.25,
        "constraint_score": 0.0,
        "captured": True,
        "confidence": 0.75,
        "known": False,
        "evidence": {"unary": 0.25},
        "side": "tail",
    }
    with_reasons = random_answers(5).predict(relation="s", head="x", top=2).to_dict(reasons=2)
    assert all("reasons" in row for row in with_reasons["predictions"])
    with pytest.raises(InputError, match="this prediction is detached"):
        ROWS[0].reasons()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"relation": "r"}, InputError, "found no end of the question\n  hint: give head="),
        ({"relation": "r", "head": "x", "tail": "y"}, InputError, "found both ends of the question"),
        ({"relation": "rr", "head": "x"}, UnknownNameError, "unknown relation 'rr'; did you mean 'r'"),
        ({"relation": "r", "head": "xx"}, UnknownNameError, "unknown entity 'xx'; did you mean 'x'"),
        ({"relation": "r", "tail": "yy"}, UnknownNameError, "unknown entity 'yy'; did you mean 'y'"),
        ({"relation": "r", "head": "x", "top": 0}, InputError, "top = 0 asks for no prediction"),
        ({"relation": "r", "head": "x", "top": 2.5}, InputError, "found top = 2.5, expected a whole number"),
        ({"relation": "r", "head": "x", "known": "hide"}, InputError, "known = 'hide'\n  hint: 'exclude'"),
    ],
)
def test_what_cannot_be_asked(options, error, message) -> None:
    with pytest.raises(error, match=message):
        random_answers(1).predict(**options)


def test_relations_of_the_graph_alone() -> None:
    strange = random_answers(1).on(KnowledgeGraph([("x", "likes", "y"), ("x", "r", "y")]))
    with pytest.raises(InputError, match="the model does not know the relation 'likes'"):
        strange.predict(relation="likes", head="x")
    with pytest.raises(InputError, match="the model does not know the relation 'likes'"):
        strange.missing(relation="likes")


@pytest.mark.parametrize("initial", ["head", "bits", "private"])
def test_relations_of_the_model_alone_are_asked_as_if_the_graph_named_them(initial: str) -> None:
    plain = random_answers(1, initial=initial)
    named = plain.graph - KnowledgeGraph(triple for triple in plain.graph if triple.relation == "s")
    bare = KnowledgeGraph.from_ids(
        named.heads,
        np.zeros_like(named.relation_ids),
        named.tails,
        entities=named.entities,
        relations=Vocabulary(["r"], kind="relation"),
    )
    expected, found = plain.on(named), plain.on(bare)
    assert list(bare.relations) == ["r"] and list(found.graph.relations) == ["r", "s"] and found.graph == bare
    for end in ({"head": "x"}, {"tail": "y"}):
        assert found.predict(relation="s", **end) == expected.predict(relation="s", **end)
    for side in ("tail", "head"):
        assert found.judge("x", "s", "e1", side=side) == expected.judge("x", "s", "e1", side=side)
    assert found.missing(relation="s", top=9) == expected.missing(relation="s", top=9)
    assert "s" in {row.triple.relation for row in found.missing(top=1000)}
    queries = [("x", "s", "y"), ("e1", "s", "e2")]
    reports = [evaluate(one, queries, protocol="full", baseline=False) for one in (found, expected)]
    assert reports[0].result.metrics == reports[1].result.metrics


def test_negatives_that_were_drawn_without_the_models_relations() -> None:
    facts = KnowledgeGraph([("x", "s", "y"), ("y", "s", "z"), ("z", "s", "x")])
    queries = [("x", "s", "z"), ("y", "s", "x")]
    drawn = evaluate(TypeBaseline.fit(facts).on(facts), queries, baseline=False).negatives
    answers = random_answers(1).on(facts)
    again = evaluate(answers, queries, negatives=drawn, baseline=False)
    assert again["mrr"] == evaluate(answers, queries, baseline=False)["mrr"]
    other = random_answers(1).on(KnowledgeGraph([("x", "r", "y"), ("y", "r", "z"), ("z", "s", "x")]))
    with pytest.raises(InputError, match="drawn on a graph with other entities or relations"):
        evaluate(other, queries, negatives=drawn)


def test_the_answers_say_what_they_are() -> None:
    answers = random_answers(1).on(KnowledgeGraph([("x", "r", "y")]))
    told = "<ModelAnswers: 3 slots, 2 layers, 2 relations, channels 'head'; on 1 fact of 2 entities"
    assert repr(answers) == f"{told}>" and answers.passed_over is None
    answers = answers.on(KnowledgeGraph([("x", "likes", "y")]))
    assert repr(answers) == f"{told}, 1 of them skipped>"


def test_facts_of_relations_never_learned_are_told() -> None:
    model, told = random_answers(1)._model, []
    trained = ModelAnswers(model, ("targets", "treats"), KnowledgeGraph(), notes=told.append)
    assert told == []
    answers = trained.on([("a", "target", "b"), ("a", "hits", "b"), ("a", "treats", "b")], notes=told.append)
    seen = "of relations never seen in training"
    assert told.pop() == answers.passed_over
    assert answers.passed_over == (
        f"2 of 3 facts are skipped, {seen}: 'target' (1), 'hits' (1); did you mean 'targets' for 'target'?"
    )
    answers.add([("a", "treats", "c")], notes=told.append)
    assert told == []
    answers.add([("a", "hits", "c"), ("a", "treats", "d")], notes=told.append)
    assert told == [f"1 of 2 facts is skipped, {seen}: 'hits' (1)"]


def test_zero_has_no_sign() -> None:
    answers = random_answers(1)
    captured = [row for row in answers.predict(relation="r", head="x", top=99, known="mark") if row.captured]
    assert captured and all(str(row.row()["constraint_score"]) == "0.0" for row in captured)
    assert str(answers.judge("x", "r", "y").to_dict()["constraint_score"]) == "0.0"


# --- confidence -------------------------------------------------------------------------------------------------


def test_log_odds_are_those_of_the_share_among_the_unknown() -> None:
    scores, known = np.array([[1.0, 2.0, 0.5, 9.0]]), np.array([[False, False, False, True]])
    shares = np.exp(scores[0, :3]) / np.exp(scores[0, :3]).sum()
    found = log_odds(scores, known)[0]
    assert found[:3] == pytest.approx(np.log(shares / (1 - shares)))
    assert np.isnan(found[3])


def test_a_calibration_of_slope_1_gives_the_shares() -> None:
    scores, known = np.array([1.0, 2.0, 0.5]), np.zeros(3, dtype=bool)
    shares = np.exp(scores) / np.exp(scores).sum()
    assert Calibration(1.0, 0.0).confidences(scores, known) == pytest.approx(shares)
    assert (Calibration(1.0, -1.0).confidences(scores, known) < shares).all()


def test_predictions_have_confidences_where_the_model_was_calibrated() -> None:
    plain = random_answers(2)
    assert all(row.confidence is None for row in plain.predict(relation="r", head="x"))
    answers = ModelAnswers(plain._model, plain.relations, plain.graph, calibration=Calibration(1.0, 0.0))
    found = answers.predict(relation="r", head="x", top=100, known="mark")
    assert sum(row.confidence for row in found if not row.known) == pytest.approx(1)
    assert [row.confidence for row in found if row.known] == [None]
    sure = next(row for row in found if not row.known)
    assert answers.explain(*sure.triple).confidence == pytest.approx(sure.confidence)
    assert answers.on(plain.graph).calibration == answers.calibration
