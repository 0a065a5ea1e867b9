"""A day at the explorer's desk, in Chromium: from missing links to decisions, to a model that has learned from them."""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect, sync_playwright

from explorer_serving import served
from reshuffle.cli.main import main
from reshuffle.data.load import load_benchmark
from reshuffle.kg import KnowledgeGraph
from test_explorer_browser import AXE, CHROMIUM, Visit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium: apt-get install chromium")

expect.set_options(timeout=30_000)  # the machine may have much else to do
FACTS = 12_000  # of FB15k-237: those among its commonest entities
FAST = ("--set", "longest=2", "--set", "steps=60", "--set", "prior=0.3")
PAGES = (
    "/queue",
    "/queue?show=accepted",
    "/overview",
    "/rules",
    "/rules?about=entities",
    "/what-if",
    "/rule-graph",
    "/why",
)
LINKS = {  # to pages about one thing, on these pages
    "/queue": (".link-row .claim a[href^='/entity']", ".link-row a[href^='/why']"),
    "/rules?sort=support": (".rule-link",),
    "/rules?about=entities": (".rule-link",),
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A list learned from a cut of FB15k-237."""
    made = tmp_path_factory.mktemp("desk")
    facts = load_benchmark("FB15k-237").graph.facts  # type: ignore[union-attr] # it has one graph
    cut = sorted(facts, key=lambda one: max(facts.entities.id(one.head), facts.entities.id(one.tail)))
    KnowledgeGraph(cut[:FACTS]).write(made / "facts.tsv")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        assert main(["-q", "train", "facts.tsv", "-o", "model", "--recipe", "rules", *FAST]) == 0
    return made


@pytest.fixture(autouse=True)
def _cache(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))


def claims(page: Page) -> list[str]:
    return [
        " ".join(text.split()) for text in page.locator(".link-row .claim p:first-child").all_inner_texts()
    ]


def counts(page: Page) -> list[int]:
    """How many links were postponed, accepted and rejected."""
    return [int(text) for text in page.locator(".which .segments .count").all_inner_texts()]


def searched(visit: Visit, path: str = "/queue") -> Page:
    page = visit.see(path)
    expect(page.locator(".link-row").first).to_be_visible(timeout=120_000)
    expect(page.locator(".searching")).to_have_count(0, timeout=240_000)
    return page


def linked(visit: Visit) -> Iterator[str]:
    """The addresses of pages about an entity, a link and rules."""
    for path, links in LINKS.items():
        page = searched(visit, path) if path == "/queue" else visit.see(path)
        for link in links:
            address = page.locator(link).first.get_attribute("href")
            assert address is not None
            yield address


def ended(visit: Visit) -> None:
    visit.context.close()
    assert visit.complaints == []
    assert visit.elsewhere == []


def test_from_missing_links_to_decisions(browser: Browser, folder: Path, capsys: Any) -> None:
    with served("model", "facts.tsv", cwd=folder) as address:
        visit = Visit(browser, address)
        page = searched(visit)
        before = claims(page)
        assert len(before) == 50
        # Filter, then decide by keys: three are accepted, two rejected, one of these taken back.
        relation = page.locator("#by-relation option").nth(1).get_attribute("value")
        page.get_by_label("Relation", exact=True).select_option(relation)
        expect(page.locator(".filter-box summary")).to_have_text("Filters (1)")
        expect(page.locator(".queue[aria-busy=true]")).to_have_count(0)
        expect(page.locator(".link-row").first).to_be_visible()
        assert len(set(page.locator(".claim p:first-child .relation").all_inner_texts())) == 1
        chosen = claims(page)
        for key in ("a", "a", "j", "a", "r"):
            page.keyboard.press(key)
        page.locator(".link-row .no").first.click()
        expect(page.locator(".which .segments .count")).to_have_text(["0", "3", "2"])
        page.keyboard.press("u")
        expect(page.locator(".which .segments .count")).to_have_text(["0", "3", "1"])
        decided = [chosen[0], chosen[1], chosen[3], chosen[4]]
        expect(page.locator(".link-row .claim p:first-child").first).to_have_text(chosen[2])
        page.get_by_role("button", name="Accepted").click()
        expect(page.locator(".queue[aria-busy=true]")).to_have_count(0)
        expect(page.locator(".link-row")).to_have_count(3)
        assert claims(page) == [chosen[3], chosen[1], chosen[0]]  # the last decision first
        page.get_by_role("button", name="Rejected").click()
        expect(page.locator(".link-row")).to_have_count(1)
        page = searched(visit)
        assert not set(decided) & set(claims(page))
        rest = claims(page)
        ended(visit)
    lines = [json.loads(line) for line in (folder / "model.decisions.jsonl").read_text().splitlines()]
    assert [line["decision"] for line in lines] == ["accept", "accept", "accept", "reject", "reject", "undo"]
    # The server is started again: links and decisions are there at once.
    with served("model", "facts.tsv", cwd=folder) as address:
        visit = Visit(browser, address)
        page = visit.see("/")
        expect(page.locator(".searching")).to_have_count(0)
        assert counts(page) == [0, 3, 1]
        assert claims(page) == rest
        ended(visit)
    # Fitted again, the list ranks anew, and what was decided stays decided.
    shutil.copytree(folder / "model", folder / "before")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        refit = ["train", "facts.tsv", "-o", "model", "--recipe", "rules", "--refit", *FAST]
        assert main(["-q", *refit, "--decisions", "model.decisions.jsonl"]) == 0
    with served("model", "facts.tsv", cwd=folder) as address:
        visit = Visit(browser, address)
        page = searched(visit)
        assert counts(page) == [0, 3, 1]
        assert claims(page) != rest
        assert not set(decided) & set(claims(page))
        ended(visit)


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1440, "light")])
def test_pages_fit_the_screen_and_axe_finds_nothing_serious(
    browser: Browser, folder: Path, width: int, scheme: Any
) -> None:
    with served("model", "facts.tsv", "--decisions", "other.jsonl", cwd=folder) as address:
        visit = Visit(browser, address, color_scheme=scheme, bypass_csp=True)
        visit.page.set_viewport_size({"width": width, "height": 844})
        for path in (*PAGES, *linked(visit)):
            page = visit.see(path)
            page.wait_for_timeout(500)
            wide = page.evaluate(
                "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
            assert wide <= 0, path
            page.evaluate(AXE)
            found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
            serious = [one for one in found["violations"] if one["impact"] in ("serious", "critical")]
            told = [(one["id"], [node["html"][:150] for node in one["nodes"][:3]]) for one in serious]
            assert not told, (path, json.dumps(told, indent=1))
        ended(visit)


def test_what_is_predicted_of_an_entity_has_its_probability(browser: Browser, folder: Path) -> None:
    with served("model", "facts.tsv", "--decisions", "fourth.jsonl", cwd=folder) as address:
        visit = Visit(browser, address)
        page = searched(visit)
        page.locator(".link-row .claim a").first.click()
        expect(page.get_by_role("columnheader", name="probability")).to_be_visible()
        ended(visit)


def test_a_rule_about_an_entity_is_struck_out(browser: Browser, folder: Path) -> None:
    with served("model", "facts.tsv", "--decisions", "fifth.jsonl", cwd=folder) as address:
        visit = Visit(browser, address)
        page = visit.see("/overview")
        page.get_by_role("link", name="about particular entities").first.click()
        page.locator(".rule-link").first.click()
        expect(page.locator("main")).to_contain_text(re.compile(r"right for [\d,]+ of [\d,]+"))
        page.get_by_role("button", name="Reject this rule").click()
        preview = page.locator(".preview")
        expect(preview.locator(".changed").first).to_be_visible()
        preview.get_by_role("button", name="Reject this rule").click()
        expect(page.locator("tr.status-rejected")).to_have_count(1)
        page.locator("tr.status-rejected .rule-link").click()
        expect(page.get_by_role("button", name="Restore this rule")).to_be_visible()
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_role("button", name="Reject this rule")).to_be_visible()
        ended(visit)


def test_scores_that_a_rule_moves_are_told(browser: Browser, folder: Path) -> None:
    with served("model", "facts.tsv", "--decisions", "sixth.jsonl", cwd=folder) as address:
        visit = Visit(browser, address)
        page = visit.see("/rules?sort=support")
        page.locator(".rule-link").first.click()
        page.get_by_role("button", name="Reject this rule").click()
        page.locator(".preview .moved summary").click()
        expect(page.locator(".preview .moved li").first).to_have_text(
            re.compile(r"\S \d+\.\d\d → -?\d+\.\d\d$")
        )
        ended(visit)


def test_an_ontology_of_classes_on_a_phone(browser: Browser, tmp_path: Path) -> None:
    """The tree unfolds, a class has its edges, why and without an edge; the tab of the page is seen."""
    (tmp_path / "cells.obo").write_text(
        "[Term]\nid: GO:1\nname: nucleus\nis_a: GO:2\nrelationship: part_of GO:3\n\n"
        "[Term]\nid: GO:2\nname: organelle\n\n"
        "[Term]\nid: GO:3\nname: cell\nis_a: GO:4\n\n[Term]\nid: GO:4\nname: structure\n\n[Typedef]\nid: part_of\n"
    )
    with served("cells.obo", cwd=tmp_path) as address:
        visit = Visit(browser, address)
        visit.page.set_viewport_size({"width": 390, "height": 844})
        page = visit.see("/classes")
        page.get_by_role("button", name="Show the classes below organelle").click()
        page.get_by_role("link", name="nucleus").click()
        expect(page.locator(".plain-list li")).to_have_text(re.compile(r"part_of\s*cell"))
        page = visit.see("/why?head=GO:1&relation=part_of&tail=GO:4")
        expect(page.get_by_text("It follows.")).to_be_visible()
        page = visit.see("/rule-graph")
        tab = page.locator(".tabs [aria-current]")
        expect(tab).to_be_in_viewport(ratio=1)
        ended(visit)


def test_a_search_is_stopped_and_goes_on(browser: Browser, folder: Path, tmp_path: Path) -> None:
    """With another cache: everything is searched for anew."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path))
        with served("model", "facts.tsv", "--decisions", "third.jsonl", cwd=folder) as address:
            visit = Visit(browser, address)
            page = visit.see("/queue")
            stop = page.get_by_role("button", name="Stop the search")
            expect(stop.or_(page.locator(".link-row").first).first).to_be_visible(timeout=120_000)
            if stop.is_visible():
                stop.click()
                go_on = page.get_by_role("button", name="Go on searching")
                complete = page.locator("main:not(:has(.searching))")  # it was in its last step
                expect(go_on.or_(complete)).to_be_visible()
                if go_on.is_visible():
                    go_on.click()
                    expect(go_on).to_have_count(0)
            searched(visit)
            ended(visit)


def test_rules_without_scores_say_what_to_do(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "my.rules").write_text("bornIn(X, Y) -> livesIn(X, Y)\n")
    (tmp_path / "facts.tsv").write_text("ada\tbornIn\tlondon\n")
    with served("my.rules", "facts.tsv", cwd=tmp_path) as address:
        visit = Visit(browser, address)
        expect(visit.page.get_by_role("heading", name="Relations")).to_be_visible()  # the first page
        page = visit.see("/queue")
        expect(page.locator("main")).to_contain_text("Nothing here ranks links")
        expect(page.locator("main")).to_contain_text("reshuffle train FACTS -o MODEL --quick")
        ended(visit)
    assert not list(tmp_path.glob("*.jsonl"))
