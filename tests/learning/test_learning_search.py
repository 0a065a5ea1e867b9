"""The hyperparameter search: the paper's ranges, chosen by validation, taken up again."""

from __future__ import annotations

import errno
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from processes import Running, slowly
from reshuffle.errors import InputError, ReshuffleError
from reshuffle.kg import KnowledgeGraph
from reshuffle.kg.splits import GraphSplit
from reshuffle.learning import search
from reshuffle.learning.search import RANGES, Search, Trial
from reshuffle.learning.settings import Settings, read_settings
from reshuffle.learning.training.trainer import Trainer

if TYPE_CHECKING:
    from pathlib import Path

FACTS = KnowledgeGraph([(f"p{n}", "r", f"p{n + 1}") for n in range(20)])
QUICK = Settings().changed(max_epochs=1, num_negatives=2)
SMALL_RANGES: dict[str, tuple[float, ...]] = {"num_slots": (2, 3), "margin": (0.5, 1.0, 2.0)}


@pytest.fixture(autouse=True)
def small_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "RANGES", SMALL_RANGES)


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
    cut_off = Search(FACTS, QUICK, tmp_path, device="cpu")
    study = cut_off._study(cut_off._data())
    waiting = study.ask()
    wanted = {name: waiting.suggest_categorical(name, choices) for name, choices in search.RANGES.items()}
    found = Search(FACTS, QUICK, tmp_path, device="cpu").run(1)
    assert found[0].values == wanted


EPOCHS = 30


def one_long_trial(directory: Path) -> list[Trial]:
    search.RANGES = SMALL_RANGES  # also in a process of its own
    settings = QUICK.changed(max_epochs=EPOCHS, look_every=5, patience=1000)
    return Search(FACTS, settings, directory, device="cpu").run(1)


def test_after_a_kill_the_search_goes_on_with_the_trial_it_was_at(tmp_path: Path) -> None:
    killed = tmp_path / "killed"
    running = Running(slowly, one_long_trial, killed)
    while running.is_alive and not list(killed.glob("*/checkpoint.safetensors")):
        time.sleep(0.01)
    assert running.killed() == -signal.SIGKILL
    (log,) = killed.glob("*/log.csv")
    started = log.read_text(encoding="utf-8").splitlines()
    assert 5 <= len(started) - 1 < EPOCHS
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


def test_a_search_on_other_triples_is_refused(tmp_path: Path) -> None:
    Search(FACTS, QUICK, tmp_path, device="cpu").run(1)
    others = KnowledgeGraph([(f"p{n}", "r", f"p{n + 2}") for n in range(20)])
    with pytest.raises(InputError) as caught:
        Search(others, QUICK, tmp_path, device="cpu").run(2)
    assert str(caught.value) == (
        f"{tmp_path}: this search was started with other triples\n"
        "  hint: give the facts it was started with, or start anew in another directory"
    )
    again = KnowledgeGraph(list(FACTS))
    assert len(Search(again, QUICK, tmp_path, device="cpu").run(2)) == 2


def test_a_search_with_other_validation_triples_is_refused(tmp_path: Path) -> None:
    one, other = (
        GraphSplit(FACTS, KnowledgeGraph([("p1", "r", tail)]), KnowledgeGraph()) for tail in ("p3", "p4")
    )
    Search(one, QUICK, tmp_path, device="cpu").run(1)
    with pytest.raises(InputError, match="this search was started with other triples"):
        Search(other, QUICK, tmp_path, device="cpu").run(2)


