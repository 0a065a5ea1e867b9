"""Beside owlrl, which closes RDF graphs under OWL RL: the same triples from the same files, for axioms we read."""

from __future__ import annotations

import random
import re
from collections import Counter
from typing import TYPE_CHECKING

import owlrl
import pytest
import rdflib

from reshuffle.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

EX = "http://example.org/"
HEADER = f"""@prefix : <{EX}> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
"""
PROPERTIES, ATTRIBUTES, CLASSES, PEOPLE = (
    [f"p{i}" for i in range(6)],
    [f"d{i}" for i in range(4)],
    [f"C{i}" for i in range(8)],
    [f"e{i}" for i in range(12)],
)


def axiom(chance: random.Random) -> str:
    p, q, r = chance.sample(PROPERTIES, 3)
    c, d, e = chance.sample(CLASSES, 3)
    some = f"a owl:Restriction ; owl:onProperty :{p}"
    return chance.choice(
        [
            f":{p} rdfs:domain :{c} .",
            f":{p} rdfs:range :{c} .",
            f":{c} rdfs:subClassOf :{d} .",
            f":{c} rdfs:subClassOf :{d} .",
            f":{c} owl:equivalentClass :{d} .",
            f":{c} rdfs:subClassOf [ a owl:Class ; owl:intersectionOf ( :{d} :{e} ) ] .",
            f"[ a owl:Class ; owl:unionOf ( :{c} :{d} ) ] rdfs:subClassOf :{e} .",
            f":{c} owl:unionOf ( :{d} :{e} ) .",
            f":{c} owl:oneOf ( :{chance.choice(PEOPLE)} :{chance.choice(PEOPLE)} ) .",
            f"[ {some} ; owl:hasValue :{chance.choice(PEOPLE)} ] rdfs:subClassOf :{c} .",
            f"[ {some} ; owl:someValuesFrom owl:Thing ] rdfs:subClassOf :{c} .",
            f":{p} rdfs:subPropertyOf :{q} .",
            f":{p} owl:equivalentProperty :{q} .",
            f":{p} owl:inverseOf :{q} .",
            f":{p} a owl:SymmetricProperty .",
            f":{r} a owl:TransitiveProperty .",
        ]
    )


def axiom_of_attributes(chance: random.Random) -> str:
    """Properties that lead to literals have no inverses and no chains in OWL 2."""
    p, q = chance.sample(ATTRIBUTES, 2)
    c = chance.choice(CLASSES)
    return chance.choice(
        [
            f":{p} rdfs:domain :{c} .",
            f":{p} rdfs:range :{c} .",  # which says nothing about anybody
            f":{p} rdfs:subPropertyOf :{q} .",
            f":{p} owl:equivalentProperty :{q} .",
            f"[ a owl:Restriction ; owl:onProperty :{p} ; owl:someValuesFrom owl:Thing ] rdfs:subClassOf :{c} .",
        ]
    )


def files(folder: Path, chance: random.Random) -> tuple[Path, Path]:
    ontology, facts = folder / "ontology.ttl", folder / "facts.ttl"
    axioms = [axiom(chance) for _ in range(14)] + [axiom_of_attributes(chance) for _ in range(5)]
    ontology.write_text(HEADER + "\n".join(axioms))
    links = [
        f":{chance.choice(PEOPLE)} :{chance.choice(PROPERTIES)} :{chance.choice(PEOPLE)} ." for _ in range(14)
    ]
    types = [f":{chance.choice(PEOPLE)} a :{chance.choice(CLASSES)} ." for _ in range(5)]
    texts = [f":{chance.choice([*PEOPLE, 'new'])} :{chance.choice(ATTRIBUTES)} {i} ." for i in range(4)]
    facts.write_text(HEADER + "\n".join([*links, *types, *texts]))
    return ontology, facts


def closed(ontology: Path, facts: Path) -> set[tuple[str, str, str]]:
    """What owlrl derives about the individuals: links over the properties, and named classes as types.

    Facts whose tail is a literal are no triples of ours, and nothing is said about literals.
    """
    given = rdflib.Graph().parse(facts)
    graph = rdflib.Graph().parse(facts).parse(ontology)
    owlrl.DeductiveClosure(owlrl.OWLRL_Semantics).expand(graph)
    people, links = {EX + name for name in [*PEOPLE, "new"]}, {EX + name for name in PROPERTIES}
    classes = {EX + name for name in CLASSES}
    return {
        (str(s), str(p), str(o))
        for s, p, o in graph
        if (s, p, o) not in given
        and str(s) in people
        and ((str(p) in links and str(o) in people) or (p == rdflib.RDF.type and str(o) in classes))
    }


def read_in_part(told: str) -> Counter[str]:
    """The notes about axioms that were not read as a whole: of a definition, that its members are no others."""
    found = re.findall(
        r"^owl:equivalentClass axioms with (owl:\w+), in part not read: (\d+);", told, re.MULTILINE
    )
    assert told.count("not read") == len(found), told
    return Counter({construct: int(count) for construct, count in found})


def definitions(ontology: Path) -> Counter[str]:
    """The classes that are said to be a union or an enumeration."""
    return Counter(re.findall(r"^:C\d (owl:unionOf|owl:oneOf) ", ontology.read_text(), re.MULTILINE))


@pytest.mark.parametrize("seed", range(12))
def test_generated_ontologies_give_the_same_triples(
    tmp_path: Path, seed: int, capsys: pytest.CaptureFixture[str]
):
    ontology, facts = files(tmp_path, random.Random(seed))
    for engine in ("auto", "chase"):
        assert main(["infer", str(ontology), str(facts), "--engine", engine]) == 0
        printed = capsys.readouterr()
        assert read_in_part(printed.err) == definitions(ontology)
        found = {tuple(line.split("\t")) for line in printed.out.splitlines()}
        assert found == closed(ontology, facts)
