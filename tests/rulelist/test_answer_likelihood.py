"""How likely the answers of a question are: what is printed, how it is fitted, and whether it is true."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from rulelist_worlds import random_graph, random_model

from reshuffle.cli.main import main
from reshuffle.evaluation import evaluate
from reshuffle.evaluation.reliability import Reliability
from reshuffle.kg import KnowledgeGraph, inverse_name
from reshuffle.kg.splits import GraphSplit
from reshuffle.rulelist import RuleAnswers, RuleSettings, learn_rules, refit, save_rule_model
from reshuffle.rulelist.links import answer_likelihood
from reshuffle.rulelist.links.answer_likelihood import AnswerLikelihood, Unknown, best_answers
from reshuffle.rulelist.links.likelihood import Likelihood
from reshuffle.rulelist.links.likelihood_fit import fit_likelihood
from reshuffle.rulelist.model_text import model_text, parse_rule_model
from reshuffle.rulelist.rule_answers import RulesOnGraph

if TYPE_CHECKING:
    from pathlib import Path

    from reshuffle.rulelist import RuleModel
    from reshuffle.rulelist.features import Questions

ANSWERS = AnswerLikelihood(0.4, 0.6, -0.3, 0.2, (("r", -1.0), ("s^-1", 0.7)))
LIKELY = Likelihood(1.7, 0.4, 0.6, -2.0, (("r", -1.0),), ANSWERS)
QUICK = RuleSettings().changed(steps=40, batch=64)


def told(
    model: RuleModel, graph: KnowledgeGraph, relation: str, **end: str
) -> list[tuple[str, float, float]]:
    """The new answers of a question with their scores and probabilities."""
    found = RuleAnswers(model, graph).predict(relation=relation, top=100, **end)
    name = "tail" if "head" in end else "head"
    assert all(one.probability is not None for one in found)
    return [(getattr(one.triple, name), one.score, one.probability or 0.0) for one in found]


@pytest.mark.parametrize("seed", range(6))
def test_probabilities_are_what_the_formula_says(seed: int) -> None:
    model, graph = replace(random_model(seed), likelihood=LIKELY), random_graph(seed)
    who = graph.entities[0]
    for relation, directed, end in (("r", "r", "head"), ("s", "s^-1", "tail"), ("s", "s", "head")):
        found = told(model, graph, relation, **{end: who})
        total = math.log(sum(math.exp(score) for _, score, _ in found))
        constant = dict(ANSWERS.constants).get(directed, ANSWERS.constant)
        for rank, (_, score, probability) in enumerate(found[:-1], start=1):
            lead = math.log1p(score - found[rank][1])
            share = score - total
            odds = share - math.log(-math.expm1(share))
            expected = 0.4 * lead + 0.6 * odds - 0.3 * math.log(rank) + constant
            assert probability == pytest.approx(1 / (1 + math.exp(-expected)), abs=1e-6)


def test_a_fact_is_sure_and_a_list_without_the_numbers_says_how_likely_a_link_is() -> None:
    graph = random_graph(1)
    model = replace(random_model(1), likelihood=LIKELY)
    head, relation, _ = next(iter(graph))
    marked = RuleAnswers(model, graph).predict(head=head, relation=relation, known="mark", top=50)
    assert {one.probability for one in marked if one.known} == {1.0}
    new = {one.triple: one.probability for one in marked if not one.known}
    alone = RuleAnswers(model, graph).predict(head=head, relation=relation, top=50)
    assert {one.triple: one.probability for one in alone} == new
    of_links = RuleAnswers(replace(model, likelihood=replace(LIKELY, answers=None)), graph)
    (row, *_) = of_links.predict(head=head, relation=relation)
    assert row.probability == pytest.approx(of_links.probability_of(*row.triple))


def test_best_answers_leave_out_what_cannot_be_one() -> None:
    scores = np.array([[1.0, -np.inf, 3.0, 2.0], [-np.inf] * 4, [-np.inf, 5.0, -np.inf, -np.inf]])
    best, parts = best_answers(scores, 3)
    assert best.tolist() == [[2, 3, 0], [-1, -1, -1], [1, -1, -1]]
    assert parts[0, :, 0] == pytest.approx([math.log(2), math.log(2), math.log1p(1000)])
    assert np.isfinite(parts).all()


@pytest.mark.parametrize("most", [1, 3, 9, 40])
def test_the_best_of_many_answers_are_those_of_sorting_all(most: int) -> None:
    chance = np.random.default_rng(most)
    scores = chance.integers(0, 4, (20, 40)).astype(np.float64)  # many are equal, and some are left out
    scores[chance.random(scores.shape) < 0.3] = -np.inf
    scores[0, 2:] = -np.inf
    order = np.argsort(-scores, axis=1, kind="stable")[:, :most]
    highest = np.take_along_axis(scores, order, axis=1)
    assert best_answers(scores, most)[0].tolist() == np.where(np.isfinite(highest), order, -1).tolist()


def test_how_many_questions_are_looked_at_together_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    facts, valid, _ = towns(300, 3)
    model = replace(learn_rules(facts, settings=replace(QUICK, constants=None)), likelihood=None)
    whole = fit_likelihood(model, facts, valid=valid)
    pieces = list[int]()
    scored = RulesOnGraph.scored

    def counted(state: RulesOnGraph, questions: Questions) -> Any:
        pieces.append(len(questions.anchors))
        return scored(state, questions)

    monkeypatch.setattr(RulesOnGraph, "scored", counted)
    monkeypatch.setattr(answer_likelihood, "_SCORES_AT_ONCE", 7 * facts.num_entities)
    assert fit_likelihood(model, facts, valid=valid) == whole
    assert whole is not None and whole.answers is not None
    assert max(pieces) == 7


def test_a_fresh_list_on_a_graph_holds_nothing_that_questions_have_filled() -> None:
    state = RuleAnswers(random_model(1), random_graph(1))._state
    assert state.types(0).any() and state.link_tables and state.link_reach
    found = state.fresh()
    assert not found._types and not {"link_tables", "link_reach"} & vars(found).keys()
    assert found.features is state.features and state._types
    assert (found.types(0) == state.types(0)).all()


def test_the_numbers_are_kept_in_a_file() -> None:
    for likely in (LIKELY, replace(LIKELY, answers=None), replace(LIKELY, constants=())):
        model = replace(random_model(0), likelihood=likely)
        again = parse_rule_model(model_text(model)).likelihood
        assert again is not None and model_text(replace(model, likelihood=again)) == model_text(model)
        for name in ("r", "r^-1", "s", "s^-1"):
            assert again.of_rows([name]) == likely.of_rows([name])
            if likely.answers is not None and again.answers is not None:
                constants = [
                    dict(one.constants).get(name, one.constant) for one in (likely.answers, again.answers)
                ]
                assert constants[0] == constants[1]


def towns(people: int, seed: int) -> tuple[KnowledgeGraph, KnowledgeGraph, KnowledgeGraph]:
    """Who works somewhere lives there in seven cases of ten; facts, validation triples and others that are unknown."""
    chance = random.Random(seed)
    works = [(f"p{n}", "worksIn", f"t{chance.randrange(300)}") for n in range(people)]
    lives = [
        (who, "livesIn", town if chance.random() < 0.7 else f"t{chance.randrange(300)}")
        for who, _, town in works
    ]
    known, left = lives[: people // 2], lives[people // 2 :]
    return KnowledgeGraph(works + known), KnowledgeGraph(left[::2]), KnowledgeGraph(left[1::2])


@pytest.fixture(scope="module")
def fitted() -> tuple[RuleModel, tuple[KnowledgeGraph, KnowledgeGraph, KnowledgeGraph]]:
    parts = towns(2400, 5)
    return learn_rules(parts[0], valid=parts[1], settings=replace(QUICK, constants=None)), parts


def test_what_is_stated_is_true_of_triples_that_nobody_has_seen(
    fitted: tuple[RuleModel, tuple[KnowledgeGraph, KnowledgeGraph, KnowledgeGraph]],
) -> None:
    model, (facts, valid, unknown) = fitted
    report = evaluate(
        model.on(facts), unknown, protocol="full", known=[facts, valid, unknown], baseline=False
    )
    both = report.reliability
    assert both is not None and len(both.true) == 2 * len(unknown)
    found = Reliability(both.probabilities[len(unknown) :], both.true[len(unknown) :])  # of (h, r, ?)
    assert 0.6 < found.true.mean() < 0.8
    assert found.error < 0.25  # shares say little here
    assert abs(found.probabilities.mean() - found.true.mean()) < 0.06
    assert report.to_dict()["reliability"]["error"] == pytest.approx(both.error, abs=1e-4)
    assert "expected calibration error" in str(report)
    assert evaluate(model.on(facts), unknown, protocol="sampled-50", baseline=False).reliability is None


def test_other_unknown_triples_count_twice(
    fitted: tuple[RuleModel, tuple[KnowledgeGraph, KnowledgeGraph, KnowledgeGraph]],
) -> None:
    """A town has many people who are unknown: beside a validation triple there are as many that are not."""
    model, (facts, valid, unknown) = fitted
    answers, seen, true = RuleAnswers(model, facts), set(valid), {*valid, *unknown}
    firsts = [answers.predict(relation="livesIn", tail=f"t{number}", top=1)[0] for number in range(100)]
    stated = sum(one.probability or 0.0 for one in firsts)
    right, of_valid = (sum(one.triple in some for one in firsts) for some in (true, seen))
    assert abs(stated - right) < abs(stated - of_valid)


def test_a_split_brings_its_validation_triples(
    fitted: tuple[RuleModel, tuple[KnowledgeGraph, KnowledgeGraph, KnowledgeGraph]],
) -> None:
    model, (facts, valid, unknown) = fitted
    settings = replace(QUICK, constants=None)
    split = GraphSplit(facts, valid, unknown)
    assert model_text(learn_rules(split, settings=settings)) == model_text(model)
    without = learn_rules(facts, settings=settings)
    assert without.likelihood is not None and without.likelihood.answers is not None
    assert without.likelihood.answers != model.likelihood.answers  # type: ignore[union-attr]
    assert replace(without, likelihood=None) == replace(model, likelihood=None)
    again = refit(model, facts, valid=valid, settings=settings)
    assert again.likelihood is not None and again.likelihood.answers is not None


def test_validation_triples_with_strange_names_are_left_out() -> None:
    graph = KnowledgeGraph([("a", "r", "b"), ("b", "s", "c")])
    triples = KnowledgeGraph([("a", "s", "c"), ("a", "q", "b"), ("x", "r", "b")])
    asked = Unknown.of(triples, graph).asked
    names = [*graph.relations, *map(inverse_name, graph.relations)]
    found = [
        (graph.entities[anchor], names[code], graph.entities[answer])
        for anchor, code, answer in zip(*map(np.ndarray.tolist, asked), strict=True)
    ]
    assert found == [("a", "s", "c"), ("c", "s^-1", "a")]


def test_the_error_is_that_of_bins_of_equal_count() -> None:
    chance = np.random.default_rng(0)
    stated = chance.random(3000)
    true = chance.random(3000) < stated**2
    found = Reliability(stated, true)
    parts = np.array_split(np.argsort(stated, kind="stable"), 15)
    by_hand = sum(len(part) * abs(stated[part].mean() - true[part].mean()) for part in parts)
    assert found.error == pytest.approx(by_hand / 3000)
    assert Reliability.of([(np.array([np.nan]), np.array([True]))]) is None


def test_a_report_tells_and_draws_whether_probabilities_are_true(tmp_path: Path) -> None:
    graph, queries = random_graph(1), random_graph(2)
    graph.write(tmp_path / "facts.csv")
    queries.write(tmp_path / "queries.csv")
    save_rule_model(replace(random_model(1), likelihood=LIKELY), tmp_path / "model")
    data = [
        "--facts",
        str(tmp_path / "facts.csv"),
        "--queries",
        str(tmp_path / "queries.csv"),
        "--unknown",
        "skip",
    ]
    words = ["evaluate", str(tmp_path / "model"), *data, "--protocol", "full", "--no-rules"]
    assert main([*words, "-o", str(tmp_path / "report.html")]) == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "expected calibration error" in page
    assert "first answers: how likely they are said to be" in page
