"""The explorer as a person uses it, in Chromium: search, look, ask why, change, undo, save, by mouse and by key."""

from __future__ import annotations

import json
import re
import shutil
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from explorer_serving import served
from reshuffle import Reshuffle, RuleModel, load_benchmark, parse_rules
from reshuffle.rulelist import save_rule_model

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium: apt-get install chromium")

expect.set_options(timeout=30_000)  # the machine may have much else to do
ROOT = Path(__file__).parents[1]
AXE = (ROOT / "integrations" / "vendor" / "axe.js").read_text(encoding="utf-8")
HOSTILE = "<img src=x onerror=alert(1)>"
BORN = "bornIn(X, Y) & cityIn(Y, Z) -> citizenOf(X, Z)"
SPEAKS = "citizenOf(X, Y) & hasLanguage(Y, Z) -> speaks(X, Z)"
FACTS = f"""\
ada\tbornIn\tlondon
london\tcityIn\tuk
uk\thasLanguage\tenglish
bob\tbornIn\tparis
france\thasLanguage\tfrench
{HOSTILE}\tbornIn\tlondon
"""
VIEWS = {
    "start": "/",
    "entity": "/entity?name=ada",
    "hostile": f"/entity?name={quote(HOSTILE)}",
    "why": "/why?head=ada&relation=speaks&tail=english",
    "why not": "/why?head=bob&relation=citizenOf&tail=france",
    "rules": "/rules",
    "rule": f"/rule?rule={quote(BORN)}",
    "what if": "/what-if",
    "graph of rules": f"/rule-graph?rule={quote(SPEAKS)}",
    "slots": "/rule-graph?slots=true",
    "training": "/training",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("explored")
    (made / "facts.tsv").write_text(FACTS)
    (made / "my.rules").write_text(f"{BORN}\n{SPEAKS}\n")
    (made / "held.tsv").write_text("ada\tspeaks\tenglish\n")
    (made / "labels.tsv").write_text("uk\tUnited Kingdom\n")
    return made


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    options = ["my.rules", "facts.tsv", "--labels", "labels.tsv", "--held-out", "held.tsv"]
    with served(*options, cwd=folder) as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield launched
        launched.close()


class Visit:
    """A page with all that it complained about and asked others for."""

    def __init__(self, browser: Browser, address: str, **options: Any) -> None:
        self.context = browser.new_context(viewport={"width": 1280, "height": 900}, **options)
        self.page = self.context.new_page()
        self.base = address.split("/?", maxsplit=1)[0]
        self.complaints: list[str] = []
        self.elsewhere: list[str] = []
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: self.complaints.append(f"dialog: {dialog.message}"))
        self.page.on("request", self._request)
        self.page.goto(address)
        self.page.set_default_timeout(30_000)
        expect(self.page.get_by_role("heading", level=1)).to_be_visible(timeout=60_000)
        expect(self.page.locator("main .card, main .queue li").first).to_be_visible(timeout=60_000)

    def _console(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def _request(self, request: Any) -> None:
        if not request.url.startswith((self.base, "data:")):
            self.elsewhere.append(request.url)

    def see(self, path: str) -> Page:
        self.page.goto(self.base + path)
        expect(self.page.get_by_role("heading", level=1)).to_be_visible()
        expect(self.page.locator("p.waiting, .progress")).to_have_count(0, timeout=60_000)
        return self.page


@pytest.fixture
def visit(browser: Browser, address: str) -> Iterator[Visit]:
    made = Visit(browser, address)
    yield made
    made.context.close()
    assert made.complaints == []
    assert made.elsewhere == []


def test_a_visit(visit: Visit, folder: Path) -> None:
    page = visit.page
    assert "token" not in page.url
    # Search as one types, by the keyboard alone.
    page.keyboard.press("/")
    page.keyboard.type("ad")
    expect(page.get_by_role("option", name="ada")).to_be_visible()
    expect(page.get_by_role("option")).to_have_count(1)  # not the list of fewer letters any more
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1, name="ada")).to_be_visible()
    assert page.url.endswith("/entity?name=ada")
    expect(page.locator(".groups.derived")).to_contain_text("english")
    expect(page.locator(".groups.derived")).to_contain_text("United Kingdom")  # its label
    # A proof.
    page.get_by_role("link", name="why: ada speaks english").click()
    expect(page.locator(".verdict")).to_contain_text("It follows.")
    assert page.locator("svg .node.fact").count() == 3
    assert page.locator("svg .node.derived").count() == 2
    reload_at = page.url
    # Reject a rule: what it does is seen before it is kept, and then the answer is gone.
    page.get_by_role("link", name="Rules", exact=True).click()
    page.get_by_role("button", name=f"Reject {BORN}").click()
    preview = page.locator(".preview")
    expect(preview.locator(".changed.minus")).to_contain_text("ada")
    expect(preview.locator(".held")).to_contain_text("1 of 1 held-out fact found before, 0 now")
    preview.get_by_role("button", name="Reject this rule").click()
    expect(page.locator(".changes-note")).to_contain_text("1 change")
    expect(page.locator("tr.status-rejected")).to_have_count(1)
    page.goto(reload_at)
    expect(page.locator(".verdict")).to_contain_text("It does not follow.")
    # Undo, and it is back.
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".verdict")).to_contain_text("It follows.")
    # Why not: the fact that is missing, added, makes an answer appear.
    page = visit.see(VIEWS["why not"])
    expect(page.locator(".verdict")).to_contain_text("It does not follow.")
    page.get_by_role("button", name="Add this fact").first.click()
    expect(page.locator(".preview .changed.plus")).to_contain_text("french")
    page.locator(".preview").get_by_role("button", name="Add this fact").click()
    expect(page.locator(".verdict")).to_contain_text("It follows.")
    # Save it under a new name; what was read stays as it was.
    page.get_by_role("link", name="What if", exact=True).click()
    expect(page.locator(".changes")).to_contain_text("added the fact")
    page.get_by_label("what", exact=True).select_option("facts")
    page.get_by_label("name", exact=True).fill("mine.tsv")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".done")).to_contain_text("Saved as mine.tsv: 7 facts.")
    assert "paris\tcityIn\tfrance\n" in (folder / "mine.tsv").read_text()
    assert (folder / "facts.tsv").read_text() == FACTS
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".failure")).to_contain_text("there is a file 'mine.tsv' already")
    visit.complaints.clear()  # Chromium tells of the answer with status 400
    page.get_by_role("button", name="Undo all changes").click()
    expect(page.locator(".changes-note")).not_to_contain_text("change")


