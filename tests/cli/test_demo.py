"""The tour: every chapter, with learning and without torch."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING

import pytest

from reshuffle.cli.console import Console
from reshuffle.cli.main import main
from reshuffle.cli.verbs import demo
from reshuffle.cli.verbs.demo import SETTINGS
from reshuffle.data import families, finding
from reshuffle.data.families import RULES
from reshuffle.explorer.opening import Wanted, opened

if TYPE_CHECKING:
    from pathlib import Path

FEW = 30  # persons


@pytest.fixture(autouse=True)
def kept_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the tour leaves what it learned; the machine code of kernels stays in the cache that is there."""
    monkeypatch.setattr(finding, "cache_directory", lambda: tmp_path / "datasets")
    return tmp_path / "demo"


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small populations, whose rules are mined in a moment; a slow test takes the whole tour."""
    monkeypatch.setattr(families, "families", partial(families.families, size=FEW))


def demo_data(capsys: pytest.CaptureFixture[str], *options: str) -> dict:
    assert main(["demo", "--json", *options]) == 0
    return json.loads(capsys.readouterr().out)


def assert_a_tour(data: dict) -> None:
    """Of whatever population: all of it follows by the rules, and the model knows more than types."""
    assert data["seconds"] < 120
    assert data["class"] == "mixed"
    assert data["queries_found"] == data["queries"] > 0
    assert data["derived"] > data["queries"]
    assert data["proof"]["triple"][1] == "cousin"
    assert data["update_derived"] > 0
    assert data["protocol"] == "sampled-50"
    assert data["hits@10"] > 0.95
    sampled, full = data["evaluation"]
    assert (sampled["protocol"], full["protocol"]) == ("sampled-50", "full")
    assert sampled["queries"] == full["queries"] == data["queries"]
    assert full["metrics"]["mrr"] > full["type_baseline"]["metrics"]["mrr"] + 0.5
    assert data["rules_total"] == data["rules"] == 28
    assert len(data["rules_read"]) == 30 and data["rules_captured"] > 30
    assert data["list_rules"] == 100 and data["list_mrr"] > 0.9
    parts = data["list_sum"]["parts"]
    assert sum(part["value"] for part in parts) == pytest.approx(data["list_sum"]["score"])
    assert any("rule" in part for part in parts)
    assert data["rules_recovered"] == len({str(rule) for rule in RULES} & set(data["rules_read"]))


def test_a_short_tour_as_data(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(families, "families", partial(families.families, size=2 * FEW))
    data = demo_data(capsys, "--epochs", "2")
    assert_a_tour(data)
    assert data["type_baseline_hits@10"] < 0.7 and data["training"]["epochs"] == 2
    assert data["rules_recovered"] >= 18


@pytest.mark.slow  # half a minute
def test_the_tour_as_data(capsys: pytest.CaptureFixture[str]) -> None:
    data = demo_data(capsys)
    assert_a_tour(data)
    assert data["type_baseline_hits@10"] < 0.6 and data["training"]["epochs"] == SETTINGS["max_epochs"]
    # nine tenths of the rules that made the data are among the first thirty that the model tells
    assert data["rules_recovered"] >= 26


def test_the_tour_reads_as_seven_chapters(
    few: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, kept_in: Path
) -> None:
    monkeypatch.setitem(SETTINGS, "epoch_steps", 5)  # the test above sees what is learned
    assert main(["demo", "--epochs", "1"]) == 0
    text = capsys.readouterr().out
    for chapter in (
        "1. RULES.",
        "2. ANSWERS.",
        "3. REASONS.",
        "4. UPDATES.",
        "5. LEARNING.",
        "6. RULES AGAIN.",
        "7. RULES THAT PREDICT.",
    ):
        assert chapter in text
    assert "parent(X, Y) & brother(Y, Z) -> uncle(X, Z)" in text
    for scorer in ("reshuffle", "type baseline"):
        assert f"sampled-50  {scorer}" in text
        assert f"full        {scorer}" in text
    assert "`reshuffle serve families` opens all of this in a browser" in text
    shown = [(exhibit.key, exhibit.kind) for exhibit in opened(Wanted("families"))]
    assert shown == [("rules", "rules"), ("model", "soft model"), ("list", "rule model")]
    assert (kept_in / "model" / "log.csv").read_text().startswith("epoch,loss,hits@10,mrr,seconds\n1,")


def test_a_tour_without_a_place_to_keep_things_goes_on(
    few: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, kept_in: Path
) -> None:
    monkeypatch.setattr(demo, "_chapters", lambda *_: [demo._rule_list(families.families(0), Console())])
    kept_in.write_text("in the way")
    assert main(["demo"]) == 0
    assert "what was learned is not kept for `reshuffle serve families`" in capsys.readouterr().err
    assert kept_in.read_text() == "in the way"


def test_without_torch_the_rest_is_shown_and_one_message_says_what_to_install(tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "from functools import partial\n"
        "from pathlib import Path\n"
        "from reshuffle.data import families, finding\n"
        f"families.families = partial(families.families, size={FEW})\n"
        f"finding.cache_directory = lambda: Path({str(tmp_path)!r}) / 'datasets'\n"
        "sys.modules['torch'] = None\n"
        "import reshuffle.progress\n"
        "reshuffle.progress.SHORT = float('inf')\n"  # a slow machine would have progress to tell
        "from reshuffle.cli.main import main\n"
        "sys.exit(main(['demo'] + sys.argv[1:]))\n"
    )

    def shown(*options: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", script, *options]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    text = shown()
    assert text.returncode == 0
    assert "4. UPDATES." in text.stdout
    assert "5. LEARNING is left out." in text.stdout
    assert text.stderr == (
        "the chapter on learning is left out: this needs torch, which is not installed\n"
        "  hint: in a checkout of reshuffle: pip install -e '.[learn]'\n"
    )
    data = json.loads(shown("--json", "-q").stdout)
    assert data["queries_found"] == data["queries"]
    assert data["hits@10"] is data["type_baseline_hits@10"] is data["rules_recovered"] is None
    assert data["rules_total"] == 28


def test_no_epochs_are_bad_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["demo", "--epochs", "0"])
    assert caught.value.code == 2
    assert "--epochs: at least one" in capsys.readouterr().err
