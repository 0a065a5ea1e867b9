"""`infer`, `explain` and `check` on ontologies without individuals."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from reshuffle.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

OBO = """[Term]
id: GO:0000001
name: nucleus
is_a: GO:0000002
relationship: part_of GO:0000003

[Term]
id: GO:0000002
name: organelle
disjoint_from: GO:0000003

[Term]
id: GO:0000003
name: cell

[Term]
id: GO:0000004
name: chimera
is_a: GO:0000002
is_a: GO:0000003

[Typedef]
id: part_of
is_functional: true
"""

UNUSED = (
    "owl:FunctionalProperty axioms not used between classes: 1; "
    "the first: cells.obo: FunctionalObjectProperty(part_of)"
)


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cells.obo").write_text(OBO)
    return tmp_path


def test_infer_prints_edges_in_short_names_and_says_what_was_not_read(capsys) -> None:
    assert main(["infer", "cells.obo"]) == 0
    told = capsys.readouterr()
    assert told.out.splitlines() == [
        "GO:0000001\tis_a\tGO:0000002",
        "GO:0000001\tpart_of\tGO:0000003",
        "GO:0000004\tis_a\towl:Nothing",
    ]
    assert told.err.splitlines() == [
        "cells.obo: an ontology without individuals: 4 classes are classified",
        UNUSED,
        "warning: 1 class can have no members: GO:0000004",
    ]


def test_output_in_rdf_has_full_names(place: Path, capsys) -> None:
    (place / "cells.ttl").write_text(
        "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix obo: <http://purl.obolibrary.org/obo/> .\n"
        "obo:GO_1 rdfs:subClassOf obo:GO_2 ."
    )
    assert main(["infer", "cells.ttl", "-q"]) == 0
    assert capsys.readouterr().out == "GO:1\trdfs:subClassOf\tGO:2\n"
    assert main(["infer", "cells.ttl", "-q", "-o", "out.nt"]) == 0
    obo = "http://purl.obolibrary.org/obo/"
    sub = "http://www.w3.org/2000/01/rdf-schema#subClassOf"
    assert (place / "out.nt").read_text() == f"<{obo}GO_1> <{sub}> <{obo}GO_2> .\n"


def test_the_summary_and_counts(place: Path, capsys) -> None:
    assert main(["infer", "cells.obo", "-q", "-o", "e.tsv", "--summary", "s.json"]) == 0
    summary = json.loads((place / "s.json").read_text())
    assert (summary["derived"], summary["exact"]) == (3, False)
    assert [one["what"] for one in summary["not_read"]] == ["owl:FunctionalProperty axioms"]
    assert main(["infer", "cells.obo", "-q", "--count"]) == 0
    assert capsys.readouterr().out.endswith("is_a\t2\t2\npart_of\t1\t1\n")


def test_explain_needs_no_facts_and_takes_labels(capsys) -> None:
    assert main(["explain", "cells.obo", "nucleus", "part_of", "cell", "-q"]) == 0
    assert capsys.readouterr().out == (
        'part_of(GO:0000001 "nucleus", GO:0000003 "cell")    '
        '[SubClassOf(GO:0000001 "nucleus" ObjectSomeValuesFrom(part_of GO:0000003 "cell"))]\n'
    )
    assert main(["explain", "cells.obo", "cell", "part_of", "nucleus", "-q"]) == 1
    assert "does not follow from what was read" in capsys.readouterr().out
    assert main(["explain", "cells.obo", "cell", "part_of", "nuclei", "-q"]) == 2
    assert capsys.readouterr().err == "unknown class 'nuclei'\n"


def test_explain_takes_names_with_the_empty_prefix(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "own.ttl"
    path.write_text(
        "@prefix : <http://e/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . "
        ":A rdfs:subClassOf :B . :B rdfs:subClassOf :C . :p rdfs:subPropertyOf :q ."
    )
    assert main(["explain", str(path), ":A", "rdfs:subClassOf", ":C", "-q"]) == 0
    assert capsys.readouterr().out.startswith("rdfs:subClassOf(:A, :C) ")
    assert main(["explain", str(path), ":p", "rdfs:subClassOf", ":C", "-q"]) == 2
    assert ":p' or" not in capsys.readouterr().err


def test_check_proves_that_a_class_can_have_no_members(capsys) -> None:
    assert main(["check", "cells.obo"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "classes: 4, properties: 1, axioms: 6",
        "edges between classes: from what was read, by classification in OWL 2 EL; "
        "1 axiom was not used between classes",
        f"  {UNUSED}",
        "classes that can have no members: 1",
        'is_a(GO:0000004 "chimera", owl:Nothing)    [DisjointClasses(GO:0000002 "organelle" GO:0000003 "cell")]',
        '├─ is_a(GO:0000004 "chimera", GO:0000002 "organelle")    '
        '[SubClassOf(GO:0000004 "chimera" GO:0000002 "organelle")]',
        '└─ is_a(GO:0000004 "chimera", GO:0000003 "cell")    [SubClassOf(GO:0000004 "chimera" GO:0000003 "cell")]',
    ]
    assert main(["check", "cells.obo", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    data = told["classes"]
    assert told["violations"] == data["not_read"] == []
    assert told["not_read"] == data["not_used"]
    assert [(one["what"], one["lack"]) for one in data["not_used"]] == [
        ("owl:FunctionalProperty axioms", "not used between classes")
    ]
    assert (data["classes"], list(data["without_members"])) == (4, ["GO:0000004"])


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("[Term]\nid: GO:1\nis_a\n", "bad.obo:3: found neither a stanza nor a tag, expected OBO"),
        ("[Term]\nname: x\nis_a: GO:1\n", "bad.obo:1: found a [Term] without an id"),
        (
            "[Term]\nid: GO:1\nrelationship: part_of ! no\n",
            "bad.obo:3: found 'relationship:' with 1 of 2 names",
        ),
        ("\x00\x01", "bad.obo:1: found neither"),
    ],
)
def test_a_malformed_file_gives_its_line(place: Path, capsys, text: str, error: str) -> None:
    (place / "bad.obo").write_text(text)
    assert main(["infer", "bad.obo"]) == 2
    assert capsys.readouterr().err.startswith(error)


def test_reduced_and_engines_are_refused_where_they_say_nothing(place: Path, capsys) -> None:
    (place / "my.rules").write_text("a(X, Y) -> b(X, Y)\n")
    (place / "facts.tsv").write_text("x\ta\ty\n")
    assert main(["infer", "my.rules", "facts.tsv", "--reduced"]) == 2
    assert "--reduced is for the classes of an ontology" in capsys.readouterr().err
    assert main(["infer", "cells.obo", "--engine", "duckdb"]) == 2
    assert "derives from facts" in capsys.readouterr().err


def test_check_consistent_needs_no_facts_and_lists_classes_without_members(place: Path, capsys) -> None:
    assert main(["check", "cells.obo", "--consistent"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("no clash follows; from what was read, by classification in OWL 2 EL; 1 axiom")
    assert lines[1] == "classes that can have no members: 1" and "chimera" in lines[2]
    (place / "cells.obo").write_text(OBO.replace("is_functional: true\n", ""))
    assert main(["check", "cells.obo", "--consistent", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["consistent"], data["without_members"], data["violations"]) == (True, ["GO:0000004"], [])
    assert data["exactness"] == "exact, by classification in OWL 2 EL"
    with (place / "cells.obo").open("a") as file:
        file.write("\n[Instance]\nid: x\ninstance_of: GO:0000004\n")
    assert main(["check", "cells.obo", "--consistent", "-q"]) == 0
    assert "; 1 assertion was not used between classes\n" in capsys.readouterr().out


def test_an_ontology_in_which_nothing_can_be_is_inconsistent(place: Path, capsys) -> None:
    (place / "cells.obo").write_text(f"{OBO}\n[Term]\nid: owl:Thing\nis_a: GO:0000002\nis_a: GO:0000003\n")
    assert main(["check", "cells.obo", "--consistent"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "inconsistent: 1 clash" and "is_a(owl:Thing, owl:Nothing)" in lines[1]
    assert main(["check", "cells.obo", "--consistent", "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["consistent"] is False and len(data["violations"]) == 1
