"""The stored results, the document written from them, and the published columns agree."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from benchmarks import baselines
from benchmarks.pages import page_with
from benchmarks.result_files import Results, write_results

from datasets import benchmark
from reshuffle.evaluation import PROTOCOLS

if TYPE_CHECKING:
    from pathlib import Path

CELLS: dict[str, Any] = baselines.stored_cells()
DOCUMENT = baselines.PAGE.read_text(encoding="utf-8")


def test_every_cell_is_there() -> None:
    assert list(CELLS) == [str(cell) for cell in baselines.cells(baselines.DATASETS)]


def test_the_document_holds_the_stored_numbers() -> None:
    assert page_with(DOCUMENT, baselines.made_tables()) == DOCUMENT


def test_the_document_explains_every_protocol() -> None:
    table = DOCUMENT.split("## Protocols")[1].split("## Ties")[0]
    assert re.findall(r"^\| `([^`]+)`", table, flags=re.MULTILINE) == list(PROTOCOLS)


@pytest.mark.parametrize("name", baselines.DATASETS)
def test_the_stored_type_baseline_meets_its_published_columns(name: str) -> None:
    cells = [CELLS[f"{name}/types/sampled-50/{seed}"] for seed in baselines.SEEDS]
    hits, mrr = baselines.PUBLISHED[name]
    assert np.mean([cell["metrics"]["hits@10"] for cell in cells]) == pytest.approx(hits, abs=0.005)
    assert CELLS[f"{name}/types/full"]["metrics"]["mrr"] == pytest.approx(mrr, abs=0.0006)


def test_a_stored_cell_can_be_measured_again() -> None:
    benchmark("NELL-995-v1")
    cell = baselines.Cell("NELL-995-v1", "rules, then types", "sampled-50", 2)
    _, again = next(baselines.measured([cell]))
    stored = CELLS[str(cell)]
    assert {name: again[name] for name in ("queries", "metrics", "tie_rate", "sides")} == {
        name: stored[name] for name in ("queries", "metrics", "tie_rate", "sides")
    }


def test_a_run_keeps_what_it_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    benchmark("NELL-995-v1")
    file = tmp_path / "baselines.jsonl"
    monkeypatch.setattr(baselines, "BASELINES", file)
    first = baselines.cells(["NELL-995-v1"])[0]
    kept = str(first)
    marked = {"metrics": {"hits@10": 2.0}}
    write_results(file, Results(rows=[asdict(first) | marked]))
    baselines.run(["NELL-995-v1"])
    cells = baselines.stored_cells()
    assert cells[kept] == marked
    assert len(cells) == len(baselines.cells(["NELL-995-v1"]))
    baselines.run(["NELL-995-v1"], again=True)
    assert baselines.stored_cells()[kept] != marked
