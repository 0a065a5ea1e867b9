"""The benchmark of engines: its large graph in small, and rows that are kept when it is cut off."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from benchmarks.result_files import read_document
from benchmarks.speed import __main__ as speed
from benchmarks.speed import large_graph, measure, scale

from reshuffle.reasoning.scaling.parquet_facts import ParquetFacts

if TYPE_CHECKING:
    from pathlib import Path


def test_the_large_graph_is_the_same_again_and_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large_graph, "PIECE", 2000)
    for name in ("one", "two"):
        large_graph.store(str(tmp_path / name), "5100")
    one, two = (ParquetFacts.at(tmp_path / name) for name in ("one", "two"))
    assert [file.name for file in one.files] == [f"part-{name}.parquet" for name in (0, 1, 2, "tree")]
    assert one.num_rows == 5100
    assert set(one.graph()) == set(two.graph())
    relations = list(one.graph().relations)
    assert {"subclass", "P40", "P44"} <= set(relations)


def test_rows_are_kept_when_it_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "RESULTS", tmp_path)
    row = ("large", "5100", "1GB")
    calls = {"small": {"first": row, "second": ("no_such_function",)}, "other": {"third": row}}
    monkeypatch.setattr(scale, "CALLS", calls)
    monkeypatch.setattr(scale, "REPEATS", {"small": 1, "other": 1})
    with pytest.raises(subprocess.CalledProcessError):
        scale.run()
    stored = read_document(tmp_path / "scale.json")
    assert list(stored["workloads"]["small"]) == ["first"]
    first = stored["workloads"]["small"]["first"]
    assert (first["facts"], first["runs"], stored["finished"]) == (5100, 1, False)
    calls["small"]["second"] = row
    scale.run()
    stored = read_document(tmp_path / "scale.json")
    assert stored["workloads"]["small"]["first"] == first  # and not measured again
    assert stored["finished"]
    third = stored["workloads"]["other"]["third"]
    assert speed.main(["scale", "--only", "small: second"]) == 0
    stored = read_document(tmp_path / "scale.json")
    assert (stored["workloads"]["other"]["third"], stored["finished"]) == (third, True)
    assert third["derived"] > 0
    with pytest.raises(SystemExit, match="no row has 'fourth' in it; the rows are\nsmall: first\n"):
        speed.main(["scale", "--only", "fourth"])


def test_rows_of_an_older_file_are_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They do not say how many runs there were. `--only` keeps them."""
    monkeypatch.setattr(measure, "RESULTS", tmp_path)
    row = ("large", "5100", "1GB")
    monkeypatch.setattr(scale, "CALLS", {"small": {"first": row, "second": row}})
    monkeypatch.setattr(scale, "REPEATS", {"small": 1})
    old = {"workloads": {"small": {"first": {"seconds": -1.0}}}}
    (tmp_path / "scale.json").write_text(json.dumps(old))
    scale.run(only="second")
    stored = read_document(tmp_path / "scale.json")
    assert stored["workloads"]["small"]["first"] == {"seconds": -1.0} and not stored["finished"]
    second = stored["workloads"]["small"]["second"]
    scale.run()
    stored = read_document(tmp_path / "scale.json")
    assert stored["finished"] and stored["workloads"]["small"]["first"]["seconds"] > 0
    assert stored["workloads"]["small"]["second"] == second  # it is of this version


def test_a_name_that_is_unknown_is_told() -> None:
    call = [sys.executable, "-m", "benchmarks.speed", "scal", "--only", "x"]
    done = subprocess.run(call, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, "unknown: scal")
