"""What closes the edges between classes, as rules: to join an ontology with facts and with rules that somebody wrote.

Classification says which edges there are. Those that are left when all that follows from the rest is taken away are
facts here; with the rules they have the same closure. So edges to classes that facts bring are closed with them.

>>> print(*_of_every("part_of", "is_a"), sep="; ")
is_a(X, Y) & part_of(Y, Z) -> part_of(X, Z); part_of(X, Y) & is_a(Y, Z) -> part_of(X, Z)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reshuffle.rules.ontologies.axioms import (
    And,
    DisjointClasses,
    DisjointUnion,
    EquivalentClasses,
    EquivalentProperties,
    HasSelf,
    Kind,
    PropertyChain,
    PropertyDomain,
    PropertyIs,
    PropertyRange,
    Some,
    SubClassOf,
    SubProperty,
    parts_of,
)
from reshuffle.rules.rule import PathRule, RuleBase, Unread

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from reshuffle.reasoning.classes.class_answers import ClassAnswers
    from reshuffle.rules.ontologies.axioms import Axiom, ClassExpression, Ontology

_ALONE = "used between classes alone"
_LONGEST = 300
_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"


def rules_between(ontology: Ontology, edges: ClassAnswers, *, every: bool = False) -> RuleBase:
    """The reduced edges as facts, those between individuals of the ontology as well, and what closes them as rules.

    Rules are those of relations that have edges or get some. With `every`, for other facts, they are those of all
    properties and of rdf:type, and axioms that classify, but say more about facts than these rules, are counted as not
    read. `edges` are reduced answers of the same ontology.
    """
    short = edges.names.__getitem__
    edges.names.add((_TYPE, *(name for fact in ontology.facts for name in fact)))
    between = [*edges.triples(), *((short(h), short(r), short(t)) for h, r, t in ontology.facts)]
    of_properties = [rule.renamed(short) for axiom in ontology.axioms for rule in _of_properties(axiom)]
    there = {relation for _, relation, _ in between}
    used = _with_edges(
        there.union(edges.relations, map(short, ontology.properties)) if every else there, of_properties
    )
    rules = [PathRule((edges.is_a, edges.is_a), edges.is_a)]
    type_ = short(_TYPE)
    if every or type_ in used:
        rules.append(PathRule((type_, edges.is_a), type_))
    for relation in sorted(used - {edges.is_a, type_}):
        rules += _of_every(relation, edges.is_a)
    rules += [rule for rule in of_properties if used.issuperset(rule.body)]
    unread = (*edges.read_rules.unread, *(_classifying_alone(ontology) if every else ()))
    return RuleBase(tuple(dict.fromkeys(rules)), unread=unread, facts=tuple(dict.fromkeys(between)))


def _classifying_alone(ontology: Ontology) -> list[Unread]:
    """The axioms that the edges hold for classes, but not for what other facts bring: definitions, disjointness."""
    found: dict[str, list[Axiom]] = {}
    for axiom in ontology.axioms:
        if _classifies(axiom):
            found.setdefault(axiom.construct, []).append(axiom)
    return [
        Unread(
            f"{construct} axioms", len(axioms), f"{ontology.file}: {axioms[0]}"[:_LONGEST], "axiom", _ALONE
        )
        for construct, axioms in found.items()
    ]


def _classifies(axiom: Axiom) -> bool:
    """Of what has a part outside of EL, this part is counted already."""
    match axiom:
        case SubClassOf(sub, _):
            return not isinstance(sub, str) and _is_in_el(sub)
        case EquivalentClasses(members):
            return not all(isinstance(member, str) for member in members) and all(map(_is_in_el, members))
        case DisjointClasses(members):
            return all(map(_is_in_el, members))
        case DisjointUnion() | PropertyDomain() | PropertyRange():
            return True
        case PropertyIs(Kind.REFLEXIVE, _):
            return True
    return False


def _is_in_el(expression: ClassExpression) -> bool:
    return all(isinstance(part, str | And | Some | HasSelf) for part in parts_of(expression))


def _with_edges(used: set[str], rules: Sequence[PathRule]) -> set[str]:
    """These relations, and those that rules derive from them."""
    more = {rule.head for rule in rules if used.issuperset(rule.body)} - used
    return _with_edges(used | more, rules) if more else used


def _of_every(relation: str, is_a: str) -> list[PathRule]:
    return [PathRule((is_a, relation), relation), PathRule((relation, is_a), relation)]


def _of_properties(axiom: Axiom) -> Iterator[PathRule]:
    """The path rules of an axiom about properties."""
    match axiom:
        case SubProperty(sub, sup):
            yield PathRule((sub,), sup)
        case EquivalentProperties(members):
            yield from (PathRule((one,), other) for one in members for other in members if one != other)
        case PropertyChain(chain, sup):
            yield PathRule(chain, sup)
        case PropertyIs(Kind.TRANSITIVE, relation):
            yield PathRule((relation, relation), relation)
