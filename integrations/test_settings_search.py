"""The script of docs/how-to/train.md that searches for settings, on a small benchmark and with one short training."""

from __future__ import annotations

from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "train.md"


def test_the_script_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    optuna = pytest.importorskip("optuna")
    script = PAGE.read_text(encoding="utf-8").partition("## Search for settings")[2].split("```")[1]
    for written, small in {
        '"WN18RR-v1").train': '"families").train',
        'recipe="paper", **values': 'recipe="paper", **values, max_epochs=1, num_negatives=1, device="cpu"',
        "n_trials=20": "n_trials=1",
    }.items():
        assert written in script
        script = script.replace(written, small)
    monkeypatch.chdir(tmp_path)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    found: dict[str, object] = {}
    exec(script, found)
    assert 0 <= found["study"].best_value <= 1  # type: ignore[attr-defined]
    assert (tmp_path / "search.db").exists()
