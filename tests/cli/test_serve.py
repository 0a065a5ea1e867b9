"""`reshuffle serve` without a name: what there is to serve."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from reshuffle.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_without_a_name_it_lists_what_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["serve"]) == 0
    alone = capsys.readouterr().out
    assert "  reshuffle serve families\n" in alone
    assert "reshuffle train FACTS -o DIR --recipe rules" in alone
    for folder in ("list", "trained", "other"):
        (tmp_path / folder).mkdir()
    (tmp_path / "list" / "model.rules").write_text("")
    (tmp_path / "trained" / "settings.toml").write_text("")
    (tmp_path / "my family.rules").write_text("")
    (tmp_path / "facts.tsv").write_text("")
    assert main(["serve"]) == 0
    told = capsys.readouterr().out
    for command in ("serve list FACTS", "serve trained FACTS", "serve 'my family.rules' FACTS"):
        assert f"  reshuffle {command}\n" in told
    assert "train FACTS" not in told and "other" not in told
    assert main(["serve", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rule models"] == ["list"] and found["models"] == ["trained"]
    assert found["benchmarks"][0] == "families"