@pytest.mark.parametrize(
    ("facts", "changes", "message"),
    [
        (
            [("a", "r", "b")],
            {},
            "no validation triples to choose by\n  hint: a tenth of the facts is held out",
        ),
        (FACTS, {"max_epochs": 0}, "setting 'max_epochs' is 0; it must be at least 1 to search"),
        (FACTS, {"initial": "private"}, "private initial states cannot be trained with"),
        (FACTS, {"num_slots": 0}, "setting 'num_slots' is 0; it must be at least 1 to train"),
        (FACTS, {"symmetric": ["s"]}, "unknown relation"),
    ],
)
def test_what_no_trial_could_do_is_refused_before_there_is_a_journal(
    facts: Any, changes: dict[str, Any], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ReshuffleError, match=message):
        Search(KnowledgeGraph(facts), QUICK.changed(**changes), tmp_path / "new", device="cpu").run(1)
    assert capsys.readouterr().err == ""
    assert not (tmp_path / "new").exists()


def test_an_interrupted_trial_is_taken_up_again_and_nothing_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(Trainer, "_epoch", interrupt)
        with pytest.raises(KeyboardInterrupt):
            Search(FACTS, QUICK, tmp_path, device="cpu").run(1)
    assert capsys.readouterr().err == ""
    (started,) = (path.name for path in tmp_path.iterdir() if path.is_dir())
    found = Search(FACTS, QUICK, tmp_path, device="cpu").run(1)
    assert [search._name(trial.values) for trial in found] == [started]


def interrupt(*_arguments: object) -> float:
    raise KeyboardInterrupt


def test_a_setting_that_is_given_is_not_searched(tmp_path: Path) -> None:
    said: list[str] = []
    settings = QUICK.changed(num_slots=5, max_epochs=2)
    fixed = Search(
        FACTS, settings, tmp_path, fixed=["num_slots", "max_epochs"], device="cpu", notes=said.append
    )
    trials = fixed.run(2)
    assert said[0] == "num_slots = 5 is given, and not searched"
    assert list(fixed.ranges) == ["margin"]
    assert [set(trial.to_dict()) for trial in trials] == [{"margin", "hits@10"}] * 2
    assert read_settings(tmp_path / "best.toml") == settings.changed(**trials[0].values)
    with pytest.raises(InputError, match=r"other settings: num_slots = 5 \(now searched\)\n"):
        Search(FACTS, settings, tmp_path, device="cpu").run(3)
    with pytest.raises(InputError, match=r"other settings: num_slots = 5 \(now 6\)\n"):
        Search(FACTS, settings.changed(num_slots=6), tmp_path, fixed=["num_slots"], device="cpu").run(3)


def test_a_setting_cannot_be_fixed_later(tmp_path: Path) -> None:
    Search(FACTS, QUICK, tmp_path, device="cpu").run(1)
    with pytest.raises(InputError, match=r"other settings: num_slots = searched \(now 3\)\n"):
        Search(FACTS, QUICK.changed(num_slots=3), tmp_path, fixed=["num_slots"], device="cpu").run(2)


def test_there_must_be_something_to_search(tmp_path: Path) -> None:
    with pytest.raises(ReshuffleError, match="nothing to search: num_slots, margin are all given\n  hint: "):
        Search(FACTS, QUICK, tmp_path, fixed=["margin", "num_slots"], device="cpu").run(1)


def test_a_new_trial_is_not_told_as_one_without_a_checkpoint(tmp_path: Path) -> None:
    said: list[str] = []
    (trial,) = Search(FACTS, QUICK, tmp_path, device="cpu", notes=said.append).run(1)
    assert said == [f"{search._name(trial.values)}: validation hits@10 {trial.score:.3f}"]


# --- journals and locks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("lost", "kept"), [(1, 2), (20, 2), (200, 1)])  # bytes; trials known in full
def test_a_journal_that_was_cut_short_is_taken_up(lost: int, kept: int, tmp_path: Path) -> None:
    first = Search(FACTS, QUICK, tmp_path, device="cpu").run(2)
    journal = tmp_path / "journal.log"
    journal.write_bytes(journal.read_bytes()[:-lost])
    for number in (2, 3, 3):  # more than once: what is written after the cut must be read again
        trials = Search(FACTS, QUICK, tmp_path, device="cpu").run(number)
        assert len(trials) == number
        assert sum(trial in trials for trial in first) >= kept


