"""The axioms of OWL 2 as data, whatever syntax they were written in.

A named class, a property and an individual are strings: their names. The inverse of the property p is `p^-1`, as
everywhere in this library. A class expression is a string or one of the classes here. Each kind of expression and of
axiom has the name of its `construct`, under which it is counted where it is not used, and prints in the functional
syntax:

>>> print(SubClassOf("Parent", And(("Person", Some("hasChild", "Person")))))
SubClassOf(Parent ObjectIntersectionOf(Person ObjectSomeValuesFrom(hasChild Person)))
>>> [type(part).construct for part in parts_of(Some("p", Not("A"))) if not isinstance(part, str)]
['owl:someValuesFrom', 'owl:complementOf']
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar

from reshuffle.kg import inverse_name
from reshuffle.kg.vocabulary import is_inverse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from reshuffle.rules.rule import Unread

Part = TypeVar("Part")
THING = "http://www.w3.org/2002/07/owl#Thing"
NOTHING = "http://www.w3.org/2002/07/owl#Nothing"


@dataclass(frozen=True)
class Literal:
    """A value that is no entity; `kind` is its datatype, or `@` and a language."""

    text: str
    kind: str = ""

    def __str__(self) -> str:
        return f'"{self.text}"' + (
            self.kind if self.kind.startswith("@") else f"^^{self.kind}" * bool(self.kind)
        )


class _Printed:
    """Prints in the functional syntax: the construct's word there, then its parts."""

    construct: ClassVar[str]
    word: ClassVar[str]

    def __str__(self) -> str:
        return f"{self.word}({' '.join(_printed(getattr(self, part.name)) for part in fields(self))})"  # type: ignore[arg-type]


def _printed(part: object) -> str:
    if isinstance(part, tuple):
        return " ".join(map(_printed, part))
    if isinstance(part, str) and is_inverse(part):
        return f"ObjectInverseOf({inverse_name(part)})"
    return str(part)


# --- class expressions ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class And(_Printed):
    """What is of all these classes."""

    members: tuple[ClassExpression, ...]
    construct = "owl:intersectionOf"
    word = "ObjectIntersectionOf"


@dataclass(frozen=True)
class Or(_Printed):
    """What is of one of these classes."""

    members: tuple[ClassExpression, ...]
    construct = "owl:unionOf"
    word = "ObjectUnionOf"


@dataclass(frozen=True)
class Not(_Printed):
    """What is not of this class."""

    of: ClassExpression
    construct = "owl:complementOf"
    word = "ObjectComplementOf"


@dataclass(frozen=True)
class Some(_Printed):
    """What the property leads from to something of the class."""

    relation: str
    filler: ClassExpression
    construct = "owl:someValuesFrom"
    word = "ObjectSomeValuesFrom"


@dataclass(frozen=True)
class All(_Printed):
    """What the property leads from to nothing but members of the class."""

    relation: str
    filler: ClassExpression
    construct = "owl:allValuesFrom"
    word = "ObjectAllValuesFrom"


@dataclass(frozen=True)
class HasValue(_Printed):
    """What the property leads from to the individual or literal."""

    relation: str
    value: str | Literal
    construct = "owl:hasValue"
    word = "ObjectHasValue"


@dataclass(frozen=True)
class HasSelf(_Printed):
    """What the property leads from to itself."""

    relation: str
    construct = "owl:hasSelf"
    word = "ObjectHasSelf"


@dataclass(frozen=True)
class OneOf(_Printed):
    """The individuals or literals themselves."""

    members: tuple[str | Literal, ...]
    construct = "owl:oneOf"
    word = "ObjectOneOf"


@dataclass(frozen=True)
class AtLeast(_Printed):
    """Individuals that have at least `count` values of the class for the property."""

    count: int
    relation: str
    filler: ClassExpression = THING
    construct = "owl:minCardinality"
    word = "ObjectMinCardinality"


@dataclass(frozen=True)
class AtMost(_Printed):
    """Individuals that have at most `count` values of the class for the property."""

    count: int
    relation: str
    filler: ClassExpression = THING
    construct = "owl:maxCardinality"
    word = "ObjectMaxCardinality"


@dataclass(frozen=True)
class Exactly(_Printed):
    """Individuals that have exactly `count` values of the class for the property."""

    count: int
    relation: str
    filler: ClassExpression = THING
    construct = "owl:cardinality"
    word = "ObjectExactCardinality"


