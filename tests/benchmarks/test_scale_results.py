"""The stored times of engines past one process are within what is required, as far as they were measured."""

from __future__ import annotations

from benchmarks.result_files import read_document
from benchmarks.speed import scale
from benchmarks.speed.measure import RESULTS


def test_stored_runs_are_within_what_is_required() -> None:
    stored = read_document(RESULTS / "scale.json")
    by_spark = "W3: --engine spark --plan split, to Parquet / DuckDB, recursive query by hand, to Parquet"
    assert stored["ratios"] == scale.ratios(stored["workloads"])
    assert stored["ratios"][by_spark] <= 2.5
    assert stored["workloads"]["W3"]["--engine spark --plan split, to Parquet"]["executors"] == 2
    tree = stored["workloads"]["tree"]["--engine duckdb, 500 MB, counted"]
    in_memory = stored["workloads"]["tree"]["reshuffle in memory, 500 MB, counted"]
    assert tree["derived"] == in_memory["derived"] == 26_140_636
    assert tree["peak_megabytes"] < 600
    of_tree = {name: ratio for name, ratio in stored["ratios"].items() if name.startswith("tree")}
    assert len(of_tree) == 2 and all(ratio <= 1.5 for ratio in of_tree.values())
    assert stored["workloads"]["tree"]["--engine duckdb, 500 MB, to Parquet"]["peak_megabytes"] < 600
    assert stored["workloads"]["51 million facts"].popitem()[1]["peak_megabytes"] <= 8000
