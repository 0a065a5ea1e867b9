"""The stored times have the shape that the scripts write."""

from __future__ import annotations

from benchmarks.result_files import read_document
from benchmarks.speed import rule_models
from benchmarks.speed.measure import RESULTS

from datasets import data_folder


def test_one_run_has_what_is_stored() -> None:
    data_folder("NELL-995-v1")
    found = rule_models.measured("NELL-995-v1", 500)
    stored = read_document(RESULTS / "rule_models.json")["runs"][0]
    assert found.keys() == stored.keys() - {"allowed_seconds"}
    assert found["facts"] == 500 and found["rules"] > 0
