"""What holds in every ontology: that a class is below itself, and what RDF, RDFS and OWL say of their own words.

These statements follow, are explained, and are never listed among what is derived.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from reshuffle.rules.class_axioms import NOTHING, SAME_AS, TYPE
from reshuffle.rules.formats.ontology import OWL, RDF, RDFS
from reshuffle.rules.ontologies.axioms import THING

if TYPE_CHECKING:
    from collections.abc import Iterable

Fact: TypeAlias = tuple[str, str, str]

XSD = "http://www.w3.org/2001/XMLSchema#"
SUB_CLASS, SUB_PROPERTY = f"{RDFS}subClassOf", f"{RDFS}subPropertyOf"
EQUAL_CLASS, EQUAL_PROPERTY = f"{OWL}equivalentClass", f"{OWL}equivalentProperty"
DOMAIN, RANGE = f"{RDFS}domain", f"{RDFS}range"
RESOURCE, CLASS, PROPERTY = f"{RDFS}Resource", f"{RDFS}Class", f"{RDF}Property"
_LITERAL, _DATATYPE = f"{RDFS}Literal", f"{RDFS}Datatype"
_MEMBERSHIP, _MEMBER = f"{RDFS}ContainerMembershipProperty", f"{RDFS}member"
DATATYPES = (
    *(
        f"{XSD}{name}"
        for name in [
            "decimal",
            "integer",
            "nonNegativeInteger",
            "nonPositiveInteger",
            "positiveInteger",
            "negativeInteger",
            "long",
            "int",
            "short",
            "byte",
            "unsignedLong",
            "unsignedInt",
            "unsignedShort",
            "unsignedByte",
            "float",
            "double",
            "string",
            "normalizedString",
            "token",
            "language",
            "Name",
            "NCName",
            "NMTOKEN",
            "boolean",
            "hexBinary",
            "base64Binary",
            "anyURI",
            "dateTime",
            "dateTimeStamp",
        ]
    ),
    f"{RDF}PlainLiteral",
    f"{RDF}XMLLiteral",
    _LITERAL,
)
_PREFIXES = {"rdf": RDF, "rdfs": RDFS, "owl": OWL}
_OF_PROPERTIES = """
rdf:type rdfs:Resource rdfs:Class
rdfs:domain rdf:Property rdfs:Class
rdfs:range rdf:Property rdfs:Class
rdfs:subPropertyOf rdf:Property rdf:Property
rdfs:subClassOf rdfs:Class rdfs:Class
rdf:subject rdf:Statement rdfs:Resource
rdf:predicate rdf:Statement rdfs:Resource
rdf:object rdf:Statement rdfs:Resource
rdfs:member rdfs:Resource rdfs:Resource
rdf:first rdf:List rdfs:Resource
rdf:rest rdf:List rdf:List
rdfs:seeAlso rdfs:Resource rdfs:Resource
rdfs:isDefinedBy rdfs:Resource rdfs:Resource
rdfs:comment rdfs:Resource rdfs:Literal
rdfs:label rdfs:Resource rdfs:Literal
rdf:value rdfs:Resource rdfs:Resource
"""
"""The properties of RDF and RDFS, each with its domain and its range."""
_OTHERS = """
rdf:Alt rdfs:subClassOf rdfs:Container
rdf:Bag rdfs:subClassOf rdfs:Container
rdf:Seq rdfs:subClassOf rdfs:Container
rdfs:ContainerMembershipProperty rdfs:subClassOf rdf:Property
rdfs:isDefinedBy rdfs:subPropertyOf rdfs:seeAlso
rdfs:Datatype rdfs:subClassOf rdfs:Class
rdf:XMLLiteral rdfs:subClassOf rdfs:Literal
rdf:nil rdf:type rdf:List
owl:Thing rdf:type owl:Class
owl:Nothing rdf:type owl:Class
"""
_ANNOTATING = """
rdfs:label rdfs:comment rdfs:seeAlso rdfs:isDefinedBy owl:deprecated owl:versionInfo owl:priorVersion
owl:backwardCompatibleWith owl:incompatibleWith
"""
_CONTAINER = re.compile(re.escape(f"{RDF}_") + r"[1-9][0-9]*\Z")


def _full(name: str) -> str:
    prefix, _, local = name.partition(":")
    return _PREFIXES[prefix] + local


def _rows(table: str) -> list[list[str]]:
    return [[_full(name) for name in line.split()] for line in table.strip().splitlines()]


@cache
def axiomatic_triples() -> frozenset[Fact]:
    """What the specifications say of the words of RDF, RDFS and OWL, of the words for datatypes, and of annotations."""
    found: set[Fact] = {(head, relation, tail) for head, relation, tail in _rows(_OTHERS)}
    for name, domain, range_ in _rows(_OF_PROPERTIES):
        found |= {(name, DOMAIN, domain), (name, RANGE, range_), (name, TYPE, PROPERTY)}
    found |= {(_full(name), TYPE, f"{OWL}AnnotationProperty") for name in _ANNOTATING.split()}
    found |= {(name, TYPE, _DATATYPE) for name in DATATYPES}
    return frozenset(found)


_KINDS_OF_CLASS = {CLASS, _DATATYPE, f"{OWL}Class", f"{OWL}Restriction"}
_KINDS_OF_PROPERTY = {PROPERTY, _MEMBERSHIP} | {
    f"{OWL}{name}Property"
    for name in (
        "Object", "Datatype", "Annotation", "Functional", "InverseFunctional", "Symmetric", "Asymmetric", "Transitive",
        "Reflexive", "Irreflexive",
    )
}  # fmt: skip
_BETWEEN_CLASSES = {SUB_CLASS, EQUAL_CLASS, f"{OWL}disjointWith"}
_BETWEEN_PROPERTIES = {
    SUB_PROPERTY,
    EQUAL_PROPERTY,
    f"{OWL}inverseOf",
    f"{OWL}propertyDisjointWith",
}


@dataclass
class Words:
    """The names that an ontology and its facts use, and as what."""

    classes: set[str] = field(default_factory=lambda: {THING, NOTHING})
    properties: set[str] = field(default_factory=set)
    datatypes: set[str] = field(default_factory=set)
    memberships: set[str] = field(default_factory=set)
    others: set[str] = field(default_factory=set)

    def learn(self, triples: Iterable[Fact]) -> None:
        """Take up the names of some triples."""
        for head, relation, tail in triples:
            self.others |= {head, tail}
            self.properties.add(relation)
            if relation == TYPE:
                self._learn_kind(head, tail)
            elif relation in _BETWEEN_CLASSES:
                self.classes |= {head, tail}
            elif relation in _BETWEEN_PROPERTIES:
                self.properties |= {head, tail}
            elif relation in (DOMAIN, RANGE):
                self.properties.add(head)
                self.classes.add(tail)

    def _learn_kind(self, name: str, kind: str) -> None:
        self.classes.add(kind)
        if kind in _KINDS_OF_CLASS:
            self.classes.add(name)
        if kind in _KINDS_OF_PROPERTY:
            self.properties.add(name)
        if kind == _DATATYPE:
            self.datatypes.add(name)
        if kind == _MEMBERSHIP:
            self.memberships.add(name)

    def __contains__(self, name: str) -> bool:
        known = self.others, self.classes, self.properties
        return any(name in some for some in known) or name.startswith((RDF, RDFS, OWL))

    def always(self, head: str, relation: str, tail: str) -> bool:
        """Does the statement hold whatever else is said?

        >>> words = Words()
        >>> words.learn([("ada", TYPE, "Person")])
        >>> words.always("Person", SUB_CLASS, "Person"), words.always("ada", SUB_CLASS, "ada")
        (True, False)
        """
        if (head, relation, tail) in axiomatic_triples() or self._of_container(head, relation, tail):
            return True
        if relation == TYPE:
            return self._is_of_kind(head, tail)
        if relation == SAME_AS:
            return head == tail and head in self
        if relation in (SUB_CLASS, EQUAL_CLASS):
            return self._is_below(head, relation, tail)
        return relation in (SUB_PROPERTY, EQUAL_PROPERTY) and (
            (head == tail and head in self.properties)
            or (relation == SUB_PROPERTY and tail == _MEMBER and head in self.memberships)
        )

    def _is_below(self, head: str, relation: str, tail: str) -> bool:
        if not (head in self.classes and (tail in self.classes or tail in (RESOURCE, _LITERAL))):
            return False
        if head == tail:
            return True
        return relation == SUB_CLASS and (
            tail in (THING, RESOURCE) or head == NOTHING or (tail == _LITERAL and head in self.datatypes)
        )

    def _is_of_kind(self, name: str, kind: str) -> bool:
        if kind == RESOURCE:
            return name in self
        if kind == CLASS:
            return name in self.classes
        return kind == PROPERTY and name in self.properties

    def _of_container(self, head: str, relation: str, tail: str) -> bool:
        """Is it about `rdf:_1`, `rdf:_2`, ...?"""
        if not _CONTAINER.match(head):
            return False
        return (relation, tail) in {
            (TYPE, PROPERTY),
            (TYPE, _MEMBERSHIP),
            (DOMAIN, RESOURCE),
            (RANGE, RESOURCE),
            (SUB_PROPERTY, _MEMBER),
        }
