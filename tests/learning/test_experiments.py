"""The paper's experiments: settings as data, cells in pieces, and a table that agrees with the results."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
import torch
from benchmarks import reproduction
from tests.datasets import benchmark

from reshuffle.errors import InputError
from reshuffle.learning.experiments import VARIANTS, Bench, Cell, report_rows, run_cell
from reshuffle.learning.settings import read_settings, read_toml
from reshuffle.rules.benchmarks import inductive_names

if TYPE_CHECKING:
    from pathlib import Path

BENCH = Bench(reproduction.SETTINGS, reproduction.RESULTS)
TINY = "num_slots = 3\nnum_channels = 3\nnum_layers = 1\nnum_negatives = 2\nmax_epochs = 4\nlook_every = 2\n"


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_data_set_has_settings_for_every_variant(variant: str) -> None:
    for dataset in inductive_names():
        settings = BENCH.settings_of(Cell(dataset, "paper", variant, 1))
        assert (settings.training.batch_size, settings.training.num_negatives) == (1024, 100)
        assert settings.training.max_epochs == 1000
        assert settings.architecture.identity is (variant != "no-loop")
        assert settings.architecture.row_function == ("square" if variant == "squared" else "softmax")


def test_settings_are_those_of_the_papers_table() -> None:
    # tab:hyperparas, row FB15k-237 v3: 5 layers, l = 25, k = 40, margin 0.5, learning rate 0.005
    settings = read_settings(BENCH.settings / "FB15k-237-v3.default.toml")
    shape, training = settings.architecture, settings.training
    assert (shape.num_layers, shape.num_slots, shape.num_channels) == (5, 25, 40)
    assert (training.margin, training.learning_rate) == (0.5, 0.005)


def test_an_unknown_cell_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there are no settings for this cell"):
        Bench(tmp_path, tmp_path).settings_of(Cell("WN18RR-v1", "paper", "default", 1))


def test_a_cell_in_pieces_gives_what_it_gives_at_once(tmp_path: Path) -> None:
    benchmark("WN18RR-v1")
    (tmp_path / "WN18RR-v1.default.toml").write_text(TINY)
    cell, device = Cell("WN18RR-v1", "paper", "default", 1), torch.device("cpu")
    at_once = run_cell(cell, Bench(tmp_path, tmp_path / "at-once"), device=device)
    pieces = Bench(tmp_path, tmp_path / "pieces")
    assert run_cell(cell, pieces, device=device, seconds=0) is None
    assert pieces.checkpoint_path(cell).exists()
    in_pieces = run_cell(cell, pieces, device=device)
    assert at_once is not None
    assert in_pieces is not None
    assert at_once["training"]["validation"] == in_pieces["training"]["validation"]
    assert [r["metrics"] for r in at_once["results"]] == [r["metrics"] for r in in_pieces["results"]]
    assert not pieces.checkpoint_path(cell).exists()
    assert run_cell(cell, pieces, device=device) == json.loads(pieces.result_path(cell).read_text())


def test_stored_results_ran_with_the_settings_that_stand_in_the_files() -> None:
    stored = BENCH.stored()
    assert {cell["dataset"] for cell in stored if cell["variant"] == "default"} == set(inductive_names())
    for cell in stored:
        settings = BENCH.settings_of(Cell(cell["dataset"], cell["recipe"], cell["variant"], cell["seed"]))
        wanted = {name: list(v) if isinstance(v, tuple) else v for name, v in settings.to_dict().items()}
        # A setting that came later has its default in old results.
        assert cell["settings"].items() <= wanted.items()


def test_the_page_shows_the_stored_results() -> None:
    content = reproduction.PAGE.read_text(encoding="utf-8")
    assert reproduction.page_with(content, reproduction.made_table()) == content


def test_ten_of_twelve_columns_are_within_two_points_of_the_paper() -> None:
    differences = {
        row["data set"]: row["difference"] for row in reproduction.rows() if row["variant"] == "default"
    }
    outside = [dataset for dataset, difference in differences.items() if abs(float(str(difference))) > 0.02]
    assert outside == ["NELL-995-v1"]


def test_report_rows_have_what_the_interface_promises() -> None:
    for row in report_rows(BENCH.stored()):
        assert {
            "dataset",
            "recipe",
            "variant",
            "seed",
            "protocol",
            "metrics",
            "tie_rate",
            "seconds",
            "hardware",
        } <= set(row)
        assert {"hits@10", "mrr"} <= set(row["metrics"])


def test_the_papers_numbers_stand_in_the_settings() -> None:
    assert read_toml(BENCH.settings / "NELL-995-v4.squared.toml")["paper"]["hits@10"] == 0.370
