"""The stored results, the document written from them, and the published columns agree."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from benchmarks import baselines

from datasets import benchmark
from reshuffle.evaluation import PROTOCOLS

if TYPE_CHECKING:
    from pathlib import Path

RESULTS: dict[str, Any] = json.loads(baselines.RESULTS.read_text(encoding="utf-8"))
DOCUMENT = baselines.DOCUMENT.read_text(encoding="utf-8")


def test_every_cell_is_there() -> None:
    assert list(RESULTS["cells"]) == [str(cell) for cell in baselines.cells(baselines.DATASETS)]


def test_the_document_holds_the_stored_numbers() -> None:
    assert baselines.document(DOCUMENT, RESULTS) == DOCUMENT


def test_the_document_explains_every_protocol() -> None:
    table = DOCUMENT.split("## Protocols")[1].split("## Ties")[0]
    assert re.findall(r"^\| `([^`]+)`", table, flags=re.MULTILINE) == list(PROTOCOLS)


@pytest.mark.parametrize("name", baselines.DATASETS)
def test_the_stored_type_baseline_meets_its_published_columns(name: str) -> None:
    cells = [RESULTS["cells"][f"{name}/types/sampled-50/{seed}"] for seed in baselines.SEEDS]
    hits, mrr = baselines.PUBLISHED[name]
    assert np.mean([cell["metrics"]["hits@10"] for cell in cells]) == pytest.approx(hits, abs=0.005)
    assert RESULTS["cells"][f"{name}/types/full"]["metrics"]["mrr"] == pytest.approx(mrr, abs=0.0006)


def test_a_stored_cell_can_be_measured_again() -> None:
    benchmark("NELL-995-v1")
    cell = baselines.Cell("NELL-995-v1", "rules, then types", "sampled-50", 2)
    _, again = next(baselines.measured([cell]))
    stored = RESULTS["cells"][str(cell)]
    assert {name: again[name] for name in ("queries", "metrics", "tie_rate", "sides")} == {
        name: stored[name] for name in ("queries", "metrics", "tie_rate", "sides")
    }


def test_a_run_keeps_what_it_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    benchmark("NELL-995-v1")
    file = tmp_path / "baselines.json"
    monkeypatch.setattr(baselines, "RESULTS", file)
    kept = str(baselines.cells(["NELL-995-v1"])[0])
    marked = {"metrics": {"hits@10": 2.0}}
    file.write_text(json.dumps({"cells": {kept: marked}}), encoding="utf-8")
    baselines.run(["NELL-995-v1"])
    cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
    assert cells[kept] == marked
    assert len(cells) == len(baselines.cells(["NELL-995-v1"]))
    baselines.run(["NELL-995-v1"], again=True)
    assert json.loads(file.read_text(encoding="utf-8"))["cells"][kept] != marked
