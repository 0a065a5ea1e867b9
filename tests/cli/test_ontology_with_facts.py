"""An ontology in OBO, facts and own rules together: `infer`, `explain`, `check`, and the same in Python."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import reshuffle as rs
from reshuffle.cli.main import main
from reshuffle.kg import read_graph

if TYPE_CHECKING:
    from pathlib import Path

OBO = """format-version: 1.2

[Term]
id: HP:1
name: abnormality

[Term]
id: HP:2
name: heart defect
is_a: HP:1
relationship: part_of HP:5

[Term]
id: HP:3
name: septal defect
is_a: HP:2

[Term]
id: HP:5
name: body

[Typedef]
id: part_of
is_transitive: true

[Typedef]
id: has_finding
is_a: has_sign
"""
OF_CLASSES = ["HP:3\tis_a\tHP:1", "HP:3\tpart_of\tHP:5"]
OF_FACTS = [
    "gene1\thas_phenotype\tHP:1",
    "gene1\thas_phenotype\tHP:2",
    "gene2\thas_finding\tHP:1",
    "gene2\thas_finding\tHP:2",
    *(f"gene2\thas_sign\tHP:{number}" for number in (1, 2, 3)),
]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hp.obo").write_text(OBO)
    (tmp_path / "genes.tsv").write_text("gene1\thas_phenotype\tHP:3\ngene2\thas_finding\tHP:3\n")
    (tmp_path / "mine.rules").write_text("has_phenotype(X, Y) & is_a(Y, Z) -> has_phenotype(X, Z)\n")
    return tmp_path


@pytest.mark.parametrize(
    "files", [("hp.obo", "genes.tsv", "mine.rules"), ("mine.rules", "hp.obo", "genes.tsv")]
)
def test_an_ontology_facts_and_own_rules_are_joined(capsys, files: tuple[str, ...]) -> None:
    assert main(["infer", *files]) == 0
    told = capsys.readouterr()
    assert told.out.splitlines() == [*OF_CLASSES, *OF_FACTS]
    assert told.err.splitlines() == [
        "hp.obo: taken for axioms",
        "mine.rules: taken for rules",
        "genes.tsv: taken for facts",
        "hp.obo: an ontology without individuals: 4 classes are classified",
        "hp.obo: 3 edges and 10 rules join the facts",
    ] or told.err.startswith("mine.rules: taken for rules\nhp.obo: taken for axioms\n")


def test_properties_of_the_ontology_close_edges_that_facts_bring(place: Path, capsys) -> None:
    assert main(["infer", "hp.obo", "genes.tsv", "-o", "all.parquet"]) == 0
    assert "hp.obo: taken for axioms\ngenes.tsv: taken for facts\n" in capsys.readouterr().err
    lines = {"\t".join(triple) for triple in read_graph(place / "all.parquet")}
    assert lines == {*OF_CLASSES, *OF_FACTS[2:]}


def test_explain_proves_from_edges_and_own_rules(capsys) -> None:
    assert main(["explain", "hp.obo", "genes.tsv", "mine.rules", "gene1", "has_phenotype", "HP:1", "-q"]) == 0
    proof = capsys.readouterr().out
    assert 'has_phenotype(gene1, HP:3 "septal defect")    fact' in proof and "is_a(HP:3" in proof
    assert main(["explain", "hp.obo", "genes.tsv", "gene1", "has_phenotype", "HP:1", "-q"]) == 1


def test_two_ontologies_are_one(place: Path, capsys) -> None:
    (place / "more.obo").write_text("[Term]\nid: HP:4\nis_a: HP:3\n")
    assert main(["infer", "hp.obo", "more.obo", "-q"]) == 0
    assert {"HP:4\tis_a\tHP:1", "HP:4\tpart_of\tHP:5"} < set(capsys.readouterr().out.splitlines())
    (place / "genes.tsv").write_text("gene2\thas_sign\tHP:4\n")
    assert main(["infer", "hp.obo", "more.obo", "genes.tsv", "-q"]) == 0
    assert "gene2\thas_sign\tHP:1" in capsys.readouterr().out.splitlines()


def test_individuals_of_the_ontology_are_facts_with_types(place: Path, capsys) -> None:
    (place / "hp.obo").write_text(f"{OBO}\n[Instance]\nid: case1\ninstance_of: HP:3\n")
    assert main(["infer", "hp.obo", "genes.tsv", "-q"]) == 0
    found = capsys.readouterr().out.splitlines()
    assert [line for line in found if line.startswith("case1")] == [
        "case1\trdf:type\tHP:1",
        "case1\trdf:type\tHP:2",
    ]


def test_check_classifies_the_rules_that_are_joined(capsys) -> None:
    assert main(["check", "hp.obo", "mine.rules"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("classes: 4, ") and "rules: 11" in told


def test_in_python_facts_meet_the_edges(place: Path) -> None:
    theory = rs.load(place / "hp.obo")
    answers = theory.on([("gene2", "has_finding", "HP:3")])
    assert {"\t".join(triple) for triple in answers} == {*OF_CLASSES, *OF_FACTS[2:]}
    assert sorted(theory.on([])) == sorted(rs.load(place / "hp.obo").on([]))
    assert "part_of" in theory.relations
    own = theory.edited(written=rs.read_rules(place / "mine.rules"))
    assert own.on([*own.facts, ("gene1", "has_phenotype", "HP:3")]).holds("gene1", "has_phenotype", "HP:1")


def test_labels_stand_in_columns_on_request(place: Path, capsys) -> None:
    assert main(["infer", "hp.obo", "--reduced", "--with-labels", "-q"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "HP:2\tis_a\tHP:1\theart defect\t\tabnormality",
        "HP:2\tpart_of\tHP:5\theart defect\t\tbody",
        "HP:3\tis_a\tHP:2\tseptal defect\t\theart defect",
    ]
    assert main(["infer", "hp.obo", "genes.tsv", "mine.rules", "--with-labels", "-o", "all.csv", "-q"]) == 0
    lines = (place / "all.csv").read_text().splitlines()
    assert lines[0] == "head,relation,tail,head_label,relation_label,tail_label"
    assert "gene1,has_phenotype,HP:2,,,heart defect" in lines and len(lines) == 10
    capsys.readouterr()
    assert main(["infer", "hp.obo", "--reduced", "--with-labels", "-q", "--json"]) == 0
    first, *_ = json.loads(capsys.readouterr().out)
    assert (first["head"], first["head_label"]) == ("HP:2", "heart defect")


def test_labels_have_no_place_in_rdf_and_counts(capsys) -> None:
    assert main(["infer", "hp.obo", "--with-labels", "-o", "all.nt"]) == 2
    assert "--with-labels writes a table" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["infer", "hp.obo", "--with-labels", "--count"])


def test_an_obo_file_gives_labels(place: Path, capsys) -> None:
    (place / "own.obo").write_text('[Term]\nid: HP:3 {a="b"}\nname: defect \\{s\\} ! or so\nname: no\n')
    given = ["explain", "mine.rules", "genes.tsv", "edges.tsv", "gene1", "has_phenotype"]
    (place / "edges.tsv").write_text("HP:3\tis_a\tHP:2\n")
    assert main([*given, "HP:3", "--labels", "own.obo", "-q"]) == 0
    assert capsys.readouterr().out == 'has_phenotype(gene1, HP:3 "defect {s}")    fact\n'
    assert main([*given, "heart defect", "--labels", "hp.obo", "-q"]) == 0
    assert capsys.readouterr().out.startswith('has_phenotype(gene1, HP:2 "heart defect")')


def test_explain_shows_and_takes_labels_of_the_ontology(capsys) -> None:
    files = ["hp.obo", "genes.tsv", "mine.rules"]
    assert main(["explain", *files, "gene1", "has_phenotype", "heart defect", "-q"]) == 0
    assert 'is_a(HP:3 "septal defect", HP:2 "heart defect")    fact' in capsys.readouterr().out
    assert main(["explain", *files, "gene1", "has_phenotype", "heart", "-q"]) == 2


def test_facts_in_rdf_meet_iris(place: Path, capsys) -> None:
    obo = "http://purl.obolibrary.org/obo/"
    (place / "genes.nt").write_text(f"<http://e/g> <http://e/has> <{obo}HP_3> .\n")
    (place / "mine.rules").write_text('"http://e/has"(X, Y) & is_a(Y, Z) -> "http://e/has"(X, Z)\n')
    assert main(["infer", "hp.obo", "genes.nt", "mine.rules", "-q"]) == 0
    assert f"http://e/g\thttp://e/has\t{obo}HP_1" in capsys.readouterr().out.splitlines()


def test_facts_that_name_no_class_are_told(place: Path, capsys) -> None:
    (place / "genes.tsv").write_text("gene1\thas_phenotype\tHP_3\n")
    assert main(["infer", "hp.obo", "genes.tsv"]) == 0
    assert "warning: the facts name no class of the ontology, which writes names such as HP:" in (
        capsys.readouterr().err
    )


def test_axioms_that_only_classify_are_counted_beside_facts(place: Path, capsys) -> None:
    more = "[Term]\nid: HP:6\nintersection_of: HP:2\nintersection_of: part_of HP:5\ndisjoint_from: HP:5\n"
    (place / "hp.obo").write_text(f"{OBO}\n{more}")
    assert main(["explain", "hp.obo", "genes.tsv", "gene1", "has_phenotype", "HP:6"]) == 1
    told = capsys.readouterr()
    assert "does not follow from what was read; 2 axioms were used between classes alone" in told.out
    assert "owl:disjointWith axioms used between classes alone: 1; the first: hp.obo: Disjoint" in told.err
    with (place / "hp.obo").open("a") as file:
        file.write("\n[Term]\nid: HP:7\nunion_of: HP:2\nunion_of: HP:5\n")
    assert main(["infer", "hp.obo", "genes.tsv"]) == 0  # the new axiom is counted once
    told = capsys.readouterr().err
    assert "owl:unionOf, in part not used between classes: 1;" in told
    assert "owl:equivalentClass axioms used between classes alone: 1;" in told
    (place / "genes.tsv").write_text("x\trdf:type\tHP:6\n")
    assert main(["infer", "hp.obo", "genes.tsv", "-q"]) == 0
    assert {"x\trdf:type\tHP:1", "x\trdf:type\tHP:2"} < set(capsys.readouterr().out.splitlines())
