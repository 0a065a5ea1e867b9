"""The queue of missing links: what is in it, in which order, what filters and decisions take out, what is stored."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from reshuffle import KnowledgeGraph, Reshuffle, RuleModel, parse_rules
from reshuffle.errors import InputError, UnknownNameError
from reshuffle.explorer.decisions import Decisions
from reshuffle.explorer.exhibits import Exhibit
from reshuffle.explorer.link_queues import link_queue
from reshuffle.explorer.rule_bases import RuleBaseSubject
from reshuffle.explorer.rule_lists import RuleListSubject
from reshuffle.explorer.soft_models import SoftModelSubject
from reshuffle.explorer.subject import Source
from reshuffle.explorer.views.queue_page import Filters, queue_page
from reshuffle.explorer.web.api_questions import QUESTIONS, Asked
from reshuffle.explorer.web.csv_tables import csv_of
from reshuffle.explorer.web.jobs import Cancelled
from reshuffle.explorer.web.sessions import Session
from reshuffle.kg import Triple

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from reshuffle.explorer.link_queues import LinkQueue

RULES = parse_rules("""
    bornIn(X, Y) & cityIn(Y, Z) -> citizenOf(X, Z)
    livesIn(X, Y) & cityIn(Y, Z) -> citizenOf(X, Z)
    bornIn(X, Y) -> livesIn(X, Y)
