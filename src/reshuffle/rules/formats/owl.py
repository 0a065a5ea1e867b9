"""OWL 2 property axioms: exactly our rule classes, as ontology engineers already have them.

| axiom | rules |
| --- | --- |
| `p rdfs:subPropertyOf q` | `p(X, Y) -> q(X, Y)` |
| `p owl:equivalentProperty q` | both ways |
| `p owl:inverseOf q` | `q(Y, X) -> p(X, Y)` and `p(Y, X) -> q(X, Y)` |
| `p a owl:SymmetricProperty` | `p(Y, X) -> p(X, Y)` |
| `p a owl:TransitiveProperty` | `p(X, Y) & p(Y, Z) -> p(X, Z)` |
| `p owl:propertyChainAxiom (r1 ... rn)` | `r1(X, Y) & ... -> p(X, Z)` |
| `p owl:propertyDisjointWith q`, `owl:AllDisjointProperties` | `p(X, Y) & q(X, Y) -> false` |

An anonymous `[ owl:inverseOf p ]` is the inverse relation. Names become IRIs as they do in RDF facts
(`reshuffle.kg.io.rdf`), so that rules and facts written side by side fit. Everything else is counted, not read.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from reshuffle.errors import InputError, Place
from reshuffle.kg import inverse_name
from reshuffle.kg.inverses import base_relation, is_inverse
from reshuffle.kg.io.rdf import from_iri, pyoxigraph, to_term
from reshuffle.rules.rule import Disjointness, PathRule, Unread

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reshuffle.rules.rule import RuleBase

OWL = "http://www.w3.org/2002/07/owl#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"

# Declarations and the ontology's own header say nothing about triples.
_DECLARED = {
    f"{OWL}AnnotationProperty",
    f"{OWL}Class",
    f"{OWL}DatatypeProperty",
    f"{OWL}NamedIndividual",
    f"{OWL}ObjectProperty",
    f"{OWL}Ontology",
    f"{RDF}Property",
    f"{RDFS}Class",
    f"{RDFS}Datatype",
}
_SHORT = {OWL: "owl:", RDF: "rdf:", RDFS: "rdfs:"}


class _UnreadableError(Exception):
    """A property expression that is neither a relation nor the inverse of one."""


@dataclass(frozen=True)
class _Ontology:
    """The triples in the order of the document, and what is said of each anonymous node."""

    triples: list[tuple[Any, str, Any]]
    anonymous: dict[Any, dict[str, Any]]
    named_node: type

    def relation(self, node: Any) -> str:
        """The relation a node names: an IRI, or an anonymous inverse of one."""
        inverted = self.anonymous.get(node, {}).get(f"{OWL}inverseOf")
        if inverted is not None:
            return inverse_name(self._named(inverted))
        return self._named(node)

    def _named(self, node: Any) -> str:
        if not isinstance(node, self.named_node):
            raise _UnreadableError
        iri: Any = node
        return from_iri(iri.value)

    def members(self, node: Any) -> tuple[str, ...]:
        """The relations of an RDF list."""
        relations: list[str] = []
        while node in self.anonymous and len(relations) <= len(self.triples):  # a list may be a circle
            cell = self.anonymous[node]
            relations.append(self.relation(cell.get(f"{RDF}first")))
            node = cell.get(f"{RDF}rest")
        if not relations or getattr(node, "value", "") != f"{RDF}nil":
            raise _UnreadableError
        return tuple(relations)


Axiom: TypeAlias = PathRule | Disjointness
_Reader: TypeAlias = Callable[[_Ontology, Any, Any], list[Axiom]]


def _sub_property(ontology: _Ontology, subject: Any, target: Any) -> list[Axiom]:
    return [PathRule((ontology.relation(subject),), ontology.relation(target))]


def _equivalent(ontology: _Ontology, subject: Any, target: Any) -> list[Axiom]:
    return _sub_property(ontology, subject, target) + _sub_property(ontology, target, subject)


def _inverse(ontology: _Ontology, subject: Any, target: Any) -> list[Axiom]:
    one, other = ontology.relation(subject), ontology.relation(target)
    return [PathRule((inverse_name(other),), one), PathRule((inverse_name(one),), other)]


def _chain(ontology: _Ontology, subject: Any, target: Any) -> list[Axiom]:
    return [PathRule(ontology.members(target), ontology.relation(subject))]


def _disjoint(ontology: _Ontology, subject: Any, target: Any) -> list[Axiom]:
    return [_disjointness(ontology.relation(subject), ontology.relation(target))]


def _all_disjoint(ontology: _Ontology, subject: Any, _: Any) -> list[Axiom]:
    members = ontology.members(ontology.anonymous.get(subject, {}).get(f"{OWL}members"))
    return [_disjointness(*pair) for pair in itertools.combinations(members, 2)]


def _symmetric(ontology: _Ontology, subject: Any, _: Any) -> list[Axiom]:
    relation = ontology.relation(subject)
    return [PathRule((inverse_name(relation),), relation)]


def _transitive(ontology: _Ontology, subject: Any, _: Any) -> list[Axiom]:
    relation = ontology.relation(subject)
    return [PathRule((relation, relation), relation)]


_BY_PREDICATE: dict[str, _Reader] = {
    f"{RDFS}subPropertyOf": _sub_property,
    f"{OWL}equivalentProperty": _equivalent,
    f"{OWL}inverseOf": _inverse,
    f"{OWL}propertyChainAxiom": _chain,
    f"{OWL}propertyDisjointWith": _disjoint,
}
# An anonymous inverse may itself be the subject of these.
_OF_EXPRESSIONS = _BY_PREDICATE.keys() - {f"{OWL}inverseOf"}
_BY_TYPE: dict[str, _Reader] = {
    f"{OWL}SymmetricProperty": _symmetric,
    f"{OWL}TransitiveProperty": _transitive,
    f"{OWL}AllDisjointProperties": _all_disjoint,
}


def _disjointness(first: str, second: str) -> Disjointness:
    if is_inverse(first):
        first, second = inverse_name(first), inverse_name(second)
    return Disjointness(first, second)


def read(content: bytes, file: str) -> tuple[list[Axiom], list[Unread]]:
    """The rules and constraints of an ontology in document order, and what else it holds."""
    ontology = _load(content, file)
    axioms: list[Axiom] = []
    unread: dict[str, list[str]] = {}
    for subject, predicate, target in ontology.triples:
        said = _axioms(ontology, subject, predicate, target)
        if said is None:
            kind = _kind(predicate, target)
            unread.setdefault(kind, []).append(f"{file}: {subject} <{predicate}> {target}")
        else:
            axioms += map(_head_forwards, said)
    return axioms, [Unread(kind, len(found), found[0]) for kind, found in unread.items()]


def _head_forwards(axiom: Axiom) -> Axiom:
    if isinstance(axiom, PathRule) and is_inverse(axiom.head):
        return axiom.reversed()
    return axiom


def _axioms(ontology: _Ontology, subject: Any, predicate: str, target: Any) -> list[Axiom] | None:
    """The rules and constraints of a triple: none if it only declares or is part of another, None if it is not read."""
    if predicate == f"{RDF}type":
        kind = getattr(target, "value", "")
        reader, silent = _BY_TYPE.get(kind), kind in _DECLARED
    else:
        reader = _BY_PREDICATE.get(predicate)
        silent = subject in ontology.anonymous and predicate not in _OF_EXPRESSIONS
    if silent:
        return []
    try:
        return None if reader is None else reader(ontology, subject, target)
    except _UnreadableError:
        return None


def _kind(predicate: str, target: Any) -> str:
    name = getattr(target, "value", "") if predicate == f"{RDF}type" else predicate
    for namespace, prefix in _SHORT.items():
        if name.startswith(namespace):
            return f"{prefix}{name.removeprefix(namespace)} axioms"
    return "facts and annotations"


def _load(content: bytes, file: str) -> _Ontology:
    library = pyoxigraph(Place(file))
    syntax = getattr(library.RdfFormat, _serialisation(content, file))
    try:
        quads = list(library.parse(content, format=syntax))
    except SyntaxError as error:
        raise _malformed(error, file) from None
    triples = [(quad.subject, quad.predicate.value, quad.object) for quad in quads]
    anonymous: dict[Any, dict[str, Any]] = {}
    for subject, predicate, target in triples:
        if isinstance(subject, library.BlankNode):
            anonymous.setdefault(subject, {})[predicate] = target
    return _Ontology(triples, anonymous, library.NamedNode)


def _malformed(error: SyntaxError, file: str) -> InputError:
    reason = re.sub(r"^Parser error (at|between) line.*?: ", "", error.msg)  # the place says it already
    return InputError(
        reason,
        place=Place(file, error.lineno, error.offset),
        hint="Turtle, RDF/XML and N-Triples are read; relative names need a base in the file",
    )


def _serialisation(content: bytes, file: str) -> str:
    start = content[:2000].lstrip(b"\xef\xbb\xbf \t\r\n")
    if re.search(rb"<Ontology\b", start):
        raise _other_syntax(file, "OWL/XML")
    if re.match(rb"(Prefix|Ontology)\s*\(", start):
        raise _other_syntax(file, "OWL functional syntax")
    if re.match(rb"(Prefix|Ontology):\s", start):
        raise _other_syntax(file, "Manchester syntax")
    # N-Triples is a part of Turtle; a comment in XML starts with <!, an IRI does not.
    return "RDF_XML" if re.match(rb"<(\?xml|!|rdf:)", start) else "TURTLE"


def _other_syntax(file: str, syntax: str) -> InputError:
    return InputError(
        f"{syntax} is not read", place=Place(file), hint="save the ontology as Turtle, RDF/XML or N-Triples"
    )


def lines(base: RuleBase) -> Iterator[str]:
    """Turtle: declarations, then one statement per rule; an intersection is no property axiom of OWL 2."""
    pyoxigraph(Place("an ontology"))  # which knows what is an IRI
    yield f"@prefix owl: <{OWL}> ."
    yield f"@prefix rdfs: <{RDFS}> ."
    for relation in dict.fromkeys(base_relation(relation) for relation in base.relations):
        yield f"{_property(relation)} a owl:ObjectProperty ."
    for rule in base.given:
        if isinstance(rule, PathRule):
            yield _statement(rule.reversed() if is_inverse(rule.head) else rule)
    for pair in base.disjointness:
        yield f"{_property(pair.first)} owl:propertyDisjointWith {_property(pair.second)} ."


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
