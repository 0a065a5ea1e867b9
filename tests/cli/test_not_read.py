"""What was not read, and what breaks a constraint: in every output, and nothing is called exact then."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from reshuffle.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

PREFIXES = (
    "@prefix e: <http://e.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . "
    "@prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
)
SOME = "[ a owl:Restriction ; owl:onProperty e:p ; owl:someValuesFrom e:A ]"
ONTOLOGY = (
    f"{PREFIXES}e:A rdfs:subClassOf e:B . e:B rdfs:subClassOf {SOME} . e:Empty rdfs:subClassOf owl:Nothing ."
)
FACTS = f"{PREFIXES}e:x a e:A . e:y e:p e:x ."
PARTLY = "from what was read; 1 axiom was not read"


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    for name, text in (("a.ttl", ONTOLOGY), ("facts.ttl", FACTS)):
        (tmp_path / name).write_text(text)
    return [str(tmp_path / "a.ttl"), str(tmp_path / "facts.ttl")]


@pytest.mark.parametrize("engine", ["auto", "geometry", "chase"])
def test_where_an_axiom_was_not_read_nothing_is_exact(
    files: list[str], engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["explain", *files, "e:y", "rdf:type", "e:B", "--engine", engine]
    assert main(["-q", *asked]) == 1
    said = capsys.readouterr().out.partition("\n")[0]
    assert "does not follow from what was read" in said and said.endswith("; 1 axiom was not read")
    assert main(["--json", *asked]) == 1
    data = json.loads(capsys.readouterr().out)
    assert "exact" not in data["exactness"] and data["violations"] == []
    assert [one["what"] for one in data["not_read"]] == ["rdfs:subClassOf axioms with owl:someValuesFrom"]


def test_check_and_the_summary_say_what_was_not_read(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", files[0]]) == 0
    assert capsys.readouterr().out.partition("\n  ")[0].endswith(PARTLY)
    assert main(["--json", "check", files[0]]) == 0
    checked = json.loads(capsys.readouterr().out)
    summary = tmp_path / "summary.json"
    assert main(["--json", "infer", *files, "--summary", str(summary)]) == 0
    assert isinstance(json.loads(capsys.readouterr().out), list)
    told = json.loads(summary.read_text())
    assert (told["derived"], told["exact"], told["violations"]) == (1, False, [])
    assert told["not_read"] == checked["not_read"] and len(told["not_read"]) == 1
    (tmp_path / "b.ttl").write_text(f"{PREFIXES}e:A rdfs:subClassOf e:B .")
    assert main(["infer", str(tmp_path / "b.ttl"), files[1], "--summary", str(summary)]) == 0
    assert json.loads(summary.read_text()) == {"derived": 1, "exact": True, "not_read": [], "violations": []}


def test_compiled_constraints_remember_what_was_not_read(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    compiled = str(tmp_path / "compiled.json")
    assert main(["compile", files[0], "-o", compiled]) == 0
    capsys.readouterr()
    assert main(["explain", compiled, files[1], "e:y", "rdf:type", "e:B"]) == 1
    assert PARTLY in capsys.readouterr().out


def test_skipped_rules_are_not_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rules, facts = tmp_path / "my.rules", tmp_path / "facts.tsv"
    rules.write_text("a(X, Y) -> b(X, Y)\na(X, Y) & b(Z, U) -> b(X, U)\n")
    facts.write_text("x\ta\ty\n")
    assert main(["-q", "explain", str(rules), str(facts), "y", "b", "x", "--skip-unsupported"]) == 1
    assert "b(y, x) does not follow from what was read; 1 rule was not read" in capsys.readouterr().out


def test_beside_facts_nothing_between_classes_is_denied_exactly(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A class without members is below all others: rules for individuals do not derive that."""
    axioms, facts = tmp_path / "axioms.ttl", tmp_path / "facts.ttl"
    axioms.write_text(
        f"{PREFIXES}e:A owl:disjointWith e:B . e:C rdfs:subClassOf e:A , e:B . e:D rdfs:subClassOf e:A ."
    )
    facts.write_text(f"{PREFIXES}e:x a e:D .")
    assert main(["explain", str(axioms), str(facts), "e:C", "rdfs:subClassOf", "e:D"]) == 1
    assert "only the closure of rdfs:subClassOf is derived" in capsys.readouterr().out
    assert main(["explain", str(axioms), "e:C", "rdfs:subClassOf", "e:D"]) == 0


def test_a_closure_between_classes_is_derived(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    both = tmp_path / "all.ttl"
    both.write_text(f"{PREFIXES}e:A rdfs:subClassOf e:B . e:B rdfs:subClassOf e:C . e:x a e:A .")
    assert main(["explain", str(both), str(both), "e:A", "rdfs:subClassOf", "e:C"]) == 0
    said = capsys.readouterr()
    assert "rdfs:subClassOf(e:A, e:B)    fact" in said.out
    assert "warning" not in said.err  # axioms that were read may stand among the facts
    assert main(["explain", str(both), str(both), "e:B", "rdfs:subClassOf", "e:A"]) == 1
    assert (
        "rdfs:subClassOf(e:B, e:A) does not follow from what was read; "
        "only the closure of rdfs:subClassOf is derived\n" in capsys.readouterr().out
    )
    assert main(["explain", str(both), str(both), "e:x", "rdf:type", "e:A", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["exactness"] == "exact"


def test_a_second_ontology_is_read_and_nothing_is_exact_that_lacks_an_axiom(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "one.ttl").write_text(f"{PREFIXES}e:A rdfs:subClassOf e:B .")
    (tmp_path / "two.ttl").write_text(f"{PREFIXES}e:B rdfs:subClassOf e:C . e:C rdfs:subClassOf {SOME} .")
    given, summary = [str(tmp_path / "one.ttl"), str(tmp_path / "two.ttl"), files[1]], tmp_path / "s.json"
    assert main(["infer", *given, "--summary", str(summary)]) == 0
    told = capsys.readouterr().err
    assert "two.ttl: taken for axioms" in told and "warning" not in told
    said = json.loads(summary.read_text())
    assert said["exact"] is False and sum(one["count"] for one in said["not_read"]) == 1


@pytest.mark.parametrize("fact", ["e:x a e:Empty .", "e:x a owl:Nothing ."])
def test_an_individual_of_the_empty_class_is_a_violation(
    files: list[str], fact: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "facts.ttl").write_text(PREFIXES + fact)
    summary = tmp_path / "summary.json"
    assert main(["-q", "infer", *files, "--summary", str(summary)]) == 1
    told = capsys.readouterr().err
    assert (
        "warning: what follows breaks a constraint" in told and 'rdf:type(X, "owl:Nothing") -> false' in told
    )
    assert len(json.loads(summary.read_text())["violations"]) == 1
    assert main(["explain", *files, "e:x", "rdf:type", "owl:Nothing", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["violations"]) == 1
    (tmp_path / "all.ttl").write_text(f"{ONTOLOGY} {fact}")
    assert main(["-q", "check", str(tmp_path / "all.ttl"), "--json"]) == 1
    assert len(json.loads(capsys.readouterr().out)["violations"]) == 1
