"""The axioms in the triples of an ontology, after the mapping of OWL 2 to RDF graphs.

The triples may stand in any order, and need no declarations. What is no axiom, no declaration and no annotation is a
fact. A class with a name that is described like an anonymous one, such as `Parent owl:unionOf (...)`, is equivalent to
what is described.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from reshuffle.errors import Place
from reshuffle.kg.io.rdf import from_iri, pyoxigraph
from reshuffle.rules.formats.ontology import OWL, RDF, RDFS, UnreadableError, load, shortened
from reshuffle.rules.ontologies.axioms import (
    Axiom,
    ClassAssertion,
    DifferentIndividuals,
    DisjointClasses,
    DisjointProperties,
    DisjointUnion,
    EquivalentClasses,
    EquivalentProperties,
    HasKey,
    InverseProperties,
    Kind,
    NegativeAssertion,
    Ontology,
    PropertyChain,
    PropertyDomain,
    PropertyIs,
    PropertyRange,
    SameIndividuals,
    SubClassOf,
    SubProperty,
)
from reshuffle.rules.ontologies.rdf_expressions import DEFINING, STRUCTURE, XSD, Nodes
from reshuffle.rules.rule import Unread

if TYPE_CHECKING:
    from collections.abc import Iterator

_Triple: TypeAlias = tuple[Any, str, Any]
_Reader: TypeAlias = Callable[[Nodes, Any, Any], Axiom]
TYPE = f"{RDF}type"
_LABEL = f"{RDFS}label"
_OTHERS = "facts and annotations"
_KINDS = {f"{OWL}{kind.value.removeprefix('owl:')}": kind for kind in Kind}
_CLASSES = (f"{OWL}Class", f"{RDFS}Class", f"{OWL}DeprecatedClass")
_PROPERTIES = (
    f"{OWL}ObjectProperty", f"{OWL}DatatypeProperty", f"{RDF}Property", f"{OWL}DeprecatedProperty", *_KINDS
)  # fmt: skip
_REIFIED = (f"{OWL}Axiom", f"{OWL}Annotation")
_NAMES_ANNOTATIONS = f"{OWL}AnnotationProperty"
_ONTOLOGY, _IMPORTS = f"{OWL}Ontology", f"{OWL}imports"
_DECLARING = frozenset(
    {
        *_CLASSES,
        *_PROPERTIES,
        *_REIFIED,
        _NAMES_ANNOTATIONS,
        _ONTOLOGY,
        f"{OWL}OntologyProperty",
        f"{OWL}NamedIndividual",
        f"{OWL}Restriction",
        f"{OWL}DataRange",
        f"{RDFS}Datatype",
        f"{RDFS}ContainerMembershipProperty",
        f"{RDF}List",
    }
)
_ANNOTATING = frozenset(
    {
        *(f"{RDFS}{name}" for name in ("label", "comment", "seeAlso", "isDefinedBy")),
        *(f"{OWL}{name}" for name in ("versionInfo", "versionIRI", "priorVersion", "deprecated", "imports")),
        *(f"{OWL}{name}" for name in ("backwardCompatibleWith", "incompatibleWith")),
    }
)


def _two(make: Callable[[Any], Axiom], read: str) -> _Reader:
    """An axiom of two members, both read by the method of that name."""
    return lambda nodes, one, other: make(tuple(getattr(nodes, read)(node) for node in (one, other)))


def _negative(nodes: Nodes, node: Any) -> Axiom:
    said = nodes.described.get(node, {})
    value = said.get(f"{OWL}targetIndividual", said.get(f"{OWL}targetValue"))
    source, relation = said.get(f"{OWL}sourceIndividual"), said.get(f"{OWL}assertionProperty")
    if value is None or source is None or relation is None:
        raise UnreadableError
    return NegativeAssertion(nodes.relation(relation), nodes.name(source), nodes.value(value))


_BY_PREDICATE: dict[str, _Reader] = {
    f"{RDFS}subClassOf": lambda nodes, one, other: SubClassOf(nodes.class_(one), nodes.class_(other)),
    f"{OWL}equivalentClass": _two(EquivalentClasses, "class_"),
    f"{OWL}disjointWith": _two(DisjointClasses, "class_"),
    f"{OWL}disjointUnionOf": lambda nodes, one, other: DisjointUnion(
        nodes.name(one), tuple(map(nodes.class_, nodes.members(other)))
    ),
    f"{OWL}hasKey": lambda nodes, one, other: HasKey(nodes.class_(one), nodes.relations(other)),
    f"{RDFS}subPropertyOf": lambda nodes, one, other: SubProperty(nodes.relation(one), nodes.relation(other)),
    f"{OWL}propertyChainAxiom": lambda nodes, one, other: PropertyChain(
        nodes.relations(other), nodes.relation(one)
    ),
    f"{OWL}equivalentProperty": _two(EquivalentProperties, "relation"),
    f"{OWL}inverseOf": lambda nodes, one, other: InverseProperties(
        nodes.relation(one), nodes.relation(other)
    ),
    f"{OWL}propertyDisjointWith": _two(DisjointProperties, "relation"),
    f"{RDFS}domain": lambda nodes, one, other: PropertyDomain(nodes.relation(one), nodes.class_(other)),
    f"{RDFS}range": lambda nodes, one, other: PropertyRange(nodes.relation(one), nodes.class_(other)),
    f"{OWL}sameAs": _two(SameIndividuals, "name"),
    f"{OWL}differentFrom": _two(DifferentIndividuals, "name"),
    f"{OWL}assertionProperty": lambda nodes, one, _: _negative(nodes, one),  # its type need not be said
}


def _listed(make: Callable[[Any], Axiom], read: str) -> Callable[[Nodes, Any], Axiom]:
    """An axiom about the members of a list, each read by the method of that name."""

    def axiom(nodes: Nodes, node: Any) -> Axiom:
        said = nodes.described.get(node, {})
        members = nodes.members(said.get(f"{OWL}members", said.get(f"{OWL}distinctMembers")))
        return make(tuple(map(getattr(nodes, read), members)))

    return axiom


_BY_TYPE: dict[str, Callable[[Nodes, Any], Axiom]] = {
    **{
        iri: lambda nodes, node, kind=kind: PropertyIs(kind, nodes.relation(node))  # type: ignore[misc]
        for iri, kind in _KINDS.items()
    },
    f"{OWL}AllDisjointClasses": _listed(DisjointClasses, "class_"),
    f"{OWL}AllDisjointProperties": _listed(DisjointProperties, "relation"),
    f"{OWL}AllDifferent": _listed(DifferentIndividuals, "name"),
    f"{OWL}NegativePropertyAssertion": _negative,
}


def read(content: bytes, file: str) -> Ontology:
    """The ontology in a file of Turtle, RDF/XML or N-Triples."""
    return _Reading(load(content, file), file).ontology()


class _Reading:
    """One pass over the triples to see what is declared and described, and one for the axioms."""

    def __init__(self, triples: list[_Triple], file: str) -> None:
        library = pyoxigraph(Place(file))
        self._triples, self._file, self._literal = triples, file, library.Literal
        self._declared: dict[str, set[Any]] = {}
        described: dict[Any, dict[str, Any]] = {}
        for subject, predicate, target in triples:
            if predicate == TYPE:
                if (kind := getattr(target, "value", "")) in _DECLARING:
                    self._declared.setdefault(kind, set()).add(subject)
            elif predicate in STRUCTURE:
                described.setdefault(subject, {}).setdefault(predicate, target)
        self._nodes = Nodes(library, described, self._of(f"{RDFS}Datatype", f"{OWL}DataRange"))
        self._annotating = {
            *_ANNOTATING,
            *(getattr(node, "value", "") for node in self._of(_NAMES_ANNOTATIONS) - self._of(*_PROPERTIES)),
        }
        self._silent = self._of(*_REIFIED, _ONTOLOGY)
        self._unread: dict[str, tuple[int, str]] = {}

    def _of(self, *kinds: str) -> set[Any]:
        return set().union(*(self._declared.get(kind, ()) for kind in kinds))

    def ontology(self) -> Ontology:
        axioms: dict[Axiom, None] = {}
        facts: dict[tuple[str, str, str], None] = {}
        labels: dict[str, str] = {}
        for triple in self._triples:
            if (found := self._read(triple, labels)) is None:
                continue
            if isinstance(found, tuple):
                facts[found] = None
            else:
                axioms[found] = None
        return Ontology(
            self._file,
            tuple(axioms),
            tuple(facts),
            tuple(
                Unread(kind, count, first, "axiom" if kind.endswith("axioms") else "")
                for kind, (count, first) in self._unread.items()
            ),
            labels,
            classes=frozenset(self._names(*_CLASSES)),
            properties=frozenset(self._names(*_PROPERTIES)),
            imports=tuple(
                dict.fromkeys(
                    getattr(target, "value", "")
                    for subject, predicate, target in self._triples
                    if predicate == _IMPORTS
                )
            ),
            name=next((node.value for node in self._of(_ONTOLOGY) if self._nodes.is_named(node)), ""),
        )

    def _names(self, *kinds: str) -> Iterator[str]:
        return (self._nodes.name(node) for node in self._of(*kinds) if self._nodes.is_named(node))

    def _read(self, triple: _Triple, labels: dict[str, str]) -> Axiom | tuple[str, str, str] | None:
        subject, predicate, target = triple
        if predicate in self._annotating or subject in self._silent:
            if predicate == _LABEL and isinstance(target, self._literal) and self._nodes.is_named(subject):
                _keep_label(labels, self._nodes.name(subject), target)
            return None
        try:
            return self._said(subject, predicate, target)
        except UnreadableError:
            short = shortened(getattr(target, "value", "") if predicate == TYPE else predicate)
            self._lacking(f"{short} axioms" if short else _OTHERS, triple)
            return None

    def _said(self, subject: Any, predicate: str, target: Any) -> Axiom | tuple[str, str, str] | None:
        nodes = self._nodes
        if predicate == TYPE:
            return self._typed(subject, target)
        if (reader := _BY_PREDICATE.get(predicate)) is not None:
            return None if self._is_part(subject, predicate, target) else reader(nodes, subject, target)
        if predicate in DEFINING and nodes.is_named(subject) and not nodes.is_datatype(subject):
            defined = nodes.defined_class(subject, predicate, target)
            return EquivalentClasses((nodes.name(subject), defined))
        if predicate in STRUCTURE or predicate.startswith(XSD):  # part of an expression
            return None
        if isinstance(target, self._literal):
            self._lacking(_OTHERS, (subject, predicate, target))
            return None
        return nodes.name(subject), from_iri(predicate), nodes.name(target)

    def _is_part(self, subject: Any, predicate: str, target: Any) -> bool:
        """Is it an anonymous inverse, or said of annotation properties?"""
        if predicate == f"{OWL}inverseOf":
            return not self._nodes.is_named(subject)
        ends = (getattr(node, "value", "") for node in (subject, target))
        return predicate == f"{RDFS}subPropertyOf" and any(end in self._annotating for end in ends)

    def _typed(self, subject: Any, target: Any) -> Axiom | tuple[str, str, str] | None:
        nodes, kind = self._nodes, getattr(target, "value", "")
        if (reader := _BY_TYPE.get(kind)) is not None:
            return reader(nodes, subject)
        if kind in _DECLARING:
            return None
        cls = nodes.class_(target)
        if isinstance(cls, str):
            return nodes.name(subject), TYPE, cls
        return ClassAssertion(cls, nodes.name(subject))

    def _lacking(self, kind: str, triple: _Triple) -> None:
        if kind in self._unread:
            count, first = self._unread[kind]
            self._unread[kind] = count + 1, first
            return
        subject, predicate, target = triple
        head, tail = ("[]" if str(node).startswith("_:") else str(node) for node in (subject, target))
        self._unread[kind] = 1, f"{self._file}: {head} <{predicate}> {tail}"


def _keep_label(labels: dict[str, str], name: str, label: Any) -> None:
    """Keep a label; one without a language or in English is preferred."""
    if name not in labels or label.language is None or label.language.lower().startswith("en"):
        labels[name] = label.value
