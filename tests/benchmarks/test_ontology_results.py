"""Classification of generated ontologies: what is generated, and the stored times within what is required."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.result_files import read_document
from benchmarks.speed import ontologies
from benchmarks.speed.measure import RESULTS

from reshuffle.reasoning.classes.class_answers import ClassAnswers
from reshuffle.reasoning.classes.class_rules import rules_between
from reshuffle.rules.ontologies.ontology_reading import read_ontology

if TYPE_CHECKING:
    from pathlib import Path


def test_what_is_generated_has_the_sizes_of_an_import_of_uberon(tmp_path: Path) -> None:
    (tmp_path / "u.obo").write_text("\n".join(ontologies.like_uberon()))
    ontology = read_ontology(tmp_path / "u.obo")
    rules = rules_between(ontology, ClassAnswers(ontology, reduced=True), every=True)
    assert len(ontology.properties) == ontologies.PROPERTIES
    assert 700 < len(rules) < 900
    stated = [axiom for axiom in ontology.axioms if type(axiom).__name__ == "SubClassOf"]
    assert abs(len(stated) - ontologies.EDGES) < 500


def test_stored_times_are_within_what_is_required(tmp_path: Path) -> None:
    stored = read_document(RESULTS / "ontologies.json")
    work = stored["work"]
    assert {f"{size:,} classes" for size in ontologies.SIZES} < work.keys()
    assert stored["required"] == ontologies.REQUIRED
    assert work["like Uberon"]["cpu_seconds"] <= ontologies.REQUIRED["like Uberon, cpu_seconds"]
    largest = work["300,000 classes"]
    assert largest["whole_process"] <= ontologies.REQUIRED["300,000 classes, seconds"]
    assert largest["peak_megabytes"] <= ontologies.REQUIRED["300,000 classes, peak_megabytes"]
    (tmp_path / "small.obo").write_text("\n".join(ontologies.of_size(200)))
    assert ontologies.inferred(str(tmp_path / "small.obo")).keys() < largest.keys()
