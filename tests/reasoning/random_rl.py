"""Random ontologies of OWL 2 RL with facts, as Turtle."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

EX = "http://example.org/"
HEADER = (
    f"@prefix : <{EX}> .\n@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .\n"
    "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n@prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
    "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\n"
)
CLASSES, PROPERTIES, PEOPLE = [":A", ":B", ":C", ":D"], [":p", ":q", ":r"], [":a", ":b", ":c", ":d"]


def below(chance: Random, depth: int = 2) -> str:
    """A class expression that may stand below a class."""
    if depth == 0 or chance.random() < 0.4:
        return chance.choice(CLASSES)
    inner = [below(chance, depth - 1) for _ in range(2)]
    some = f"owl:onProperty {_property(chance)}"
    return chance.choice(
        [
            f"[ owl:intersectionOf ( {inner[0]} {inner[1]} ) ]",
            f"[ owl:unionOf ( {inner[0]} {inner[1]} ) ]",
            f"[ {some} ; owl:someValuesFrom {inner[0]} ]",
            f"[ {some} ; owl:someValuesFrom owl:Thing ]",
            f"[ {some} ; owl:hasValue {chance.choice(PEOPLE)} ]",
            f"[ owl:oneOf ( {chance.choice(PEOPLE)} {chance.choice(PEOPLE)} ) ]",
        ]
    )


def above(chance: Random, depth: int = 2) -> str:
    """A class expression that may stand above a class."""
    if depth == 0 or chance.random() < 0.4:
        return chance.choice(CLASSES)
    inner = [above(chance, depth - 1) for _ in range(2)]
    on = f"owl:onProperty {_property(chance)}"
    count = f'"{chance.choice([0, 1, 1, 1])}"^^xsd:nonNegativeInteger'
    return chance.choice(
        [
            f"[ owl:intersectionOf ( {inner[0]} {inner[1]} ) ]",
            f"[ {on} ; owl:allValuesFrom {inner[0]} ]",
            f"[ {on} ; owl:hasValue {chance.choice(PEOPLE)} ]",
            f"[ owl:complementOf {below(chance, depth - 1)} ]",
            f"[ {on} ; owl:maxCardinality {count} ]",
            f"[ {on} ; owl:maxQualifiedCardinality {count} ; owl:onClass {below(chance, depth - 1)} ]",
        ]
    )


def _property(chance: Random) -> str:
    return chance.choice(PROPERTIES)


def axiom(chance: Random) -> str:
    """One axiom."""
    p, q, r = (_property(chance) for _ in range(3))
    c, d = chance.choice(CLASSES), chance.choice(CLASSES)
    a, b = chance.choice(PEOPLE), chance.choice(PEOPLE)
    return chance.choice(
        [
            *[f"{below(chance)} rdfs:subClassOf {above(chance)} ."] * 6,
            f"{c} owl:equivalentClass {d} .",
            f"{p} rdfs:domain {above(chance, 1)} .",
            f"{p} rdfs:range {above(chance, 1)} .",
            f"{p} rdfs:subPropertyOf {q} .",
            f"{p} owl:equivalentProperty {q} .",
            f"{p} owl:inverseOf {q} .",
            f"{p} owl:propertyChainAxiom ( {q} {r} ) .",
            f"{p} a owl:{chance.choice(['Symmetric', 'Transitive', 'Functional', 'InverseFunctional'])}Property .",
            f"{p} a owl:{chance.choice(['Asymmetric', 'Irreflexive'])}Property .",
            f"{p} owl:propertyDisjointWith {q} .",
            f"{c} owl:disjointWith {d} .",
            f"{c} owl:hasKey ( {p} ) .",
            f"{c} owl:hasKey ( {p} {q} ) .",
            f"{a} owl:sameAs {b} .",
            f"[] a owl:AllDifferent ; owl:members ( {a} {b} ) ." if a != b else f"{c} rdfs:subClassOf {d} .",
            f"[] owl:sourceIndividual {a} ; owl:assertionProperty {p} ; owl:targetIndividual {b} .",
            f"{a} a [ owl:intersectionOf ( {above(chance)} {c} ) ] .",
        ]
    )


def ontology(chance: Random) -> str:
    """A few axioms."""
    return HEADER + "\n".join(axiom(chance) for _ in range(chance.randint(1, 7))) + "\n"


def facts(chance: Random) -> str:
    """A few facts; one is always there."""
    links = [
        f"{chance.choice(PEOPLE)} {_property(chance)} {chance.choice(PEOPLE)} ."
        for _ in range(chance.randint(0, 5))
    ]
    types = [f"{chance.choice(PEOPLE)} a {chance.choice(CLASSES)} ." for _ in range(chance.randint(0, 4))]
    return HEADER + "\n".join([*links, *types, ":a :p :b ."]) + "\n"
