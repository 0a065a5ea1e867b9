"""Pictures by matplotlib, and pages as a browser shows them."""

from __future__ import annotations

import shutil
import struct
from typing import TYPE_CHECKING, Any

import pytest

import reshuffle as rs
from reshuffle.cli.main import main
from reshuffle.evaluation import RuleBaseline
from reshuffle.learning.training.history import Epoch, Glance, History
from reshuffle.rules import PathRule, Quality, RuleBase

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HOSTILE = "<img src=x onerror=alert(1)> $a$"
RULES = [PathRule((HOSTILE, "r"), "s", Quality(10, 8, 0.8)), PathRule(("r",), "t", Quality(4, 1, 0.25))]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pictures")
    rs.KnowledgeGraph([("a", HOSTILE, "b"), ("b", "r", HOSTILE), ("x", "s", "y")]).write(folder / "facts.csv")
    rs.KnowledgeGraph([("a", "s", HOSTILE)]).write(folder / "queries.csv")
    (folder / "mine.rules").write_text("\n".join(map(str, RULES)) + "\n", encoding="utf-8")
    learn = ["train", str(folder / "facts.csv"), "-o", str(folder / "list"), "--recipe", "rules", "-q"]
    assert main([*learn, "--set", "steps=2", "--rules", str(folder / "mine.rules")]) == 0
    return folder


def size_of(path: Path) -> tuple[int, int]:
    """The width and height that a PNG file says."""
    content = path.read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", content[16:24])
    return width, height


def test_plots(tmp_path: Path) -> None:
    facts = rs.KnowledgeGraph(
        [("ada", HOSTILE, "uk"), ("bob", HOSTILE, "italy"), ("eve", "livesIn", "italy")]
    )
    rules = RuleBase((PathRule((HOSTILE,), "livesIn", Quality(10, 8, 0.8)),))
    asked = [("ada", "livesIn", "uk"), ("eve", HOSTILE, "italy")]
    report = rs.evaluate(RuleBaseline(rules).on(facts), asked, protocol="full")
    report.plot().savefig(tmp_path / "report.png")
    history = History([Epoch(n, 1 / n, n / 10 if n % 2 else None, None) for n in range(1, 9)], 7)
    history.glances.append(Glance(step=40, mrr=0.1, hits_at_10=0.3, mrr_error=0.1, hits_error=0.1))
    history.plot().savefig(tmp_path / "history.png")
    for name in ("report.png", "history.png"):
        assert min(size_of(tmp_path / name)) > 200


# --- in a browser --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("Chromium is not installed (Debian: apt-get install chromium)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(params=["light", "dark"])
def page(browser: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    """A page that must stay quiet: no message, no dialogue, no request but for its own file."""
    shown = browser.new_page(color_scheme=request.param)
    heard: list[str] = []
    shown.on("console", lambda message: heard.append(message.text))
    shown.on("pageerror", lambda error: heard.append(str(error)))
    shown.on("dialog", lambda dialog: heard.append(dialog.message))
    shown.on("request", lambda asked: None if asked.url.startswith("file:") else heard.append(asked.url))
    yield shown
    shown.close()
    assert not heard


def shot(page: Any, path: Path) -> None:
    page.goto(path.as_uri())
    page.screenshot(path=path.with_suffix(".png"), full_page=True)
    assert min(size_of(path.with_suffix(".png"))) > 200


def test_pages_are_quiet_and_show_hostile_names_as_text(world: Path, tmp_path: Path, page: Any) -> None:
    rules, model, facts = str(world / "mine.rules"), str(world / "list"), str(world / "facts.csv")
    data = ["--facts", facts, "--queries", str(world / "queries.csv"), "--protocol", "full"]
    commands = {
        "proof": ["explain", rules, facts, "a", "s", HOSTILE],
        "predictions": ["predict", model, facts, "--head", "a", "--relation", "s"],
        "rules": ["rules", model],
        "report": ["evaluate", model, *data],
    }
    for name, command in commands.items():
        path = tmp_path / f"{name}.html"
        assert main([*command, "-o", str(path), "-q"]) == 0
        shot(page, path)
        assert page.locator("img").count() == 0
        assert name == "report" or HOSTILE.split("$", maxsplit=1)[0] in page.inner_text("body")


def test_a_table_is_sorted_by_a_click(world: Path, tmp_path: Path, page: Any) -> None:
    path = tmp_path / "rules.html"
    assert main(["rules", str(world / "list"), "-o", str(path)]) == 0
    page.goto(path.as_uri())
    head = page.locator("table.sortable th", has_text="weight").first

    def weights() -> list[float]:
        cells = page.locator("table.sortable tbody tr td:first-child").all()
        return [float(cell.get_attribute("data-value")) for cell in cells]

    before = weights()
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "descending" and weights() == sorted(before, reverse=True)
    head.locator("button").press("Enter")  # by the keyboard
    assert head.get_attribute("aria-sort") == "ascending" and weights() == sorted(before)
