"""What pages show, as data."""

from __future__ import annotations

import csv
import io
import json
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from reshuffle import KnowledgeGraph, RuleModel, parse_rules
from reshuffle.cli.main import main
from reshuffle.errors import InputError, UnknownNameError
from reshuffle.explorer.changes import Change, Edits, edits_of
from reshuffle.explorer.rule_bases import RuleBaseSubject
from reshuffle.explorer.rule_lists import RuleListSubject
from reshuffle.explorer.subject import Source
from reshuffle.explorer.views.entity_page import entity_page, group_page, predictions_page
from reshuffle.explorer.views.rule_chains import MOST_AT_ONCE, rule_graph_page
from reshuffle.explorer.views.rule_pages import rule_page, rules_page
from reshuffle.explorer.views.training_page import has_training, training_page
from reshuffle.explorer.views.why_page import MOST_NODES, why_page
from reshuffle.explorer.web.csv_tables import csv_of
from reshuffle.kg import Triple
from reshuffle.locks import alone_in
from reshuffle.rulegraphs import build
from reshuffle.rules import PathRule

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RULES = parse_rules("""
    parent(X, Y)                  -> ancestor(X, Y)
    parent(X, Y) & ancestor(Y, Z) -> ancestor(X, Z)
    ancestor(X, Y) & knows(X, Y)  -> reveres(X, Y)
""")
CHAIN = [(f"p{n}", "parent", f"p{n + 1}") for n in range(8)]
FACTS = KnowledgeGraph([*CHAIN, ("p0", "ancestor", "p2"), ("p0", "knows", "p3")])
SUBJECT = RuleBaseSubject(RULES, Source("people", FACTS))
WORLD = SUBJECT.as_given
LIST = RuleListSubject(RuleModel.from_rules(RULES), Source("people", FACTS)).as_given


def groups(listed: list[dict]) -> dict[tuple[str, str], tuple[int, list[str]]]:
    return {(one["relation"], one["side"]): (one["count"], one["names"]) for one in listed}


# --- entities ---------------------------------------------------------------------------------------------------------


def test_an_entity_has_its_facts_and_what_follows() -> None:
    page = entity_page(WORLD, "p1", per_group=3)
    assert groups(page["facts"]) == {("parent", "tail"): (1, ["p2"]), ("parent", "head"): (1, ["p0"])}
    assert groups(page["derived"]) == {
        ("ancestor", "tail"): (7, ["p2", "p3", "p4"]),
        ("ancestor", "head"): (1, ["p0"]),
    }
    assert page["degree"] == 2
    assert not page["predicts"]


def test_what_is_a_fact_does_not_follow_again() -> None:
    derived = groups(entity_page(WORLD, "p0", per_group=20)["derived"])
    assert "p2" not in derived["ancestor", "tail"][1]
    assert derived["reveres", "tail"] == (1, ["p3"])


def test_large_groups_are_read_in_pieces() -> None:
    facts = KnowledgeGraph([("hub", "has", f"leaf{n:05}") for n in range(1200)])
    world = RuleBaseSubject(RULES, Source("hub", facts)).as_given
    assert groups(entity_page(world, "hub")["facts"])["has", "tail"][0] == 1200
    piece = group_page(world, "hub", "has", "tail", derived=False, start=1150, most=100)
    assert (piece["count"], len(piece["names"]), piece["names"][0]) == (1200, 50, "leaf01150")
    assert len(group_page(world, "hub", "has", "tail", derived=False, most=10**6)["names"]) == 500
    derived = group_page(WORLD, "p1", "ancestor", "tail", derived=True, start=5)
    assert derived["names"] == ["p7", "p8"]


def test_unknown_names_are_told() -> None:
    with pytest.raises(UnknownNameError, match="unknown entity 'p99'"):
        entity_page(WORLD, "p99")
    with pytest.raises(InputError, match="found the side 'left'"):
        group_page(WORLD, "p0", "parent", "left", derived=False)


