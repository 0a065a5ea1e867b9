"""`reshuffle train` on a terminal shows how it goes, in the bar."""

from __future__ import annotations

import io
import sys
import time
from typing import TYPE_CHECKING

import pytest

import reshuffle.progress
from reshuffle.cli.console import Console
from reshuffle.cli.main import main
from reshuffle.cli.training_curve import TrainingCurve, sparkline
from reshuffle.learning.training.history import Epoch, Glance

if TYPE_CHECKING:
    from pathlib import Path

FALLING = "█▆▃▁"


class Terminal(io.StringIO):
    def __init__(self, encoding: str, terminal: bool) -> None:
        super().__init__()
        self._encoding, self._terminal = encoding, terminal

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._encoding

    def isatty(self) -> bool:
        return self._terminal


def test_a_sparkline_keeps_its_width_and_its_shape() -> None:
    assert sparkline([3, 2, 1, 0]) == FALLING
    assert sparkline([float("nan"), 1.0, float("inf")]) == "▁"
    long = sparkline(list(range(1_000)))
    assert len(long) == 12 and list(long) == sorted(long)


@pytest.mark.parametrize(
    ("encoding", "terminal", "expected"),
    [("utf-8", True, f"{FALLING} ▄█▁ loss"), ("ascii", True, "loss"), ("utf-8", False, "training: ")],
)
def test_the_curves_stand_before_the_note_where_they_can_be_seen(
    encoding: str, terminal: bool, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = Terminal(encoding, terminal)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(reshuffle.progress, "SHORT", 0.0)
    curve = TrainingCurve(Console().progress, measure="mrr")
    for number in range(1, 5):
        curve.after_epoch(Epoch(number, 4.0 - number, mrr=number / 10 if number > 2 else None))
    curve.after_glance(Glance(step=9, mrr=0.2, hits_at_10=0.9, mrr_error=0.1, hits_error=0.1))
    with curve.progress("training", total=4, unit="epoch") as report:
        time.sleep(0.05)
        report(4, "loss 0.1")
        time.sleep(0.6)
    shown = stream.getvalue()
    assert expected in shown
    assert ("▁" in shown) == (encoding == "utf-8" and terminal)


def test_a_training_on_a_terminal_shows_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "facts.tsv").write_text("".join(f"e{n}\tr\te{n + 1}\n" for n in range(20)), encoding="utf-8")
    stream = Terminal("utf-8", True)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(reshuffle.progress, "SHORT", 0.0)
    quick = ["num_slots=2", "num_layers=2", "epoch_steps=2", "max_epochs=12", "look_every=1"]
    options = [word for setting in quick for word in ("--set", setting)]
    command = ["train", str(tmp_path / "facts.tsv"), "-o", str(tmp_path / "model"), "--device", "cpu"]
    assert main([*command, *options]) == 0
    assert any(block in stream.getvalue() for block in "▃▄▅▆▇█")
