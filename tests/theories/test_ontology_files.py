"""Ontologies as theories: their classes where there are no individuals, else these."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest

import reshuffle as rs
from reshuffle.errors import InputError, UnknownNameError
from reshuffle.theories.ontology_files import OntologyTheory

if TYPE_CHECKING:
    from pathlib import Path

OBO = """format-version: 1.2
ontology: cells

[Term]
id: GO:1
name: nucleus
is_a: GO:2 ! organelle
relationship: part_of GO:3 {source="a book"} ! cell

[Term]
id: GO:2
name: organelle

[Term]
id: GO:3
name: cell
is_a: GO:4

[Term]
id: GO:4
name: thing of a body

[Term]
id: GO:5
name: nucleus of a cell
intersection_of: GO:2
intersection_of: part_of GO:3

[Typedef]
id: part_of
is_transitive: true
"""
EDGES = [
    ("GO:1", "is_a", "GO:2"), ("GO:1", "is_a", "GO:5"), ("GO:1", "part_of", "GO:3"), ("GO:1", "part_of", "GO:4"),
    ("GO:3", "is_a", "GO:4"), ("GO:5", "is_a", "GO:2"), ("GO:5", "part_of", "GO:3"), ("GO:5", "part_of", "GO:4"),
]  # fmt: skip
TURTLE = """
@prefix e: <http://e.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
e:A rdfs:subClassOf e:B . e:B rdfs:subClassOf e:C .
"""


@pytest.fixture
def obo(tmp_path: Path) -> Path:
    (tmp_path / "cells.obo").write_text(OBO)
    return tmp_path / "cells.obo"


def test_an_ontology_answers_for_its_classes(obo: Path) -> None:
    answers = rs.load(obo).on([])
    assert list(answers) == EDGES and len(answers) == 8
    assert answers.holds("nucleus", "part_of", "GO:4") and not answers.holds("GO:4", "part_of", "GO:1")
    assert sorted(answers.tails("GO:1", "part_of")) == ["GO:3", "GO:4"]
    assert sorted(answers.heads("part_of", "cell")) == ["GO:1", "GO:5"]
    assert sorted(answers.heads("is_a", "GO:2")) == ["GO:1", "GO:5"]
    assert answers.counts()["is_a"].derived == 4
    assert len(answers.to_pandas()) == 8 if pytest.importorskip("pandas") else True
    assert answers.exactness == "exact, by classification in OWL 2 EL"


def test_a_packed_file_says_the_same(obo: Path, tmp_path: Path) -> None:
    (tmp_path / "packed.obo.gz").write_bytes(gzip.compress(obo.read_bytes()))
    assert list(rs.load(tmp_path / "packed.obo.gz").on([])) == EDGES


def test_reduced_edges_do_not_follow_from_the_rest(obo: Path) -> None:
    theory = rs.load(obo)
    assert isinstance(theory, OntologyTheory)
    assert list(theory.classes(reduced=True)) == [
        ("GO:1", "is_a", "GO:5"), ("GO:3", "is_a", "GO:4"), ("GO:5", "is_a", "GO:2"), ("GO:5", "part_of", "GO:3"),
    ]  # fmt: skip


def test_a_proof_goes_back_to_axioms(obo: Path) -> None:
    assert str(rs.load(obo).on([]).explain("GO:1", "is_a", "GO:5")) == (
        "is_a(GO:1, GO:5)    [EquivalentClasses(GO:5 ObjectIntersectionOf(GO:2 ObjectSomeValuesFrom(part_of GO:3)))]\n"
        "├─ part_of(GO:1, GO:3)    [SubClassOf(GO:1 ObjectSomeValuesFrom(part_of GO:3))]\n"
        "└─ is_a(GO:1, GO:2)    [SubClassOf(GO:1 GO:2)]"
    )


def test_names_that_nothing_has_are_refused_and_axioms_do_not_come_and_go(obo: Path) -> None:
    answers = rs.load(obo).on([])
    with pytest.raises(UnknownNameError, match="unknown class 'GO:9'"):
        answers.holds("GO:9", "is_a", "GO:1")
    with pytest.raises(UnknownNameError, match="unknown relation 'parts_of'; did you mean 'part_of'"):
        answers.holds("GO:2", "parts_of", "GO:1")
    with pytest.raises(InputError, match="axioms between classes cannot be added"):
        answers.add([("GO:1", "is_a", "GO:4")])


def test_with_facts_an_ontology_answers_for_individuals(tmp_path: Path) -> None:
    (tmp_path / "o.ttl").write_text(TURTLE)
    theory = rs.load(tmp_path / "o.ttl")
    assert list(theory.on([])) == [
        ("e:A", "rdfs:subClassOf", "e:B"), ("e:A", "rdfs:subClassOf", "e:C"), ("e:B", "rdfs:subClassOf", "e:C")
    ]  # fmt: skip
    type_ = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
    of_individuals = theory.on([("a", type_, "http://e.org/A")])
    assert set(of_individuals.tails("a", type_)) == {f"http://e.org/{name}" for name in "ABC"}
