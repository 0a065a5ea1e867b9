"""Ontologies without individuals in the explorer: edges between classes as facts, with all that follows from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from datasets import shared_folder
from reshuffle.explorer.changes import Edits
from reshuffle.explorer.opening import Wanted, opened
from reshuffle.explorer.views.class_page import classes_page, has_classes
from reshuffle.kg import Triple
from reshuffle.reasoning.classes.class_answers import ClassAnswers
from reshuffle.rules.ontologies.ontology_reading import read_ontology

if TYPE_CHECKING:
    from pathlib import Path

    from reshuffle.explorer.exhibits import Exhibit

OBO = """\
format-version: 1.2

[Term]
id: GO:0000001
name: nucleus
is_a: GO:0000002
relationship: part_of GO:0000003

[Term]
id: GO:0000002
name: organelle

[Term]
id: GO:0000003
name: cell
disjoint_from: GO:0000002
relationship: part_of GO:0000005

[Term]
id: GO:0000004
is_a: GO:0000002
is_a: GO:0000003

[Term]
id: GO:0000005
name: organism

[Typedef]
id: part_of
is_transitive: true
is_a: overlaps

[Typedef]
id: overlaps
"""


@pytest.fixture
def cells(tmp_path: Path) -> Exhibit:
    (tmp_path / "cells.obo").write_text(OBO)
    (exhibit,) = opened(Wanted(str(tmp_path / "cells.obo")))
    return exhibit


def test_an_ontology_of_classes_has_a_tree_with_its_edges_and_labels(cells: Exhibit) -> None:
    world = cells.subject().as_given
    assert has_classes(world) and cells.labels["GO:0000001"] == "nucleus"
    page = classes_page(world)
    assert [row["name"] for row in page["roots"]] == ["GO:0000002", "GO:0000003", "GO:0000005"]
    assert page["unsatisfiable"] == ["GO:0000004"]
    nucleus = classes_page(world, "GO:0000001")
    assert nucleus["parents"] == ["GO:0000002"]
    assert nucleus["properties"] == [{"property": "part_of", "as": "some", "value": "GO:0000003"}]


def test_what_follows_and_why_and_what_goes_with_an_edge(cells: Exhibit) -> None:
    subject = cells.subject()
    asked = Triple("GO:0000001", "overlaps", "GO:0000005")
    assert asked in set(subject.as_given.answers.triples())
    assert "part_of(GO:0000001, GO:0000003)    fact" in subject.as_given.why(asked, most=1)[1]
    without = cells.world(Edits(removed=(Triple("GO:0000001", "part_of", "GO:0000003"),)))
    assert asked not in set(without.answers.triples())
    assert classes_page(without, "GO:0000001")["parents"] == ["GO:0000002"]


TURTLE = """
@prefix : <http://e.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Nucleus a owl:Class ; rdfs:label "nucleus" ;
  rdfs:subClassOf :Organelle, [ a owl:Restriction ; owl:onProperty :partOf ; owl:someValuesFrom :Cell ] .
:Cell a owl:Class ; rdfs:subClassOf :Thing .
:partOf a owl:ObjectProperty ; rdfs:subPropertyOf :overlaps .
"""


def test_turtle_without_individuals_shows_edges_between_classes_and_its_rules(tmp_path: Path) -> None:
    (tmp_path / "cells.ttl").write_text(TURTLE)
    classes, rules = opened(Wanted(str(tmp_path / "cells.ttl")))
    world = classes.subject().as_given
    nucleus, cell, thing = (f"http://e.org/{name}" for name in ("Nucleus", "Cell", "Thing"))
    assert (nucleus, "http://e.org/partOf", cell) in set(map(tuple, world.facts))
    assert (nucleus, "http://e.org/overlaps", thing) in set(map(tuple, world.answers.triples()))
    assert classes_page(world, nucleus)["properties"][0]["as"] == "some"
    assert (classes.title, classes.labels[nucleus]) == ("cells.ttl: classes", "nucleus")
    assert (rules.key, rules.title) == ("rules", "cells.ttl")


def test_turtle_with_individuals_shows_these(tmp_path: Path) -> None:
    (tmp_path / "cells.ttl").write_text(f"{TURTLE}:n1 a :Nucleus .")
    (exhibit,) = opened(Wanted(str(tmp_path / "cells.ttl")))
    assert exhibit.key == "rules"
    (tmp_path / "properties.ttl").write_text(
        TURTLE.split(":Nucleus", maxsplit=1)[0] + ":p rdfs:subPropertyOf :q ."
    )
    (exhibit,) = opened(Wanted(str(tmp_path / "properties.ttl")))
    assert exhibit.key == "rules"


@pytest.mark.parametrize("name", ["go-nucleus.obo", "go-nucleus.json", "so.obo"])
def test_all_edges_of_the_classification_follow(name: str) -> None:
    file = str(shared_folder("ontologies") / name)
    (exhibit,) = opened(Wanted(file))
    world = exhibit.subject().as_given
    found = {*map(tuple, world.answers.triples()), *map(tuple, world.facts)}
    above = {triple for triple in found if triple[1] == world.is_a and triple[0] == triple[2]}
    assert found - above == set(map(tuple, ClassAnswers(read_ontology(file)).triples()))
