"""OWL 2 axioms: properties are exactly our rule classes, classes are path rules with helper facts.

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
(`reshuffle.kg.io.rdf`), so that rules and facts written side by side fit. Everything else is counted, not read.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from reshuffle.errors import Place
from reshuffle.kg import inverse_name
from reshuffle.kg.io.rdf import pyoxigraph, to_term
from reshuffle.kg.vocabulary import base_relation, is_inverse
from reshuffle.rules.class_axioms import TYPE
from reshuffle.rules.formats import owl_classes
from reshuffle.rules.formats.ontology import OWL, RDF, RDFS, Ontology, UnreadableError, load, shortened
from reshuffle.rules.formats.owl_classes import Lacking, Said
from reshuffle.rules.rule import ConstantRule, Disjointness, PathRule, Unread

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reshuffle.rules.rule import Constraint, Rule, RuleBase

_T = TypeVar("_T")
Triple: TypeAlias = tuple[str, str, str]

# Declarations and the ontology's own header say nothing about triples.
_DECLARED = {
    f"{OWL}Annotation",
    f"{OWL}AnnotationProperty",
    f"{OWL}Axiom",  # which is annotated
    f"{OWL}Class",
    f"{OWL}DatatypeProperty",
    f"{OWL}NamedIndividual",
    f"{OWL}ObjectProperty",
    f"{OWL}Ontology",
    f"{OWL}Restriction",  # counted where it is used
    f"{RDF}Property",
    f"{RDFS}Class",
    f"{RDFS}Datatype",
}

# Annotations are for people; labels are read where names are shown.
_ANNOTATIONS = {
    *(f"{RDFS}{name}" for name in ("label", "comment", "seeAlso", "isDefinedBy")),
    *(f"{OWL}{name}" for name in ("versionInfo", "versionIRI", "priorVersion", "deprecated")),
}

Axiom: TypeAlias = PathRule | Disjointness
_Reader: TypeAlias = Callable[[Ontology, Any, Any], Sequence[Axiom | Said]]


def _sub_property(ontology: Ontology, subject: Any, target: Any) -> list[Axiom]:
    return [PathRule((ontology.relation(subject),), ontology.relation(target))]


def _equivalent(ontology: Ontology, subject: Any, target: Any) -> list[Axiom]:
    return _sub_property(ontology, subject, target) + _sub_property(ontology, target, subject)


def _inverse(ontology: Ontology, subject: Any, target: Any) -> list[Axiom]:
    one, other = ontology.relation(subject), ontology.relation(target)
    return [PathRule((inverse_name(other),), one), PathRule((inverse_name(one),), other)]


def _chain(ontology: Ontology, subject: Any, target: Any) -> list[Axiom]:
    return [PathRule(ontology.relations(target), ontology.relation(subject))]


def _disjoint(ontology: Ontology, subject: Any, target: Any) -> list[Axiom]:
    return [_disjointness(ontology.relation(subject), ontology.relation(target))]


def _all_disjoint(ontology: Ontology, subject: Any, _: Any) -> list[Axiom]:
    members = ontology.relations(ontology.anonymous.get(subject, {}).get(f"{OWL}members"))
    return [_disjointness(*pair) for pair in itertools.combinations(members, 2)]


def _symmetric(ontology: Ontology, subject: Any, _: Any) -> list[Axiom]:
    relation = ontology.relation(subject)
    return [PathRule((inverse_name(relation),), relation)]


def _transitive(ontology: Ontology, subject: Any, _: Any) -> list[Axiom]:
    relation = ontology.relation(subject)
    return [PathRule((relation, relation), relation)]


_BY_PREDICATE: dict[str, _Reader] = {
    f"{RDFS}subPropertyOf": _sub_property,
    f"{OWL}equivalentProperty": _equivalent,
    f"{OWL}inverseOf": _inverse,
    f"{OWL}propertyChainAxiom": _chain,
    f"{OWL}propertyDisjointWith": _disjoint,
    f"{RDFS}domain": owl_classes.domain,
    f"{RDFS}range": owl_classes.range_,
    f"{RDFS}subClassOf": owl_classes.sub_class,
    f"{OWL}equivalentClass": owl_classes.equivalent_class,
    f"{OWL}disjointWith": owl_classes.disjoint,
    f"{OWL}disjointUnionOf": owl_classes.disjoint_union,
    f"{OWL}unionOf": owl_classes.union,
    f"{OWL}intersectionOf": owl_classes.intersection,
    f"{OWL}oneOf": owl_classes.enumeration,
}
_PARTS = {f"{OWL}inverseOf", f"{OWL}unionOf", f"{OWL}intersectionOf", f"{OWL}oneOf"}
# An anonymous inverse or class may itself be the subject of these.
_OF_EXPRESSIONS = _BY_PREDICATE.keys() - _PARTS
_BY_TYPE: dict[str, _Reader] = {
    f"{OWL}SymmetricProperty": _symmetric,
    f"{OWL}TransitiveProperty": _transitive,
    f"{OWL}AllDisjointProperties": _all_disjoint,
    f"{OWL}AllDisjointClasses": owl_classes.all_disjoint,
}


AXIOM_RELATIONS = frozenset(
    {*_BY_PREDICATE, *(f"{OWL}{name}" for name in ("sameAs", "hasKey", "complementOf"))}
)
"""The relations whose triples are axioms."""
_AXIOM_TYPES = frozenset(
    {
        *_BY_TYPE,
        *(
            f"{OWL}{name}Property"
            for name in ("Functional", "InverseFunctional", "Reflexive", "Irreflexive", "Asymmetric")
        ),
    }
)
_OTHERS = "facts and annotations"


def _disjointness(first: str, second: str) -> Disjointness:
    if is_inverse(first):
        first, second = inverse_name(first), inverse_name(second)
    return Disjointness(first, second)


def read(content: bytes, file: str) -> tuple[list[Rule | Constraint], list[Unread], Counter[Triple]]:
    """The rules, constraints and class axioms of an ontology in document order, what is not read, and all axioms as
    triples.
    """
    ontology = load(content, file)
    axioms: list[Rule | Constraint] = []
    unread: dict[str, list[str]] = {}
    for subject, predicate, target in ontology.triples:
        for said in _axioms(ontology, subject, predicate, target):
            if isinstance(said, Lacking):
                kind = _kind(predicate, target, said.construct)
                unread.setdefault(kind, []).append(f"{file}: {_said(subject, predicate, target)}")
            else:
                axioms.append(_head_forwards(said))
                if relation := _about_axioms(said):
                    kind = _kind(predicate, target, shortened(relation))
                    unread.setdefault(kind, []).append(f"{file}: {_said(subject, predicate, target)}")
    stated = Counter(_stated(ontology))
    return axioms, [Unread(kind, len(found), found[0], _noun(kind)) for kind, found in unread.items()], stated


def stated(content: bytes, file: str) -> Counter[Triple]:
    """All axioms of an ontology as triples of names, as they would stand among facts."""
    return Counter(_stated(load(content, file)))


def _stated(ontology: Ontology) -> Iterator[Triple]:
    """The axioms as triples of names, as they would stand among facts."""
    for subject, predicate, target in ontology.triples:
        ends = (
            ontology.named(node) if isinstance(node, ontology.named_node) else "_:"
            for node in (subject, target)
        )
        head, tail = ends
        if is_axiom(head, predicate, tail):
            yield head, predicate, tail


def is_axiom(head: str, relation: str, tail: str) -> bool:
    """Does a triple of names say something about a relation or a class, beyond declaring it?

    Blank nodes begin with `_:`; a part of an expression, which has such a head, is none by itself.
    """
    if relation == f"{RDF}type":
        return tail in _AXIOM_TYPES
    return relation in AXIOM_RELATIONS and not (head.startswith("_:") and relation in _PARTS)


def _noun(kind: str) -> str:
    return "" if kind == _OTHERS else "axiom"


def _about_axioms(axiom: Axiom | Said) -> str:
    """A relation between classes or properties that an axiom is about: what follows for it is not followed further."""
    names = (*axiom.body, axiom.head) if isinstance(axiom, PathRule | ConstantRule) else ()
    return next((name for name in map(base_relation, names) if name in AXIOM_RELATIONS), "")


def _said(subject: Any, predicate: str, target: Any) -> str:
    """A triple as N-Triples; the label of an anonymous node says nothing, and is another one in every run."""
    head, tail = ("[]" if str(node).startswith("_:") else str(node) for node in (subject, target))
    return f"{head} <{predicate}> {tail}"


def _head_forwards(axiom: _T) -> _T | PathRule:
    if isinstance(axiom, PathRule) and is_inverse(axiom.head):
        return axiom.reversed()
    return axiom


def _axioms(ontology: Ontology, subject: Any, predicate: str, target: Any) -> Sequence[Axiom | Said]:
    """What a triple says: nothing if it only declares or is part of another; what is not read is `Lacking`."""
    if predicate == f"{RDF}type":
        kind = getattr(target, "value", "")
        reader, silent = _BY_TYPE.get(kind), kind in _DECLARED
    else:
        reader = _BY_PREDICATE.get(predicate)
        part = subject in ontology.anonymous and predicate not in _OF_EXPRESSIONS
        silent = part or predicate in _ANNOTATIONS
    if silent:
        return []
    try:
        return [Lacking("")] if reader is None else reader(ontology, subject, target)
    except UnreadableError as error:
        return [Lacking(str(error))]


def _kind(predicate: str, target: Any, construct: str) -> str:
    name = shortened(getattr(target, "value", "") if predicate == f"{RDF}type" else predicate)
    if not name:
        return _OTHERS
    return f"{name} axioms with {construct}" if construct else f"{name} axioms"


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
