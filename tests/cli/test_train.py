"""`reshuffle train` and `evaluate` of what it wrote, through the front door."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from processes import Running, slowly
from reshuffle.cli.main import main
from reshuffle.learning.training.trainer import Trainer

if TYPE_CHECKING:
    from pathlib import Path

PEOPLE = range(30)
FACTS = [(f"p{n}", "bornIn", f"c{n % 5}") for n in PEOPLE] + [
    (f"p{n}", "livesIn", f"c{n % 5}") for n in PEOPLE
]
QUICK = ["max_epochs=2", "epoch_steps=2", "num_slots=3", "num_layers=2", "look_every=1"]
QUICK_PAPER = ["num_channels=4", "num_negatives=5"]  # they have no effect with the default recipe


def write(path: Path, triples: list[tuple[str, str, str]]) -> str:
    path.write_text("".join("\t".join(triple) + "\n" for triple in triples), encoding="utf-8")
    return str(path)


def settings(*more: str) -> list[str]:
    return [part for setting in (*QUICK, *more) for part in ("--set", setting)]


@pytest.fixture
def facts(tmp_path: Path) -> str:
    return write(tmp_path / "facts.tsv", FACTS)


def test_train_then_evaluate(facts: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = str(tmp_path / "model")
    valid = write(tmp_path / "valid.tsv", [("p0", "bornIn", "c1")])
    assert main(["train", facts, "-o", model, "--valid", valid, "--json", *settings()]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["directory"] == model
    assert (result["epochs"], set(result)) == (2, {"directory", "epochs", "best_epoch", "hits@10", "mrr"})
    queries = write(tmp_path / "queries.tsv", [("p1", "livesIn", "c2")])
    assert main(["evaluate", model, "--facts", facts, "--queries", queries, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert 0 <= report["metrics"]["hits@10"] <= 1
    assert report["type_baseline"]["metrics"]["hits@10"] >= 0
    assert "tie_rate" in report["metrics"] or "tie_rate" in report


def test_a_benchmark_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = str(tmp_path / "model")
    assert main(["-v", "train", "families", "-o", model, *settings("max_epochs=1", "rules_weight=0")]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith(f"{model}: the model of epoch 1 of 1, validation hits@10 0.")
    assert shown.err.startswith("epoch 1: loss ")
    assert main(["evaluate", model, "--benchmark", "families"]) == 0
    assert "type baseline" in capsys.readouterr().out


def test_a_second_training_needs_resume(
    facts: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [
        "train",
        facts,
        "-o",
        str(tmp_path / "model"),
        "--recipe",
        "paper",
    ]  # a constant rate: it may go on
    assert main([*command, *settings(*QUICK_PAPER)]) == 0
    assert main([*command, *settings(*QUICK_PAPER)]) == 2
    assert "this directory already has a training\n  hint: --resume" in capsys.readouterr().err
    assert main([*command, *settings(*QUICK_PAPER, "max_epochs=3"), "--resume"]) == 0
    assert "of 3" in capsys.readouterr().out
    assert main([*command, *settings(*QUICK_PAPER, "margin=2"), "--resume"]) == 2
    assert "other settings: margin = 1.0 (now 2.0)" in capsys.readouterr().err


def test_resume_in_a_mistyped_directory_is_told(
    facts: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = tmp_path / "modle"
    assert main(["train", facts, "-o", str(directory), "--resume", *settings()]) == 0
    assert capsys.readouterr().err == f"there is no checkpoint in {directory}: starting from the beginning\n"


def test_a_settings_file_and_single_settings_over_it(
    facts: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "a.toml"
    config.write_text("num_slots = 5\nmargin = 0.5\n", encoding="utf-8")
    model = tmp_path / "model"
    assert main(["train", facts, "-o", str(model), "--config", str(config), *settings()]) == 0
    text = (model / "settings.toml").read_text(encoding="utf-8")
    assert "margin = 0.5" in text and "num_slots = 3" in text
    config.write_text("num_slot = 5\n", encoding="utf-8")
    assert main(["train", facts, "-o", str(model), "--config", str(config)]) == 2
    assert "unknown setting 'num_slot'; did you mean 'num_slots'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["WN18R-v1"], "WN18RR-v1"),
        (["no/such/file.tsv"], "no such file"),
        (["families", "--set", "num_slot=3"], "unknown setting 'num_slot'; did you mean 'num_slots'"),
        (["families", "--set", "num_slots"], "write key=value"),
        (["families", "--device", "warp"], "unknown device 'warp'"),
    ],
)
def test_bad_arguments(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", *arguments, "-o", str(tmp_path / "model")]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--inject-mode", "frozen"], "--inject-mode needs --inject RULES"),
        (["--inject-mode", "refine", "--inject-slots", "4"], "--inject-mode needs --inject RULES"),
        (["--inject-slots", "4"], "--inject-slots needs --inject RULES"),
        (["--inject", "some.rules", "--inject-slots", "0"], "--inject-slots: at least one"),
    ],
)
def test_options_that_would_be_ignored_are_refused(
    options: list[str], message: str, facts: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["train", facts, "-o", str(tmp_path / "model"), *options])
    assert caught.value.code == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "model").exists()


def test_rules_that_do_not_fit_end_the_training(
    facts: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rules = tmp_path / "my.rules"
    rules.write_text("bornIn(X, Y) -> livesIn(X, Y)\n", encoding="utf-8")
    command = ["train", facts, "-o", str(tmp_path / "model"), "--inject", str(rules), *settings()]
    assert main([*command, "--inject-slots", "1"]) == 2
    assert capsys.readouterr().err == (
        "the rule cannot be injected\n"
        "  bornIn(X, Y) -> livesIn(X, Y): 3 slots would be needed with it, and there are 1\n"
        "  hint: allow more slots (--inject-slots, num_slots), or give other rules\n"
    )
    assert not (tmp_path / "model").exists()


def test_an_interrupt_before_the_first_checkpoint_says_that_there_is_none(
    facts: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["train", facts, "-o", str(tmp_path / "model"), "--recipe", "paper"]
    before = Trainer._epoch

    def interrupted(trainer: Trainer, number: int) -> float:
        if number == 2:
            raise KeyboardInterrupt
        return before(trainer, number)

    with monkeypatch.context() as patched:
        patched.setattr(Trainer, "_epoch", interrupted)
        assert main([*command, *settings(*QUICK_PAPER, "look_every=2")]) == 130
        assert capsys.readouterr().err == (
            "there is no checkpoint yet: the same command starts again\ninterrupted\n"
        )
        assert main([*command, *settings(*QUICK_PAPER, "look_every=1")]) == 130
        assert capsys.readouterr().err == (
            "the same command with --resume goes on from the last checkpoint\ninterrupted\n"
        )


def test_after_ctrl_c_the_result_is_that_of_an_uninterrupted_run(
    facts: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut, whole = tmp_path / "cut", tmp_path / "whole"
    long = settings(*QUICK_PAPER, "max_epochs=30", "epoch_steps=1", "look_every=2", "patience=1000")
    command = ["train", facts, "-o", str(cut), "--recipe", "paper", *long]
    running = Running(slowly, main, command)
    while running.is_alive and epochs(cut) < 5:
        time.sleep(0.01)
    running.send(signal.SIGINT)
    said = "the same command with --resume goes on from the last checkpoint\ninterrupted\n"
    assert running.ended() == (130, said)
    assert 5 <= epochs(cut) < 30
    assert not (cut / "model.safetensors").exists()
    assert main(["train", facts, "-o", str(cut), "--recipe", "paper", *long, "--resume"]) == 0
    assert main(["train", facts, "-o", str(whole), "--recipe", "paper", *long]) == 0
    assert capsys.readouterr().err == ""
    for file in ("model.safetensors", "settings.toml"):
        assert (cut / file).read_bytes() == (whole / file).read_bytes()


def epochs(directory: Path) -> int:
    log = directory / "log.csv"
    return len(log.read_text(encoding="utf-8").splitlines()) - 1 if log.exists() else 0


def test_a_directory_that_is_no_model(facts: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", str(tmp_path), "--facts", facts, "--queries", facts]) == 2
    assert "not a model directory: it has no settings.toml" in capsys.readouterr().err


def test_queries_of_relations_never_seen_in_training(
    facts: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = str(tmp_path / "model")
    assert main(["-q", "train", facts, "-o", model, *settings()]) == 0
    graph = write(tmp_path / "graph.tsv", [*FACTS, ("p1", "worksIn", "c2")])
    queries = write(tmp_path / "queries.tsv", [("p1", "livesIn", "c2"), ("p2", "worksIn", "c2")])
    command = ["evaluate", model, "--facts", graph, "--queries", queries]
    assert main(command) == 2
    assert "worksIn" in capsys.readouterr().err
    assert main([*command, "--unknown", "skip"]) == 0
    assert "1 triple (" in capsys.readouterr().out


def test_facts_of_relations_never_seen_in_training_are_named_and_counted(
    facts: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = str(tmp_path / "model")
    assert main(["-q", "train", facts, "-o", model, *settings()]) == 0
    strange = [("p1", "worksIn", "c2"), ("p2", "worksIn", "c3"), ("p1", "likes", "p2")]
    graph = write(tmp_path / "graph.tsv", [*FACTS, *strange])
    queries = write(tmp_path / "queries.tsv", [("p1", "livesIn", "c2")])
    for scorer in ([model], ["types", "--train", facts]):
        assert main(["evaluate", *scorer, "--facts", graph, "--queries", queries]) == 0
        assert capsys.readouterr().err == (
            "3 of 63 facts are skipped, of relations never seen in training: 'worksIn' (2), 'likes' (1)\n"
        )
    assert main(["evaluate", model, "--facts", facts, "--queries", queries]) == 0
    assert capsys.readouterr().err == ""


def test_without_torch_one_error_says_what_to_install(tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "sys.modules['torch'] = None\n"
        "from reshuffle.cli.main import main\n"
        f"sys.exit(main(['train', 'families', '-o', {str(tmp_path / 'model')!r}]))\n"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert found.returncode == 2
    assert (
        found.stderr
        == "this needs torch, which is not installed\n  hint: in a checkout of reshuffle: pip install -e '.[learn]'\n"
    )
