"""Confidences: the regression itself, and what they say on held-out data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from reshuffle import load_benchmark
from reshuffle.evaluation.questions import question_of
from reshuffle.kg import KnowledgeGraph
from reshuffle.learning.calibration import fit_calibration, logistic_of
from reshuffle.learning.estimator import Reshuffle
from reshuffle.model.answers.model_on_graph import ModelOnGraph
from reshuffle.model.scoring import Calibration, log_odds

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(("slope", "intercept"), [(1.0, 0.0), (0.5, -1.0), (2.0, 1.0)])
def test_the_regression_finds_what_made_the_labels(slope: float, intercept: float) -> None:
    chance = np.random.default_rng(0)
    features = chance.normal(size=20_000) * 2
    labels = chance.random(20_000) < 1 / (1 + np.exp(-(slope * features + intercept)))
    found = logistic_of(features, labels)
    assert (found.slope, found.intercept) == pytest.approx((slope, intercept), abs=0.08)


def test_little_data_bends_little_and_separable_data_stays_finite() -> None:
    found = logistic_of(np.array([3.0, -3.0]), np.array([True, False]))
    assert 1 < found.slope < 2 and abs(found.intercept) < 0.1
    sure = logistic_of(np.linspace(-5, 5, 1000), np.linspace(-5, 5, 1000) > 0)
    assert np.isfinite([sure.slope, sure.intercept]).all() and sure.slope > 2


@pytest.fixture(scope="module")
def trained() -> Reshuffle:
    """Families in a few seconds: far from the best, and what matters here is that it knows how far."""
    small = {"num_slots": 12, "num_layers": 3, "epoch_steps": 60, "max_epochs": 2}
    small |= {"recipe": "best-0.1", "learning_rate": 0.03, "evidence_decay": 0.001}
    return Reshuffle(device="cpu", **small).fit(load_benchmark("families").train)


def held_out(model: Reshuffle) -> tuple[np.ndarray, np.ndarray]:
    """Log-odds of the best candidates for some test queries on new families, and which are true, known or not."""
    bench = load_benchmark("families")
    unknown = {*bench.test.queries, *bench.test.valid}
    answers, queries = model.on(bench.test.facts), bench.test.queries
    graph, odds, true = answers.graph, [], []
    for head, relation, _ in list(queries)[::4]:
        question = question_of(graph, answers.relations, relation, head=head)
        known = question.known(graph)
        asked = (np.array([question.anchor]), np.array([question.relation]))
        found = log_odds(answers._on_graph.scores(*asked, side="tail").summed()[0], known)
        best = np.argsort(-np.where(known, -np.inf, found))[:5]
        tails = {tail for h, r, tail in unknown if (h, r) == (head, relation)}
        odds.append(found[best])
        true.append(np.array([name in tails for name in graph.entities])[best])
    return np.concatenate(odds), np.concatenate(true)


def test_confidences_are_calibrated_on_families_never_seen(trained: Reshuffle) -> None:
    odds, true = held_out(trained)
    assert trained.calibration is not None
    chances = 1 / (1 + np.exp(-(trained.calibration.slope * odds + trained.calibration.intercept)))
    assert chances.sum() == pytest.approx(true.sum(), rel=0.25)
    for low, high in ((0.0, 0.1), (0.1, 0.5), (0.5, 0.9), (0.9, 1.0)):
        inside = (chances >= low) & (chances < high)
        assert inside.sum() >= 10
        assert abs(chances[inside].mean() - true[inside].mean()) < 0.2, (low, high)


def test_a_confidence_is_kept_with_the_model(trained: Reshuffle, tmp_path: Path) -> None:
    trained.save(tmp_path / "model")
    assert Reshuffle.load(tmp_path / "model", device="cpu").calibration == trained.calibration
    trained_calibration, trained.calibration = trained.calibration, None
    trained.save(tmp_path / "older")
    trained.calibration = trained_calibration
    older = Reshuffle.load(tmp_path / "older", device="cpu")
    assert older.calibration is None
    facts = load_benchmark("families").test.facts
    head, relation, _ = next(iter(facts))
    assert older.on(facts).predict(head=head, relation=relation)[0].confidence is None
    assert trained.on(facts).predict(head=head, relation=relation)[0].confidence is not None
    assert trained.on(facts, initial="head").calibration == trained.calibration
    assert trained.on(facts, initial="private").calibration is None  # it was fitted to other scores


def test_without_validation_triples_there_is_none() -> None:
    facts = KnowledgeGraph([(f"p{n}", "parent", f"p{n + 1}") for n in range(5)])  # a tenth of it is nothing
    model = Reshuffle(num_slots=2, num_layers=1, epoch_steps=1, max_epochs=1, device="cpu").fit(facts)
    assert model.calibration is None
    on_facts = ModelOnGraph(model.model, model.relations, facts, initial="head", seed=0)
    assert fit_calibration(on_facts, np.empty((0, 3), dtype=np.int64)) is None
    found = fit_calibration(on_facts, np.array([[0, 0, 2]]))
    assert isinstance(found, Calibration)
