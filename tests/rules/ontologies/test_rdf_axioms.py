"""Axioms in RDF: each construct, and expressions that are malformed, circular, too deep, or that multiply."""

from __future__ import annotations

import pytest

from reshuffle.rules.ontologies.axioms import Ontology, Unknown
from reshuffle.rules.ontologies.rdf_axioms import read

PREFIXES = """
@prefix : <urn:reshuffle:> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
"""


def ontology(turtle: str) -> Ontology:
    return read((PREFIXES + turtle).encode(), "a.ttl")


def axioms(turtle: str) -> list[str]:
    return [str(axiom) for axiom in ontology(turtle).axioms]


@pytest.mark.parametrize(
    ("turtle", "axiom"),
    [
        (":A rdfs:subClassOf :B .", "SubClassOf(A B)"),
        (
            ":A rdfs:subClassOf [ owl:onProperty :p ; owl:someValuesFrom :B ] .",
            "SubClassOf(A ObjectSomeValuesFrom(p B))",
        ),
        (
            ":A owl:equivalentClass [ owl:intersectionOf ( :B _:v ) ] ."
            "_:v owl:onProperty [ owl:inverseOf :p ] ; owl:hasValue :v .",
            "EquivalentClasses(A ObjectIntersectionOf(B ObjectHasValue(ObjectInverseOf(p) v)))",
        ),
        (":A owl:unionOf ( :B :C ) .", "EquivalentClasses(A ObjectUnionOf(B C))"),
        (":A owl:onProperty :p ; owl:allValuesFrom :B .", "EquivalentClasses(A ObjectAllValuesFrom(p B))"),
        (":A owl:complementOf :B .", "EquivalentClasses(A ObjectComplementOf(B))"),
        (
            ":A rdfs:subClassOf [ owl:onProperty :p ; owl:maxQualifiedCardinality 1 ; owl:onClass :B ] .",
            "SubClassOf(A ObjectMaxCardinality(1 p B))",
        ),
        (
            ":A rdfs:subClassOf [ owl:onProperty :p ; owl:hasSelf true ] .",
            "SubClassOf(A ObjectHasSelf(p))",
        ),
        (":A owl:disjointUnionOf ( :B :C ) .", "DisjointUnion(A B C)"),
        ("[] a owl:AllDisjointClasses ; owl:members ( :A :B ) .", "DisjointClasses(A B)"),
        (":A owl:hasKey ( :p :q ) .", "HasKey(A p q)"),
        (
            ":p owl:propertyChainAxiom ( :q [ owl:inverseOf :r ] ) .",
            "SubObjectPropertyOf(ObjectPropertyChain(q ObjectInverseOf(r)) p)",
        ),
        (":p a owl:FunctionalProperty .", "FunctionalObjectProperty(p)"),
        (":p rdfs:range xsd:string .", "ObjectPropertyRange(p http://www.w3.org/2001/XMLSchema#string)"),
        (":a owl:sameAs :b .", "SameIndividual(a b)"),
        ("[] a owl:AllDifferent ; owl:distinctMembers ( :a :b ) .", "DifferentIndividuals(a b)"),
        (
            "[] a owl:NegativePropertyAssertion ; owl:sourceIndividual :a ; "
            "owl:assertionProperty :p ; owl:targetIndividual :b .",
            "NegativeObjectPropertyAssertion(p a b)",
        ),
        (":a a [ owl:oneOf ( :a :b ) ] .", "ClassAssertion(ObjectOneOf(a b) a)"),
    ],
)
def test_an_axiom_of_each_kind_is_read_as_it_stands(turtle: str, axiom: str) -> None:
    found = ontology(turtle)
    assert ([str(one) for one in found.axioms], found.facts, found.unread) == ([axiom], (), ())


def test_what_is_no_axiom_is_a_fact_or_an_annotation() -> None:
    found = ontology("""
        <http://o> a owl:Ontology ; owl:imports <http://other> ; :made <http://someone> .
        :note a owl:AnnotationProperty . :C a owl:Class ; rdfs:label "Cee"@de , "see"@en ; :note :x .
        [] a owl:Axiom ; owl:annotatedSource :C ; :says :x .
        :a a :C ; :p :b ; :age 3 .
    """)
    assert found.axioms == ()
    type_ = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
    assert found.facts == (("a", type_, "C"), ("a", "p", "b"))
    assert (found.labels, found.imports, found.classes, found.name) == (
        {"C": "see"}, ("http://other",), {"C"}, "http://o"
    )  # fmt: skip
    assert [(one.count, one.noun) for one in found.unread] == [(1, "")]


def test_a_malformed_expression_leaves_its_axiom_and_is_unknown() -> None:
    (one,) = ontology(":A rdfs:subClassOf [ owl:intersectionOf ( :B [ owl:onProperty :p ] ) ] .").axioms
    assert str(one) == "SubClassOf(A ObjectIntersectionOf(B owl:onProperty))"
    (loop,) = ontology(":A rdfs:subClassOf _:x . _:x owl:complementOf _:x .").axioms
    assert str(loop) == "SubClassOf(A ObjectComplementOf(an expression that contains itself))"
    found = ontology(":p owl:propertyChainAxiom _:x . _:x rdf:first :q ; rdf:rest _:x .")
    assert [one.what for one in found.unread] == ["owl:propertyChainAxiom axioms"]


def test_an_expression_that_is_too_deep_or_multiplies_is_unknown() -> None:
    deep = "".join(f"_:x{at} owl:complementOf _:x{at + 1} . " for at in range(300))
    (one,) = ontology(f":A rdfs:subClassOf _:x0 . {deep} _:x300 owl:complementOf :B .").axioms
    assert "more than 100 deep" in str(one)
    assert len(str(one)) < 10_000
    twice = "".join(f"_:x{at} owl:intersectionOf ( _:x{at + 1} _:x{at + 1} ) . " for at in range(100))
    (other,) = ontology(f":A rdfs:subClassOf _:x0 . {twice} _:x100 owl:complementOf :B .").axioms
    assert other.sup == Unknown("expressions that are far larger than the file")  # type: ignore[union-attr]
