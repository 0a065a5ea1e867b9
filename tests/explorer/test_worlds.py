"""Edits, the worlds that they lead to, and what they do."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from reshuffle import KnowledgeGraph, RuleModel, parse_rules
from reshuffle.errors import InputError
from reshuffle.explorer import effects, saving_as
from reshuffle.explorer.changes import Change, Edits, edits_of
from reshuffle.explorer.effects import Touched, effect
from reshuffle.explorer.exhibits import Exhibit
from reshuffle.explorer.rule_bases import RuleBaseSubject, RuleBaseWorld
from reshuffle.explorer.rule_lists import RuleListSubject
from reshuffle.explorer.saving_as import save_as
from reshuffle.explorer.shared_work import told_to
from reshuffle.explorer.subject import Source, Subject
from reshuffle.kg import Triple
from reshuffle.kg.io.folders import folder_aside
from reshuffle.locks import locked_folder
from reshuffle.progress import SILENT, Progress

if TYPE_CHECKING:
    from pathlib import Path

RULES = parse_rules("""
    bornIn(X, Y) & cityIn(Y, Z)         -> citizenOf(X, Z)
    citizenOf(X, Y) & hasLanguage(Y, Z) -> speaks(X, Z)
""")
FACTS = KnowledgeGraph([
    ("ada", "bornIn", "london"),
    ("london", "cityIn", "uk"),
    ("uk", "hasLanguage", "english"),
    ("bob", "bornIn", "paris"),
])  # fmt: skip
HELD_OUT = KnowledgeGraph([("ada", "speaks", "english"), ("bob", "speaks", "french")])
SOURCE = Source("people", FACTS, HELD_OUT)
IN_FRANCE = Triple("paris", "cityIn", "france")


def add(*triple: str) -> Change:
    return Change.of({"kind": "add-fact", "triple": list(triple)})


def about_rule(kind: str, place: int = 0, **more: str) -> Change:
    return Change.of({"kind": kind, "rule": str(RULES.rules[place]), **more})


def effect_of(subject: Subject, *changes: Change) -> dict:
    after = subject.world(edits_of(changes))
    return effect(subject.as_given, after, Touched.by(changes), subject.source.held_out)


# --- edits ------------------------------------------------------------------------------------------------------------


def test_the_last_step_about_a_fact_or_a_rule_decides() -> None:
    fact = list(IN_FRANCE)
    back = Change.of({"kind": "remove-fact", "triple": fact})
    assert edits_of([add(*fact), back]) == Edits(removed=(IN_FRANCE,))
    assert edits_of([back, add(*fact)]) == Edits(added=(IN_FRANCE,))
    assert edits_of([add(*fact), add(*fact)]).added == (IN_FRANCE,)
    assert edits_of([about_rule("reject-rule"), about_rule("restore-rule")]).kept == RULES.rules[:1]
    written = Change.of({"kind": "add-rule", "rule": "bornIn(X, Y) -> knows(X, Y)"})
    struck = Change.of({"kind": "reject-rule", "rule": "bornIn(X, Y) -> knows(X, Y)"})
    assert edits_of([written, struck]).written == ()
    assert edits_of([written, struck]).on(FACTS, RULES.rules).change_nothing


def test_an_edited_rule_is_one_struck_out_and_one_written() -> None:
    edits = edits_of([about_rule("edit-rule", to="bornIn(X, Y) -> citizenOf(X, Y)")])
    assert edits.rejected == (RULES.rules[0],)
    assert list(map(str, edits.written)) == ["bornIn(X, Y) -> citizenOf(X, Y)"]


def test_accepting_changes_no_answer_and_takes_back_a_rejection() -> None:
    edits = edits_of([about_rule("reject-rule"), about_rule("accept-rule")])
    assert edits.on(FACTS, RULES.rules).change_nothing and edits.accepted == {RULES.rules[0]}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"kind": "add-fact", "triple": ["a", "r"]}, "found no triple"),
        ({"kind": "add-fact", "triple": ["a", "", "b"]}, "found no triple"),
        ({"kind": "add-fact", "triple": ["a", 3, "b"]}, "found no triple"),
        ({"kind": "reject-rule"}, "found no rule"),
        (
            {"kind": "add-rule", "rule": "r(X, Y) -> r(X, Y)"},
            "found 0 rules that are not tautologies, expected one",
        ),
        ({"kind": "add-rule", "rule": "r(X, Y) & "}, ""),
        ({"kind": "delete everything"}, "found the kind 'delete everything' of a change"),
        (["add-fact"], "found the kind None of a change"),
    ],
)
def test_what_is_no_change_is_refused(data: object, message: str) -> None:
    with pytest.raises(InputError, match=message or None):
        Change.of(data)


def test_a_change_as_data_is_read_again() -> None:
    for change in (add(*IN_FRANCE), about_rule("edit-rule", to="bornIn(X, Y) -> citizenOf(X, Y)")):
        assert Change.of(change.to_dict()) == change


# --- what follows -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["auto", "chase"])
def test_an_added_fact_makes_answers_appear(engine: str) -> None:
    subject = RuleBaseSubject(RULES, SOURCE, engine=engine)
    found = effect_of(subject, add(*IN_FRANCE), add("france", "hasLanguage", "french"))
    assert found["appeared"] == {
        "count": 2,
        "relations": [("citizenOf", 1), ("speaks", 1)],
        "triples": [["bob", "citizenOf", "france"], ["bob", "speaks", "french"]],
    }
    assert found["vanished"]["count"] == 0
    assert found["complete"]
    assert (found["held_out"]["before"], found["held_out"]["after"]) == (1, 2)
    assert found["held_out"]["gained"] == [["bob", "speaks", "french"]]
    assert subject.as_given.facts == FACTS  # nobody else sees it


@pytest.mark.parametrize("engine", ["auto", "chase"])
def test_a_rejected_rule_makes_answers_vanish(engine: str) -> None:
    found = effect_of(RuleBaseSubject(RULES, SOURCE, engine=engine), about_rule("reject-rule"))
    assert [tuple(triple) for triple in found["vanished"]["triples"]] == [
        ("ada", "citizenOf", "uk"),
        ("ada", "speaks", "english"),
    ]
    assert found["held_out"]["lost"] == [["ada", "speaks", "english"]]
    assert found["relations"] == {"citizenOf": [1, 0], "speaks": [1, 0]}


def test_a_derived_triple_that_becomes_a_fact_does_not_vanish() -> None:
    found = effect_of(RuleBaseSubject(RULES, SOURCE), add("ada", "citizenOf", "uk"))
    assert (found["appeared"]["count"], found["vanished"]["count"]) == (0, 0)


def test_too_much_to_compare_is_looked_at_near_the_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effects, "_MOST_COMPARED", 0)
    subject = RuleBaseSubject(RULES, SOURCE)
    by_fact = effect_of(subject, add(*IN_FRANCE))
    assert not by_fact["complete"]
    assert by_fact["appeared"]["triples"] == [["bob", "citizenOf", "france"]]
    by_rule = effect_of(subject, about_rule("reject-rule"))
    assert by_rule["vanished"]["triples"] == [["ada", "citizenOf", "uk"]]
    assert by_rule["derived"] == [2, 0]


def test_rules_without_geometry_are_answered_by_the_chase() -> None:
    rules = parse_rules("r1(X, Y) & r2(Y, Z) & r1(Z, W) -> r2(X, W)")
    world = RuleBaseSubject(rules, SOURCE).as_given
    assert "chase" in world.exactness


def test_every_rule_may_be_rejected() -> None:
    subject = RuleBaseSubject(RULES, SOURCE)
    found = effect_of(subject, about_rule("reject-rule"), about_rule("reject-rule", 1))
    assert found["derived"] == [2, 0]


# --- what is ranked ---------------------------------------------------------------------------------------------------


def list_subject() -> RuleListSubject:
    return RuleListSubject(RuleModel.from_rules(RULES), SOURCE)


def test_a_rule_model_ranks_by_the_rules_that_are_left() -> None:
    subject = list_subject()
    found = effect_of(subject, about_rule("reject-rule"))
    assert found["vanished"]["triples"] == [["ada", "citizenOf", "uk"]]
    assert found["held_out"]["measure"] == "mrr"
    written = Change.of({"kind": "add-rule", "rule": "bornIn(X, Y) -> livesIn(X, Y)"})
    new = effect_of(subject, written)
    assert ["ada", "livesIn", "london"] in new["appeared"]["triples"]


def test_what_no_rule_leads_to_has_the_fact_that_is_missing() -> None:
    told, _ = list_subject().as_given.why(Triple("bob", "citizenOf", "uk"), most=1)
    assert not told["supported"]
    assert told["nearest"][0]["missing"] == [["bob", "bornIn", "london"]]


# --- exhibits ---------------------------------------------------------------------------------------------------------


def test_worlds_are_made_once_and_old_ones_go() -> None:
    made: list[Edits] = []

    class Counting(RuleBaseSubject):
        def world(self, edits: Edits, progress: Progress = SILENT) -> RuleBaseWorld:
            made.append(edits)
            return super().world(edits, progress)

    exhibit = Exhibit("rules", "people", "rules", lambda _: Counting(RULES, SOURCE))
    edits = edits_of([add(*IN_FRANCE)])
    first = exhibit.world(edits)
    assert exhibit.world(edits) is first
    assert made == [Edits(), edits]
    for number in range(20):
        exhibit.world(edits_of([add(f"city{number}", "cityIn", "uk")]))
    assert exhibit.world(edits) is not first
    assert len(exhibit._worlds) == 8


def test_a_failed_load_is_tried_again() -> None:
    tries: list[int] = []

    def load(_progress: object) -> Subject:
        tries.append(1)
        if len(tries) == 1:
            raise InputError("not there yet")
        return RuleBaseSubject(RULES, SOURCE)

    exhibit = Exhibit("rules", "people", "rules", load)
    with pytest.raises(InputError, match="not there yet"):
        exhibit.subject()
    assert exhibit.subject().kind == "rules"


def test_new_entities_are_found() -> None:
    exhibit = Exhibit("rules", "people", "rules", lambda _: RuleBaseSubject(RULES, SOURCE))
    assert exhibit.find("zo", Edits()) == []
    assert exhibit.find("zo", edits_of([add("Zoë", "bornIn", "london")])) == ["Zoë"]


KILLED = """
import os, sys
from pathlib import Path
from reshuffle import KnowledgeGraph, parse_rules
from reshuffle.explorer import saving_as
from reshuffle.explorer.changes import Edits
from reshuffle.explorer.rule_bases import RuleBaseSubject
from reshuffle.explorer.subject import Source

