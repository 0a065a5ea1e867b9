"""What an ontology entails, by the tables of RDFS and OWL 2 RL as they stand in the specification; and ontologies.

Nothing here is shared with what is tested: the files are read as triples, and the rules of the tables run over them
until nothing is new. Axioms are of the kinds that the library reads, and may be about `rdf:type` as about any property.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, TypeAlias

import pyoxigraph as ox

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

Triple: TypeAlias = tuple[str, str, str]

EX = "http://example.org/"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
OWL = "http://www.w3.org/2002/07/owl#"
TYPE = f"{RDF}type"
HEADER = f"@prefix e: <{EX}> .\n@prefix rdf: <{RDF}> .\n@prefix rdfs: <{RDFS}> .\n@prefix owl: <{OWL}> .\n"

CLASSES = [f"e:{name}" for name in "ABCD"]
PEOPLE = [f"e:{name}" for name in "abc"]
PROPERTIES = ["e:p", "e:q", "e:isA", "rdf:type"]


def random_ontology(chance: random.Random) -> str:
    """A few axioms, as Turtle."""
    return HEADER + "\n".join(_axiom(chance) for _ in range(chance.randint(1, 7))) + "\n"


def random_facts(chance: random.Random) -> str:
    """A few facts, as Turtle; a class may be the end of any property."""
    facts = [
        f"{chance.choice(PEOPLE)} {chance.choice(PROPERTIES[:3])} {chance.choice([*PEOPLE, 'e:A'])} ."
        for _ in range(chance.randint(0, 4))
    ]
    types = [f"{chance.choice(PEOPLE)} a {chance.choice(CLASSES)} ." for _ in range(chance.randint(0, 2))]
    return HEADER + "\n".join([*facts, *types, "e:a e:p e:b ."]) + "\n"


def _axiom(chance: random.Random) -> str:
    p, q, r = (chance.choice(PROPERTIES) for _ in range(3))
    c, d, e = (chance.choice(CLASSES) for _ in range(3))
    restriction = f"a owl:Restriction ; owl:onProperty {p}"
    return chance.choice(
        [
            f"{p} rdfs:domain {c} .",
            f"{p} rdfs:range {c} .",
            f"{p} rdfs:subPropertyOf {q} .",
            "rdf:type rdfs:subPropertyOf e:isA .",
            "e:isA rdfs:domain e:D .",
            f"{p} owl:inverseOf {q} .",
            f"{p} owl:propertyChainAxiom ( {q} {r} ) .",
            f"{p} a owl:SymmetricProperty .",
            f"{p} a owl:TransitiveProperty .",
            f"{c} rdfs:subClassOf {d} .",
            f"{c} owl:equivalentClass {d} .",
            f"[ owl:unionOf ( {c} {d} ) ] rdfs:subClassOf {e} .",
            f"{c} rdfs:subClassOf [ owl:intersectionOf ( {d} {e} ) ] .",
            f"{c} owl:oneOf ( {chance.choice(PEOPLE)} e:new ) .",
            f"[ {restriction} ; owl:hasValue {chance.choice([*PEOPLE, *CLASSES])} ] rdfs:subClassOf {c} .",
            f"[ {restriction} ; owl:someValuesFrom owl:Thing ] rdfs:subClassOf {c} .",
        ]
    )


def derived(ontology: str, facts: str) -> set[Triple]:
    """What follows from the facts and is none; classes without a name are not shown."""
    said, given = _Said(ontology), set(_triples(facts))
    known = given
    while not known >= (
        new := {*_by_properties(said, known), *_by_types(said, known), *_by_classes(said, known)}
    ):
        known = known | new
    return {triple for triple in known - given if not any(name.startswith("_:") for name in triple)}


def _triples(turtle: str) -> Iterator[Triple]:
    for quad in ox.parse(turtle, format=ox.RdfFormat.TURTLE):
        subject, _, target = (
            node.value if isinstance(node, ox.NamedNode) else str(node)
            for node in (quad.subject, quad.predicate, quad.object)
        )
        yield subject, quad.predicate.value, target


class _Said:
    """The triples of an ontology by predicate, and the members of its lists."""

    def __init__(self, ontology: str) -> None:
        self._triples = set(_triples(ontology))
        self._first, self._rest = dict(self.by(f"{RDF}first")), dict(self.by(f"{RDF}rest"))

    def by(self, predicate: str) -> list[tuple[str, str]]:
        return [(s, o) for s, p, o in self._triples if p == predicate]

    def of_type(self, kind: str) -> list[str]:
        return [s for s, o in self.by(TYPE) if o == kind]

    def members(self, node: str) -> list[str]:
        return [] if node == f"{RDF}nil" else [self._first[node], *self.members(self._rest[node])]


def _pairs(known: set[Triple], relation: str) -> list[tuple[str, str]]:
    return [(x, y) for x, p, y in known if p == relation]


def _joined(known: set[Triple], first: str, second: str) -> Iterator[tuple[str, str]]:
    for (x, y), (u, z) in itertools.product(_pairs(known, first), _pairs(known, second)):
        if y == u:
            yield x, z


def _by_properties(said: _Said, known: set[Triple]) -> Iterator[Triple]:
    """The semantics of axioms about properties, by the names of the rules."""
    for p, q in said.by(f"{RDFS}subPropertyOf"):  # prp-spo1, rdfs7
        yield from ((x, q, y) for x, y in _pairs(known, p))
    for p, q in said.by(f"{OWL}inverseOf"):  # prp-inv1, prp-inv2
        yield from ((y, q, x) for x, y in _pairs(known, p))
        yield from ((y, p, x) for x, y in _pairs(known, q))
    for p, node in said.by(f"{OWL}propertyChainAxiom"):  # prp-spo2
        yield from ((x, p, z) for x, z in _joined(known, *said.members(node)))
    for p in said.of_type(f"{OWL}SymmetricProperty"):  # prp-symp
        yield from ((y, p, x) for x, y in _pairs(known, p))
    for p in said.of_type(f"{OWL}TransitiveProperty"):  # prp-trp
        yield from ((x, p, z) for x, z in _joined(known, p, p))


def _by_types(said: _Said, known: set[Triple]) -> Iterator[Triple]:
    """What a property or another class says of the class of something."""
    types = _pairs(known, TYPE)
    for p, c in said.by(f"{RDFS}domain"):  # prp-dom, rdfs2
        yield from ((x, TYPE, c) for x, _ in _pairs(known, p))
    for p, c in said.by(f"{RDFS}range"):  # prp-rng, rdfs3
        yield from ((y, TYPE, c) for _, y in _pairs(known, p))
    for c, d in said.by(f"{RDFS}subClassOf"):  # cax-sco, rdfs9
        yield from ((x, TYPE, d) for x, found in types if found == c)
    for c, d in said.by(f"{OWL}equivalentClass"):  # cax-eqc1, cax-eqc2
        yield from ((x, TYPE, d) for x, found in types if found == c)
        yield from ((x, TYPE, c) for x, found in types if found == d)


def _by_classes(said: _Said, known: set[Triple]) -> Iterator[Triple]:
    """The semantics of classes: what is in one that is made of others."""
    types, property_of = _pairs(known, TYPE), dict(said.by(f"{OWL}onProperty"))
    for c, node in said.by(f"{OWL}unionOf"):  # cls-uni
        yield from ((x, TYPE, c) for x, found in types if found in said.members(node))
    for c, node in said.by(f"{OWL}intersectionOf"):  # cls-int2
        yield from ((x, TYPE, d) for x, found in types if found == c for d in said.members(node))
    for c, node in said.by(f"{OWL}oneOf"):  # cls-oo
        yield from ((x, TYPE, c) for x in said.members(node))
    for c, value in said.by(f"{OWL}hasValue"):  # cls-hv2
        yield from ((x, TYPE, c) for x, y in _pairs(known, property_of[c]) if y == value)
    for c, _ in said.by(f"{OWL}someValuesFrom"):  # cls-svf2
        yield from ((x, TYPE, c) for x, _ in _pairs(known, property_of[c]))
