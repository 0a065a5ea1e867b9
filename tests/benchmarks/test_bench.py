"""`reshuffle bench paper` and `bench report`, through the front door, on embedded data."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from threading import Barrier

import pytest
from benchmarks import scheduling
from benchmarks.result_files import read_results

from reshuffle.cli.main import main
from reshuffle.kg.io.files import written_whole

TINY = "num_slots = 3\nnum_channels = 3\nnum_layers = 1\nnum_negatives = 2\nmax_epochs = 2\nlook_every = 1\n"


@pytest.fixture
def folders(tmp_path: Path) -> list[str]:
    (tmp_path / "families.default.toml").write_text(TINY)
    return ["--settings", str(tmp_path), "--results", str(tmp_path / "results")]


def report(folders: list[str], capsys: pytest.CaptureFixture[str]) -> list[dict]:
    assert main(["bench", "report", "--json", *folders]) == 0
    return json.loads(capsys.readouterr().out)


def test_cells_in_pieces_are_stored_and_reported(
    folders: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["bench", "paper", "--dataset", "families", "--seeds", "4,5", "--device", "cpu", *folders]
    assert main([*command, "--minutes", "0"]) == 0
    assert capsys.readouterr().err == (
        "families.paper.default.4: not finished; run again to go on\n"
        "1 cell not started, since the time is up; run again to go on\n"
    )
    assert report(folders, capsys) == []
    assert main(command) == 0
    assert capsys.readouterr().err.count("sampled-50 hits@10 0.") == 2
    rows = report(folders, capsys)
    assert [(row["seed"], row["protocol"]) for row in rows] == [
        (seed, protocol) for seed in (4, 5) for protocol in ("sampled-50", "sampled-50-official-code", "full")
    ]
    assert all(0 < row["metrics"]["mrr"] < 1 for row in rows)
    assert main(["bench", "report", *folders]) == 0
    assert "type hits@10" in capsys.readouterr().out.splitlines()[0]


def test_several_cells_at_a_time(folders: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    command = ["bench", "paper", "--dataset", "families", "--seeds", "1,2", "--jobs", "2", "--device", "cpu"]
    assert main([*command, *folders]) == 0
    assert {row["seed"] for row in report(folders, capsys)} == {1, 2}


def test_a_finished_cell_of_other_settings_is_refused_before_anything_runs(
    folders: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["bench", "paper", "--dataset", "families", "--device", "cpu", *folders]
    assert main([*command, "--seeds", "2"]) == 0
    settings = Path(folders[1]) / "families.default.toml"
    settings.write_text(TINY.replace("max_epochs = 2", "max_epochs = 3"))
    for jobs in ("1", "2"):
        capsys.readouterr()
        assert main([*command, "--seeds", "1,2,3", "--jobs", jobs]) == 2
        assert "finished with other settings: max_epochs = 2 (now 3)" in capsys.readouterr().err
        assert [cell["seed"] for cell in read_results(Path(folders[3]) / "paper.jsonl").rows] == [2]
        assert not list(Path(folders[3]).glob("**/*.safetensors"))


def told(seed: int, state: str) -> dict[str, object]:
    return {"dataset": "families", "recipe": "paper", "variant": "default", "seed": seed, "state": state}


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_time_that_is_up_is_up_for_all_cells(
    jobs: str, folders: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["bench", "paper", "--dataset", "families", "--device", "cpu", *folders]
    assert main([*command, "--seeds", "4"]) == 0
    capsys.readouterr()
    # What is finished costs no time, and one cell goes on by an epoch, however short the time.
    assert main([*command, "--seeds", "4,5,6,7", "--minutes", "0", "--jobs", jobs, "--json"]) == 0
    states = ["finished", "unfinished", "not started", "not started"]
    assert json.loads(capsys.readouterr().out) == {
        "cells": [told(seed, state) for seed, state in enumerate(states, 4)],
        "not_started": 2,
    }


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.minutes = 100.0
        for module in ("reshuffle.cli.verbs.bench", "benchmarks.scheduling"):
            monkeypatch.setattr(f"{module}.monotonic", lambda: 60 * self.minutes)

    def tick(self, minutes: float) -> None:
        self.minutes += minutes


@pytest.mark.parametrize(
    ("needed", "given", "states"),
    [
        (3, [10, 7, 4], ["unfinished"] * 3),
        (8, [10, 2], ["unfinished", "unfinished", "not started"]),
        (10, [10], ["unfinished", "not started", "not started"]),
    ],
)
def test_every_cell_gets_the_time_that_is_left(
    needed: float,
    given: list[float],
    states: list[str],
    folders: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    clock, seen = Clock(monkeypatch), []

    def run_cell(*_: object, seconds: float, **__: object) -> None:
        seen.append(seconds / 60)
        clock.tick(needed)

    monkeypatch.setattr(scheduling, "run_cell", run_cell)
    command = ["bench", "paper", "--dataset", "families", "--minutes", "10", "--device", "cpu", "--json"]
    assert main([*command, *folders]) == 0
    assert seen == pytest.approx(given)
    assert [cell["state"] for cell in json.loads(capsys.readouterr().out)["cells"]] == states


@pytest.mark.parametrize(
    ("needed", "given", "left_out"), [(4, [10, 10, 6], 0), (10, [10, 10], 1)], ids=["time left", "time up"]
)
def test_processes_get_the_time_that_is_left_when_they_start(
    needed: float,
    given: list[float],
    left_out: int,
    folders: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    clock, seen = Clock(monkeypatch), []
    both_run = Barrier(2, action=lambda: clock.tick(needed))

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        seen.append(float(command[command.index("--minutes") + 1]))
        if command[command.index("--seeds") + 1] != "3":
            both_run.wait(timeout=60)
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr("benchmarks.scheduling.subprocess.run", run)
    command = ["bench", "paper", "--dataset", "families", "--minutes", "10", "--jobs", "2", "--json"]
    assert main([*command, *folders]) == 0
    assert seen == pytest.approx(given)
    assert json.loads(capsys.readouterr().out)["not_started"] == left_out


def test_a_cell_whose_process_is_killed_is_not_passed_over(
    folders: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        assert "-q" in command
        return subprocess.CompletedProcess(command, -9 if command[command.index("--seeds") + 1] == "2" else 0)

    monkeypatch.setattr("benchmarks.scheduling.subprocess.run", run)
    command = ["bench", "paper", "--dataset", "families", "--seeds", "1,2", "--jobs", "2", "--json", "-q"]
    assert main([*command, *folders]) == 137
    captured = capsys.readouterr()
    assert captured.err == "families.paper.default.2: failed, with exit status 137\n"
    assert json.loads(captured.out)["cells"] == [told(1, "unfinished"), told(2, "failed")]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--seeds", "1;2"], "'1;2' is not a list of seeds, such as 1,2,3"),
        (["--jobs", "0"], "'0' is not a number of cells, 1 or more"),
    ],
)
def test_bad_usage(
    arguments: list[str], message: str, folders: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["bench", "paper", "--dataset", "families", *folders, *arguments])
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


def test_bad_data_sets(folders: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "paper", "--dataset", "familiez", *folders]) == 2
    assert "unknown data set 'familiez'; did you mean 'families'" in capsys.readouterr().err
    assert main(["bench", "paper", "--dataset", "families", "--variant", "squared", *folders]) == 2
    assert "there are no settings for this cell" in capsys.readouterr().err


def test_no_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "report", "--results", str(tmp_path / "none")]) == 2
    assert capsys.readouterr() == (
        "",
        f"{tmp_path / 'none'}: there is no such directory, expected one with stored results\n"
        "  hint: run this from a checkout of the project, or name the directory with --results\n",
    )


NO_RESULT = "move it elsewhere, or remove it and run its cell again with `reshuffle bench paper`"
RESULT = (
    '{"dataset": "x", "recipe": "paper", "variant": "default", "seed": 1, "hardware": "y", "settings": {}, '
    '"training": {"seconds": 1}, "results": %s}'
)


@pytest.mark.parametrize("name", ["families.paper.default.1.json", "paper.jsonl"])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            '{"dataset": "fam',
            "not JSON, or cut short: Unterminated string starting at: line 1 column 13 (char 12)",
        ),
        ("1", "not the result of a cell"),
        ("[1]", "not the result of a cell"),
        ('{"dataset": "x"}', "not the result of a cell"),
        (RESULT % "[]", "not the result of a cell"),
        (
            RESULT % '[{"protocol": "full", "metrics": {"mrr": 1}, "tie_rate": 0, "type_baseline": null}]',
            "not the result of a cell",
        ),
    ],
)
def test_files_that_are_no_results(
    content: str,
    message: str,
    name: str,
    folders: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "results" / name
    path.parent.mkdir()
    path.write_text(content)
    place, hint = path, NO_RESULT
    if name.endswith(".jsonl"):
        place = f"{path}:1"
        if not content.startswith("{") or "cut short" in message:
            message = message.replace("the result of a cell", "a row of results")
            hint = "remove the line, and run again the command that made the file"
    for command in (["report"], ["paper", "--dataset", "families", "--seeds", "1"]):
        assert main(["bench", *command, *folders]) == 2
        assert capsys.readouterr() == ("", f"{place}: {message}\n  hint: {hint}\n")


def test_a_result_that_is_being_written_is_not_reported(
    folders: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "results").mkdir()
    for name in ("families.paper.default.1.json", "paper.jsonl"):
        with written_whole(tmp_path / "results" / name) as aside:
            aside.write_text('{"dataset": "fam')
            assert report(folders, capsys) == []
            aside.write_text("{}")
        (tmp_path / "results" / name).unlink()


@pytest.mark.parametrize("arguments", [["paper", "--dataset", "families"], ["report"]])
def test_without_a_checkout_there_are_no_experiments(
    arguments: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("reshuffle.cli.verbs.bench.__file__", str(tmp_path / "a/b/c/d/bench.py"))
    assert main(["bench", *arguments]) == 2
    assert capsys.readouterr() == (
        "",
        "the experiments are not part of the installed package\n"
        "  hint: run this from a checkout of the project\n",
    )


def test_timings_run_in_the_checkout_around_the_working_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[list[str], object]] = []

    def run(command: list[str], **options: object) -> subprocess.CompletedProcess[str]:
        seen.append((command[1:], options["cwd"]))
        return subprocess.CompletedProcess(command, 3)

    root = Path(__file__).parents[2]
    monkeypatch.chdir(root / "docs" / "how-to")
    monkeypatch.setattr("reshuffle.cli.verbs.bench.subprocess.run", run)
    assert main(["bench", "speed", "rules"]) == 3
    assert seen == [(["-m", "benchmarks.speed", "rules"], root)]
