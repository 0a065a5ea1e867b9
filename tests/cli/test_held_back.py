"""`predict --constraints`: links that would break a constraint are held back, and others take their places."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from reshuffle.cli.main import main
from reshuffle.kg import KnowledgeGraph, Triple
from reshuffle.reasoning import Reasoner
from reshuffle.rules.parsing import parse_rules, read_rules
from reshuffle.theories import impossible_links
from reshuffle.theories.impossible_links import ImpossibleLinks

if TYPE_CHECKING:
    from pathlib import Path

E = "http://e/"
ONTOLOGY = """
@prefix : <http://e/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:bornIn a owl:FunctionalProperty ; rdfs:domain :Person ; rdfs:range :Place .
:firstBornIn rdfs:subPropertyOf :bornIn .
:motherOf a owl:InverseFunctionalProperty .
:Person owl:disjointWith :Place .
:knows rdfs:range :Person .
:Place rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :near ; owl:allValuesFrom :Place ] .
"""
RULES = """10\t9\t0.9\t"http://e/livesIn"(X, Y) -> "http://e/bornIn"(X, Y)
10\t7\t0.7\t"http://e/livesIn"(X, Y) -> "http://e/knows"(X, Y)
10\t5\t0.5\t"http://e/knows"(X, Z) & "http://e/knows"(Z, Y) -> "http://e/knows"(X, Y)
"""
FACTS = [
    *((f"p{n}", "bornIn", f"c{n % 3}") for n in range(8)),
    *((f"p{n}", "livesIn", f"c{n % 3}") for n in range(8)),
    *((f"p{n}", "knows", f"p{(n + 1) % 8}") for n in range(8)),
    ("q", "livesIn", "c1"),
    ("ann", "motherOf", "p0"),
]


def full(triple: tuple[str, str, str]) -> Triple:
    return Triple(*(E + name for name in triple))


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ontology.ttl").write_text(ONTOLOGY)
    (tmp_path / "list.rules").write_text(RULES)
    lines = (" ".join(f"<{name}>" for name in full(fact)) for fact in FACTS)
    (tmp_path / "facts.nt").write_text("".join(f"{line} .\n" for line in lines))
    return tmp_path


@pytest.mark.parametrize(
    ("link", "why"),
    [
        ("p0 bornIn c1", "a second value of a functional property"),
        ("p0 firstBornIn c1", "by a property below it"),
        ("bea motherOf p0", "a second value against an inverse functional property"),
        ("p0 knows c1", "c1 is a place and would be a person"),
        ("c1 bornIn c2", "c1 is a place and would be a person"),
        ("c1 near p0", "what is near a place is a place"),
    ],
)
def test_links_that_cannot_be(place: Path, link: str, why: str) -> None:
    impossible = ImpossibleLinks(read_rules(place / "ontology.ttl"), KnowledgeGraph(map(full, FACTS)))
    assert full(tuple(link.split())) in impossible, why  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "link", ["q bornIn c1", "p0 bornIn c0", "p0 knows p2", "bea motherOf p1", "x near y"]
)
def test_links_that_may_be(place: Path, link: str) -> None:
    impossible = ImpossibleLinks(read_rules(place / "ontology.ttl"), KnowledgeGraph(map(full, FACTS)))
    assert full(tuple(link.split())) not in impossible  # type: ignore[arg-type]


def test_a_clash_that_is_there_already_is_not_held_against_a_link(place: Path) -> None:
    facts = KnowledgeGraph(map(full, [*FACTS, ("p0", "knows", "c0")]))
    impossible = ImpossibleLinks(read_rules(place / "ontology.ttl"), facts)
    assert full(("p0", "knows", "p2")) not in impossible


def test_others_take_the_places_of_links_that_are_held_back(capsys) -> None:
    asked = [
        "predict",
        "list.rules",
        "facts.nt",
        "--head",
        f"{E}p0",
        "--relation",
        f"{E}knows",
        "--top",
        "3",
        "--json",
    ]
    assert main(asked) == 0
    before = json.loads(capsys.readouterr().out)
    assert f"{E}c0" in {link["tail"] for link in before["predictions"]} and "held_back" not in before
    assert main([*asked, "--constraints", "ontology.ttl"]) == 0
    told = capsys.readouterr()
    after = json.loads(told.out)
    assert len(after["predictions"]) == 3 and after["held_back"] >= 1
    assert not {f"{E}c0", f"{E}c1", f"{E}c2"} & {link["tail"] for link in after["predictions"]}
    assert "held back, which would break a constraint" in told.err


def test_all_links_of_the_graph_and_a_report(place: Path, capsys) -> None:
    asked = ["predict", "list.rules", "facts.nt", "--all", "--constraints", "ontology.ttl"]
    assert main([*asked, "--top", "4", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["predictions"]) == 4 and found["held_back"] > 4
    assert main([*asked, "--per-relation", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [link["relation"] for link in found["predictions"]] == [f"{E}bornIn", f"{E}knows", f"{E}knows"]
    assert main([*asked, "-o", "report.html", "-q"]) == 0
    assert "held back, which would break a constraint of ontology.ttl" in (place / "report.html").read_text()


def test_where_no_link_is_left_none_is_proposed(capsys) -> None:
    asked = ["predict", "list.rules", "facts.nt", "--head", f"{E}p0", "--relation", f"{E}bornIn"]
    assert main([*asked, "--constraints", "ontology.ttl"]) == 1
    assert capsys.readouterr().out.startswith("no predictions")


def test_a_file_that_excludes_nothing_is_refused(capsys) -> None:
    asked = ["predict", "list.rules", "facts.nt", "--all", "--constraints", "list.rules"]
    assert main(asked) == 2
    assert "nothing in this file says what cannot be" in capsys.readouterr().err


def test_a_thousand_links_are_judged_and_no_more(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setattr(impossible_links, "_MOST_JUDGED", 4)
    asked = [
        "predict",
        "list.rules",
        "facts.nt",
        "--head",
        f"{E}p0",
        "--relation",
        f"{E}bornIn",
        "--top",
        "2",
    ]
    assert main([*asked, "--constraints", "ontology.ttl"]) == 1
    assert "no more links were looked at than the best 4\n4 links held back" in capsys.readouterr().err


CLASHING = [
    "p(X, Y) & q(Y, Z) -> r(X, Z)\nr(X, Y) & p(Y, Z) -> u(X, Z)\nu(X, Y) & q(X, Y) -> false",
    "p(X, Y) & q(Y, Z) & r(Z, Z1) -> u(X, Z1)\nu(X, Y) & p(Y, X) -> false",
    "p(X, Y) & p(Y, Z) -> p(X, Z)\np(X, Y) & q(X, Y) -> false",
]


@pytest.mark.parametrize("rules", CLASHING)
@pytest.mark.parametrize("seed", range(3))
def test_no_clash_is_missed_however_far_it_is_from_the_link(rules: str, seed: int) -> None:
    """Beside the answers on the whole graph, with every link that is no fact."""
    chance = np.random.default_rng(seed)
    rows = chance.integers((0, 0, 0), (7, 4, 7), size=(12, 3)).tolist()
    facts = [(f"e{head}", "pqru"[relation], f"e{tail}") for head, relation, tail in rows if head != tail]
    base = parse_rules(rules)
    impossible, held = ImpossibleLinks(base, KnowledgeGraph(facts)), 0
    derived = {*map(tuple, Reasoner(base, engine="chase").on(facts).triples())}
    for head in range(7):
        for relation in "pq":
            for tail in range(7):
                link = Triple(f"e{head}", relation, f"e{tail}")
                if head == tail or link in {*facts, *derived}:
                    continue
                whole = Reasoner(base, engine="chase").on([*facts, link])
                broken = any(
                    link in (*one.first.leaves(), *one.second.leaves()) for one in whole.violations()
                )
                assert (link in impossible) == broken
                held += broken
    assert held
