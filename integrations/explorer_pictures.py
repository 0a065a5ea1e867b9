"""Takes the pictures of the explorer for the documentation: `python integrations/explorer_pictures.py [FOLDER]`.

Needs Chromium, and what `reshuffle demo` left. Look at the pictures before you commit them.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from PIL import Image
from playwright.sync_api import expect, sync_playwright

from explorer_serving import served

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).parents[1]
PLACE = ROOT / "docs" / "pictures"
SIZE = {"width": 1180, "height": 800}
FACTS = """\
aspirin\tinhibits\tCOX-1
COX-1\tproduces\tthromboxane
thromboxane\tpromotes\tclotting
clotting\tpartOf\themostasis
hemostasis\tpartOf\thomeostasis
"""
RULES = """\
partOf(X, Y) & partOf(Y, Z)      -> partOf(X, Z)
inhibits(X, Y) & produces(Y, Z)  -> lowers(X, Z)
lowers(X, Y) & promotes(Y, Z)    -> mayImpair(X, Z)
mayImpair(X, Y) & partOf(Y, Z)   -> mayAffect(X, Z)
"""
PERSON = "Casper Northwillow"
COUSIN = "uncle(X, Y) & child(Y, Z) -> cousin(X, Z)"


@contextmanager
def visited(browser: Browser, address: str, scheme: str) -> Iterator[Page]:
    """A page that is let in."""
    context = browser.new_context(viewport=SIZE, color_scheme=scheme)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(address)
    expect(page.locator("main .card, main .queue li").first).to_be_visible(timeout=60_000)
    yield page
    context.close()


def taken(page: Page, address: str, path: str, file: Path) -> None:
    """The picture of a page, in few colours: half the bytes, and nobody sees it."""
    if path:
        page.goto(address.split("/?", maxsplit=1)[0] + path)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.locator("p.waiting, .progress")).to_have_count(0, timeout=120_000)
    page.wait_for_timeout(300)
    page.screenshot(path=file)
    with Image.open(file) as picture:
        picture.convert("RGB").quantize(96, dither=Image.Dither.NONE).save(file, optimize=True)


def main(place: Path) -> None:
    """All pictures, light and dark."""
    place.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        work = Path(folder)
        (work / "facts.tsv").write_text(FACTS)
        (work / "my.rules").write_text(RULES)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for scheme in ("light", "dark"):
            with (
                served("my.rules", "facts.tsv", cwd=work) as address,
                visited(browser, address, scheme) as page,
            ):
                why = "/why?head=aspirin&relation=mayAffect&tail=homeostasis"
                taken(page, address, why, place / f"explorer-why-{scheme}.png")
            with served("families", cwd=work) as address, visited(browser, address, scheme) as page:
                _families(page, address, place, scheme)
        browser.close()


def _families(page: Page, address: str, place: Path, scheme: str) -> None:
    pages = {
        "start": "/",
        "entity": f"/entity?name={quote(PERSON)}",
        "predicted": f"/entity?of=model&name={quote(PERSON)}",
        "sum": f"/why?of=list&head={quote('Albin Applemoor')}&relation=ancestor&tail={quote(PERSON)}",
        "model": f"/why?of=model&head={quote('Albin Applemoor')}&relation=ancestor&tail={quote(PERSON)}",
        "rule": f"/rule?rule={quote(COUSIN)}",
        "graph": f"/rule-graph?focus=cousin&rule={quote(COUSIN)}",
        "slots": f"/rule-graph?slots=true&rule={quote(COUSIN)}",
        "training": "/training?of=model",
    }
    for name, path in pages.items():
        taken(page, address, path, place / f"explorer-{name}-{scheme}.png")
    base = address.split("/?", maxsplit=1)[0]
    page.goto(f"{base}/rules?search=cousin")
    page.get_by_role("button", name=f"Reject {COUSIN}").click()
    expect(page.locator(".preview .held")).to_be_visible(timeout=60_000)
    taken(page, address, "", place / f"explorer-rules-{scheme}.png")
    page.locator(".preview").get_by_role("button", name="Reject this rule").click()
    expect(page.locator(".changes-note")).to_contain_text("1 change")
    page.goto(f"{base}/entity?name={quote(PERSON)}")
    page.locator(".strike").first.click()
    expect(page.locator(".changes-note")).to_contain_text("2 changes")
    taken(page, address, "/what-if", place / f"explorer-what-if-{scheme}.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else PLACE)