""")
BORN, LIVES, STAYS = (str(rule) for rule in RULES.rules)
FACTS = KnowledgeGraph([
    ("ada", "bornIn", "london"),
    ("ada", "livesIn", "paris"),
    ("bob", "bornIn", "paris"),
    ("eve", "bornIn", "london"),
    ("eve", "livesIn", "london"),
    ("eve", "citizenOf", "uk"),
    ("london", "cityIn", "uk"),
    ("paris", "cityIn", "france"),
    ("ada", "type", "person"),
    ("bob", "type", "poet"),
])  # fmt: skip


@pytest.fixture(scope="module")
def subject() -> RuleListSubject:
    return RuleListSubject(RuleModel.from_rules(RULES), Source("people", FACTS))


@pytest.fixture
def queue(subject: RuleListSubject) -> LinkQueue:
    made = link_queue(subject)
    assert made is not None
    made.search()
    return made


@pytest.fixture
def decisions(tmp_path: Path) -> Decisions:
    return Decisions(tmp_path / "people.decisions.jsonl")


def triples(page: dict[str, Any]) -> list[Triple]:
    return [Triple(link["head"], link["relation"], link["tail"]) for link in page["links"]]


def page_of(queue: LinkQueue, decisions: Decisions, **words: Any) -> dict[str, Any]:
    numbers = {name: words.pop(name) for name in ("start", "most") if name in words}
    return queue_page(queue, decisions.standing(), Filters(**words), **numbers)


def test_it_is_what_predict_all_finds(
    queue: LinkQueue, decisions: Decisions, subject: RuleListSubject
) -> None:
    page = page_of(queue, decisions)
    wanted = [row.triple for row in subject.model.on(FACTS).missing(top=None)]
    assert triples(page) == wanted and page["count"] == len(wanted) == 5
    first = page["links"][0]
    assert first["reasons"][0]["rule"] in (BORN, LIVES, STAYS) and first["reasons"][0]["facts"]
    assert dict(page["relations"]) == {"citizenOf": 3, "livesIn": 2}
    assert page["types"] == [("person", 1), ("poet", 1)]


def test_pages_come_one_after_the_other(queue: LinkQueue, decisions: Decisions) -> None:
    first, second = (page_of(queue, decisions, start=start, most=3) for start in (0, 3))
    assert first["more"] and not second["more"]
    assert triples(first) + triples(second) == triples(page_of(queue, decisions))


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ({"relation": "livesIn"}, lambda one: one.relation == "livesIn"),
        ({"entity": "bob"}, lambda one: "bob" in (one.head, one.tail)),
        ({"entity": "france"}, lambda one: "france" in (one.head, one.tail)),
        ({"type": "poet"}, lambda one: one.head == "bob"),
        ({"rule": LIVES}, lambda one: one == ("ada", "citizenOf", "france")),
        ({"rule": LIVES, "relation": "livesIn"}, lambda one: one in FACTS),
    ],
)
def test_filters(
    queue: LinkQueue, decisions: Decisions, words: dict[str, str], wanted: Callable[[Triple], bool]
) -> None:
    everything = triples(page_of(queue, decisions))
    page = page_of(queue, decisions, **words)
    assert set(triples(page)) == {one for one in everything if wanted(one)}
    assert page["count"] == len(page["links"])


def test_reasons_only_leaves_popularity_out(queue: LinkQueue, decisions: Decisions) -> None:
    page = page_of(queue, decisions)
    supported = {one for one, link in zip(triples(page), page["links"], strict=True) if link["supported"]}
    assert set(triples(page_of(queue, decisions, reasons_only=True))) == supported


def test_unknown_names_are_refused(queue: LinkQueue, decisions: Decisions) -> None:
    for words in ({"relation": "born"}, {"entity": "adam"}, {"type": "poets"}):
        with pytest.raises(UnknownNameError):
            page_of(queue, decisions, **words)
    with pytest.raises(InputError, match="found show = 'all'"):
        page_of(queue, decisions, show="all")


def test_what_is_decided_is_never_proposed_again(queue: LinkQueue, decisions: Decisions) -> None:
    before = triples(page_of(queue, decisions))
    for triple, kind in zip(before, ("accept", "reject", "postpone"), strict=False):
        decisions.add(triple, kind)
    page = page_of(queue, decisions)
    assert triples(page) == before[3:] and page["count"] == len(before) - 3
    assert page["decisions"] == {"accept": 1, "reject": 1, "postpone": 1}
    for show, triple in zip(("accepted", "rejected", "postponed"), before, strict=False):
        assert triples(page_of(queue, decisions, show=show)) == [triple]
    assert triples(page_of(queue, decisions, show="rejected", relation="type")) == []
    assert before[1] not in triples(page_of(queue, decisions, entity=before[1].head))
    decisions.undo(before[1])
    assert triples(page_of(queue, decisions)) == [before[1], *before[3:]]


def test_a_decision_about_what_is_unknown_by_now_does_no_harm(queue: LinkQueue, decisions: Decisions) -> None:
    before = triples(page_of(queue, decisions))
    decisions.add(Triple("zoe", "admires", "ada"), "reject")
    assert triples(page_of(queue, decisions)) == before


def test_the_next_start_has_the_links_at_once(
    queue: LinkQueue, subject: RuleListSubject, decisions: Decisions
) -> None:
    again = link_queue(subject)
    assert again is not None and again.found().is_complete
    assert triples(page_of(again, decisions)) == triples(page_of(queue, decisions))
    other = RuleListSubject(
        subject.model, Source("people", FACTS | KnowledgeGraph([("zoe", "bornIn", "rome")]))
    )
    changed = link_queue(other)
    assert changed is not None and not changed.found().is_complete


def test_a_file_that_is_none_of_ours_is_searched_for_anew(subject: RuleListSubject, tmp_path: Path) -> None:
    first = link_queue(subject)
    assert first is not None
    first.search()
    (stored,) = (tmp_path / "cache" / "reshuffle" / "links").glob("*.arrow")
    for content in (b"", b"nonsense", stored.read_bytes()[:-30]):
        stored.write_bytes(content)
        again = link_queue(subject)
        assert again is not None and not again.found().is_complete
        again.search()
        assert len(again.found()) == len(first.found())


def test_nothing_is_ranked_without_scores_or_facts(subject: RuleListSubject) -> None:
    assert link_queue(RuleBaseSubject(RULES, Source("people", FACTS))) is None
    assert link_queue(RuleListSubject(subject.model, Source("nobody"))) is None


def test_a_soft_model_is_asked_about_each_relation(decisions: Decisions) -> None:
    model = Reshuffle(num_slots=4, num_layers=2, max_epochs=1, seed=1).fit(FACTS)
    queue = link_queue(SoftModelSubject(model, Source("people", FACTS)))
    assert queue is not None and queue.found().done == 0
    queue.search()
    page = page_of(queue, decisions)
    assert page["count"] and not set(triples(page)) & set(FACTS)
    assert queue.found().is_complete and queue.found().total == 5
    some, everything = (
        page_of(queue, decisions, most=200, **words) for words in ({"relation": "livesIn"}, {})
    )
    assert triples(some) == [one for one in triples(everything) if one.relation == "livesIn"]


# --- the search behind the page ---------------------------------------------------------------------------------------


def asked_about(subject: RuleListSubject, decisions: Decisions, **words: str) -> Asked:
    shown = Exhibit("list", "list", "rule model", lambda _: subject)
    shown.decisions = decisions
    return Asked(shown, Session(), words)


def test_the_page_begins_the_search_and_tells_how_far_it_is(
    subject: RuleListSubject, decisions: Decisions
) -> None:
    from reshuffle.progress import SILENT

    asked = asked_about(subject, decisions)
    ends_at = time.monotonic() + 30
    while (page := QUESTIONS["queue"](asked, SILENT))["search"]["done"] < page["search"]["total"]:
        assert time.monotonic() < ends_at and page["search"]["error"] is None
        time.sleep(0.02)
    page = QUESTIONS["queue"](asked, SILENT)
    assert len(page["links"]) == 5 and not page["search"]["running"]
    rows = csv_of("queue", page).splitlines()
    assert rows[0].startswith("head,relation,tail,") and len(rows) == 6


def test_a_search_that_was_cancelled_does_not_begin_by_itself(
    subject: RuleListSubject, decisions: Decisions, monkeypatch: pytest.MonkeyPatch
) -> None:
    from reshuffle.progress import SILENT

    asked = asked_about(subject, decisions)
    queue = asked.exhibit.queue()

    def cancelled(_: object) -> None:
        raise Cancelled

    monkeypatch.setattr(queue, "search", cancelled)
    ends_at = time.monotonic() + 30
    while not QUESTIONS["queue"](asked, SILENT)["search"]["stopped"]:
        assert time.monotonic() < ends_at
    told = QUESTIONS["queue"](asked, SILENT)["search"]
    assert not told["running"] and told["done"] == 0


def test_a_search_that_ends_late_does_not_stop_the_next_one(
    subject: RuleListSubject, decisions: Decisions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is stopped, and begun again while its last step still goes on."""
    from threading import Event

    from reshuffle.explorer.web.api_questions import told_search

    asked = asked_about(subject, decisions)
    queue, last_step, ends = asked.exhibit.queue(), Event(), []
    assert queue is not None

    def search(_: object) -> None:
        if not ends:
            ends.append("first")
            last_step.wait(30)
            raise Cancelled
        ends.append("second")

    monkeypatch.setattr(queue, "search", search)
    told_search(asked, queue)
    while not ends:
        time.sleep(0.01)
    queue.stopped = True
    asked.jobs.cancel_of(("links", asked.exhibit.key))
    queue.begin_again()
    told_search(asked, queue)
    time.sleep(0.2)
    assert ends == ["first"]  # two searches at once would count blocks twice
    last_step.set()
    ends_at = time.monotonic() + 30
    while len(ends) < 2 and time.monotonic() < ends_at:
        time.sleep(0.01)
    assert ends == ["first", "second"] and not queue.stopped


