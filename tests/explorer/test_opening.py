"""From what the command line names to what is shown, what is saved, searched, and kept of others."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from reshuffle import KnowledgeGraph, RuleModel, parse_rules
from reshuffle.cli.main import main
from reshuffle.data import finding
from reshuffle.errors import InputError
from reshuffle.explorer.changes import Change, Edits, edits_of
from reshuffle.explorer.name_search import NameSearch
from reshuffle.explorer.opening import Wanted, opened
from reshuffle.explorer.rule_bases import RuleBaseSubject
from reshuffle.explorer.saving_as import rule_text, save_as
from reshuffle.explorer.subject import Source
from reshuffle.explorer.views.entity_page import entity_page
from reshuffle.explorer.views.rule_chains import rule_graph_page
from reshuffle.explorer.web.jobs import Cancelled, Jobs
from reshuffle.explorer.web.sessions import Session, Sessions
from reshuffle.kg import Vocabulary, read_graph
from reshuffle.rulelist import load_rule_model, save_rule_model
from reshuffle.rules import read_rules

ROOT = Path(__file__).parents[2]
VENDOR = ROOT / "src" / "reshuffle" / "explorer" / "static" / "vendor"
RULES = parse_rules("bornIn(X, Y) & cityIn(Y, Z) -> citizenOf(X, Z)")
FACTS = KnowledgeGraph([("ada", "bornIn", "london"), ("london", "cityIn", "uk")])


@pytest.fixture(autouse=True)
def _no_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finding, "cache_directory", lambda: tmp_path / "cache" / "datasets")


@pytest.fixture
def facts(tmp_path: Path) -> str:
    FACTS.write(tmp_path / "facts.tsv")
    return str(tmp_path / "facts.tsv")


def test_families_come_with_rules_and_held_out_facts(tmp_path: Path) -> None:
    (rules,) = opened(Wanted("families"))
    subject = rules.subject()
    assert subject.kind == "rules" and len(subject.source.held_out) == 205
    save_rule_model(RuleModel.from_rules(RULES), tmp_path / "cache" / "demo" / "rules")
    assert [exhibit.key for exhibit in opened(Wanted("families"))] == ["rules", "list"]


def test_rule_files_and_rule_models(tmp_path: Path, facts: str) -> None:
    sure, mined = tmp_path / "sure.rules", tmp_path / "mined.rules"
    sure.write_text("bornIn(X, Y) & cityIn(Y, Z) -> citizenOf(X, Z)\n")
    mined.write_text("10\t8\t0.8\tcitizenOf(X,Y) <= bornIn(X,A), cityIn(A,Y)\n")
    assert opened(Wanted(str(sure), facts))[0].subject().kind == "rules"
    assert opened(Wanted(str(mined), facts))[0].subject().kind == "rule model"
    (tmp_path / "more.csv").write_text("to,how,who\nlondon,bornIn,eve\n")
    (tmp_path / "few.csv").write_text("to,how,who\nuk,cityIn,london\n")
    both = Wanted(
        str(sure), str(tmp_path / "more.csv"), more_facts=(str(tmp_path / "f*.csv"),), columns="who,how,to"
    )
    assert len(opened(both)[0].subject().source.facts) == 2
    save_rule_model(RuleModel.from_rules(RULES), tmp_path / "model")
    (model,) = opened(Wanted(str(tmp_path / "model"), facts))
    assert model.subject().kind == "rule model" and model.directory == tmp_path / "model"
    (alone,) = opened(Wanted(str(tmp_path / "model")))
    with pytest.raises(InputError, match="there are no facts to show"):
        alone.subject().need_facts()


def test_rdf_brings_prefixes_and_labels(tmp_path: Path) -> None:
    (tmp_path / "zoo.ttl").write_text("""
        @prefix zoo: <http://zoo/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
        zoo:eats rdfs:subPropertyOf zoo:touches . zoo:tom zoo:eats zoo:fish ; rdfs:label "Tom" .
    """)
    (tmp_path / "more.ttl").write_text("@prefix water: <http://zoo/fi> .")
    (exhibit,) = opened(Wanted(str(tmp_path / "zoo.ttl"), prefixes=str(tmp_path / "more.ttl")))
    assert exhibit.labels == {"http://zoo/tom": "Tom"}
    assert exhibit.prefixes.shortened("http://zoo/tom") == "zoo:tom"
    assert exhibit.prefixes.shortened("http://zoo/fish") == "water:sh"
    assert exhibit.find("zoo:fi", Edits()) == exhibit.find("water:sh", Edits()) == ["http://zoo/fish"]


def test_an_ontology_brings_its_facts_and_types_follow(tmp_path: Path) -> None:
    (tmp_path / "zoo.ttl").write_text("""
        @prefix : <http://zoo/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
        @prefix owl: <http://www.w3.org/2002/07/owl#> .
        :eats a owl:ObjectProperty ; rdfs:domain :Animal ; rdfs:subPropertyOf :touches . :Cat rdfs:subClassOf :Animal .
        :tom a :Cat . :tom :eats :fish .
    """)
    (exhibit,) = opened(Wanted(str(tmp_path / "zoo.ttl")))
    subject = exhibit.subject()
    page = entity_page(subject.as_given, "http://zoo/tom")
    derived = {(group["relation"].rpartition("/")[2], *group["names"]) for group in page["derived"]}
    assert derived == {("22-rdf-syntax-ns#type", "http://zoo/Animal"), ("touches", "http://zoo/fish")}
    rows = subject.as_given.rule_rows()
    (row,) = [row for row in rows if "touches" in row["rule"]]
    assert len(rows) == 3 and row["rule"] in rule_graph_page(subject.as_given)["rules"]
    struck = edits_of([Change.of({"kind": "reject-rule", "rule": row["rule"]})])
    assert subject.world(struck).asked_relations == ("http://www.w3.org/1999/02/22-rdf-syntax-ns#type",)


def test_a_program_brings_its_facts(tmp_path: Path) -> None:
    (tmp_path / "born.dl").write_text("bornIn(ada, london).\ncitizenOf(X, Y) :- bornIn(X, Y).\n")
    (exhibit,) = opened(Wanted(str(tmp_path / "born.dl")))
    assert len(entity_page(exhibit.subject().as_given, "ada")["derived"]) == 1


def test_a_training_without_a_model_is_shown_and_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("epoch,loss,hits@10,mrr,seconds\n")
    (exhibit,) = opened(Wanted(str(tmp_path)))
    with pytest.raises(InputError, match="there is no model yet"):
        exhibit.subject()


def test_what_is_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no model directory, no rule file and no benchmark"):
        opened(Wanted("nothing"))
    with pytest.raises(InputError, match="found neither a model nor a training"):
        opened(Wanted(str(tmp_path)))
    (tmp_path / "labels.tsv").write_text("a\tb\nalone\n")
    with pytest.raises(
        InputError, match=r"labels.tsv:2: found 'alone', expected a name, a tab and its label"
    ):
        opened(Wanted("families", labels=str(tmp_path / "labels.tsv")))


# --- the command ------------------------------------------------------------------------------------------------------


def test_serve_says_which_extra_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("reshuffle.packages.find_spec", lambda _name: None)
    assert main(["serve", "families"]) == 2
    told = capsys.readouterr().err
    assert told.startswith("this needs starlette, which is not installed\n") and "[explore]" in told


def test_other_machines_need_a_token(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("reshuffle.packages.find_spec", lambda _name: object())
    monkeypatch.delenv("RESHUFFLE_TOKEN", raising=False)
    assert main(["serve", "families", "--host", "0.0.0.0"]) == 2
    assert "--host 0.0.0.0 lets other machines in, and there is no token" in capsys.readouterr().err
    assert main(["serve", "families", "--host", "0.0.0.0", "--token", "short"]) == 2
    assert "the token has 5 characters" in capsys.readouterr().err


# --- saving -----------------------------------------------------------------------------------------------------------


def test_what_is_saved_is_read_again(tmp_path: Path) -> None:
    edits = edits_of([
        Change.of({"kind": "add-rule", "rule": "bornIn(X, Y) -> livesIn(X, Y)"}),
        Change.of({"kind": "add-fact", "triple": ["bob", "bornIn", "paris"]}),
    ])  # fmt: skip
    world = RuleBaseSubject(RULES, Source("x", FACTS)).world(edits)
    assert save_as(world, edits, "rules", "mine.rules", tmp_path) == {"file": "mine.rules", "rules": 2}
    assert read_rules(tmp_path / "mine.rules").rules == world.rules.rules
    save_as(world, edits, "facts", "mine.tsv", tmp_path)
    assert read_graph(tmp_path / "mine.tsv") == world.facts
    save_as(world, edits, "model", "mine", tmp_path)
    assert len(load_rule_model(tmp_path / "mine")) == 2
    assert rule_text(world, edits, "text", accepted=True) == "bornIn(X, Y) -> livesIn(X, Y)\n"


@pytest.mark.parametrize(
    "name", ["", "../up.rules", "/tmp/x.rules", ".hidden.rules", "a\\b.rules", "a\nb.rules"]
)
def test_only_plain_names_are_written(tmp_path: Path, name: str) -> None:
    world = RuleBaseSubject(RULES, Source("x", FACTS)).as_given
    with pytest.raises(InputError, match="found the name"):
        save_as(world, Edits(), "rules", name, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_replaced(tmp_path: Path) -> None:
    world = RuleBaseSubject(RULES, Source("x", FACTS)).as_given
    (tmp_path / "mine.rules").write_text("precious")
    with pytest.raises(InputError, match=r"there is a file 'mine.rules' already"):
        save_as(world, Edits(), "rules", "mine.rules", tmp_path)
    with pytest.raises(InputError, match=r"no rule format has the ending '.exe'"):
        save_as(world, Edits(), "rules", "mine.exe", tmp_path)
    with pytest.raises(InputError, match="found 'money' to save"):
        save_as(world, Edits(), "money", "mine", tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["mine.rules"]
    assert (tmp_path / "mine.rules").read_text() == "precious"


# --- search -----------------------------------------------------------------------------------------------------------


def test_search_finds_beginnings_first_then_parts() -> None:
    names = Vocabulary(["Zeno", "azen", "zen garden", "a garden of zen", "ZEN", "other", "Ünal"])
    search = NameSearch(names)
    assert search.find("zen") == ["ZEN", "zen garden", "Zeno", "a garden of zen", "azen"]
    assert search.find("zen garden") == ["zen garden", "a garden of zen"]
    assert search.find("garden zen", most=1) == ["a garden of zen"]
    assert search.find("ün") == ["Ünal"]
    assert search.find("nobody") == []
    assert search.find("", most=2) == ["Zeno", "azen"]
    assert search.find(".*") == []


def test_labels_are_searched_and_unknown_ones_passed_over() -> None:
    search = NameSearch(Vocabulary(["Q1", "Q2"]), {"Q1": "Ada", "Q9": "Ada the other"})
    assert search.find("ad") == ["Q1"]
    assert search.find("q") == ["Q1", "Q2"]


# --- sessions and long work -------------------------------------------------------------------------------------------


def test_sessions_have_their_own_changes_and_take_them_back() -> None:
    sessions = Sessions()
    one, other = sessions.find(sessions.begin()), sessions.find(sessions.begin())
    assert one is not None and other is not None
    change = Change.of({"kind": "add-fact", "triple": ["a", "r", "b"]})
    one.add("rules", change)
    assert other.edits_of("rules").change_nothing and one.edits_of("list").change_nothing
    assert one.undo("rules") == change and one.undo("rules") is None
    assert sessions.find("guess") is None and sessions.find(None) is None


def test_a_session_ends_somewhere() -> None:
    session = Session()
    change = Change.of({"kind": "add-fact", "triple": ["a", "r", "b"]})
    session.changes["rules"] = (change,) * 500
    with pytest.raises(InputError, match="there are 500 changes already"):
        session.add("rules", change)


def test_long_work_tells_how_far_it_is_and_stops_when_asked() -> None:
    from threading import Event

    jobs, begun, go_on = Jobs(), Event(), Event()

    def work(progress):
        with progress("counting", total=3, unit="things") as report:
            report(1, "one")
            begun.set()
            go_on.wait(10)
            report(1)
        return "done"

    job = jobs.job("key", work)
    assert jobs.job("key", work) is job
    begun.wait(10)
    assert {"stage": "counting", "done": 1, "total": 3, "note": "one"}.items() <= job.to_dict().items()
    assert jobs.cancel(job.number) and not jobs.cancel(10**6)
    go_on.set()
    with pytest.raises(Cancelled):
        job.future.result(10)
    again = jobs.job("key", work)
    assert again is not job and again.future.result(10) == "done"
    jobs.end()


# --- scripts of others ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "folder", [VENDOR, ROOT / "integrations" / "vendor"], ids=lambda path: path.parent.name
)
def test_scripts_of_others_are_as_they_were_published(folder: Path) -> None:
    """`integrations/vendored.py` compares them with npm, too."""
    listed = json.loads((folder / "vendored.json").read_text(encoding="utf-8"))
    assert {file.name for file in folder.iterdir()} == {*listed, "vendored.json"}
    for file, about in listed.items():
        assert hashlib.sha256((folder / file).read_bytes()).hexdigest() == about["sha256"], file
        assert about["licence"] and about["integrity"].startswith("sha512-")


def test_literals_suffice_beside_the_domain_of_their_property(tmp_path: Path) -> None:
    pytest.importorskip("pyoxigraph")
    rules, facts = tmp_path / "ages.ttl", tmp_path / "ages.nt"
    rules.write_text(
        "<http://e/age> <http://www.w3.org/2000/01/rdf-schema#domain> <http://e/Person> .\n", encoding="utf-8"
    )
    facts.write_text('<http://e/ada> <http://e/age> "42" .\n', encoding="utf-8")
    (exhibit,) = opened(Wanted(str(rules), str(facts)))
    assert exhibit.subject().source.facts.literals is not None
    rules.write_text(
        "<http://e/Person> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <http://e/Being> .\n"
    )
    with pytest.raises(InputError, match="found no triples"):
        opened(Wanted(str(rules), str(facts)))
