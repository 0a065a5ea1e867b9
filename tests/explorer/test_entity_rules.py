"""Rules about particular entities in the explorer: read, struck out, written, saved, and told as what they are."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from reshuffle import KnowledgeGraph, parse_rules
from reshuffle.errors import InputError
from reshuffle.explorer.changes import Change, edits_of
from reshuffle.explorer.effects import Touched, effect
from reshuffle.explorer.exhibits import Exhibit
from reshuffle.explorer.link_queues import RuleListQueue
from reshuffle.explorer.rule_lists import RuleListSubject
from reshuffle.explorer.saving_as import chosen_rules, save_as
from reshuffle.explorer.subject import Source
from reshuffle.explorer.views.overview_page import overview_page
from reshuffle.explorer.views.rule_pages import known_of, rule_page, rules_page
from reshuffle.explorer.views.why_page import why_page
from reshuffle.explorer.web.api_questions import QUESTIONS, Asked
from reshuffle.explorer.web.sessions import Session
from reshuffle.kg import Triple
from reshuffle.progress import SILENT
from reshuffle.rulelist import RuleModel, load_rule_model
from reshuffle.rules import Quality
from reshuffle.rules.rule import ConstantRule
from reshuffle.theories.weighted_rules import RuleListTheory

if TYPE_CHECKING:
    from pathlib import Path

FACTS = KnowledgeGraph(
    [
        *((f"p{n}", "bornIn", "london") for n in range(6)),
        *((f"p{n}", "speaks", "english") for n in range(4)),
        ("q", "bornIn", "paris"),
        ("q", "speaks", "french"),
        ("p0", "plays", "chess"),
    ]
)
BORN = 'bornIn(X, "london") -> speaks(X, "english")'
TURNED = 'bornIn("p0", X) -> bornIn("p1", X)'
ANY = 'plays(X, Y) -> speaks(X, "english")'
PATHS = parse_rules("speaks(X, Y) & speaks(Z, Y) & bornIn(Z, U) -> bornIn(X, U)")


def rule(text: str, *counts: int) -> ConstantRule:
    (read,) = parse_rules(text).rules
    assert isinstance(read, ConstantRule)
    return replace(read, quality=Quality(*counts, counts[1] / (counts[0] + 5)) if counts else None)


@pytest.fixture
def subject() -> RuleListSubject:
    theory = RuleListTheory(RuleModel.from_rules(PATHS))
    written = [rule(BORN, 6, 4), rule(TURNED, 1, 1), rule(ANY, 1, 1)]
    return RuleListSubject(theory.edited(written=written).model, Source("people", FACTS))


def score(world: Any, *triple: str) -> float:
    return float(world.scorer.judge(*triple).rule_score)


def test_a_rule_is_struck_out_and_comes_back(subject: RuleListSubject) -> None:
    struck = Change("reject-rule", rule=rule(BORN))
    edits = subject.changed_by(edits_of([struck]))
    world = subject.world(edits)
    assert len(subject.as_given.about_entities or ()) == 3 and len(world.about_entities or ()) == 2
    assert score(subject.as_given, "p5", "speaks", "english") > 0
    assert score(world, "p5", "speaks", "english") == 0
    assert score(world, "p1", "bornIn", "london") == score(subject.as_given, "p1", "bornIn", "london") > 0
    back = edits_of([struck, Change("restore-rule", rule=rule(BORN))])
    assert subject.changed_by(back).change_nothing
    assert subject.changed_by(edits_of([Change("accept-rule", rule=rule(BORN))])).change_nothing
    other = edits_of([Change("reject-rule", rule=rule('bornIn(X, "rome") -> speaks(X, "english")'))])
    assert subject.changed_by(other).change_nothing


def test_a_rule_is_written_with_names_that_are_new(subject: RuleListSubject) -> None:
    new = rule('likes("tea", X) -> bornIn(X, "dover")')
    theory = RuleListTheory(subject.model).edited(written=[new, rule(BORN)])
    rules = theory.model.constants
    assert [str(rules.rule(place)) for place in range(len(rules))] == [BORN, TURNED, ANY, str(new)]
    assert rules.weights[-1].tolist() == [pytest.approx(2.3026)] * 2
    assert "likes" in theory.model.relations
    facts = FACTS | KnowledgeGraph([("tea", "likes", "q")])
    told = theory.model.on(facts | KnowledgeGraph([("z", "bornIn", "dover")])).judge("q", "bornIn", "dover")
    assert told.rule_score == pytest.approx(2.3026)


def test_a_rule_that_a_list_has_no_place_for_is_refused(subject: RuleListSubject) -> None:
    long = Change("add-rule", rule=rule('bornIn(X, Y) & cityIn(Y, "uk") -> speaks(X, "english")'))
    with pytest.raises(InputError, match="a rule list has no place for"):
        subject.world(subject.changed_by(edits_of([long])))


def test_what_striking_one_out_does(subject: RuleListSubject) -> None:
    change = Change("reject-rule", rule=rule(BORN))
    world = subject.world(subject.changed_by(edits_of([change])))
    found = effect(subject.as_given, world, Touched.by([change]), KnowledgeGraph())
    vanished = found["vanished"]["triples"]
    moved = [one["triple"] for one in found["moved"]]
    assert ["p4", "speaks", "english"] in vanished + moved
    assert found["questions"] == 6


def test_saving_keeps_them(subject: RuleListSubject, tmp_path: Path) -> None:
    edits = edits_of([Change("reject-rule", rule=rule(BORN)), Change("accept-rule", rule=rule(ANY))])
    world = subject.world(subject.changed_by(edits))
    assert save_as(world, edits, "model", "mine", tmp_path) == {"file": "mine", "rules": 3}
    kept = load_rule_model(tmp_path / "mine").constants
    assert [str(kept.rule(place)) for place in range(len(kept))] == [TURNED, ANY]
    assert save_as(world, edits, "rules", "mine.rules", tmp_path)["rules"] == 3
    lines = (tmp_path / "mine.rules").read_text().splitlines()
    assert any(line.endswith(ANY) for line in lines) and not any(line.endswith(BORN) for line in lines)
    assert [str(one) for one in chosen_rules(world, edits, accepted=True).given] == [ANY]


def test_they_have_a_page_of_their_own(subject: RuleListSubject) -> None:
    given = subject.as_given
    edits = edits_of([Change("reject-rule", rule=rule(TURNED))])
    world = subject.world(subject.changed_by(edits))
    page = rules_page(world, given, edits, about="entities")
    assert page["about_entities"] == page["count"] == 3
    first = page["rules"][0]  # what was decided comes first
    assert (first["rule"], first["status"], first["support"], first["predictions"]) == (
        TURNED,
        "rejected",
        1,
        1,
    )
    assert page["statuses"]["rejected"] == 1
    by_support = rules_page(given, given, edits_of([]), about="entities", sort="support")
    assert by_support["rules"][0]["rule"] == BORN
    named = rules_page(
        given, given, edits_of([]), about="entities", search="chess born", labels={"p1": "Chess"}
    )
    assert [row["rule"] for row in named["rules"]] == [TURNED]
    assert "london" not in str(rules_page(given, given, edits_of([]))["rules"])
    second = rules_page(given, given, edits_of([]), about="entities", start=1, most=1)
    assert [row["rule"] for row in second["rules"]] == [TURNED] and second["count"] == 3
    with pytest.raises(InputError, match="found rules about 'fish'"):
        rules_page(given, given, edits_of([]), about="fish")


def test_one_that_was_written_is_first_on_it(subject: RuleListSubject) -> None:
    new = 'bornIn(X, "paris") -> speaks(X, "french")'
    edits = edits_of([Change("add-rule", rule=rule(new))])
    world = subject.world(subject.changed_by(edits))
    page = rules_page(world, subject.as_given, edits, about="entities")
    assert [row["rule"] for row in page["rules"]] == [new, BORN, TURNED, ANY] and page["count"] == 4
    assert page["rules"][0]["status"] == "added" and page["rules"][0]["weight"] > 0
    assert new not in [row["rule"] for row in rules_page(world, subject.as_given, edits)["rules"]]


def test_the_page_of_one_rule(subject: RuleListSubject) -> None:
    world = subject.as_given
    page = rule_page(FACTS, rule(BORN))
    assert [one["triple"][0] for one in page["examples"]] == ["p0", "p1", "p2", "p3"]
    assert [one["triple"][0] for one in page["counter_examples"]] == ["p4", "p5"]
    known = known_of(world, world, edits_of([]), rule(BORN))
    assert (known["support"], known["predictions"], known["status"]) == (4, 6, "open") and known["is_listed"]
    unknown = known_of(world, world, edits_of([]), rule('bornIn(X, "rome") -> speaks(X, "english")'))
    assert not unknown["is_listed"]
    (path,) = PATHS.rules
    assert known_of(world, world, edits_of([]), path)["weight"] > 0


def test_reasons_have_counts(
    subject: RuleListSubject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = why_page(subject.as_given, Triple("p5", "speaks", "english"))
    node = next(node for node in page["pictures"][0]["nodes"] if node.get("rule") == BORN)
    assert (node["support"], node["predictions"]) == (4, 6)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    queue = RuleListQueue(subject)
    queue.search()
    found = queue.found()
    rows = queue.rows(found, np.arange(len(found)))
    reasons = [reason for row in rows for reason in row["reasons"] if reason["rule"] == BORN]
    assert reasons and (reasons[0]["support"], reasons[0]["predictions"]) == (4, 6)
    assert reasons[0]["facts"][0][1:] == ["bornIn", "london"]


def test_the_overview_counts_them(subject: RuleListSubject) -> None:
    page = overview_page(subject.as_given, {})
    assert page["about_entities"] == 3
    assert {row["relation"]: row["about_entities"] for row in page["relations"]} == {
        "bornIn": 1,
        "speaks": 2,
        "plays": 0,
    }


def test_the_digest_changes_with_their_weights(subject: RuleListSubject) -> None:
    rules = subject.model.constants
    other = replace(subject.model, constants=replace(rules, weights=rules.weights * 2))
    assert RuleListSubject(other, subject.source).digest != subject.digest


def test_what_the_facts_alone_decide_is_made_once(subject: RuleListSubject) -> None:
    given = subject.as_given
    world = subject.world(subject.changed_by(edits_of([Change("reject-rule", rule=rule(BORN))])))
    fewer = subject.world(edits_of([Change("remove-fact", triple=Triple("q", "bornIn", "paris"))]))
    here, there, elsewhere = (
        one.scorer._state.constants.properties
        for one in (given, world, fewer)  # type: ignore[union-attr]
    )
    assert here is there and here is not elsewhere
    assert len(here.members) != len(elsewhere.members)


def test_the_search_finds_them(subject: RuleListSubject) -> None:
    shown = Exhibit("list", "people", "rule model", lambda _: subject, labels={"london": "Capital"})
    found = {
        typed: QUESTIONS["search"](Asked(shown, Session(), {"q": typed, "everything": "true"}), SILENT)[
            "rules"
        ]
        for typed in ("ENGL", "capital speaks", "plays", "born", "rome", "")
    }
    assert found == {
        "ENGL": [BORN, ANY],  # by weight
        "capital speaks": [BORN],
        "plays": [ANY],
        "born": [str(PATHS.rules[0]), BORN, TURNED],
        "rome": [],
        "": [],
    }