@pytest.mark.parametrize(
    ("line", "damage"),
    [
        (2, b'{"op_code":'),
        (1, b"\xff\xfe"),
        (-1, b"[]"),
        (-1, b"\0\0"),
        (2, b'{"op_code":4,"study_id":7}'),
        (2, b'{"op_code":99,"worker_id":"a"}'),
    ],
)
def test_a_damaged_journal_is_one_clear_error_and_trainings_are_kept(
    line: int, damage: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Search(FACTS, QUICK, tmp_path, device="cpu").run(1)
    journal = tmp_path / "journal.log"
    lines = journal.read_bytes().splitlines()
    lines[line] = damage
    journal.write_bytes(b"\n".join([*lines, b""]))
    for _ in range(2):
        with pytest.raises(InputError) as caught:
            Search(FACTS, QUICK, tmp_path, device="cpu").run(2)
        assert caught.value.place is not None and caught.value.place.file == str(journal)
        assert caught.value.message.startswith("damaged: ")
        assert caught.value.hint == (
            "remove this file and give the same command again: trainings in the directory are not repeated"
        )
    journal.unlink()
    monkeypatch.setattr(Trainer, "_epoch", interrupt)
    assert Search(FACTS, QUICK, tmp_path, device="cpu").run(1) == found


def test_a_lock_that_was_left_behind_is_removed_and_told(tmp_path: Path) -> None:
    Search(FACTS, QUICK, tmp_path, device="cpu").run(1)
    lock, said = tmp_path / "journal.log.lock", []
    lock.symlink_to(tmp_path / "journal.log")
    began = time.monotonic()
    assert len(Search(FACTS, QUICK, tmp_path, device="cpu", notes=said.append).run(1)) == 1
    assert time.monotonic() - began < 15  # optuna waits for 30 seconds
    assert f"{lock}: removed; a search that was cut off had left it" in said
    assert not lock.is_symlink()


def test_a_second_search_in_a_directory_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("fcntl")

    def second(_said: str) -> None:
        with pytest.raises(InputError) as caught:
            Search(FACTS, QUICK, tmp_path, device="cpu").run(1)
        refused.add(str(caught.value))

    refused: set[str] = set()
    assert len(Search(FACTS, QUICK, tmp_path, device="cpu", notes=second).run(1)) == 1
    assert refused == {
        f"{tmp_path}: another search is running in this directory\n"
        "  hint: wait until it has ended, or name another directory"
    }
    assert len(Search(FACTS, QUICK, tmp_path, device="cpu").run(2)) == 2  # it is free again


def test_a_search_of_another_process_holds_the_directory_until_it_is_killed(tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    running = Running(slowly, one_long_trial, tmp_path)
    while running.is_alive and not list(tmp_path.glob("*/log.csv")):
        time.sleep(0.01)
    before = (tmp_path / "journal.log").read_bytes()
    with pytest.raises(InputError, match="another search is running in this directory"):
        one_long_trial(tmp_path)
    assert (tmp_path / "journal.log").read_bytes() == before  # the trial of the other is left alone
    assert running.killed() == -signal.SIGKILL
    assert len(one_long_trial(tmp_path)) == 1


def test_where_files_cannot_be_locked_it_searches_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "fcntl", None)  # as on Windows
    assert len(Search(FACTS, QUICK, tmp_path, device="cpu").run(1)) == 1


def test_on_a_file_system_that_has_no_locks_it_searches_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fcntl = pytest.importorskip("fcntl")

    def unsupported(*_arguments: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", unsupported)
    assert len(Search(FACTS, QUICK, tmp_path, device="cpu").run(1)) == 1


def test_what_is_searched_in_vain_is_told(tmp_path: Path) -> None:
    heard: list[str] = []
    settings = Settings.of("best", max_epochs=1)
    Search(FACTS, settings, tmp_path, notes=heard.append)._check()
    assert heard == ["note: margin has no effect with loss = 'softmax' (it is for the margin ranking loss)"]
