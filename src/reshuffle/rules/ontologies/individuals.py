"""What axioms say of individuals, as rules: the rules of OWL 2 RL, with each class in its place as a constant.

A class below another is a condition on a variable, in the form of alternatives; a class above is what follows.

| class expression | below | above, of X |
| --- | --- | --- |
| `A` | `type(X, A)` | `type(X, A)` |
| `owl:Thing` | nothing is asked | nothing is said |
| `A and B` | both | both |
| `A or B` | an alternative each | not read, unless one of them is all |
| `{a, b}` | X is a, or X is b | one: `sameAs(X, a)` |
| `p some A` | `p(X, Y)` and what A asks of Y; or a class below it | `p some {a}`: `p(X, a)` |
| `p value a` | `p(X, a)` | `p(X, a)` |
| `p min 1 A` | as `p some A` | |
| `p only A` | not read | what A says of Y where `p(X, Y)` |
| `not A` | not read | `type(X, owl:Nothing)` where A asks it |
| `p max 0 A` | not read | `type(X, owl:Nothing)` where `p some A` asks it |
| `p max 1 A` | not read | `sameAs(Y, Z)` where `p(X, Y)`, `p(X, Z)`, and A asks it of both |

Two names of one individual are linked by `owl:sameAs`, and `equality` says what follows from that.
"""

from __future__ import annotations

import itertools
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from reshuffle.kg import inverse_name
from reshuffle.kg.vocabulary import base_relation, is_inverse
from reshuffle.rules.class_axioms import NOTHING, SAME_AS, TYPE, denied, disjoint_classes
from reshuffle.rules.ontologies.axioms import (
    THING,
    All,
    And,
    AtLeast,
    AtMost,
    ClassAssertion,
    Datatype,
    DifferentIndividuals,
    DisjointClasses,
    DisjointProperties,
    DisjointUnion,
    EquivalentClasses,
    EquivalentProperties,
    Exactly,
    HasKey,
    HasValue,
    InverseProperties,
    Kind,
    Literal,
    NegativeAssertion,
    Not,
    OneOf,
    Or,
    PropertyAssertion,
    PropertyChain,
    PropertyDomain,
    PropertyIs,
    PropertyRange,
    SameIndividuals,
    Some,
    SubClassOf,
    SubProperty,
)
from reshuffle.rules.ontologies.existentials import NO_EXISTENTIALS
from reshuffle.rules.rule import SAME, Constant, ConstantRule, Disjointness, PathRule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from reshuffle.rules.ontologies.axioms import Axiom, ClassExpression
    from reshuffle.rules.ontologies.existentials import Existentials
    from reshuffle.rules.rule import Constraint, Rule

MOST_ALTERNATIVES = 1_000
"""Of one class; a conjunction of unions has their product."""
MOST_PAIRS = 500_000
"""That one axiom calls disjoint or different: a thousand classes."""

Atom: TypeAlias = tuple[str, str, str]
Said: TypeAlias = "Rule | Constraint"


@dataclass(frozen=True)
class Lacking:
    """A part of an axiom that says something of individuals, and that no rule stands for."""

    construct: str


class _LackingError(Exception):
    """A class expression stands where it cannot be read; the text is its construct."""


@dataclass(frozen=True)
class _Way:
    """One alternative of a condition on an entity: the atoms, and the entity as a variable or a constant."""

    who: str
    atoms: tuple[Atom, ...] = ()


