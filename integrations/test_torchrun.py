"""Real torchrun processes on a tiny graph: they train, stop, go on, rank and predict as one process does."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

SOURCE = Path(__file__).parents[1] / "src"
TINY = {"num_slots": 4, "num_layers": 2, "epoch_steps": 8, "max_epochs": 3, "batch_size": 15, "look_every": 3}
RECIPES: dict[str, dict[str, Any]] = {
    "best-0.1": {"drop_facts": 0.3},  # with chance in every piece
    "paper": {"num_channels": 4, "num_negatives": 5, "redraw": "call", "hide_targets": True},
}


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    chance, lines = random.Random(0), []
    for n in range(60):
        step = (7 * n + 3) % 60
        lines += [f"p{n}\tparent\tp{step}", f"p{n}\tgrandparent\tp{(7 * step + 3) % 60}"]
        lines += [f"p{n}\tknows\tp{chance.randrange(60)}"]
    path = tmp_path_factory.mktemp("facts") / "facts.tsv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def command(processes: int, *words: str | Path) -> list[str]:
    start = [sys.executable, "-m"]
    if processes > 1:
        start += ["torch.distributed.run", "--standalone", "--nproc-per-node", str(processes), "-m"]
    return [*start, "reshuffle", *map(str, words)]


def environment() -> dict[str, str]:
    # One thread each, as torchrun has it: sums of several threads have other last bits.
    return {**os.environ, "PYTHONPATH": str(SOURCE), "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}


def ran(processes: int, *words: str | Path, status: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command(processes, *words),
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == status, done.stderr
    return done


def training(facts: Path, folder: Path, recipe: str = "best-0.1", **changes: Any) -> list[str]:
    given = {**TINY, **RECIPES[recipe], **changes}
    settings = [part for name, value in given.items() for part in ("--set", f"{name}={json.dumps(value)}")]
    return ["train", str(facts), "-o", str(folder), "--device", "cpu", "--recipe", recipe, *settings]


def assert_same_model(one: Path, other: Path) -> None:
    tensors, others = load_file(one / "model.safetensors"), load_file(other / "model.safetensors")
    assert tensors.keys() == others.keys()
    for name, value in tensors.items():
        assert torch.allclose(value.double(), others[name].double(), rtol=0, atol=1e-6), name
    assert (one / "settings.toml").read_text() == (other / "settings.toml").read_text()
    logs = [
        [line.rpartition(",")[0] for line in (path / "log.csv").read_text().split()] for path in (one, other)
    ]
    assert logs[0] == logs[1]


@pytest.mark.parametrize("recipe", RECIPES)
def test_two_processes_train_the_model_of_one_that_cuts_its_steps_in_two(
    recipe: str, facts: Path, tmp_path: Path
) -> None:
    together = ran(2, *training(facts, tmp_path / "two", recipe), "--json")
    ran(1, *training(facts, tmp_path / "one", recipe), "--pieces", "2")
    assert_same_model(tmp_path / "two", tmp_path / "one")
    assert json.loads(together.stdout)["epochs"] == 3  # one document: only the first process prints


def test_a_training_of_two_processes_is_stopped_and_goes_on_with_three(facts: Path, tmp_path: Path) -> None:
    words = training(facts, tmp_path / "model", max_epochs=2000, schedule="constant")
    with subprocess.Popen(
        command(2, *words, "-v"), env=environment(), stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as running:
        while (
            not (tmp_path / "model" / "log.csv").exists()
            or len((tmp_path / "model" / "log.csv").read_text().split()) < 3
        ):
            assert running.poll() is None
            time.sleep(0.2)
        os.killpg(running.pid, signal.SIGINT)  # as Ctrl-C does
        assert running.stderr is not None
        said = running.stderr.read()
    assert "the same command with --resume goes on from the last checkpoint" in said
    done = len((tmp_path / "model" / "log.csv").read_text().split()) - 1
    fewer = training(facts, tmp_path / "model", max_epochs=done + 2, schedule="constant")
    found = ran(3, *fewer, "--resume", "--json")
    assert json.loads(found.stdout)["epochs"] == done + 2


def test_evaluations_and_links_are_those_of_one_process(facts: Path, tmp_path: Path) -> None:
    ran(1, *training(facts, tmp_path / "model"))
    queries = tmp_path / "queries.tsv"
    queries.write_text("".join(line + "\n" for line in facts.read_text().splitlines()[::9]), encoding="utf-8")
    for verb in (
        ["evaluate", tmp_path / "model", "--facts", facts, "--queries", queries, "--protocol", "full"],
        ["evaluate", "rules+types", "--facts", facts, "--queries", queries, "--protocol", "sampled-50"],
        ["predict", tmp_path / "model", facts, "--all", "--top", "7"],
        ["predict", tmp_path / "model", facts, "--head", "p1", "--relation", "parent"],
    ):
        alone, together = (json.loads(ran(n, *verb, "--json", "--device", "cpu").stdout) for n in (1, 2))
        for found in (alone, together):
            isinstance(found, dict) and found.pop("seconds", None)
        assert alone == together


def test_what_cannot_be_shared_is_refused(facts: Path, tmp_path: Path) -> None:
    told = ran(
        2, "train", facts, "-o", tmp_path / "model", "--quick", status=1
    )  # the status is torchrun's own
    message = (
        "several processes cannot share the work of `train --recipe rules`\n  hint: run it without torchrun"
    )
    assert told.stderr.count(message) == 1
    assert not (tmp_path / "model").exists()
