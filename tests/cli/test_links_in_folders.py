"""What lies in an output folder as a link leads elsewhere: nothing is written, or removed, through it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from reshuffle import KnowledgeGraph, RuleModel, parse_rules
from reshuffle.cli.main import main
from reshuffle.errors import InputError
from reshuffle.learning.training.history import Epoch, History
from reshuffle.learning.training.saving import TrainingLog
from reshuffle.rulelist import save_rule_model

if TYPE_CHECKING:
    from pathlib import Path

FACTS = KnowledgeGraph([(f"p{n}", "parent", f"p{n + 1}") for n in range(8)])
ORDERS = ["--set", "max_epochs=1", "--set", "num_slots=4", "--set", "rules_weight=0"]


@pytest.fixture
def given(tmp_path: Path) -> Path:
    FACTS.write(tmp_path / "facts.tsv")
    (tmp_path / "thesis.tex").write_text("mine")
    (tmp_path / "model").mkdir()
    return tmp_path


def assert_refused(given: Path, name: str, capsys: pytest.CaptureFixture[str], *options: str) -> None:
    before = sorted(entry.name for entry in (given / "model").rglob("*"))
    assert main(["train", str(given / "facts.tsv"), "-o", str(given / "model"), *options]) == 2
    assert f"model/{name}: found a link, expected a file or nothing" in capsys.readouterr().err
    assert (given / "thesis.tex").read_text() == "mine"
    assert sorted(entry.name for entry in (given / "model").rglob("*")) == before


@pytest.mark.parametrize(
    "name", ["log.csv", "checkpoint.safetensors", "settings.toml", "model.safetensors", "training.lock"]
)
def test_a_training_writes_through_no_link(
    name: str, given: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (given / "model" / name).symlink_to(given / "thesis.tex")
    assert_refused(given, name, capsys, *ORDERS)


def test_a_training_that_goes_on_writes_through_no_link(
    given: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", str(given / "facts.tsv"), "-o", str(given / "model"), *ORDERS]) == 0
    (given / "model" / "log.csv").unlink()
    (given / "model" / "log.csv").symlink_to(given / "thesis.tex")
    capsys.readouterr()
    assert_refused(given, "log.csv", capsys, *ORDERS, "--resume")


def test_events_go_through_no_link(given: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (given / "elsewhere").mkdir()
    (given / "elsewhere" / "events.out.tfevents.1").write_text("mine")
    (given / "model" / "tensorboard").symlink_to(given / "elsewhere")
    assert_refused(given, "tensorboard", capsys, *ORDERS)
    assert (given / "elsewhere" / "events.out.tfevents.1").read_text() == "mine"


def test_a_log_that_becomes_a_link_is_not_followed(given: Path) -> None:
    log = TrainingLog(given / "model", History())
    try:
        (given / "model" / "log.csv").unlink()
        (given / "model" / "log.csv").symlink_to(given / "thesis.tex")
        with pytest.raises(InputError, match=r"log\.csv: found a link"):
            log.write(Epoch(1, 0.5, seconds=1.0))
    finally:
        log.close()
    assert (given / "thesis.tex").read_text() == "mine"


def test_a_rule_model_is_written_through_no_link(given: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (given / "model" / "model.rules").symlink_to(given / "thesis.tex")
    assert_refused(given, "model.rules", capsys, "--recipe", "rules")
    model = RuleModel.from_rules(parse_rules("parent(X, Y) & parent(Y, Z) -> grandparent(X, Z)"))
    with pytest.raises(InputError, match=r"model\.rules: found a link"):
        save_rule_model(model, given / "model")
    assert (given / "thesis.tex").read_text() == "mine"
