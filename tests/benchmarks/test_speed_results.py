"""The stored times have the shape that the scripts write, and are within what is allowed."""

from __future__ import annotations

from benchmarks.result_files import read_document
from benchmarks.speed import processes, rule_models
from benchmarks.speed.measure import RESULTS

from datasets import data_folder


def test_stored_times_of_rule_models_are_allowed() -> None:
    stored = {one["dataset"]: one for one in read_document(RESULTS / "rule_models.json")["runs"]}
    assert stored.keys() == rule_models.GRAPHS.keys()
    for dataset, (_, allowed) in rule_models.GRAPHS.items():
        assert stored[dataset]["seconds"] <= allowed


def test_one_run_has_what_is_stored() -> None:
    data_folder("NELL-995-v1")
    found = rule_models.measured("NELL-995-v1", 500)
    stored = read_document(RESULTS / "rule_models.json")["runs"][0]
    assert found.keys() == stored.keys() - {"allowed_seconds"}
    assert found["facts"] == 500 and found["rules"] > 0


def test_two_processes_are_fast_enough_and_train_the_model_of_one() -> None:
    stored = read_document(RESULTS / "processes.json")["runs"]
    assert [one["recipe"] for one in stored] == list(processes.RECIPES)
    for one in stored:
        assert one["ratio"] >= processes.ALLOWED and len(one["turns"]) == processes.TURNS
        assert one["largest_difference"] <= 1e-6