class _Names:
    """Variables of one rule, each made once; and what else the ontology says to have some value."""

    def __init__(self, existentials: Existentials) -> None:
        self._numbers = itertools.count(1)
        self.existentials = existentials

    def fresh(self) -> str:
        return f"V{next(self._numbers)}"

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Meanwhile nothing else has some value: a class is not asked for by itself."""
        kept, self.existentials = self.existentials, NO_EXISTENTIALS
        yield
        self.existentials = kept


def said_of_individuals(axiom: Axiom, existentials: Existentials = NO_EXISTENTIALS) -> list[Said | Lacking]:
    """The rules and constraints of an axiom, and the parts of it that no rule stands for.

    >>> print(*said_of_individuals(SubClassOf(And(("Woman", Some("hasChild", "Person"))), "Mother")))
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"(X, "Woman") & hasChild(X, Y) & \
"http://www.w3.org/1999/02/22-rdf-syntax-ns#type"(Y, "Person") -> \
"http://www.w3.org/1999/02/22-rdf-syntax-ns#type"(X, "Mother")
    """
    reader = _READERS.get(type(axiom))
    if reader is None:
        return [Lacking("")]
    found = dict.fromkeys(reader(axiom, existentials))
    return [said for said in found if not (isinstance(said, ConstantRule) and said.is_tautology)]


# --- classes ------------------------------------------------------------------------------------------------


def _sub_class(axiom: SubClassOf, existentials: Existentials) -> list[Said | Lacking]:
    return _below(axiom.sub, axiom.sup, existentials)


def _below(sub: ClassExpression, sup: ClassExpression, existentials: Existentials) -> list[Said | Lacking]:
    if sup == THING:
        return []
    names = _Names(existentials)
    try:
        ways = list(_asked(sub, names.fresh(), names))
    except _LackingError as error:
        return [Lacking(str(error))]
    return [said for way in ways for said in _follows(sup, way, names)]


def _equivalent_classes(axiom: EquivalentClasses, existentials: Existentials) -> list[Said | Lacking]:
    pairs = itertools.permutations(axiom.members, 2)
    return [said for one, other in pairs for said in _below(one, other, existentials)]


def _disjoint_classes(axiom: DisjointClasses, existentials: Existentials) -> list[Said | Lacking]:
    """Named classes are a constraint on pairs; a class expression is below `owl:Nothing` together with another one."""
    if len(axiom.members) * (len(axiom.members) - 1) // 2 > MOST_PAIRS:
        return [Lacking("too many disjoint classes")]
    found: list[Said | Lacking] = []
    for one, other in itertools.combinations(axiom.members, 2):
        if isinstance(one, str) and isinstance(other, str):
            found.append(disjoint_classes(one, other))
        else:
            found += _below(And((one, other)), NOTHING, existentials)
    return found


def _disjoint_union(axiom: DisjointUnion, existentials: Existentials) -> list[Said | Lacking]:
    """That each member of the class is of a part is not read."""
    parts = [said for part in axiom.members for said in _below(part, axiom.cls, existentials)]
    above = _below(axiom.cls, Or(axiom.members), existentials)
    return [*parts, *_disjoint_classes(DisjointClasses(axiom.members), existentials), *above]


def _domain(axiom: PropertyDomain, _: Existentials) -> list[Said | Lacking]:
    return _below(Some(axiom.relation, THING), axiom.cls, NO_EXISTENTIALS)


def _range(axiom: PropertyRange, _: Existentials) -> list[Said | Lacking]:
    if isinstance(axiom.cls, Datatype):
        return [Lacking(Datatype.construct)]
    return _below(Some(inverse_name(axiom.relation), THING), axiom.cls, NO_EXISTENTIALS)


def _class_assertion(axiom: ClassAssertion, existentials: Existentials) -> list[Said | Lacking]:
    names = _Names(existentials)
    return list(_follows(axiom.cls, _Way(Constant(axiom.individual)), names))


# --- what is below -------------------------------------------------------------------------------------------


def _asked(expression: ClassExpression, who: str, names: _Names) -> list[_Way]:
    """The alternatives in which an entity is of a class."""
    if isinstance(expression, str):
        return [_Way(who, ((TYPE, who, Constant(expression)),) if expression != THING else ())]
    reader = _BELOW.get(type(expression))
    if reader is None:
        raise _LackingError(expression.construct)
    ways: list[_Way] = reader(expression, who, names)
    if len(ways) > MOST_ALTERNATIVES:
        raise _LackingError(f"{expression.construct} of too many alternatives")
    return ways


def _asked_all(expression: And, who: str, names: _Names) -> list[_Way]:
    ways = [_Way(who)]
    for member in expression.members:
        ways = [
            joined
            for way in ways
            for more in _asked(member, way.who, names)
            if (joined := _both(way, more)) is not None
        ]
        if len(ways) > MOST_ALTERNATIVES:
            raise _LackingError(f"{expression.construct} of too many alternatives")
    return ways


def _both(one: _Way, other: _Way) -> _Way | None:
    """Both at once; None where they are about two entities."""
    if isinstance(one.who, Constant) and other.who != one.who:
        return None
    return _Way(other.who, (*_renamed(one.atoms, one.who, other.who), *other.atoms))


def _renamed(atoms: Iterable[Atom], name: str, to: str) -> tuple[Atom, ...]:
    return tuple(
        (relation, to if start == name else start, to if end == name else end)
        for relation, start, end in atoms
    )


def _asked_one(expression: Or, who: str, names: _Names) -> list[_Way]:
    return [way for member in expression.members for way in _asked(member, who, names)]


def _asked_member(expression: OneOf, who: str, _: _Names) -> list[_Way]:
    named = [_entity(member, expression.construct) for member in expression.members]
    return [_Way(Constant(name)) for name in named if not isinstance(who, Constant) or name == who]


def _asked_some(expression: Some | AtLeast, who: str, names: _Names) -> list[_Way]:
    if isinstance(expression, AtLeast) and expression.count != 1:
        raise _LackingError(expression.construct)
    if isinstance(expression.filler, Datatype):
        raise _LackingError(f"{expression.construct} and {Datatype.construct}")
    named = [
        _Way(who, (_atom(expression.relation, who, way.who), *way.atoms))
        for way in _asked(expression.filler, names.fresh(), names)
    ]
    return [*named, *_asked_otherwise(expression, who, names)]


def _asked_otherwise(expression: Some | AtLeast, who: str, names: _Names) -> list[_Way]:
    """By classes of which the ontology says that their members have such a value, whose name is not known."""
    classes = names.existentials.below(expression.relation, expression.filler)
    found: list[_Way] = []
    with names.alone():
        for cls in classes:
            with suppress(_LackingError):
                found += _asked(cls, who, names)
    return found


def _asked_value(expression: HasValue, who: str, _: _Names) -> list[_Way]:
    value = _entity(expression.value, expression.construct)
    return [_Way(who, (_atom(expression.relation, who, Constant(value)),))]


def _entity(name: str | Literal, construct: str) -> str:
    if isinstance(name, Literal):
        raise _LackingError(f"{construct} and a literal")
    return name


def _atom(relation: str, start: str, end: str) -> Atom:
    return (inverse_name(relation), end, start) if is_inverse(relation) else (relation, start, end)


_BELOW: dict[type, Callable[[Any, str, _Names], list[_Way]]] = {
    And: _asked_all,
    Or: _asked_one,
    OneOf: _asked_member,
    Some: _asked_some,
    AtLeast: _asked_some,
    HasValue: _asked_value,
}


# --- what is above -------------------------------------------------------------------------------------------


def _follows(expression: ClassExpression, way: _Way, names: _Names) -> Iterable[Said | Lacking]:
    """What follows for an entity that meets a condition and so is of a class."""
    if isinstance(expression, str):
        return [] if expression == THING else [_rule(way.atoms, (TYPE, way.who, Constant(expression)))]
    reader = _ABOVE.get(type(expression))
    if reader is None:
        return [Lacking(expression.construct)]
    try:
        return list(reader(expression, way, names))
    except _LackingError as error:
        return [Lacking(str(error))]


def _follow_all(expression: And, way: _Way, names: _Names) -> Iterable[Said | Lacking]:
    return [said for member in expression.members for said in _follows(member, way, names)]


def _follow_one(expression: Or, way: _Way, names: _Names) -> Iterable[Said | Lacking]:
    """Of a union nothing follows, unless there is one class in it that is not empty, or all of them are."""
    left = list(dict.fromkeys(member for member in expression.members if member != NOTHING))
    if THING in left:
        return []
    if len(left) > 1:
        return [Lacking(expression.construct)]
    return _follows(left[0] if left else NOTHING, way, names)


def _follow_member(expression: OneOf, way: _Way, _: _Names) -> Iterable[Said | Lacking]:
    if len(expression.members) != 1:
        return [Lacking(expression.construct)]
    member = _entity(expression.members[0], expression.construct)
    return [_rule(way.atoms, (SAME_AS, way.who, Constant(member)))]


def _follow_value(expression: HasValue, way: _Way, _: _Names) -> Iterable[Said | Lacking]:
    value = _entity(expression.value, expression.construct)
    return [_rule(way.atoms, _atom(expression.relation, way.who, Constant(value)))]


def _follow_some(expression: Some, way: _Way, names: _Names) -> Iterable[Said | Lacking]:
    """Only of a nominal: anything else would be an entity without a name."""
    filler = expression.filler
    if isinstance(filler, OneOf) and len(filler.members) == 1:
        return _follow_value(HasValue(expression.relation, filler.members[0]), way, names)
    return [Lacking(expression.construct)]


def _follow_only(expression: All, way: _Way, names: _Names) -> Iterable[Said | Lacking]:
    if isinstance(expression.filler, Datatype):
        return [Lacking(f"{expression.construct} and {Datatype.construct}")]
    other = names.fresh()
    onwards = _Way(other, (*way.atoms, _atom(expression.relation, way.who, other)))
    return _follows(expression.filler, onwards, names)


def _follow_not(expression: Not, way: _Way, names: _Names) -> Iterable[Said | Lacking]:
    clashes = (_both(way, more) for more in _asked(expression.of, way.who, names))
    return [
        _rule(clash.atoms, (TYPE, clash.who, Constant(NOTHING))) for clash in clashes if clash is not None
    ]


def _follow_at_most(expression: AtMost, way: _Way, names: _Names) -> Iterable[Said | Lacking]:
    if isinstance(expression.filler, Datatype):
        return [Lacking(f"{expression.construct} and {Datatype.construct}")]
    if expression.count == 0:
        return _follow_not(Not(Some(expression.relation, expression.filler)), way, names)
    if expression.count > 1:
        return [Lacking(expression.construct)]
    if not way.atoms and expression.filler == THING and not isinstance(way.who, Constant):
        return _functional(expression.relation)
    return [
        _rule((*way.atoms, *one.atoms, *other.atoms), (SAME_AS, one.who, other.who))
        for one, other in itertools.product(
            _asked_filler(expression, way, names), _asked_filler(expression, way, names)
        )
    ]


def _asked_filler(expression: AtMost, way: _Way, names: _Names) -> list[_Way]:
    """The ways in which the property leads from the entity to one of the class; `who` is the other end."""
    return [
        _Way(found.who, (_atom(expression.relation, way.who, found.who), *found.atoms))
        for found in _asked(expression.filler, names.fresh(), names)
    ]


def _follow_exactly(expression: Exactly, way: _Way, names: _Names) -> Iterable[Said | Lacking]:
    at_most = _follow_at_most(AtMost(expression.count, expression.relation, expression.filler), way, names)
    return [*at_most, *([Lacking(expression.construct)] if expression.count else [])]


def _follow_at_least(expression: AtLeast, way: _Way, names: _Names) -> Iterable[Said | Lacking]:
    del way, names
    return [Lacking(expression.construct)] if expression.count else []


_ABOVE: dict[type, Callable[[Any, _Way, _Names], Iterable[Said | Lacking]]] = {
    And: _follow_all,
    Or: _follow_one,
    OneOf: _follow_member,
    HasValue: _follow_value,
    Some: _follow_some,
    All: _follow_only,
    Not: _follow_not,
    AtMost: _follow_at_most,
    AtLeast: _follow_at_least,
    Exactly: _follow_exactly,
}


def _rule(atoms: Iterable[Atom], conclusion: Atom) -> ConstantRule:
    return ConstantRule.of(atoms, conclusion)


# --- properties ----------------------------------------------------------------------------------------------


def _path(body: tuple[str, ...], head: str) -> PathRule:
    rule = PathRule(body, head)
    return rule.reversed() if is_inverse(head) else rule


def _sub_property(axiom: SubProperty, _: Existentials) -> list[Said | Lacking]:
    return [_path((axiom.sub,), axiom.sup)]


def _equivalent_properties(axiom: EquivalentProperties, _: Existentials) -> list[Said | Lacking]:
    return [_path((one,), other) for one, other in itertools.permutations(axiom.members, 2)]


def _inverse_properties(axiom: InverseProperties, _: Existentials) -> list[Said | Lacking]:
    one, other = axiom.first, axiom.second
    return [_path((inverse_name(other),), one), _path((inverse_name(one),), other)]


def _chain(axiom: PropertyChain, _: Existentials) -> list[Said | Lacking]:
    return [_path(axiom.chain, axiom.sup)] if axiom.chain else [Lacking("")]


def _disjoint_properties(axiom: DisjointProperties, _: Existentials) -> list[Said | Lacking]:
    return [_disjointness(*pair) for pair in itertools.combinations(axiom.members, 2)]


def _disjointness(first: str, second: str) -> Disjointness:
    if is_inverse(first):
        first, second = inverse_name(first), inverse_name(second)
    return Disjointness(first, second)


def _functional(relation: str) -> list[Said | Lacking]:
    return [PathRule((inverse_name(relation), relation), SAME_AS)]


_OF_KIND: dict[Kind, Callable[[str], list[Said | Lacking]]] = {
    Kind.TRANSITIVE: lambda p: [_path((p, p), p)],
    Kind.SYMMETRIC: lambda p: [_path((inverse_name(p),), p)],
    Kind.ASYMMETRIC: lambda p: [_disjointness(p, inverse_name(p))],
    Kind.IRREFLEXIVE: lambda p: [Disjointness(base_relation(p), SAME)],
    Kind.FUNCTIONAL: _functional,
    Kind.INVERSE_FUNCTIONAL: lambda p: _functional(inverse_name(p)),
}


def _property_is(axiom: PropertyIs, _: Existentials) -> list[Said | Lacking]:
    reader = _OF_KIND.get(axiom.kind)
    return [Lacking("")] if reader is None else reader(axiom.relation)


# --- individuals ---------------------------------------------------------------------------------------------


def _negative(axiom: NegativeAssertion, _: Existentials) -> list[Said | Lacking]:
    if isinstance(axiom.value, Literal):
        return [Lacking("a literal")]
    return [denied(*_turned(axiom.relation, axiom.subject, axiom.value))]


def _turned(relation: str, head: str, tail: str) -> Atom:
    return (tail, inverse_name(relation), head) if is_inverse(relation) else (head, relation, tail)


def _same(axiom: SameIndividuals, _: Existentials) -> list[Said | Lacking]:
    return [ConstantRule((), (SAME_AS, one, other)) for one, other in itertools.pairwise(axiom.members)]


def _key(axiom: HasKey, existentials: Existentials) -> list[Said | Lacking]:
    """Two entities of the class that have the same end of each property are the same."""
    names = _Names(existentials)
    one, other = names.fresh(), names.fresh()
    ends = [(relation, names.fresh()) for relation in axiom.properties]
    shared = [_atom(relation, who, end) for relation, end in ends for who in (one, other)]
    try:
        ways = itertools.product(_asked(axiom.cls, one, names), _asked(axiom.cls, other, names))
        return [
            _rule((*first.atoms, *shared, *second.atoms), (SAME_AS, first.who, second.who))
            for first, second in ways
        ]
    except _LackingError as error:
        return [Lacking(str(error))]


def _different(axiom: DifferentIndividuals, _: Existentials) -> list[Said | Lacking]:
    if len(axiom.members) * (len(axiom.members) - 1) // 2 > MOST_PAIRS:
        return [Lacking("too many individuals")]
    pairs = itertools.combinations(axiom.members, 2)
    return [
        denied(one, SAME_AS, other) if one != other else ConstantRule((), (TYPE, one, NOTHING))
        for one, other in pairs
    ]


def _assertion(axiom: PropertyAssertion, _: Existentials) -> list[Said | Lacking]:
    if isinstance(axiom.value, Literal):
        return []  # a fact, which facts are read for
    return [ConstantRule((), _atom(axiom.relation, axiom.subject, axiom.value))]


_READERS: dict[type, Callable[[Any, Existentials], list[Said | Lacking]]] = {
    SubClassOf: _sub_class,
    EquivalentClasses: _equivalent_classes,
    DisjointClasses: _disjoint_classes,
    DisjointUnion: _disjoint_union,
    PropertyDomain: _domain,
    PropertyRange: _range,
    ClassAssertion: _class_assertion,
    SubProperty: _sub_property,
    EquivalentProperties: _equivalent_properties,
    InverseProperties: _inverse_properties,
    PropertyChain: _chain,
    DisjointProperties: _disjoint_properties,
    PropertyIs: _property_is,
    HasKey: _key,
    NegativeAssertion: _negative,
    SameIndividuals: _same,
    DifferentIndividuals: _different,
    PropertyAssertion: _assertion,
}
