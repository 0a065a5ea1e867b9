"""A training in so many minutes, and how long it takes before it begins."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
import torch

from reshuffle import Reshuffle
from reshuffle.cli.main import main
from reshuffle.data.families import families
from reshuffle.errors import InputError, ReshuffleError
from reshuffle.learning.settings import Settings
from reshuffle.learning.training.time_budget import shortened

if TYPE_CHECKING:
    from pathlib import Path

SMALL: dict[str, Any] = {"num_slots": 3, "num_layers": 2, "batch_size": 8, "epoch_steps": 4, "max_epochs": 2}


def facts() -> Any:
    return families(size=20).benchmark.train.facts


def parameters(model: Reshuffle) -> dict[str, torch.Tensor]:
    return model.model.state_dict()


def test_with_time_enough_it_is_the_training_without_a_limit() -> None:
    plain = Reshuffle(**SMALL, rules_weight=0.0, device="cpu").fit(facts())
    limited = Reshuffle(**SMALL, rules_weight=0.0, device="cpu").fit(facts(), minutes=100)
    assert limited.settings.training == plain.settings.training
    for name, value in parameters(plain).items():
        assert torch.equal(value, parameters(limited)[name])


def test_there_is_a_list_and_a_step_however_short_the_time() -> None:
    told: list[str] = []
    model = Reshuffle(**SMALL, device="cpu").fit(facts(), minutes=1e-9, notes=told.append)
    assert model.listed is not None and model.calibration is not None
    assert (model.settings.training.max_epochs, model.settings.training.epoch_steps) == (1, 1)
    assert model.summary()["epochs"] == 1
    assert any(text.startswith("there is time for 1 of 8 steps") for text in told)


def test_a_step_that_takes_longer_than_tried_ends_the_training_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("reshuffle.learning.training.time_budget.seconds_per_step", lambda _trainer: 1e-9)
    started = time.monotonic()
    endless = {**SMALL, "epoch_steps": 20_000, "max_epochs": 1}
    model = Reshuffle(**endless, rules_weight=0.0, device="cpu").fit(facts(), minutes=0.02)
    assert time.monotonic() - started < 60
    assert model.history is not None and torch.tensor(model.history.epochs[0].loss).isfinite()


def test_it_tells_how_long_it_takes_before_the_first_step_and_is_no_other_training(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain = Reshuffle(**{**SMALL, "epoch_steps": 20}, rules_weight=0.0, device="cpu").fit(facts())
    monkeypatch.setattr("reshuffle.learning.training.loop._MANY", 0)
    monkeypatch.setattr("reshuffle.learning.training.loop._LONG", 0.0)
    told: list[str] = []
    seen: list[int] = []

    def note(text: str) -> None:
        if "to come: about" in text:
            seen.append(len(told))
        told.append(text)

    model = Reshuffle(**{**SMALL, "epoch_steps": 20}, rules_weight=0.0, device="cpu").fit(facts(), notes=note)
    assert len(seen) == 1 and told[seen[0]].startswith("40 steps to come")
    for name, value in parameters(plain).items():
        assert torch.equal(value, parameters(model)[name])


@pytest.mark.parametrize(
    ("recipe", "steps", "per_epoch", "expected"),
    [
        ("best", 800, 100, (8, 100, 8)),
        ("best", 350, 100, (8, 43, 8)),
        ("best", 5, 100, (5, 1, 5)),
        ("paper", 2500, 1000, (2, 1000, 2)),
        ("paper", 300, 1000, (1, 300, 1)),
    ],
)
def test_shorter_trainings_keep_their_form(
    recipe: str, steps: int, per_epoch: int, expected: tuple[int, int, int]
) -> None:
    found = shortened(Settings.of(recipe).training, steps, per_epoch=per_epoch)
    assert (found.max_epochs, found.epoch_steps, found.look_every) == expected


def test_what_does_not_go_with_minutes_is_refused() -> None:
    for minutes in (0, -1, float("inf"), True):
        with pytest.raises(InputError, match="minutes"):
            Reshuffle(**SMALL, device="cpu").fit(facts(), minutes=minutes)
    with pytest.raises(ReshuffleError, match="depends on the machine"):
        Reshuffle(**SMALL, device="cpu").fit(facts(), minutes=1, resume=True)


def test_train_with_minutes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "facts.tsv").write_text("".join(f"a{n}\tr\tb{n % 3}\nb{n % 3}\ts\ta{n}\n" for n in range(9)))
    given = [
        str(tmp_path / "facts.tsv"),
        "-o",
        str(tmp_path / "model"),
        "--recipe",
        "best",
        "--minutes",
        "0.0001",
    ]
    assert main(["train", *given]) == 0
    assert "there is time for" in capsys.readouterr().err
    assert (tmp_path / "model" / "list.rules").is_file()