@dataclass(frozen=True)
class Datatype:
    """A datatype, or a data range that restricts one: no class, although it may stand where one does."""

    name: str
    construct: ClassVar[str] = "a datatype"

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Unknown:
    """An expression that the reader does not know, or that is malformed; `what` says which."""

    what: str
    construct: ClassVar[str] = ""

    def __str__(self) -> str:
        return self.what or "[]"


ClassExpression: TypeAlias = (
    str
    | And
    | Or
    | Not
    | Some
    | All
    | HasValue
    | HasSelf
    | OneOf
    | AtLeast
    | AtMost
    | Exactly
    | Datatype
    | Unknown
)


def parts_of(expression: ClassExpression) -> Iterator[ClassExpression]:
    """The expression and all that are inside it, outermost first. A stack: expressions may be deep."""
    waiting: list[ClassExpression] = [expression]
    while waiting:
        part = waiting.pop()
        yield part
        if isinstance(part, And | Or):
            waiting += reversed(part.members)
        elif isinstance(part, Not):
            waiting.append(part.of)
        elif isinstance(part, Some | All | AtLeast | AtMost | Exactly):
            waiting.append(part.filler)


def renamed(part: Part, name: Callable[[str], str]) -> Part:
    """The same expression or axiom with other names of classes, properties and individuals.

    >>> print(renamed(SubClassOf("a", Some("p^-1", "b")), str.upper))
    SubClassOf(A ObjectSomeValuesFrom(ObjectInverseOf(P) B))
    """

    def other(value: Any) -> Any:
        if isinstance(value, str):
            return inverse_name(name(inverse_name(value))) if is_inverse(value) else name(value)
        if isinstance(value, tuple):
            return tuple(map(other, value))
        if isinstance(value, int | Enum | Literal | Datatype | Unknown):
            return value
        return replace(value, **{one.name: other(getattr(value, one.name)) for one in fields(value)})

    found: Part = other(part)
    return found


# --- axioms about classes -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class SubClassOf(_Printed):
    """Whatever is of the first class is of the second."""

    sub: ClassExpression
    sup: ClassExpression
    construct = "rdfs:subClassOf"
    word = "SubClassOf"


@dataclass(frozen=True)
class EquivalentClasses(_Printed):
    """These classes have the same members."""

    members: tuple[ClassExpression, ...]
    construct = "owl:equivalentClass"
    word = "EquivalentClasses"


@dataclass(frozen=True)
class DisjointClasses(_Printed):
    """No two of these classes share a member."""

    members: tuple[ClassExpression, ...]
    construct = "owl:disjointWith"
    word = "DisjointClasses"


@dataclass(frozen=True)
class DisjointUnion(_Printed):
    """The class is the union of the others, no two of which share a member."""

    cls: str
    members: tuple[ClassExpression, ...]
    construct = "owl:disjointUnionOf"
    word = "DisjointUnion"


@dataclass(frozen=True)
class HasKey(_Printed):
    """Two named members of the class that agree on the properties are the same."""

    cls: ClassExpression
    properties: tuple[str, ...]
    construct = "owl:hasKey"
    word = "HasKey"


# --- axioms about properties ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class SubProperty(_Printed):
    """Whatever the first property links, the second does."""

    sub: str
    sup: str
    construct = "rdfs:subPropertyOf"
    word = "SubObjectPropertyOf"


@dataclass(frozen=True)
class PropertyChain(_Printed):
    """What the properties of the chain link, one after the other, the property links."""

    chain: tuple[str, ...]
    sup: str
    construct = "owl:propertyChainAxiom"
    word = "SubObjectPropertyOf"

    def __str__(self) -> str:
        return f"{self.word}(ObjectPropertyChain({_printed(self.chain)}) {_printed(self.sup)})"


@dataclass(frozen=True)
class EquivalentProperties(_Printed):
    """These properties link the same."""

    members: tuple[str, ...]
    construct = "owl:equivalentProperty"
    word = "EquivalentObjectProperties"


@dataclass(frozen=True)
class InverseProperties(_Printed):
    """The second property links backwards what the first does."""

    first: str
    second: str
    construct = "owl:inverseOf"
    word = "InverseObjectProperties"


