"""Write rules as OWL 2, and tell axioms among triples; `reshuffle.rules.ontologies` reads them.

| axiom | rules |
| --- | --- |
| `p rdfs:subPropertyOf q` | `p(X, Y) -> q(X, Y)` |
| `p owl:equivalentProperty q` | both ways |
| `p owl:inverseOf q` | `q(Y, X) -> p(X, Y)` and `p(Y, X) -> q(X, Y)` |
| `p a owl:SymmetricProperty` | `p(Y, X) -> p(X, Y)` |
| `p a owl:TransitiveProperty` | `p(X, Y) & p(Y, Z) -> p(X, Z)` |
| `p owl:propertyChainAxiom (r1 ... rn)` | `r1(X, Y) & ... -> p(X, Z)` |
| `p owl:propertyDisjointWith q`, `owl:AllDisjointProperties` | `p(X, Y) & q(X, Y) -> false` |
| `rdfs:subClassOf`, `owl:equivalentClass`, `rdfs:domain`, `rdfs:range`, ... | see `owl_classes` |

An anonymous `[ owl:inverseOf p ]` is the inverse relation. Names become IRIs as they do in RDF facts
(`reshuffle.kg.io.rdf`), so that rules and facts written side by side fit.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

from reshuffle.errors import Place
from reshuffle.kg import inverse_name
from reshuffle.kg.io.rdf import from_iri, pyoxigraph, to_term
from reshuffle.kg.vocabulary import base_relation, is_inverse
from reshuffle.rules.class_axioms import TYPE
from reshuffle.rules.formats import owl_classes
from reshuffle.rules.formats.ontology import OWL, RDF, RDFS, load
from reshuffle.rules.rule import Disjointness, PathRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reshuffle.rules.rule import RuleBase

Triple: TypeAlias = tuple[str, str, str]

_OF_RELATIONS = (f"{RDFS}subPropertyOf", f"{RDFS}domain", f"{RDFS}range", f"{RDFS}subClassOf")
_PARTS = frozenset(f"{OWL}{name}" for name in ("inverseOf", "unionOf", "intersectionOf", "oneOf"))
"""What an anonymous inverse or class is described by, which by itself is no axiom."""
AXIOM_RELATIONS = _PARTS | {
    *_OF_RELATIONS,
    *(f"{OWL}{name}" for name in ("equivalentProperty", "propertyChainAxiom", "propertyDisjointWith")),
    *(f"{OWL}{name}" for name in ("equivalentClass", "disjointWith", "disjointUnionOf")),
    *(f"{OWL}{name}" for name in ("sameAs", "hasKey", "complementOf")),
}
"""The relations whose triples are axioms."""
_AXIOM_TYPES = frozenset(
    {
        *(f"{OWL}{name}" for name in ("AllDisjointProperties", "AllDisjointClasses")),
        *(
            f"{OWL}{name}Property"
            for name in (
                *("Symmetric", "Transitive", "Functional", "InverseFunctional"),
                *("Reflexive", "Irreflexive", "Asymmetric"),
            )
        ),
    }
)


def stated(content: bytes, file: str) -> Counter[Triple]:
    """All axioms of an ontology as triples of names, as they would stand among facts."""
    return Counter(_stated(content, file))


def _stated(content: bytes, file: str) -> Iterator[Triple]:
    named = pyoxigraph(Place(file)).NamedNode
    for subject, predicate, target in load(content, file):
        head, tail = (from_iri(node.value) if isinstance(node, named) else "_:" for node in (subject, target))
        if is_axiom(head, predicate, tail):
            yield head, predicate, tail


def is_axiom(head: str, relation: str, tail: str) -> bool:
    """Does a triple of names say something about a relation or a class, beyond declaring it?

    Blank nodes begin with `_:`; a part of an expression, which has such a head, is none by itself.
    """
    if relation == f"{RDF}type":
        return tail in _AXIOM_TYPES
    return relation in AXIOM_RELATIONS and not (head.startswith("_:") and relation in _PARTS)


def lines(base: RuleBase) -> Iterator[str]:
    """Turtle: declarations, then one statement per rule; an intersection is no property axiom of OWL 2."""
    pyoxigraph(Place("an ontology"))  # which knows what is an IRI
    yield f"@prefix owl: <{OWL}> ."
    yield f"@prefix rdfs: <{RDFS}> ."
    for relation in dict.fromkeys(map(base_relation, base.relations)):
        if relation != TYPE:
            yield f"{_property(relation)} a owl:ObjectProperty ."
    for rule in base.given:
        if isinstance(rule, PathRule):
            yield _statement(rule.reversed() if is_inverse(rule.head) else rule)
    for pair in base.disjointness:
        if isinstance(pair, Disjointness):
            yield f"{_property(pair.first)} owl:propertyDisjointWith {_property(pair.second)} ."
    yield from owl_classes.lines(base)


def _statement(rule: PathRule) -> str:
    head = _property(rule.head)
    if rule.body == (rule.head, rule.head):
        return f"{head} a owl:TransitiveProperty ."
    if rule.body == (inverse_name(rule.head),):
        return f"{head} a owl:SymmetricProperty ."
    if len(rule.body) == 1:
        return f"{_property(rule.body[0])} rdfs:subPropertyOf {head} ."
    return f"{head} owl:propertyChainAxiom ( {' '.join(map(_property, rule.body))} ) ."


def _property(relation: str) -> str:
    if is_inverse(relation):
        return f"[ owl:inverseOf {_property(inverse_name(relation))} ]"
    return to_term(relation, blank_nodes=False)