def test_a_search_gives_way_to_questions(
    subject: RuleListSubject, decisions: Decisions, monkeypatch: pytest.MonkeyPatch
) -> None:
    from threading import Event

    from reshuffle.explorer.web.api_questions import told_search

    asked = asked_about(subject, decisions)
    queue, answered, steps = asked.exhibit.queue(), Event(), []
    assert queue is not None

    def search(progress: Any) -> None:
        with progress("missing links", total=2) as report:
            for _ in range(2):
                report(1)
                steps.append(answered.is_set())

    monkeypatch.setattr(queue, "search", search)
    question = asked.jobs.job("effect", lambda _: answered.wait(30))
    told_search(asked, queue)
    time.sleep(0.2)
    assert not steps
    answered.set()
    assert question.future.result(30)
    ends_at = time.monotonic() + 30
    while len(steps) < 2 and time.monotonic() < ends_at:
        time.sleep(0.01)
    assert steps == [True, True]


def test_the_probability_of_a_reason_is_that_of_the_prediction() -> None:
    from dataclasses import replace

    from reshuffle.rulelist.links.likelihood import Likelihood

    model = replace(RuleModel.from_rules(RULES), likelihood=Likelihood(1.0, 1.0, 0.5, -1.0))
    world = RuleListSubject(model, Source("people", FACTS)).as_given
    for row in world.scorer.predict(relation="citizenOf", head="bob"):  # type: ignore[attr-defined]
        told, _ = world.why(row.triple, most=1)
        assert told["probability"] == pytest.approx(row.probability)
    told, _ = world.why(Triple("eve", "citizenOf", "uk"), most=1)
    assert told["probability"] is None  # it is a fact


def test_accepted_links_are_facts_together(subject: RuleListSubject, decisions: Decisions) -> None:
    from reshuffle.explorer.changes import edits_of
    from reshuffle.progress import SILENT

    asked = asked_about(subject, decisions)
    with pytest.raises(InputError, match="no link is accepted"):
        asked.change({"kind": "add-accepted"}, SILENT)
    links = [Triple("bob", "livesIn", "paris"), Triple("bob", "citizenOf", "france")]
    for link, kind in zip(
        [*links, Triple("ada", "livesIn", "london")], ("accept", "accept", "reject"), strict=True
    ):
        decisions.add(link, kind)
    change = asked.change({"kind": "add-accepted"}, SILENT)
    world = subject.world(edits_of([change]))
    assert set(world.facts) == set(FACTS) | set(links)
    assert change.to_dict() == {"kind": "add-accepted", "links": 2}
    asked.session.add("list", change)
    page = QUESTIONS["what-if"](asked, SILENT)
    assert page["facts"] == len(FACTS) + 2 and page["changes"] == [change.to_dict()]


def test_relations_and_rules_are_found_beside_entities(
    subject: RuleListSubject, decisions: Decisions
) -> None:
    from reshuffle.progress import SILENT

    asked = asked_about(subject, decisions, q="city", everything="true")
    found = QUESTIONS["search"](asked, SILENT)
    assert found == {"names": [], "relations": ["cityIn"], "rules": [BORN, LIVES]}
    both = QUESTIONS["search"](asked_about(subject, decisions, q="LIVES born", everything="true"), SILENT)
    assert both["rules"] == [STAYS] and both["relations"] == []
    assert set(QUESTIONS["search"](asked_about(subject, decisions, q="lon"), SILENT)) == {"names"}
    nothing = QUESTIONS["search"](asked_about(subject, decisions, q=" ", everything="true"), SILENT)
    assert nothing["names"] and nothing["relations"] == nothing["rules"] == []
