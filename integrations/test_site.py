"""The documentation as a site, built as `make docs` builds it."""

from __future__ import annotations

import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import pytest
from PIL import Image, ImageSequence
from playwright.sync_api import sync_playwright
from sphinx.util.inventory import InventoryFile

import reshuffle
from reshuffle.cli.main import VERBS

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]


def command(target: Path) -> list[str]:
    """The command of `make docs`, with this Python and another place for the pages."""
    rule = re.search(r"^docs: .*\n\t\S+/python (.*) build/site$", (ROOT / "Makefile").read_text(), flags=re.M)
    assert rule is not None
    return [sys.executable, *shlex.split(rule[1]), str(target)]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        command(target), cwd=ROOT, env=without_network(), capture_output=True, text=True, check=False
    )
    assert built.stderr == ""
    assert built.returncode == 0
    return target / reshuffle.__version__


def without_network() -> dict[str, str]:
    """Every request would go to a port where nobody answers."""
    return {**os.environ, "HTTPS_PROXY": "http://127.0.0.1:9", "HTTP_PROXY": "http://127.0.0.1:9"}


def test_every_version_is_named_and_the_newest_comes_first(site: Path) -> None:
    above = site.parent
    assert f"url={reshuffle.__version__}/" in (above / "index.html").read_text()
    assert json.dumps([reshuffle.__version__]) in (above / "versions.js").read_text()
    versions = runpy.run_path(str(ROOT / "docs" / "site" / "versions.py"))
    for name in ("0.9.0", "0.10.0"):
        (above / name).mkdir()
        (above / name / "objects.inv").touch()
    assert versions["built"](above)[:2] == ["0.10.0", "0.9.0"]
    for name in ("0.9.0", "0.10.0"):
        (above / name / "objects.inv").unlink()


def test_the_film_lasts_a_minute_and_is_small() -> None:
    file = ROOT / "docs" / "pictures" / "explorer.gif"
    assert file.stat().st_size < 3_000_000
    with Image.open(file) as film:
        seconds = sum(frame.info["duration"] for frame in ImageSequence.Iterator(film)) / 1000
    assert 55 <= seconds <= 65


def pages(site: Path) -> list[Path]:
    return sorted(site.rglob("*.html"))


def test_every_page_of_the_documentation_is_there(site: Path) -> None:
    for source in (ROOT / "docs").rglob("*.md"):
        place = source.relative_to(ROOT / "docs")
        if place.as_posix() != "README.md":
            assert (site / place).with_suffix(".html").exists(), place


def test_every_public_name_is_documented(site: Path) -> None:
    inventory = InventoryFile.loads((site / "objects.inv").read_bytes(), uri="")
    known = {name for kind, entries in inventory.data.items() if kind.startswith("py:") for name in entries}
    assert {f"reshuffle.{name}" for name in reshuffle.__all__ if name != "__version__"} <= known


def test_every_command_is_there_with_its_options(site: Path) -> None:
    text = (site / "reference" / "options.html").read_text(encoding="utf-8")
    for verb in VERBS:
        assert f'id="reshuffle-{verb}' in text, verb
    assert "--engine" in text


def test_no_link_or_picture_leads_nowhere(site: Path) -> None:
    ids = {page: set(re.findall(r'\bid="([^"]+)"', page.read_text(encoding="utf-8"))) for page in pages(site)}
    for page in pages(site):
        for address in re.findall(r'(?:href|src)="([^"]+)"', page.read_text(encoding="utf-8")):
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            assert target.exists(), (page.name, address)
            if parts.fragment and target in ids:
                assert unquote(parts.fragment) in ids[target], (page.name, address)


def test_pages_load_nothing_from_other_hosts(site: Path) -> None:
    loading = re.compile(
        r'<(?:script|img|iframe)[^>]*\bsrc="(?:https?:)?//|<link[^>]*\bhref="(?:https?:)?//|@import'
    )
    for page in pages(site):
        assert not loading.search(page.read_text(encoding="utf-8")), page


class Quiet(SimpleHTTPRequestHandler):
    """Serves files, and tells nobody."""

    def log_message(self, *told: object) -> None:
        pass


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """The site on a port of this machine: from files, a browser lets the search read no pages."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site.parent))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/{reshuffle.__version__}/"
        server.shutdown()


PLACES = (
    "index.html",
    "first-steps.html",
    "how-to/explore.html",
    "how-to/rule-models.html",
    "explanation/results.html",
    "explanation/accuracy.html",
    "reference/api/graphs.html",
    "notebooks/ontology.html",
)
# Tables whose last columns are out of sight.
CLIPPED = """[...document.querySelectorAll("article table")]
    .filter((table) => table.scrollWidth > table.clientWidth + 1).map((table) => table.innerText.slice(0, 60))"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_browser_shows_it_without_errors(address: str, scheme: str) -> None:
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("there is no Chromium: apt-get install chromium")
    errors: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(color_scheme=scheme)
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.on(
            "request",
            lambda request: errors.append(request.url) if is_elsewhere(request.url, address) else None,
        )
        for width in (390, 1440):
            page.set_viewport_size({"width": width, "height": 900})
            for place in PLACES:
                page.goto(address + place)
                assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (width, place)
                assert width < 1440 or page.evaluate(CLIPPED) == [], place
        page.goto(address + "how-to/rule-models.html")
        assert page.locator("math munder").count() > 0
        assert page.locator(".versions a[aria-current]").inner_text() == reshuffle.__version__
        page.goto(address + "search.html?q=KnowledgeGraph", wait_until="networkidle")
        page.wait_for_selector("#search-results li a")
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        browser.close()
    assert errors == []
    assert (sum(map(int, re.findall(r"\d+", ground)[:3])) > 384) == (scheme == "light")


def is_elsewhere(url: str, address: str) -> bool:
    """Another host; the list of versions stands above them."""
    return not url.startswith("data:") and urlsplit(url).netloc != urlsplit(address).netloc
