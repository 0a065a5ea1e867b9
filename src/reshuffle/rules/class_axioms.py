"""What an ontology says about `rdf:type`, as closed paths: each axiom is a path rule and one helper fact.

A domain `p(X, Y) -> rdf:type(X, c)` has a constant, and no path rule has. So c becomes the end of a path: every entity
has a helper fact that leads to one hub, and from there a helper fact of p leads to c.

| axiom | path rule | helper fact |
| --- | --- | --- |
| `c rdfs:subClassOf d` | `type ; ~subclass -> type` | `~subclass(c, d)` |
| `p rdfs:domain c` | `p ; ~anything ; ~domain of p -> type` | `~domain of p(hub, c)` |
| `p rdfs:range c` | `p^-1 ; ~anything ; ~range of p -> type` | `~range of p(hub, c)` |
| `[p value v] rdfs:subClassOf c` | `p ; ~value of p -> type` | `~value of p(v, c)` |
| `c owl:oneOf (... a ...)` | `~member -> type` | `~member(a, c)` |
| `p rdfs:domain c`, and `x p "..."` | `~literal -> type` | `~literal(x, c)` |

`[p some owl:Thing] rdfs:subClassOf c` is a domain, too. The rules are left-linear in `rdf:type`, and classes are
entities: the geometry is exact wherever that of the other rules is, and its size does not depend on the number of
classes. Each path is sound by itself, since the hub leads to the classes of p only behind an edge of p. (A class as a
loop c(X, X), with a domain as the path p ; p^-1 -> c, would also relate an x and a z that share a p-neighbour.) Nothing
leads to the hub but `~anything`, so it is never an answer. Literals are no entities, so that no path leads to them;
`reasoning.literal_types` finds the classes that domains give to what has them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import astuple, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from reshuffle.errors import InputError
from reshuffle.kg import inverse_name
from reshuffle.kg.vocabulary import base_relation, is_inverse
from reshuffle.rules.rule import PathRule, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from reshuffle.errors import Place

TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
ANYTHING = "~anything"
HUB = "~reshuffle: every entity leads here"
_SUBCLASS, _MEMBER = "~subclass", "~member"
BY_LITERAL = PathRule(("~literal",), TYPE)
"""The rule of all domains of properties that lead to literals."""
_VARIABLES = ("X", "Y")

Fact: TypeAlias = tuple[str, str, str]


@dataclass(frozen=True)
class ClassRule:
    """An axiom as proofs show it: a rule whose atoms may have constants, which are never read as variables.

    >>> print(ClassRule((("teaches", "X", "Y"),), ("is", "X", "Teacher"), frozenset({(0, 0), (0, 1), (1, 0)})))
    teaches(X, Y) -> is(X, Teacher)
    """

    atoms: tuple[Fact, ...]
    """(relation, start, end) of the atoms; a place of `variables` is one, anything else a constant."""
    conclusion: Fact
    variables: frozenset[tuple[int, int]]
    """(atom, argument) of each place that holds a variable; the conclusion is the last atom."""

    quality = None

    @property
    def body(self) -> tuple[str, ...]:
        """The relations of the premises."""
        return tuple(relation for relation, _, _ in self.atoms)

    @property
    def head(self) -> str:
        """`rdf:type`."""
        return self.conclusion[0]

    def terms(self, names: Sequence[str] = _VARIABLES) -> Iterator[Fact]:
        """(relation, start, end) of each atom and then of the conclusion, with these names for the variables."""
        named = dict(zip(_VARIABLES, names, strict=False))
        for place, (relation, *ends) in enumerate((*self.atoms, self.conclusion)):
            start, end = (
                named.get(name, name) if (place, argument) in self.variables else name
                for argument, name in enumerate(ends)
            )
            yield relation, start, end

    def __str__(self) -> str:
        *body, head = (f"{quoted(relation)}({start}, {end})" for relation, start, end in self.terms())
        return f"{' & '.join(body)} -> {head}" if body else f"-> {head}"

    def fits(self, premises: Sequence[Fact], conclusion: Fact) -> bool:
        """Is this one instance of the rule? Triples are (head, relation, tail)."""
        bound: dict[str, str] = {}
        atoms = (*self.atoms, self.conclusion)
        if len(atoms) != len(premises) + 1:
            return False
        for place, ((relation, *ends), (start, found, end)) in enumerate(
            zip(atoms, (*premises, conclusion), strict=True)
        ):
            if relation != found:
                return False
            for argument, (name, entity) in enumerate(zip(ends, (start, end), strict=True)):
                expected = bound.setdefault(name, entity) if (place, argument) in self.variables else name
                if expected != entity:
                    return False
        return True


class ClassAxiom(ABC):
    """An axiom that says whose type a class is."""

    cls: str

    @property
    @abstractmethod
    def rule(self) -> PathRule:
        """The path rule that stands for all axioms of its kind (and property)."""

    @property
    @abstractmethod
    def helper(self) -> Fact:
        """The fact that makes the rule say this axiom."""

    @property
    @abstractmethod
    def shown(self) -> ClassRule:
        """The axiom as a rule with constants."""

    def __str__(self) -> str:
        return str(self.shown)


@dataclass(frozen=True)
class SubClass(ClassAxiom):
    """Whatever is a `sub` is a `cls`."""

    sub: str
    cls: str

    @property
    def rule(self) -> PathRule:
        """`type ; ~subclass -> type`."""
        return PathRule((TYPE, _SUBCLASS), TYPE)

    @property
    def helper(self) -> Fact:
        """From the class to the one above it."""
        return (self.sub, _SUBCLASS, self.cls)

    @property
    def shown(self) -> ClassRule:
        """`type(X, sub) -> type(X, cls)`."""
        return ClassRule(((TYPE, "X", self.sub),), (TYPE, "X", self.cls), frozenset({(0, 0), (1, 0)}))


@dataclass(frozen=True)
class Domain(ClassAxiom):
    """Whatever `relation` leads from is a `cls`; with an inverse relation this is a range."""

    relation: str
    cls: str

    @property
    def _step(self) -> str:
        kind = "range" if is_inverse(self.relation) else "domain"
        return f"~{kind} of {base_relation(self.relation)}"

    @property
    def rule(self) -> PathRule:
        """`relation ; ~anything ; ~domain of relation -> type`."""
        return PathRule((self.relation, ANYTHING, self._step), TYPE)

    @property
    def helper(self) -> Fact:
        """From the hub to the class."""
        return (HUB, self._step, self.cls)

    @property
    def shown(self) -> ClassRule:
        """`relation(X, Y) -> type(X, cls)`, or `type(Y, cls)` for a range."""
        who = "Y" if is_inverse(self.relation) else "X"
        atom = (base_relation(self.relation), "X", "Y")
        return ClassRule((atom,), (TYPE, who, self.cls), frozenset({(0, 0), (0, 1), (1, 0)}))


@dataclass(frozen=True)
class Value(ClassAxiom):
    """Whatever `relation` leads from to the entity `value` is a `cls`."""

    relation: str
    value: str
    cls: str

    @property
    def _step(self) -> str:
        kind = "value of the inverse of" if is_inverse(self.relation) else "value of"
        return f"~{kind} {base_relation(self.relation)}"

    @property
    def rule(self) -> PathRule:
        """`relation ; ~value of relation -> type`."""
        return PathRule((self.relation, self._step), TYPE)

    @property
    def helper(self) -> Fact:
        """From the value to the class."""
        return (self.value, self._step, self.cls)

    @property
    def shown(self) -> ClassRule:
        """`relation(X, value) -> type(X, cls)`."""
        if is_inverse(self.relation):
            atom, place = (inverse_name(self.relation), self.value, "X"), (0, 1)
        else:
            atom, place = (self.relation, "X", self.value), (0, 0)
        return ClassRule((atom,), (TYPE, "X", self.cls), frozenset({place, (1, 0)}))


@dataclass(frozen=True)
class Member(ClassAxiom):
    """The entity `member` is a `cls`."""

    member: str
    cls: str

    @property
    def rule(self) -> PathRule:
        """`~member -> type`."""
        return PathRule((_MEMBER,), TYPE)

    @property
    def helper(self) -> Fact:
        """From the entity to its class."""
        return (self.member, _MEMBER, self.cls)

    @property
    def shown(self) -> ClassRule:
        """`-> type(member, cls)`."""
        return ClassRule((), (TYPE, self.member, self.cls), frozenset())


@dataclass(frozen=True)
class DisjointClasses:
    """Nothing is both: a constraint on answers, from which nothing is derived."""

    first: str
    second: str

    def __str__(self) -> str:
        return f"{quoted(TYPE)}(X, {self.first}) & {quoted(TYPE)}(X, {self.second}) -> false"


_KINDS: dict[str, type[Any]] = {
    "subclass": SubClass,
    "domain": Domain,
    "value": Value,
    "member": Member,
    "disjoint": DisjointClasses,
}


@dataclass(frozen=True)
class ClassAxioms:
    """The axioms of an ontology about classes, each once, in the order of the document."""

    axioms: tuple[ClassAxiom, ...] = ()
    disjoint: tuple[DisjointClasses, ...] = ()

    @cached_property
    def rules(self) -> tuple[PathRule, ...]:
        """The path rules that stand for the axioms."""
        of_literals = [BY_LITERAL] if self.have_domains else []
        return tuple(dict.fromkeys([*(axiom.rule for axiom in self.axioms), *of_literals]))

    @cached_property
    def have_domains(self) -> bool:
        """Can an entity get a class by having a property, whatever its value is?"""
        return any(isinstance(axiom, Domain) for axiom in self.axioms)

    @cached_property
    def by_helper(self) -> dict[Fact, ClassAxiom]:
        """Each axiom by its helper fact."""
        return {axiom.helper: axiom for axiom in self.axioms}

    @cached_property
    def by_class(self) -> dict[str, list[ClassAxiom]]:
        """The axioms that could make something a member of a class."""
        grouped: dict[str, list[ClassAxiom]] = {}
        for axiom in self.axioms:
            grouped.setdefault(axiom.cls, []).append(axiom)
        return grouped

    @cached_property
    def relations(self) -> frozenset[str]:
        """The helper relations, which no answer may show."""
        return frozenset({ANYTHING, *BY_LITERAL.body, *(relation for _, relation, _ in self.by_helper)})

    def refuse_kept_names(self, relations: Iterable[str], *, place: Place | None = None) -> None:
        """Refuse facts that use a helper relation."""
        if taken := self.relations.intersection(relations):
            raise InputError(
                f"facts use the relation '{min(taken)}', whose name is kept for class axioms",
                place=place,
                hint="rename it in the facts",
            )

    @cached_property
    def shown(self) -> frozenset[ClassRule]:
        """The axioms as proofs show them."""
        return frozenset(axiom.shown for axiom in self.axioms)

    def to_list(self) -> list[list[str]]:
        """Plain data for JSON."""
        names = {kind: name for name, kind in _KINDS.items()}
        return [[names[type(axiom)], *astuple(axiom)] for axiom in (*self.axioms, *self.disjoint)]  # type: ignore[call-overload]

    @classmethod
    def from_list(cls, data: Iterable[Sequence[str]]) -> ClassAxioms:
        """The axioms that `to_list` gave; anything else raises `ValueError` or its like."""
        return cls.of(_KINDS[kind](*map(_text, names)) for kind, *names in data)

    @classmethod
    def of(cls, axioms: Iterable[ClassAxiom | DisjointClasses]) -> ClassAxioms:
        """The axioms among which some may be constraints."""
        said = list(dict.fromkeys(axioms))
        return cls(
            tuple(axiom for axiom in said if isinstance(axiom, ClassAxiom)),
            tuple(axiom for axiom in said if isinstance(axiom, DisjointClasses)),
        )


def _text(name: object) -> str:
    if not isinstance(name, str):
        raise TypeError(f"found {name!r}, expected a name")
    return name
