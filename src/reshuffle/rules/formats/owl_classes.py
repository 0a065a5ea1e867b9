"""Class axioms of OWL 2 and RDFS, as far as they say what the `rdf:type` of an entity is.

A class on the left of `rdfs:subClassOf` may be named, a union, an enumeration, `[p some owl:Thing]` or `[p value v]`;
one on the right may be named or an intersection. An axiom that says more gives what can be said of it, and the rest is
counted under the name of the construct, such as `owl:someValuesFrom`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from reshuffle.kg import inverse_name
from reshuffle.kg.io.rdf import to_term
from reshuffle.kg.vocabulary import base_relation, is_inverse
from reshuffle.rules.class_axioms import ClassAxiom, DisjointClasses, Domain, Member, SubClass, Value
from reshuffle.rules.formats.ontology import OWL, RDF, RDFS, Ontology, UnreadableError, shortened

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from reshuffle.rules.class_axioms import ClassAxioms

_XSD = "http://www.w3.org/2001/XMLSchema#"
_THING = f"{OWL}Thing"
# What makes an anonymous class, most telling first.
_CONSTRUCTS = tuple(
    f"{OWL}{name}"
    for name in (
        "someValuesFrom", "allValuesFrom", "hasValue", "hasSelf", "intersectionOf", "unionOf", "complementOf", "oneOf",
        "cardinality", "minCardinality", "maxCardinality", "qualifiedCardinality", "minQualifiedCardinality",
        "maxQualifiedCardinality", "onDatatype", "onProperty",
    )
)  # fmt: skip


@dataclass(frozen=True)
class Lacking:
    """A part of an axiom that is not read, by the name of its construct."""

    construct: str


Said: TypeAlias = ClassAxiom | DisjointClasses | Lacking
_Lower: TypeAlias = Callable[[str], ClassAxiom]  # from a class above to the axiom that says so


def sub_class(ontology: Ontology, subject: Any, target: Any) -> list[Said]:
    """`subject rdfs:subClassOf target`."""
    lower, lacking = _lower(ontology, subject)
    upper, also_lacking = _upper(ontology, target)
    said = [make(name) for name in upper for make in lower]
    return [*(axiom for axiom in said if not _is_trivial(axiom)), *lacking, *also_lacking]


def equivalent_class(ontology: Ontology, subject: Any, target: Any) -> list[Said]:
    """Both ways."""
    return list(dict.fromkeys([*sub_class(ontology, subject, target), *sub_class(ontology, target, subject)]))


def domain(ontology: Ontology, subject: Any, target: Any) -> list[Said]:
    """What the property leads from is of that class."""
    return _leading_from(ontology, ontology.relation(subject), target)


def range_(ontology: Ontology, subject: Any, target: Any) -> list[Said]:
    """What the property leads to is of that class; literals have none."""
    return _leading_from(ontology, inverse_name(ontology.relation(subject)), target)


def union(ontology: Ontology, subject: Any, target: Any) -> list[Said]:
    """Every part is a subclass."""
    lower, lacking = _lower_of(ontology, {f"{OWL}unionOf": target})
    return [*(make(ontology.named(subject)) for make in lower), *lacking]


def enumeration(ontology: Ontology, subject: Any, target: Any) -> list[Said]:
    """Every member is of the class."""
    lower, lacking = _lower_of(ontology, {f"{OWL}oneOf": target})
    return [*(make(ontology.named(subject)) for make in lower), *lacking]


def intersection(ontology: Ontology, subject: Any, target: Any) -> list[Said]:
    """The class is below every part; that whatever is in all parts is in the class is not read."""
    upper, lacking = _upper_of(ontology, {f"{OWL}intersectionOf": target})
    name = ontology.named(subject)
    return [*(SubClass(name, above) for above in upper), *lacking, Lacking("")]


def disjoint(ontology: Ontology, subject: Any, target: Any) -> list[Said]:
    """Nothing is of both classes."""
    return [DisjointClasses(ontology.named(subject), ontology.named(target))]


def all_disjoint(ontology: Ontology, subject: Any, _: Any) -> list[Said]:
    """Nothing is of two of the classes."""
    members = ontology.members(ontology.anonymous.get(subject, {}).get(f"{OWL}members"))
    return [DisjointClasses(*pair) for pair in itertools.combinations(map(ontology.named, members), 2)]


def disjoint_union(ontology: Ontology, subject: Any, target: Any) -> list[Said]:
    """A union, whose parts are disjoint."""
    named = [ontology.named(member) for member in ontology.members(target)]
    return [
        *(SubClass(name, ontology.named(subject)) for name in named),
        *(DisjointClasses(*pair) for pair in itertools.combinations(named, 2)),
    ]


def _is_trivial(axiom: ClassAxiom) -> bool:
    return isinstance(axiom, SubClass) and axiom.sub == axiom.cls


def _leading_from(ontology: Ontology, relation: str, target: Any) -> list[Said]:
    if _is_datatype(ontology, target):
        return [Lacking("a datatype")]
    upper, lacking = _upper(ontology, target)
    return [*(Domain(relation, name) for name in upper), *lacking]


def _is_datatype(ontology: Ontology, node: Any) -> bool:
    iri = getattr(node, "value", "")
    declared = ontology.anonymous.get(node, {}).get(f"{RDF}type")
    return (
        iri.startswith(_XSD)
        or iri in (f"{RDFS}Literal", f"{RDF}PlainLiteral", f"{RDF}langString")
        or getattr(declared, "value", "") == f"{RDFS}Datatype"
    )


def _upper(ontology: Ontology, node: Any) -> tuple[list[str], list[Lacking]]:
    """The named classes that a class lies below."""
    if isinstance(node, ontology.named_node):
        return [ontology.named(node)], []
    return _upper_of(ontology, ontology.anonymous.get(node, {}))


def _upper_of(ontology: Ontology, expression: dict[str, Any]) -> tuple[list[str], list[Lacking]]:
    parts = expression.get(f"{OWL}intersectionOf")
    if parts is None:
        return [], [_lacking(expression)]
    return _joined(_upper(ontology, member) for member in ontology.members(parts))


def _lower(ontology: Ontology, node: Any) -> tuple[list[_Lower], list[Lacking]]:
    """What a class has in it, each as the axiom that puts it below another class."""
    if isinstance(node, ontology.named_node):
        return [partial(SubClass, ontology.named(node))], []
    return _lower_of(ontology, ontology.anonymous.get(node, {}))


def _lower_of(ontology: Ontology, expression: dict[str, Any]) -> tuple[list[_Lower], list[Lacking]]:
    get = expression.get
    if (parts := get(f"{OWL}unionOf")) is not None:
        return _joined(_lower(ontology, member) for member in ontology.members(parts))
    if (members := get(f"{OWL}oneOf")) is not None:
        return [partial(Member, ontology.entity(member)) for member in ontology.members(members)], []
    if (relation := get(f"{OWL}onProperty")) is not None:
        if (value := get(f"{OWL}hasValue")) is not None:
            return [partial(Value, ontology.relation(relation), ontology.entity(value))], []
        if getattr(get(f"{OWL}someValuesFrom"), "value", "") == _THING:
            return [partial(Domain, ontology.relation(relation))], []
    return [], [_lacking(expression)]


def _joined(parts: Iterable[tuple[list[Any], list[Lacking]]]) -> tuple[list[Any], list[Lacking]]:
    found: list[Any] = []
    lacking: list[Lacking] = []
    for some, missing in parts:
        found += some
        lacking += missing
    return found, lacking


def _lacking(expression: dict[str, Any]) -> Lacking:
    for construct in _CONSTRUCTS:
        if construct in expression:
            return Lacking(shortened(construct))
    raise UnreadableError


def lines(classes: ClassAxioms) -> Iterator[str]:
    """Turtle: one statement per axiom."""
    for axiom in classes.axioms:
        yield f"{_statement(axiom)} ."
    for pair in classes.disjoint:
        yield f"{_term(pair.first)} owl:disjointWith {_term(pair.second)} ."


def _statement(axiom: ClassAxiom) -> str:
    cls = _term(axiom.cls)
    if isinstance(axiom, SubClass):
        return f"{_term(axiom.sub)} rdfs:subClassOf {cls}"
    if isinstance(axiom, Domain):
        kind = "range" if is_inverse(axiom.relation) else "domain"
        return f"{_term(base_relation(axiom.relation))} rdfs:{kind} {cls}"
    if isinstance(axiom, Member):
        return f"[ owl:oneOf ( {_term(axiom.member)} ) ] rdfs:subClassOf {cls}"
    assert isinstance(axiom, Value)
    relation = _term(base_relation(axiom.relation))
    of = f"[ owl:inverseOf {relation} ]" if is_inverse(axiom.relation) else relation
    return f"[ a owl:Restriction ; owl:onProperty {of} ; owl:hasValue {_term(axiom.value)} ] rdfs:subClassOf {cls}"


def _term(name: str) -> str:
    return to_term(name, blank_nodes=False)