@dataclass(frozen=True)
class DisjointProperties(_Printed):
    """No two of these properties link the same two."""

    members: tuple[str, ...]
    construct = "owl:propertyDisjointWith"
    word = "DisjointObjectProperties"


@dataclass(frozen=True)
class PropertyDomain(_Printed):
    """What the property leads from is of the class."""

    relation: str
    cls: ClassExpression
    construct = "rdfs:domain"
    word = "ObjectPropertyDomain"


@dataclass(frozen=True)
class PropertyRange(_Printed):
    """What the property leads to is of the class."""

    relation: str
    cls: ClassExpression
    construct = "rdfs:range"
    word = "ObjectPropertyRange"


class Kind(Enum):
    """What a property may be; the value is the class of OWL that says so."""

    TRANSITIVE = "owl:TransitiveProperty"
    SYMMETRIC = "owl:SymmetricProperty"
    ASYMMETRIC = "owl:AsymmetricProperty"
    REFLEXIVE = "owl:ReflexiveProperty"
    IRREFLEXIVE = "owl:IrreflexiveProperty"
    FUNCTIONAL = "owl:FunctionalProperty"
    INVERSE_FUNCTIONAL = "owl:InverseFunctionalProperty"


@dataclass(frozen=True)
class PropertyIs:
    """The property is transitive, symmetric, and so on."""

    kind: Kind
    relation: str

    @property
    def construct(self) -> str:
        """The name of the kind."""
        return self.kind.value

    def __str__(self) -> str:
        return f"{self.construct.removeprefix('owl:').replace('Property', 'ObjectProperty')}({_printed(self.relation)})"


# --- axioms about individuals ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ClassAssertion(_Printed):
    """The individual is of the class."""

    cls: ClassExpression
    individual: str
    construct = "rdf:type"
    word = "ClassAssertion"


@dataclass(frozen=True)
class PropertyAssertion(_Printed):
    """The property leads from the subject to the value."""

    relation: str
    subject: str
    value: str | Literal
    construct = "facts and annotations"
    word = "ObjectPropertyAssertion"


@dataclass(frozen=True)
class NegativeAssertion(_Printed):
    """The property does not lead from the subject to the value."""

    relation: str
    subject: str
    value: str | Literal
    construct = "owl:NegativePropertyAssertion"
    word = "NegativeObjectPropertyAssertion"


@dataclass(frozen=True)
class SameIndividuals(_Printed):
    """All these names are of one individual."""

    members: tuple[str, ...]
    construct = "owl:sameAs"
    word = "SameIndividual"


@dataclass(frozen=True)
class DifferentIndividuals(_Printed):
    """No two of these names are of one individual."""

    members: tuple[str, ...]
    construct = "owl:differentFrom"
    word = "DifferentIndividuals"


Axiom: TypeAlias = (
    SubClassOf
    | EquivalentClasses
    | DisjointClasses
    | DisjointUnion
    | HasKey
    | SubProperty
    | PropertyChain
    | EquivalentProperties
    | InverseProperties
    | DisjointProperties
    | PropertyDomain
    | PropertyRange
    | PropertyIs
    | ClassAssertion
    | PropertyAssertion
    | NegativeAssertion
    | SameIndividuals
    | DifferentIndividuals
)


@dataclass(frozen=True)
class Ontology:
    """What a reader found in a file, in the order of the file.

    Every axiom is here once, also where nothing can use it: what uses axioms counts what it does not use, by the
    `construct` of the axiom or of the part that is in the way. `unread` is what the reader itself made nothing of.
    """

    file: str
    axioms: tuple[Axiom, ...]
    facts: tuple[tuple[str, str, str], ...] = ()
    """What is said of individuals in triples of names: assertions of named classes and of properties."""
    unread: tuple[Unread, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    classes: frozenset[str] = frozenset()
    """The classes that are declared, those without any axiom, too."""
    properties: frozenset[str] = frozenset()
    """The properties that are declared, without annotation properties."""
    prefixes: Mapping[str, str] = field(default_factory=dict)
    """What the file says prefixes stand for."""
    imports: tuple[str, ...] = ()
    """The ontologies that this one imports, by name. None is ever fetched."""
    name: str = ""
    """The IRI of the ontology."""
    is_a: str = "http://www.w3.org/2000/01/rdf-schema#subClassOf"
    """How the format calls the relation from a class to one above it."""