def test_rules_are_edited_added_and_accepted(visit: Visit) -> None:
    page = visit.see("/rules")
    page.get_by_label("Add a rule").fill("bornIn(X, Y) -> livesIn(X, Y)")
    page.get_by_role("button", name="See what it does").click()
    expect(page.locator(".preview .changed.plus h3")).to_contain_text("3")
    page.get_by_role("button", name="Add this rule").click()
    expect(page.locator("tr.status-added")).to_have_count(1)
    page.get_by_role("button", name=f"Accept {SPEAKS}").click()
    expect(page.locator("tr.status-accepted")).to_have_count(1)
    page.get_by_role("button", name=f"Edit {SPEAKS}").click()
    page.get_by_label("Edit the rule").fill("citizenOf(X, Y) & hasLanguage(Y, Z) -> understands(X, Z)")
    page.locator("tr.inner").get_by_role("button", name="See what it does").click()
    expect(page.locator(".preview .changed.minus")).to_contain_text("speaks")
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator(".preview")).to_have_count(0)
    page.get_by_label("Add a rule").fill("nonsense(")
    page.get_by_role("button", name="See what it does").click()
    expect(page.locator(".preview .failure")).to_be_visible()
    visit.complaints.clear()  # Chromium tells of the answer with status 400
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name=f"Show examples of {BORN}").click()
    expect(page.locator("tr.inner")).to_contain_text("Counter-examples")


