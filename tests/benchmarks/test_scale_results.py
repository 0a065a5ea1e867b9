"""The stored times of engines past one process: the ratios are those of the times."""

from __future__ import annotations

from benchmarks.result_files import read_document
from benchmarks.speed import scale
from benchmarks.speed.measure import RESULTS


def test_the_ratios_are_those_of_the_stored_times() -> None:
    stored = read_document(RESULTS / "scale.json")
    assert stored["ratios"] == scale.ratios(stored["workloads"])