saving_as.publish = lambda aside, path: os._exit(9)  # all is written, and has no name yet
rules = parse_rules("bornIn(X, Y) -> livesIn(X, Y)")
facts = KnowledgeGraph([("ada", "bornIn", "london")])
world = RuleBaseSubject(rules, Source("people", facts)).as_given
saving_as.save_as(world, Edits(), sys.argv[1], sys.argv[2], Path(sys.argv[3]))
"""


@pytest.mark.parametrize(
    ("what", "name"),
    [("facts", "mine.tsv"), ("rules", "mine.rules"), ("model", "mine"), ("facts", "a.b.tsv")],
)
def test_what_a_killed_saving_left_goes_with_the_next_one(what: str, name: str, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", KILLED, what, name, str(tmp_path)]
    assert subprocess.run(command, env=environment, check=False).returncode == 9
    (left,) = tmp_path.iterdir()
    assert left.name.endswith(".part") and list(left.iterdir())
    strange = tmp_path / f".{name}.0123abcd.part"  # of nobody who saved
    strange.mkdir()
    (strange / "thesis.tex").write_text("mine")
    save_as(RuleBaseSubject(RULES, SOURCE).as_given, Edits(), what, name, tmp_path)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == sorted([name, strange.name])
    assert (strange / "thesis.tex").read_text() == "mine"


def test_a_saving_that_ends_meanwhile_disturbs_no_other(tmp_path: Path) -> None:
    left = tmp_path / ".mine.tsv.0123abcd.part"
    assert not saving_as._is_saving(left)
    left.mkdir()
    taken = []

    def may_go(path: Path) -> bool:
        taken.append(locked_folder(path))
        return True

    with folder_aside(tmp_path / "mine.tsv", may_go=may_go):
        assert not left.exists()
    assert taken == [None]  # a process that has just made it cannot lock it


def test_effects_are_counted_by_relation() -> None:
    found = effect_of(RuleBaseSubject(RULES, SOURCE), add(*IN_FRANCE), add("france", "hasLanguage", "french"))
    assert found["appeared"]["relations"] == [("citizenOf", 1), ("speaks", 1)]
    assert found["vanished"]["relations"] == []


def test_the_first_part_of_an_effect_comes_before_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    parts: list[dict] = []
    monkeypatch.setattr(effects, "_FIRST", 1)
    facts = FACTS | KnowledgeGraph([("eve", "bornIn", "london")])
    subject = RuleListSubject(RuleModel.from_rules(RULES), Source("people", facts, HELD_OUT))
    with told_to(parts.append):
        found = effect_of(subject, about_rule("reject-rule"))
    first, ranked = parts
    assert first["asked"] == 1 and ranked["asked"] == found["asked"] == 2
    assert first["vanished"]["count"] == 1 and found["vanished"]["count"] == 2
    assert "held_out" in found and ranked["vanished"] == found["vanished"]


def test_of_too_many_questions_some_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effects, "_FIRST", 1)
    monkeypatch.setattr(effects, "_SECONDS", 0)
    facts = FACTS | KnowledgeGraph([("eve", "bornIn", "london")])
    subject = RuleListSubject(RuleModel.from_rules(RULES), Source("people", facts))
    found = effect_of(subject, about_rule("reject-rule"))
    assert (found["asked"], found["questions"]) == (1, 2)
    assert found["vanished"]["count"] == 1


def test_pieces_come_to_what_is_asked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    facts = FACTS | KnowledgeGraph([(f"p{n}", "bornIn", ("london", "paris")[n % 2]) for n in range(60)])
    subject = RuleListSubject(
        RuleModel.from_rules(RULES), Source("people", facts | KnowledgeGraph([IN_FRANCE]))
    )
    whole = effect_of(subject, about_rule("reject-rule"))
    assert whole["asked"] == 62
    monkeypatch.setattr(effects, "_FIRST", 1)
    monkeypatch.setattr(effects, "_SECONDS", 60)
    monkeypatch.setattr(effects, "_TOP_OF_RELATION", 50)
    assert effect_of(subject, about_rule("reject-rule")) == whole