def test_a_hostile_name_is_text_everywhere(visit: Visit) -> None:
    page = visit.see(VIEWS["hostile"])
    expect(page.get_by_role("heading", level=1)).to_have_text(HOSTILE)
    assert page.locator("img:not(.brand img)").count() == 0
    page.get_by_role("link", name=f"why: {HOSTILE} speaks english").click()
    expect(page.locator(".verdict")).to_contain_text(HOSTILE)
    assert page.locator("main img").count() == 0
    page.get_by_text("As text").click()
    expect(page.locator("pre")).to_contain_text(HOSTILE)


def test_the_neighbourhood_grows_by_click_and_by_key(visit: Visit) -> None:
    page = visit.see("/entity?name=ada")
    page.locator(".branches .node").first.wait_for()
    before = page.locator(".branches .node").count()
    page.get_by_role("button", name="london: show its neighbours").press("Enter")
    expect(page.get_by_role("button", name=f"{HOSTILE}: show its neighbours")).to_be_visible()
    assert page.locator(".branches .node").count() > before
    page.get_by_role("button", name="london: go there").click()
    expect(page.get_by_role("heading", level=1, name="london")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", level=1, name="ada")).to_be_visible()


def test_what_is_on_the_screen_is_downloaded(visit: Visit) -> None:
    page = visit.see(VIEWS["why"])
    with page.expect_download() as svg:
        page.get_by_role("button", name="SVG").click()
    assert svg.value.suggested_filename == "why.svg"
    drawn = Path(svg.value.path()).read_text()
    assert drawn.startswith("<svg") and "ada" in drawn and "var(" not in drawn
    with page.expect_download() as table:
        page.get_by_role("link", name="CSV").click()
    assert Path(table.value.path()).read_text().startswith("proof,kind,head,relation,tail,rule\n")
    page = visit.see("/rules")
    with page.expect_download() as rules:
        page.get_by_role("link", name="rule file").click()
    assert Path(rules.value.path()).read_text() == f"{BORN}\n{SPEAKS}\n"


def test_every_view_has_its_data_at_the_same_address(visit: Visit) -> None:
    for path in VIEWS.values():
        page = visit.see(path)
        twin = page.get_by_role("link", name="JSON").get_attribute("href")
        assert twin is not None
        answer = page.request.get(visit.base + twin)
        assert answer.ok and isinstance(answer.json(), dict), twin


def test_somebody_without_the_token_sees_nothing(browser: Browser, address: str, visit: Visit) -> None:
    stranger = browser.new_context()
    page = stranger.new_page()
    answer = page.goto(visit.base + "/entity?name=ada")
    assert answer is not None and answer.status == 401
    assert "ada" not in page.content().replace("address", "")
    stranger.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(browser: Browser, address: str, scheme: Any) -> None:
    visit = Visit(browser, address, color_scheme=scheme, bypass_csp=True)
    for name, path in VIEWS.items():
        page = visit.see(path)
        if name == "rules":
            page.get_by_role("button", name=f"Show examples of {BORN}").click()
            page.get_by_role("button", name=f"Reject {BORN}").click()
            expect(page.locator(".preview .held")).to_be_visible()
        told = serious_in(page)
        assert not told, (name, json.dumps(told, indent=1))
    visit.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_no_page_is_wider_than_the_window(browser: Browser, address: str, scheme: Any, width: int) -> None:
    visit = Visit(browser, address, color_scheme=scheme)
    visit.page.set_viewport_size({"width": width, "height": 844})
    for name, path in VIEWS.items():
        page = visit.see(path)
        if name == "rules":
            page.get_by_role("button", name=f"Show examples of {BORN}").click()
            page.get_by_role("button", name=f"Edit {BORN}").click()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
    assert visit.complaints == []
    visit.context.close()


ONTOLOGY = """\
@prefix ex: <http://example.org/animals#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:Koala a owl:Class ; rdfs:subClassOf ex:Marsupial ; rdfs:label "Koala bear" .
ex:Marsupial a owl:Class ; rdfs:subClassOf ex:AnimalWithAVeryLongNameThatNoPhoneHasRoomForInOneLine .
ex:eats a owl:ObjectProperty ; rdfs:domain ex:Marsupial ; rdfs:subPropertyOf ex:needs .
ex:kim a ex:Koala ; ex:eats ex:eucalyptus .
"""
SUBJECTS = {
    "list": (["list", "families.tsv"], "{first}"),
    "soft model": (["soft", "families.tsv"], "{first}"),
    "ontology": (["animals.ttl"], "http://example.org/animals#kim"),
}


@pytest.fixture(scope="module")
def subjects(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder with a rule list, a soft model and an ontology; and an entity of the first two."""
    made = tmp_path_factory.mktemp("subjects")
    facts = load_benchmark("families").train.facts
    (made / "families.tsv").write_text("".join("\t".join(fact) + "\n" for fact in facts))
    (made / "animals.ttl").write_text(ONTOLOGY)
    rules = "uncle(X, Y) & child(Y, Z) -> cousin(X, Z)\nparent(X, Y) & parent(Y, Z) -> grandparent(X, Z)"
    save_rule_model(RuleModel.from_rules(parse_rules(rules)), made / "list")
    soft = Reshuffle(num_slots=8, num_layers=2, rules_weight=0, max_epochs=1, epoch_steps=3)
    soft.fit(facts).save(made / "soft")
    return made, next(iter(facts)).head


@pytest.mark.parametrize("kind", SUBJECTS)
def test_every_page_of_every_subject_fits_and_is_accessible(
    browser: Browser, subjects: tuple[Path, str], kind: str
) -> None:
    options, named = SUBJECTS[kind]
    folder, first = subjects
    entity = quote(named.format(first=first))
    paths = [
        "/",
        "/queue",
        "/overview",
        "/classes",
        "/rules",
        "/what-if",
        "/rule-graph",
        "/training",
        f"/entity?name={entity}",
    ]
    if kind == "ontology":
        paths.append(f"/classes?name={quote('http://example.org/animals#Marsupial')}")
    with served(*options, cwd=folder) as address:
        base = address.split("/?", maxsplit=1)[0]
        for width, scheme in product((390, 1440), ("light", "dark")):
            context = browser.new_context(
                viewport={"width": width, "height": 844},
                color_scheme=scheme,  # type: ignore[arg-type]
                bypass_csp=True,
            )
            page, complaints = context.new_page(), list[str]()
            page.on("pageerror", lambda error, told=complaints: told.append(str(error)))
            page.goto(address)
            for path in paths:
                page.goto(base + path)
                expect(page.get_by_role("heading", level=1)).to_be_visible(timeout=60_000)
                expect(page.locator("p.waiting")).to_have_count(0, timeout=60_000)
                assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (width, path)
                assert serious_in(page) == [], (width, scheme, path)
            assert complaints == []
            context.close()


def test_the_tree_of_classes_unfolds(browser: Browser, subjects: tuple[Path, str]) -> None:
    with served("animals.ttl", cwd=subjects[0]) as address:
        context = browser.new_context()
        page = context.new_page()
        page.goto(address)
        page.get_by_role("link", name="Classes", exact=True).click()
        page.get_by_role("button", name="Show the classes below ex:AnimalWithAVery").click()
        page.get_by_role("button", name="Show the classes below ex:Marsupial").click()
        page.get_by_role("link", name="Koala bear").click()
        expect(page.get_by_role("heading", level=1, name="Koala bear")).to_be_visible()
        expect(page.get_by_role("heading", name="Members 1")).to_be_visible()
        page.locator("a.node", has_text="ex:Marsupial").click()  # in the picture; axioms name it, too
        expect(page.locator(".card", has_text="Properties")).to_contain_text("eats")
        context.close()


def serious_in(page: Page) -> list[Any]:
    """What axe finds that is serious."""
    page.evaluate(AXE)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    return [
        (one["id"], [node["html"][:150] for node in one["nodes"][:3]])
        for one in found
        if one["impact"] in ("serious", "critical")
    ]


def test_tabs_without_content_are_not_shown(visit: Visit) -> None:
    expect(visit.page.get_by_role("link", name="Rules", exact=True)).to_be_visible()
    expect(visit.page.get_by_role("link", name="Training", exact=True)).to_have_count(0)


def test_the_focus_goes_where_one_expects(visit: Visit) -> None:
    page = visit.see("/")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    search = page.get_by_role("combobox", name="Search entities, relations and rules", exact=True)
    expect(search).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Overview", exact=True)).to_be_focused()


def test_names_are_short_where_one_reads(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "facts.ttl").write_text(
        "@prefix ex: <http://example.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        'ex:ann ex:parent ex:bob . ex:bob ex:parent ex:cleo ; rdfs:label "Bob the Second" .\n'
    )
    (tmp_path / "my.rules").write_text(
        "@prefix ex: <http://example.org/> .\nex:parent(X, Y) & ex:parent(Y, Z) -> ex:grandparent(X, Z)\n"
    )
    with served("my.rules", "facts.ttl", cwd=tmp_path) as address:
        visit = Visit(browser, address)
        page = visit.page
        page.locator("main .name", has_text="Bob the Second").first.wait_for()  # of two relations
        asked = "/why?head=ex:ann&relation=ex:grandparent&tail=ex:cleo"
        for path in (
            "/",
            "/entity?name=http://example.org/ann",
            asked,
            "/rules",
            "/rule-graph",
            "/rule-graph?slots=true",
        ):
            page.goto(visit.base + path)
            named = page.get_by_text("ex:grandparent" if path != "/" else "ex:ann")
            named.filter(visible=True).first.wait_for()  # others are folded away
            # What one types, and the address that an entity's page names, are in full.
            shown = page.evaluate("document.querySelector('main').innerText.replace(/^http\\S+$/gm, '')")
            assert "example.org" not in shown, path
        page.goto(visit.base + "/rules")
        assert "http://example.org/parent" in page.locator(".rule").first.get_attribute("title")
        assert visit.complaints == []
        visit.context.close()


LONG_NAMES = {
    "/film/film/country": "film country",
    "/music/artist/country": "artist country",
    "/people/person/nationality": "nationality",
    "/tv/tv_program/regular_cast./tv/regular_tv_appearance/actor": "regular cast actor",
    "/film/film/cast./film/performance/actor": "film cast actor",
    "/book/book/cast./book/performance/actor": "book cast actor",
    "/film/film/release_date_s": "release dates",
    "nationality of": "nationality of",
    "plain": "plain",
}
RULES_IN_WORDS = {
    BORN: "X bornIn Y, Y cityIn Z → X citizenOf Z",
    "citizenOf^-1(X, Y) -> home(Y, X)": "Y citizenOf X → Y home X",
    'is(X, "a \\"b\\" (c)") -> is(X, "d, e")': 'X is a "b" (c) → X is d, e',
    '-> lives("ada", "london")': "→ ada lives london",
    "cat(X, Y) & dog(X, Y) -> false": "X cat Y, X dog Y → never",
    "no rule at all": "no rule at all",
}


def test_the_page_why_offers_an_example(visit: Visit) -> None:
    page = visit.see("/why")
    page.get_by_role("link", name=re.compile("^Why .* .* .*\\?$")).click()
    expect(page.locator(".verdict")).to_contain_text("It follows.")


def test_long_names_and_rules_are_read_in_words(visit: Visit) -> None:
    called = "([module, name, given]) => import(module).then((found) => found[name](given))"
    names = visit.page.evaluate(
        "(given) => import('/static/names.js').then((found) => Object.fromEntries(found.endingsOf(given)))",
        list(LONG_NAMES),
    )
    assert names == {name: short for name, short in LONG_NAMES.items() if "/" in name}
    for rule, words in RULES_IN_WORDS.items():
        told = visit.page.evaluate(called, ["/static/names.js", "ruleInWords", rule])
        assert told == words


_LAYOUTS = """async () => {
  const { place } = await import("/static/drawing.js");
  let seed = 7;
  const below = (most) => { seed = (seed * 48271) % 2147483647; return seed % most; };
  const failed = [];
  for (let round = 0; round < 600; round += 1) {
    const count = 1 + below(6);
    const nodes = [...Array(count).keys()].map((id) => ({ id, lines: ["n" + id] }));
    const edges = [...Array(1 + below(16)).keys()].map((number) => (
      { from: below(count), to: below(count), number, label: round % 3 ? undefined : "e" + number }));
    try {
      const drawn = place(nodes, edges, round % 2 ? "LR" : "BT");
      const whole = (point) => Number.isFinite(point.x) && Number.isFinite(point.y);
      const good = drawn.nodes.length === count && drawn.nodes.every(whole) && Number.isFinite(drawn.width)
        && drawn.edges.every((edge, number) => edge.number === number && edge.points.length > 1
          && edge.points.every(whole) && (!edge.label || whole(edge)));
      if (!good) failed.push(edges);
    } catch (error) { failed.push([String(error), edges]); }
  }
  return failed.slice(0, 3);
}"""


def test_wide_proofs_are_drawn_as_an_outline(browser: Browser, tmp_path: Path) -> None:
    """A proof that is too wide to be read at 1,280 px grows downwards, and nothing is scrolled sideways."""
    atoms = [f"relation_of_the_number_{n}(X{n}, X{n + 1})" for n in range(8)]
    (tmp_path / "my.rules").write_text(f"{' & '.join(atoms)} -> reaches(X0, X8)\n")
    (tmp_path / "facts.tsv").write_text(
        "".join(f"somebody {n}\trelation_of_the_number_{n}\tsomebody {n + 1}\n" for n in range(8))
    )
    with served("my.rules", "facts.tsv", cwd=tmp_path) as address:
        visit = Visit(browser, address)
        page = visit.see("/why?head=somebody 0&relation=reaches&tail=somebody 8")
        expect(page.locator("svg .node.fact")).to_have_count(8)
        assert page.evaluate("(e => e.scrollWidth <= e.clientWidth)(document.querySelector('.picture'))")
        size = page.locator("svg.drawing").evaluate(
            "e => e.getBoundingClientRect().width / e.viewBox.baseVal.width"
        )
        assert size > 0.6
        assert visit.complaints == []
        visit.context.close()


def test_any_graph_can_be_drawn_with_parallel_arrows_and_loops(visit: Visit) -> None:
    assert visit.page.evaluate(_LAYOUTS) == []


def test_a_fact_that_serves_a_rule_several_times_is_drawn(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "facts.tsv").write_text(
        "".join(f"{drug}\tbinds\t{part}\n" for part in "123" for drug in "ab")
        + "b\ttreats\tpain\nc\ttreats\tpain\nloop\tbinds\tloop\n"
    )
    rule = "binds(X, Y) & binds(Z, Y) & treats(Z, Z1) -> treats(X, Z1)"
    model = RuleModel.from_rules(parse_rules(f"{rule}\nbinds(X, Y) & binds(Y, Z) -> binds(X, Z)"))
    save_rule_model(model, tmp_path / "model")
    with served("model", "facts.tsv", cwd=tmp_path) as address:
        visit = Visit(browser, address)
        page = visit.see("/why?head=a&relation=treats&tail=pain")
        expect(page.locator(".verdict")).to_contain_text("It is supported.")
        expect(page.locator("svg .node.fact")).to_have_count(7)
        assert page.locator("svg .edge").count() == 8  # seven facts to the rule, and the rule to the goal
        expect(page.locator("svg .node.fact", has_text="(3×)")).to_have_count(1)
        for path in ("/entity?name=loop", "/entity?name=a", "/rule-graph?slots=true", "/rule-graph"):
            visit.see(path).locator("svg .node").first.wait_for()
        # What leads from a relation to itself begins and ends at its box.
        looped = page.locator("svg .edge path").evaluate_all(
            "paths => paths.map(path => path.getPointAtLength(0)).map(at => [at.x, at.y])"
        )
        boxes = page.locator("svg .node rect").evaluate_all(
            "rects => rects.map(rect => rect.getBBox()).map(box => [box.x, box.y, box.width, box.height])"
        )
        for x, y in looped:
            assert any(
                left - 1 <= x <= left + width + 1 and top - 1 <= y <= top + height + 1
                for left, top, width, height in boxes
            )
        assert visit.complaints == []
        visit.context.close()
