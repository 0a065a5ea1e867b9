"""What axioms say of each other: the rules of OWL 2 RL whose names begin with scm, over axioms as triples of names.

`Ontology`s say more than triples of names do; `schema_facts` gives what such triples can say.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, TypeAlias

from reshuffle.kg.vocabulary import is_inverse
from reshuffle.rules.class_axioms import TYPE
from reshuffle.rules.formats.ontology import OWL
from reshuffle.rules.ontologies.axioms import (
    All,
    And,
    DisjointClasses,
    DisjointProperties,
    DisjointUnion,
    EquivalentClasses,
    EquivalentProperties,
    HasValue,
    InverseProperties,
    Kind,
    Or,
    PropertyChain,
    PropertyDomain,
    PropertyIs,
    PropertyRange,
    SameIndividuals,
    Some,
    SubClassOf,
    SubProperty,
    parts_of,
)
from reshuffle.rules.ontologies.tautologies import (
    DOMAIN,
    EQUAL_CLASS,
    EQUAL_PROPERTY,
    RANGE,
    SUB_CLASS,
    SUB_PROPERTY,
)
from reshuffle.rules.rule import IntersectionRule, PathRule, RuleBase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from reshuffle.rules.ontologies.axioms import Axiom, ClassExpression, Ontology

Fact: TypeAlias = tuple[str, str, str]

_BELOW, _SUB = "~below", "~sub"  # as rdfs:subClassOf and rdfs:subPropertyOf, and each name itself
_ON, _ITSELF = "~on", "~itself"
_FILLERS = {Some: "~some", All: "~all", HasValue: "~value"}
_MOST_RESTRICTIONS = 300
"""Named restrictions that are compared with each other."""


def _closed(sub: str, equal: str) -> tuple[PathRule | IntersectionRule, ...]:
    return (
        PathRule((equal,), sub),
        PathRule((f"{equal}^-1",), equal),
        PathRule((sub, sub), sub),
        IntersectionRule((sub, f"{sub}^-1"), equal),
    )


_OF_RESTRICTIONS = (
    PathRule((SUB_CLASS,), _BELOW),
    PathRule((_ITSELF,), _BELOW),
    PathRule((SUB_PROPERTY,), _SUB),
    PathRule((_ITSELF,), _SUB),
    PathRule((_ON, _SUB, f"{_ON}^-1"), "~on below"),
    PathRule(("~some", _BELOW, "~some^-1"), "~some below"),
    PathRule(("~all", _BELOW, "~all^-1"), "~all below"),
    PathRule(("~value", "~value^-1"), "~value same"),
    IntersectionRule(("~some below", "~on below"), SUB_CLASS),
    IntersectionRule(("~all below", "~on below^-1"), SUB_CLASS),
    IntersectionRule(("~value same", "~on below"), SUB_CLASS),
)
SCHEMA_RULES = RuleBase(
    (
        *_closed(SUB_CLASS, EQUAL_CLASS),
        *_closed(SUB_PROPERTY, EQUAL_PROPERTY),
        *(PathRule((end, SUB_CLASS), end) for end in (DOMAIN, RANGE)),
        *(PathRule((SUB_PROPERTY, end), end) for end in (DOMAIN, RANGE)),
        *_OF_RESTRICTIONS,
    ),
    fresh=frozenset({_BELOW, _SUB, "~on below", "~some below", "~all below", "~value same"}),
)
"""scm-sco, scm-eqc1, scm-eqc2, scm-spo, scm-eqp1, scm-eqp2, scm-dom1, scm-dom2, scm-rng1, scm-rng2; scm-hv, scm-svf1,
scm-svf2, scm-avf1, scm-avf2 of restrictions with names.
"""
RELATIONS = frozenset({SUB_CLASS, EQUAL_CLASS, SUB_PROPERTY, EQUAL_PROPERTY, DOMAIN, RANGE})
"""Those that the rules conclude."""


def schema_facts(ontologies: Iterable[Ontology]) -> tuple[Fact, ...]:
    """What the axioms of ontologies say in triples of names, each once."""
    found: dict[Fact, None] = {}
    restrictions: dict[Fact, None] = {}
    for ontology in ontologies:
        named = ontology.classes.union(*map(_classes, ontology.axioms))
        found |= dict.fromkeys((name, TYPE, f"{OWL}Class") for name in sorted(named))
        found |= dict.fromkeys((name, TYPE, f"{OWL}ObjectProperty") for name in sorted(ontology.properties))
        for axiom in ontology.axioms:
            found |= dict.fromkeys(_triples(axiom, ontology))
            restrictions |= dict.fromkeys(_restrictions(axiom))
    if 0 < len(restrictions) <= 2 * _MOST_RESTRICTIONS:
        found |= restrictions
        found |= {(name, _ITSELF, name): None for _, _, name in restrictions}
    return tuple(fact for fact in found if not (is_inverse(fact[0]) or is_inverse(fact[2])))


def _classes(axiom: Axiom) -> Iterator[str]:
    """The classes that an axiom names."""
    for end in (getattr(axiom, name, None) for name in ("sub", "sup", "cls")):
        if end is not None and not isinstance(axiom, SubProperty | PropertyChain):
            yield from (part for part in parts_of(end) if isinstance(part, str))
    if isinstance(axiom, EquivalentClasses | DisjointClasses | DisjointUnion):
        yield from (part for member in axiom.members for part in parts_of(member) if isinstance(part, str))


def _triples(axiom: Axiom, ontology: Ontology) -> Iterator[Fact]:
    if isinstance(axiom, SubClassOf):
        yield from _below(axiom.sub, axiom.sup)
    elif isinstance(axiom, EquivalentClasses | EquivalentProperties):
        yield from _equivalent(axiom)
    elif isinstance(axiom, DisjointUnion):
        yield from _below(Or(axiom.members), axiom.cls)
    elif isinstance(axiom, SubProperty):
        yield axiom.sub, SUB_PROPERTY, axiom.sup
    elif isinstance(axiom, PropertyDomain | PropertyRange):
        end = DOMAIN if isinstance(axiom, PropertyDomain) else RANGE
        yield from ((axiom.relation, end, cls) for cls in _members(axiom.cls, And))
    elif isinstance(axiom, SameIndividuals):
        yield from _same(axiom.members, ontology)


BY_RELATION: dict[str, Callable[[str, str], Axiom]] = {
    SUB_CLASS: SubClassOf,
    EQUAL_CLASS: lambda one, other: EquivalentClasses((one, other)),
    f"{OWL}disjointWith": lambda one, other: DisjointClasses((one, other)),
    SUB_PROPERTY: SubProperty,
    EQUAL_PROPERTY: lambda one, other: EquivalentProperties((one, other)),
    f"{OWL}propertyDisjointWith": lambda one, other: DisjointProperties((one, other)),
    f"{OWL}inverseOf": InverseProperties,
    DOMAIN: PropertyDomain,
    RANGE: PropertyRange,
}
KINDS = {OWL + kind.value.removeprefix("owl:"): kind for kind in Kind}


def axiom_of(head: str, relation: str, tail: str) -> Axiom | None:
    """The axiom that a triple of names is; None for any other triple."""
    if head.startswith("_:") or tail.startswith("_:"):
        return None
    if relation == TYPE:
        return PropertyIs(KINDS[tail], head) if tail in KINDS else None
    make = BY_RELATION.get(relation)
    return None if make is None else make(head, tail)


def _below(sub: ClassExpression, sup: ClassExpression) -> Iterator[Fact]:
    """Each class of a union is below, each class of an intersection above."""
    for one, other in itertools.product(_members(sub, Or), _members(sup, And)):
        yield one, SUB_CLASS, other


def _members(expression: ClassExpression, kind: type[And | Or]) -> list[str]:
    """The named classes of which an intersection or a union is made, those of its parts of that kind, too."""
    if isinstance(expression, str):
        return [expression]
    if not isinstance(expression, kind):
        return []
    return [name for member in expression.members for name in _members(member, kind)]


def _equivalent(axiom: EquivalentClasses | EquivalentProperties) -> Iterator[Fact]:
    relation = EQUAL_CLASS if isinstance(axiom, EquivalentClasses) else EQUAL_PROPERTY
    for one, other in itertools.permutations(axiom.members, 2):
        if isinstance(one, str) and isinstance(other, str):
            if axiom.members.index(one) < axiom.members.index(other):
                yield one, relation, other
        elif isinstance(axiom, EquivalentClasses):
            yield from _below(one, other)


def _same(members: tuple[str, ...], ontology: Ontology) -> Iterator[Fact]:
    """Two names of one class are of equivalent classes, and so with properties."""
    for names, relation in ((ontology.classes, EQUAL_CLASS), (ontology.properties, EQUAL_PROPERTY)):
        if not names.isdisjoint(members):
            yield from ((one, relation, other) for one, other in itertools.pairwise(members))


def _restrictions(axiom: Axiom) -> Iterator[Fact]:
    """A class with a name that is a restriction: its property, and its filler."""
    if not isinstance(axiom, EquivalentClasses):
        return
    for name, other in itertools.permutations(axiom.members, 2):
        if isinstance(name, str) and isinstance(other, Some | All | HasValue):
            filler = other.value if isinstance(other, HasValue) else other.filler
            if isinstance(filler, str):
                yield name, _ON, other.relation
                yield name, _FILLERS[type(other)], filler
