"""Work that lasts tells of itself on stderr: a bar on a terminal, plain lines elsewhere, nothing with -q."""

from __future__ import annotations

import io
import re
import sys
import time
from typing import TYPE_CHECKING

import pytest

import reshuffle.progress
from reshuffle.cli import progress_display
from reshuffle.cli.console import Console
from reshuffle.cli.main import main
from reshuffle.cli.progress_display import Lines

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def news_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """What lasts a moment is long, and there was no line before."""
    monkeypatch.setattr(reshuffle.progress, "SHORT", 0.05)
    monkeypatch.setattr(progress_display, "_SECONDS_BETWEEN_TICKS", 0.02)
    monkeypatch.setattr(Lines, "_last", float("-inf"))


def work(console: Console, *, total: int | None = 40, unit: str = "queries", note: str = "") -> None:
    with console.progress("ranking", total=total, unit=unit) as report:
        report(0, note)
        report(10)
        time.sleep(0.6)


def test_a_line_comes_without_a_terminal_and_one_at_the_end(
    news_soon: None, capsys: pytest.CaptureFixture[str]
) -> None:
    work(Console(), note="loss 0.1")
    first, last = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"ranking: 10 of 40 queries, loss 0\.1, about \d s left", first)
    assert re.fullmatch(r"ranking: 10 of 40 queries, done in \d s", last)


def test_lines_are_far_apart_over_all_work(news_soon: None, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(3):
        work(Console())
    assert len(capsys.readouterr().err.splitlines()) == 2
    assert 15 <= progress_display.SECONDS_BETWEEN_LINES <= 30


@pytest.mark.parametrize(
    ("total", "unit", "expected"),
    [
        (None, "relations", "ranking: 10 relations"),
        (20, "epoch", r"ranking: 10 of 20 epochs, about \d s left"),
        (50_000_000, "B", r"ranking: 0 of 50 MB, .*"),
        (None, " questions", "ranking: 10 questions"),
    ],
)
def test_what_is_counted(
    total: int | None, unit: str, expected: str, news_soon: None, capsys: pytest.CaptureFixture[str]
) -> None:
    work(Console(), total=total, unit=unit)
    assert re.fullmatch(expected, capsys.readouterr().err.splitlines()[0])


def test_work_that_counts_nothing_tells_that_it_goes_on(
    news_soon: None, capsys: pytest.CaptureFixture[str]
) -> None:
    with Console().progress("calibrating"):
        time.sleep(0.6)
    first, last = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"calibrating: \d s", first)
    assert re.fullmatch(r"calibrating: done in \d s", last)


def test_short_work_and_quiet_verbs_say_nothing(
    news_soon: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    work(Console(verbosity=-1))
    monkeypatch.setattr(reshuffle.progress, "SHORT", 2.0)
    work(Console())
    assert capsys.readouterr().err == ""


class Terminal(io.StringIO):
    """A screen."""

    def isatty(self) -> bool:
        return True


def test_on_a_terminal_a_bar_comes_without_a_report_and_goes(
    news_soon: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    console = Console()
    with console.progress("ranking", total=40, unit="queries") as report:
        time.sleep(0.5)
        assert "ranking:   0%" in screen.getvalue()
        report(20, "step 3 of 4")
        time.sleep(0.2)
        report(0, "step 4 of 4")
        time.sleep(0.2)
        assert "50%" in screen.getvalue() and "step 4 of 4" in screen.getvalue()
        console.message("by the way")
        assert "\rby the way\n" in screen.getvalue().replace("\r ", "").replace(" \r", "\r")
    assert screen.getvalue().rsplit("\r", 2)[-2].strip() == ""


def test_a_training_introduces_itself_and_estimates(
    news_soon: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress_display, "SECONDS_BETWEEN_LINES", 0.02)
    facts = tmp_path / "facts.tsv"
    facts.write_text("".join(f"p{n}\tparent\tp{n + 1}\n" for n in range(40)), encoding="utf-8")
    settings = ["max_epochs=3", "epoch_steps=60", "num_slots=4", "num_layers=2", "look_every=1"]
    command = ["train", str(facts), "-o", str(tmp_path / "model"), "--device", "cpu"]
    assert main([*command, *(part for one in settings for part in ("--set", one))]) == 0
    said = capsys.readouterr().err
    assert (
        "training on 36 facts of 1 relation and 41 entities, on cpu: at most 3 epochs of 60 steps\n" in said
    )
    assert re.search(
        r"^training: 1 of 3 epochs, loss .*, about \d+ s left, step \d+ of 60$", said, re.MULTILINE
    )
    assert re.search(r"^training: 3 of 3 epochs, done in \d+ s$", said, re.MULTILINE)


def test_what_waits_for_kernels_says_so(news_soon: None, capsys: pytest.CaptureFixture[str]) -> None:
    from numba import njit

    from reshuffle.machine_code import COMPILING

    before = COMPILING.seconds
    with Console().progress("deriving", total=3, unit="relations") as report:
        report(1)
        while COMPILING.seconds - before < 1.2:  # anew each time: nothing is kept on disk
            njit(lambda x: x + before)(1.0)
        report(2)
    assert not COMPILING.is_under_way
    first, last = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"deriving: 1 of 3 relations(, compiling kernels \(once\)|, about \d s left)", first)
    assert re.fullmatch(
        r"deriving: 3 of 3 relations, done in \d+ s, \d s of it compiling kernels \(once\)", last
    )


def test_a_compilation_that_fails_is_over(capsys: pytest.CaptureFixture[str]) -> None:
    from numba import TypingError, njit

    from reshuffle.machine_code import COMPILING

    with pytest.raises(TypingError):
        njit(lambda x: x.nothing_there)(1.0)
    assert not COMPILING.is_under_way
