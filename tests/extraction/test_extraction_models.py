"""Learned models give their matrices, and their rules are those of the matrices."""

from __future__ import annotations

import numpy as np
import pytest

from reshuffle import extract_rules, load_benchmark
from reshuffle.extraction import HasSoftMatrices, SoftMatrices, evidence
from reshuffle.rulegraphs import constraints_for
from reshuffle.rules import PathRule, parse_rules

pytest.importorskip("torch")

from reshuffle.learning.estimator import Reshuffle

CONSTRAINTS = constraints_for(parse_rules("a(X, Y) & b(Y, Z) -> c(X, Z)\nc(X, Y) & d(Y, Z) -> c(X, Z)"))


def test_a_model_of_constraints_has_their_matrices_and_their_rules() -> None:
    model = Reshuffle.from_constraints(CONSTRAINTS, device="cpu")
    soft = model.soft_matrices()
    assert isinstance(model, HasSoftMatrices) and soft.starts is None
    hard = SoftMatrices.of(CONSTRAINTS)
    for name in CONSTRAINTS.relations:
        assert np.array_equal(soft.values[soft.id_of(name)], hard.values[hard.id_of(name)])
    rules = [one.rule for one in extract_rules(model, max_length=3, min_degree=1.0)]
    assert rules == [one.rule for one in extract_rules(CONSTRAINTS, max_length=3)]


def test_a_soft_model_still_captures_its_rules_best() -> None:
    model = Reshuffle.from_constraints(CONSTRAINTS, strength=6.0, device="cpu")
    found = extract_rules(model, max_length=2)
    known = {PathRule(("a", "b"), "c"), PathRule(("c", "d"), "c")}
    assert {one.rule for one in found.top(2)} == known
    assert 0.9 < found[1].degree < 1.0
    assert found[2].degree < 0.2


def test_slot_weights_make_evidence() -> None:
    model = Reshuffle(recipe="best-0.1", num_slots=4, num_layers=2, epoch_steps=2, max_epochs=1, device="cpu")
    model.fit(load_benchmark("families").train)
    soft = model.soft_matrices()
    matrices = model.model.matrices().detach().double().numpy()
    weights = model.model.slot_weights().detach().double().numpy()
    head, first = soft.id_of("uncle"), soft.id_of("brother^-1")
    of_paths = model.model.evidence.worth_of_slots().detach().double().numpy()
    assert (of_paths > 0).all()
    asked = weights[head] * matrices[head].sum(axis=1) + of_paths[head]
    without = SoftMatrices(soft.relations, soft.values, starts=soft.starts, weights=soft.weights)
    found = evidence(without, PathRule(("brother^-1",), "uncle"))
    assert found == pytest.approx(asked @ matrices[first].sum(axis=1), rel=1e-5)
    assert all(one.evidence > 0 for one in extract_rules(model, max_length=1))