def test_predictions_are_those_of_predict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    facts, rules = tmp_path / "facts.tsv", tmp_path / "my.rules"
    FACTS.write(facts)
    rules.write_text(str(RULES))
    assert main(["predict", str(rules), str(facts), "--head", "p1", "--reasons", "1", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    page = predictions_page(LIST, head="p1", tail=None, relation=None, reasons=1)
    assert json.loads(json.dumps(page)) == told
    assert predictions_page(WORLD, head="p1", tail=None, relation=None) == {"predictions": []}


# --- why --------------------------------------------------------------------------------------------------------------


def test_the_explanation_is_that_of_explain(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    facts, rules = tmp_path / "facts.tsv", tmp_path / "my.rules"
    FACTS.write(facts)
    rules.write_text(str(RULES))
    for triple, status in ((("p1", "ancestor", "p4"), 0), (("p4", "ancestor", "p1"), 1)):
        assert main(["explain", str(rules), str(facts), *triple, "--json"]) == status
        told = json.loads(capsys.readouterr().out)
        del told["violations"]  # of all that follows, not of what is asked about
        assert json.loads(json.dumps(why_page(WORLD, Triple(*triple), most=1)["explanation"])) == told


def test_a_proof_is_drawn_from_facts_to_the_conclusion() -> None:
    page = why_page(WORLD, Triple("p1", "ancestor", "p4"), most=1)
    (drawn,) = page["pictures"]
    conclusion, *others = drawn["nodes"]
    assert conclusion["triple"] == ["p1", "ancestor", "p4"] and conclusion["kind"] == "derived"
    facts = {tuple(node["triple"]) for node in others if node["kind"] == "fact"}
    assert facts == set(CHAIN[1:4])
    arrows = {(edge["from"], edge["to"]) for edge in drawn["edges"]}
    reached = {0}
    for _ in drawn["nodes"]:
        reached |= {source for source, target in arrows if target in reached}
    assert reached == {node["id"] for node in drawn["nodes"]}
    assert not page["known"] and "parent(p3, p4)" in page["text"]


def test_a_fact_that_several_walks_use_has_one_arrow_that_says_how_often() -> None:
    triples = [(drug, "binds", part) for part in "123" for drug in "ab"]
    facts = KnowledgeGraph([*triples, ("b", "treats", "pain")])
    rules = parse_rules("binds(X, Y) & binds(Z, Y) & treats(Z, Z1) -> treats(X, Z1)")
    world = RuleListSubject(RuleModel.from_rules(rules), Source("drugs", facts)).as_given
    (drawn,) = why_page(world, Triple("a", "treats", "pain"), most=3)["pictures"]
    pairs = [(edge["from"], edge["to"]) for edge in drawn["edges"]]
    assert len(pairs) == len(set(pairs)) == 8
    times = {tuple(drawn["nodes"][edge["from"]].get("triple", ())): edge["times"] for edge in drawn["edges"]}
    assert times["b", "treats", "pain"] == 3 and times["a", "binds", "1"] == 1


def test_a_large_proof_is_drawn_in_part() -> None:
    long = KnowledgeGraph([(f"p{n}", "parent", f"p{n + 1}") for n in range(400)])
    world = RuleBaseSubject(RULES, Source("long", long)).as_given
    (drawn,) = why_page(world, Triple("p0", "ancestor", "p400"), most=1)["pictures"]
    assert len(drawn["nodes"]) == MOST_NODES and drawn["left_out"] > 0
    ends = {node["id"] for node in drawn["nodes"]}
    assert all({edge["from"], edge["to"]} <= ends for edge in drawn["edges"])


def test_why_not_has_the_one_fact_that_is_missing() -> None:
    page = why_page(WORLD, Triple("p0", "reveres", "p5"))
    assert [one["fact"] for one in page["missing"]] == [["p0", "knows", "p5"]]
    assert page["pictures"] == []
    two = why_page(WORLD, Triple("p5", "reveres", "p0"))
    assert two["missing"] == [] and len(two["explanation"]["nearest"][0]["missing"]) == 2


def test_a_sum_is_drawn_with_a_node_for_each_part() -> None:
    page = why_page(LIST, Triple("p1", "ancestor", "p2"))
    (drawn,) = page["pictures"]
    kinds = [node["kind"] for node in drawn["nodes"]]
    assert kinds.count("rule") == 1 and kinds[0] == "goal" and "fact" in kinds


# --- rules ------------------------------------------------------------------------------------------------------------


def test_rules_keep_their_places_and_have_a_status() -> None:
    first, second, _ = map(str, RULES.rules)
    edits = edits_of([
        Change.of({"kind": "reject-rule", "rule": second}),
        Change.of({"kind": "accept-rule", "rule": first}),
        Change.of({"kind": "add-rule", "rule": "knows(X, Y) -> knows(Y, X)"}),
    ])  # fmt: skip
    page = rules_page(SUBJECT.world(edits), WORLD, edits)
    assert [row["status"] for row in page["rules"]] == ["accepted", "rejected", "open", "added"]
    assert page["statuses"] == {"open": 1, "accepted": 1, "rejected": 1, "added": 1}
    assert page["rules"][0]["support"] == 0 and page["rules"][0]["predictions"] == 8
    found = rules_page(WORLD, WORLD, Edits(), search="KNOWS", sort="confidence", start=0, most=1)
    assert (found["count"], found["total"], len(found["rules"])) == (1, 3, 1)
    with pytest.raises(InputError, match="found 'colour' to sort by"):
        rules_page(WORLD, WORLD, Edits(), sort="colour")


def test_a_rule_has_examples_and_counter_examples_that_are_what_they_say() -> None:
    rule = RULES.rules[1]
    page = rule_page(FACTS | KnowledgeGraph([("p1", "ancestor", "p3"), ("p0", "ancestor", "p3")]), rule)
    assert [one["triple"] for one in page["examples"]] == [["p0", "ancestor", "p3"]]
    assert page["examples"][0]["facts"] == [["p0", "parent", "p1"], ["p1", "ancestor", "p3"]]
    assert page["counter_examples"] == []
    other = rule_page(FACTS, RULES.rules[0])
    assert len(other["counter_examples"]) == 5
    both = rule_page(FACTS, parse_rules("parent(X, Y) & knows(X, Y) -> ancestor(X, Y)").rules[0])
    assert both["examples"] == both["counter_examples"] == []
    assert rule_page(FACTS, parse_rules("nobody(X, Y) -> ancestor(X, Y)").rules[0])["looked_at"] == 0
    backwards = rule_page(FACTS, parse_rules("parent(Y, X) -> child(X, Y)").rules[0])
    assert backwards["counter_examples"][0]["triple"][1] == "child"


# --- the graph of rules -----------------------------------------------------------------------------------------------


def test_relations_lead_to_what_they_conclude() -> None:
    page = rule_graph_page(WORLD)
    pairs = {(edge["from"], edge["to"]) for edge in page["edges"]}
    assert pairs == {
        ("parent", "ancestor"),
        ("ancestor", "ancestor"),
        ("ancestor", "reveres"),
        ("knows", "reveres"),
    }
    assert {node["id"]: node["concluded"] for node in page["nodes"]}["knows"] is False
    about = rule_graph_page(WORLD, focus="reveres", rule=RULES.rules[2])
    assert about["left_out"] == 2 and about["path"] == [["ancestor", "reveres"], ["knows", "reveres"]]


def test_of_many_relations_one_is_drawn_with_those_around_it() -> None:
    text = "".join(f"r{n}(X, Y) -> s{n}(X, Y)\n" for n in range(MOST_AT_ONCE))
    rules = parse_rules(
        text + "r0(X, Y) & s1(Y, Z) -> top(X, Z)\ns2(X, Y) -> top(X, Y)\ntop(X, Y) -> last(X, Y)"
    )
    world = RuleBaseSubject(rules, Source("x", KnowledgeGraph([("a", "r0", "b")]))).as_given
    page = rule_graph_page(world)
    assert page["focus"] == "top" and page["relations"][0] == "top"
    before = {row["relation"]: (row["rules"], row["facts"]) for row in page["around"]["before"]}
    assert before == {"r0": (1, 1), "s1": (1, 0), "s2": (1, 0)}
    assert [row["relation"] for row in page["around"]["after"]] == ["last"]
    assert page["around"]["left_out"] == {"before": 0, "after": 0}
    # A rule that is looked at brings its relation with it.
    about = rule_graph_page(world, rule=parse_rules("r5(X, Y) -> s5(X, Y)").rules[0])
    assert about["focus"] == "s5" and about["path"] == [["r5", "s5"]]
    assert rule_graph_page(WORLD)["around"] is None  # few relations are drawn all together


def test_a_rule_runs_through_the_slots_along_its_body() -> None:
    rules = parse_rules("a(X, Y) & b(Y, Z) & c(Z, W) -> r(X, W)\nd(X, Y) -> b(X, Y)")
    world = RuleBaseSubject(rules, Source("x", FACTS)).as_given
    for rule in rules:
        page = rule_graph_page(world, rule=rule, slots=True)
        identities = build(rules).identities
        spelled = tuple(label for _, label, _ in page["run"] if label not in identities)
        assert spelled == rule.body
        assert all(one[2] == next_[0] for one, next_ in zip(page["run"], page["run"][1:], strict=False))
        assert sum(edge["on_path"] for edge in page["edges"]) == len(page["run"])


def test_rules_without_geometry_have_no_slots_and_say_why() -> None:
    world = RuleBaseSubject(
        parse_rules("a(X, Y) & r(Y, Z) & a(Z, W) -> r(X, W)"), Source("x", FACTS)
    ).as_given
    page = rule_graph_page(world, slots=True)
    assert page["nodes"] == [] and "no exact geometry" in page["reason"]


# --- training ---------------------------------------------------------------------------------------------------------


def test_a_training_is_followed_while_its_log_is_written(tmp_path: Path) -> None:
    assert training_page(None)["epochs"] == []
    assert not has_training(None) and not has_training(tmp_path)
    assert training_page(tmp_path)["epochs"] == []
    (tmp_path / "log.csv").write_text(
        "epoch,loss,hits@10,mrr,seconds\n1,0.5,,,1.2\n2,0.4,0.9,0.61,2.5\n3,0.3"
    )
    (tmp_path / "settings.toml").write_text('version = 3\n[settings]\nnum_slots = 16\n[other]\nname = "x"\n')
    page = training_page(tmp_path)
    assert [row["epoch"] for row in page["epochs"]] == [1, 2]
    assert page["best"]["mrr"] == 0.61 and has_training(tmp_path)
    assert page["settings"] == {"num_slots": "16", "other.name": '"x"'}
    assert not page["running"]
    with alone_in(tmp_path, "training"):
        assert training_page(tmp_path)["running"]
    assert not training_page(tmp_path)["running"]


# --- tables -----------------------------------------------------------------------------------------------------------


def test_every_page_is_a_table_too() -> None:
    def rows(view: str, data: dict) -> list[dict[str, str]]:
        return list(csv.DictReader(io.StringIO(csv_of(view, data))))

    entity = rows("entity", entity_page(WORLD, "p1"))
    assert {"head": "p0", "relation": "parent", "tail": "p1", "derived": "False"} in entity
    assert {"head": "p1", "relation": "ancestor", "tail": "p4", "derived": "True"} in entity
    group = rows("entity", group_page(WORLD, "p1", "ancestor", "tail", derived=True))
    assert len(group) == 7
    why = rows("why", why_page(WORLD, Triple("p1", "ancestor", "p4"), most=1))
    assert why[0]["rule"] == str(RULES.rules[1])
    assert rows("rules", rules_page(WORLD, WORLD, Edits()))[0]["body"] == "parent"
    assert rows("rule-graph", rule_graph_page(WORLD))[0]["from"] == "parent"
    found = rows("predictions", predictions_page(LIST, head="p1", tail=None, relation=None))
    assert found[0]["head"] == "p1"


def test_a_long_body_without_an_end_is_given_up_soon() -> None:
    """Twenty ways at each of eleven steps, and none to the end."""
    layers = [
        (f"a{layer}.{start}", "r", f"a{layer + 1}.{end}")
        for layer in range(11)
        for start in range(20)
        for end in range(20)
    ]
    rule = PathRule((*("r",) * 11, "s"), "h")
    steps: list[int] = []

    @contextmanager
    def counting(*_: object, **__: object) -> Iterator[Any]:
        yield lambda done, **_: steps.append(done)

    started = time.process_time()
    page = rule_page(KnowledgeGraph([*layers, ("x", "s", "y")]), rule, progress=counting)
    assert page["looked_at"] == 0 and time.process_time() - started < 5
    assert 0 < sum(steps) < 10_000


def test_a_rule_page_hears_that_it_is_cancelled() -> None:
    @contextmanager
    def cancelled(*_: object, **__: object) -> Iterator[Any]:
        def report(_done: int, note: str = "") -> None:
            raise KeyboardInterrupt(note)

        yield report

    with pytest.raises(KeyboardInterrupt):
        rule_page(KnowledgeGraph([("a", "r", "b")]), PathRule(("r",), "h"), progress=cancelled)


def test_the_page_of_a_rule_with_constants_has_examples() -> None:
    facts = KnowledgeGraph(
        [("ada", "bornIn", "london"), ("eve", "bornIn", "london"), ("ada", "speaks", "english")]
    )
    (rule,) = parse_rules('bornIn(X, "london") -> speaks(X, "english")').given
    page = rule_page(facts, rule)
    assert [one["triple"] for one in page["examples"]] == [["ada", "speaks", "english"]]
    assert [one["facts"] for one in page["counter_examples"]] == [[["eve", "bornIn", "london"]]]
