"""The hyperparameter search: the paper's ranges, chosen by validation, taken up again."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from reshuffle.errors import InputError, ReshuffleError
from reshuffle.kg import KnowledgeGraph
from reshuffle.learning import search
from reshuffle.learning.search import RANGES, Search, Trial
from reshuffle.learning.settings import Settings, read_settings

FACTS = KnowledgeGraph([(f"p{n}", "r", f"p{n + 1}") for n in range(20)])
QUICK = Settings().changed(max_epochs=1, num_negatives=2)


@pytest.fixture(autouse=True)
def small_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "RANGES", {"num_slots": (2, 3), "margin": (0.5, 1.0, 2.0)})


def test_the_ranges_are_the_papers() -> None:
    assert RANGES == {
        "num_layers": (3, 4, 5),
        "num_slots": (20, 25, 30),
        "num_channels": (40, 60, 80),
        "margin": (0.5, 1.0, 2.0),
        "learning_rate": (0.005, 0.01),
    }


def test_it_counts_earlier_trials_and_keeps_the_best(tmp_path: Path) -> None:
    first = Search(FACTS, QUICK, tmp_path, device="cpu").run(2)
    assert len(first) == 2
    again = Search(FACTS, QUICK, tmp_path, device="cpu").run(4)
    assert len(again) == 4
    assert all(trial.to_dict() in [one.to_dict() for one in again] for trial in first)
    assert [trial.score for trial in again] == sorted((trial.score for trial in again), reverse=True)
    best = read_settings(tmp_path / "best.toml")
    assert best == QUICK.changed(**again[0].values)
    assert Search(FACTS, QUICK, tmp_path, device="cpu").run(3) == again  # nothing left to do


def test_a_trial_that_was_cut_off_is_run_again(tmp_path: Path) -> None:
    study = Search(FACTS, QUICK, tmp_path, device="cpu")._study()
    waiting = study.ask()
    wanted = {name: waiting.suggest_categorical(name, choices) for name, choices in search.RANGES.items()}
    found = Search(FACTS, QUICK, tmp_path, device="cpu").run(1)
    assert found[0].values == wanted


KILLED = """
import sys
sys.path.insert(0, sys.argv[2])
import test_learning_search
test_learning_search.one_long_trial(sys.argv[1])
"""


def one_long_trial(directory: str | Path) -> list[Trial]:
    search.RANGES = {"num_slots": (2, 3), "margin": (0.5, 1.0, 2.0)}
    settings = QUICK.changed(max_epochs=100, look_every=5, patience=1000)
    return Search(FACTS, settings, Path(directory), device="cpu").run(1)


def test_after_a_kill_the_search_goes_on_with_the_trial_it_was_at(tmp_path: Path) -> None:
    killed = tmp_path / "killed"
    running = subprocess.Popen([sys.executable, "-c", KILLED, str(killed), str(Path(__file__).parent)])
    while running.poll() is None and not list(killed.glob("*/checkpoint.safetensors")):
        time.sleep(0.01)
    running.kill()
    assert running.wait() == -signal.SIGKILL
    (log,) = killed.glob("*/log.csv")
    started = log.read_text(encoding="utf-8").splitlines()
    assert 5 <= len(started) - 1 < 100
    assert one_long_trial(killed) == one_long_trial(tmp_path / "whole")
    assert log.read_text(encoding="utf-8").splitlines()[:5] == started[:5]  # times too: it went on
    assert len(list(killed.glob("*/log.csv"))) == 1


def test_a_trial_that_diverges_counts_as_0_and_the_search_goes_on(tmp_path: Path) -> None:
    said: list[str] = []
    wild = QUICK.changed(row_function="square", learning_rate=1e18, max_epochs=5)
    trials = Search(FACTS, wild, tmp_path, device="cpu", notes=said.append).run(2)
    assert [trial.score for trial in trials] == [0.0, 0.0]
    assert any("counted as 0, since the loss became " in text for text in said)


def test_a_search_with_other_settings_is_refused(tmp_path: Path) -> None:
    Search(FACTS, QUICK, tmp_path, device="cpu").run(1)
    with pytest.raises(
        InputError, match=r"started with other settings: max_epochs = 1 \(now 2\)\n  hint: use"
    ):
        Search(FACTS, QUICK.changed(max_epochs=2), tmp_path, device="cpu").run(2)


def test_without_validation_triples_there_is_nothing_to_choose_by(tmp_path: Path) -> None:
    with pytest.raises(ReshuffleError, match="no validation triples to choose by"):
        Search(KnowledgeGraph([("a", "r", "b")]), QUICK, tmp_path, device="cpu").run(1)
