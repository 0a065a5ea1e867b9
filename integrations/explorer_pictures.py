"""Takes the pictures of the explorer for the documentation, and its film.

    python integrations/explorer_pictures.py [--film] [FOLDER]

Needs Chromium, and what `reshuffle demo` left. With `--film` only the film is made, a silent GIF of a minute
(`explorer.gif`). Look at the pictures before you commit them.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from PIL import Image
from playwright.sync_api import expect, sync_playwright

from explorer_serving import served

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Locator, Page

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


def main(place: Path, *, film_only: bool = False) -> None:
    """All pictures, light and dark, and the film."""
    place.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        work = Path(folder)
        (work / "facts.tsv").write_text(FACTS)
        (work / "my.rules").write_text(RULES)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        filmed(browser, work, place / "explorer.gif")
        for scheme in () if film_only else ("light", "dark"):
            with (
                served("my.rules", "facts.tsv", cwd=work) as address,
                visited(browser, address, scheme) as page,
            ):
                why = "/why?head=aspirin&relation=mayAffect&tail=homeostasis"
                taken(page, address, why, place / f"explorer-why-{scheme}.png")
            with served("families", cwd=work) as address, visited(browser, address, scheme) as page:
                _families(page, address, place, scheme)
        browser.close()


# --- the film ---------------------------------------------------------------------------------------------------------

FILM_SIZE = {"width": 1160, "height": 725}
POINTER = """([x, y, words]) => {
  const made = (id) => document.body.appendChild(Object.assign(document.createElement("div"), {id}));
  const box = (id) => document.getElementById(id) || made(id);
  Object.assign(box("film-words").style, {position: "fixed", left: 0, right: 0, bottom: 0, zIndex: 99,
    padding: "12px 24px", font: "600 19px system-ui, sans-serif", color: "#fff", background: "#17353a"});
  box("film-words").textContent = words;
  Object.assign(box("film-pointer").style, {position: "fixed", left: x - 11 + "px", top: y - 11 + "px", width: "22px",
    height: "22px", borderRadius: "99px", zIndex: 99, background: "rgb(180 84 10 / 45%)", border: "2px solid #b4540a",
    pointerEvents: "none", display: x < 0 ? "none" : "block"});
}"""


class Film:
    """Frames, each with how long it is seen: a pointer goes where something is clicked, words say what happens."""

    def __init__(self, page: Page, address: str) -> None:
        self.page, self.base = page, address.split("/?", maxsplit=1)[0]
        self.frames: list[tuple[Image.Image, int]] = []
        self.words = ""

    def frame(self, seconds: float, at: tuple[float, float] = (-100, -100)) -> None:
        """What is seen now, for so long."""
        expect(self.page.locator("p.waiting, .progress")).to_have_count(0, timeout=120_000)
        self.page.evaluate(POINTER, [*at, self.words])
        self.page.wait_for_timeout(150)
        taken = Image.open(BytesIO(self.page.screenshot())).convert("RGB")
        self.frames.append((taken, round(1000 * seconds)))

    def see(self, path: str, words: str, seconds: float) -> None:
        """Another page."""
        self.words = words
        self.page.goto(self.base + path)
        expect(self.page.get_by_role("heading", level=1)).to_be_visible()
        self.frame(seconds)

    def click(self, what: Locator, seconds: float, words: str | None = None) -> None:
        """Go to something, click it, and see what comes of it."""
        self.words = self.words if words is None else words
        what.scroll_into_view_if_needed()
        box = what.bounding_box()
        assert box is not None
        self.frame(0.9, (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2))
        what.click()
        self.page.wait_for_timeout(700)
        self.frame(seconds)

    def press(self, key: str, seconds: float, words: str) -> None:
        """Press a key."""
        self.words = words
        self.page.keyboard.press(key)
        self.page.wait_for_timeout(700)
        self.frame(seconds)

    def save(self, file: Path) -> None:
        """All frames in the same few colours, so that only what changes is written."""
        height = sum(frame.height // 4 for frame, _ in self.frames)
        sheet = Image.new("RGB", (FILM_SIZE["width"] // 4, height))
        for place, (frame, _) in enumerate(self.frames):
            sheet.paste(frame.resize((sheet.width, frame.height // 4)), (0, place * (frame.height // 4)))
        colours = sheet.quantize(128)
        small = [frame.quantize(palette=colours, dither=Image.Dither.NONE) for frame, _ in self.frames]
        lasting = [milliseconds for _, milliseconds in self.frames]
        small[0].save(file, save_all=True, append_images=small[1:], duration=lasting, loop=0, optimize=True)


def filmed(browser: Browser, work: Path, file: Path) -> None:
    """A minute with the built-in families."""
    with served("families", cwd=work) as address:
        context = browser.new_context(viewport=FILM_SIZE, color_scheme="light")  # type: ignore[arg-type]
        page = context.new_page()
        page.goto(address)
        page.goto(address.split("/?", maxsplit=1)[0] + "/queue?of=list")
        expect(page.get_by_role("button", name="Accept").first).to_be_visible(timeout=120_000)
        page.wait_for_timeout(4_000)
        _played(Film(page, address)).save(file)
        context.close()


def _played(film: Film) -> Film:
    page = film.page
    film.see("/queue?of=list", "Links that are probably missing, the most likely first", 4)
    film.press("a", 2.5, "a accepts one: it becomes a fact")
    film.press("r", 2.5, "r rejects one: it is not proposed again")
    film.press("j", 1.5, "j and k move, u takes back")
    film.click(
        page.get_by_role("link", name="why", exact=False).first,
        5,
        "Why? The rules behind it, with their facts",
    )
    person = quote(PERSON)
    film.see(f"/entity?name={person}", "An entity: what follows from rules, facts, and what is around it", 4)
    film.click(page.get_by_role("button", name=": show its neighbours").nth(1), 4.5, "Click a name to go on")
    why = f"/why?head={quote('Albin Applemoor')}&relation=ancestor&tail={person}"
    film.see(why, "A proof: each step is a rule of yours or a fact", 5.5)
    film.see("/rules?search=cousin", "Rules in words, with what is known of each", 3.5)
    reject = page.get_by_role("button", name=f"Reject {COUSIN}")
    film.click(reject, 6, "What would change without this rule?")
    film.click(
        page.locator(".preview").get_by_role("button", name="Reject this rule"), 3, "Keep it, or cancel"
    )
    film.click(page.get_by_role("button", name="Undo").first, 2.5, "Undo: nothing is lost")
    film.see("/rule-graph?focus=parent", "The rules around one relation", 4)
    film.see("/training?of=model", "A training, while it runs", 3)
    page.set_viewport_size({"width": 390, "height": FILM_SIZE["height"]})
    film.see("/queue?of=list", "On a phone, too", 4)
    page.set_viewport_size(FILM_SIZE)  # type: ignore[arg-type]
    film.frames[-1] = (_centred(film.frames[-1][0]), film.frames[-1][1])
    return film


def _centred(narrow: Image.Image) -> Image.Image:
    wide = Image.new("RGB", (FILM_SIZE["width"], FILM_SIZE["height"]), "#17353a")
    wide.paste(narrow, ((wide.width - narrow.width) // 2, 0))
    return wide


def _families(page: Page, address: str, place: Path, scheme: str) -> None:
    pages = {
        "overview": "/overview?of=list",
        "queue": "/queue?of=list",
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
    folders = [Path(word) for word in sys.argv[1:] if word != "--film"]
    main(folders[0] if folders else PLACE, film_only="--film" in sys.argv)
