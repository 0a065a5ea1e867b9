"""The attack itself: it runs, finds what is wrong, makes it small, and passes on this version."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest
from benchmarks.attack.__main__ import attack, main, shrunk
from benchmarks.attack.registry import PARTS
from benchmarks.attack.worker import Worker

if TYPE_CHECKING:
    from pathlib import Path

CASES = {"readers": 8, "directories": 1, "rules": 8, "peers": 8, "updates": 8, "kills": 1}


def test_every_part_is_tried() -> None:
    assert list(CASES) == list(PARTS)


@pytest.mark.parametrize("part", CASES)
def test_a_few_cases_of_each_part(part: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--seed", "1", "--minutes", "5", "--parts", part, "-o", str(tmp_path / "failures")]
    assert main([*arguments, "--cases", str(CASES[part])]) == 0
    told = capsys.readouterr().out
    assert "seed 1\n" in told
    if PARTS[part].missing() is None:
        assert f"{part}: {CASES[part]} cases, 0 failures" in told
    assert not (tmp_path / "failures").exists()


def test_a_failure_is_made_small_and_stored(tmp_path: Path) -> None:
    """A rule that cannot be read is no case of this part, so it fails like a wrong answer would."""
    case = {
        "rules": ["r0(X, Y) -> r1(X, Y)", "r1(X, Y) -> nonsense(", "r2(X, Y) -> r3(X, Y)"],
        "facts": [["a", "r0", "b"], ["b", "r1", "c"]],
    }
    worker = Worker()
    try:
        found = worker.failure("rules", case)
        assert found is not None
        small, why = shrunk(worker, "rules", case, found)
    finally:
        worker.stop()
    assert small == {"rules": ["r1(X, Y) -> nonsense("], "facts": []}
    assert "InputError" in why
    stored = tmp_path / "case.json"
    stored.write_text(json.dumps({"part": "rules", "case": small}), encoding="utf-8")
    assert main(["--replay", str(stored)]) == 1


@pytest.mark.slow
def test_the_attack_finds_nothing(tmp_path: Path) -> None:
    minutes = float(os.environ.get("RESHUFFLE_ATTACK_MINUTES", "10"))
    parts = [name for name, part in PARTS.items() if part.missing() is None]
    tallies = attack(parts, seed=int.from_bytes(os.urandom(3), "big"), folder=tmp_path, seconds=60 * minutes)
    failures = [path.read_text("utf-8") for tally in tallies.values() for path in tally.failures]
    assert not failures, "\n".join(failures)
