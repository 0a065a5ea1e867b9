"""Axioms as simple rules between numbered classes: what the completion of OWL 2 EL works on.

Each part of an expression that is no named class gets a number of its own, once for what lies below it and once for
what lies above. What the rules of EL cannot say is counted under the name of its construct; the rest of such an axiom
is used.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from reshuffle.kg.vocabulary import is_inverse
from reshuffle.rules.ontologies.axioms import (
    NOTHING,
    THING,
    All,
    And,
    AtLeast,
    AtMost,
    ClassAssertion,
    Datatype,
    DifferentIndividuals,
    DisjointClasses,
    DisjointUnion,
    EquivalentClasses,
    EquivalentProperties,
    Exactly,
    HasKey,
    HasSelf,
    HasValue,
    Kind,
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
    Unknown,
)
from reshuffle.rules.rule import Unread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from reshuffle.rules.ontologies.axioms import Axiom, ClassExpression

NOT_USED = "not used between classes"
"""Said of axioms that were read: rules for individuals may well use them."""
TOP, BOTTOM = 0, 1
BY_MEANING = -1
"""In the place of an axiom: a rule that says what an expression means."""
_FEW = 6  # disjoint classes of which each pair is a rule; more make a tree
_OF_INDIVIDUALS = (
    ClassAssertion,
    DifferentIndividuals,
    HasKey,
    NegativeAssertion,
    PropertyAssertion,
    SameIndividuals,
)
"""These say nothing about classes, where no class names an individual."""


class OutsideError(Exception):
    """A part of an axiom that EL cannot say; its text names the construct."""


@dataclass
class NormalForms:
    """The rules. A class is a number; so is a property, and an axiom by its place in the ontology."""

    axioms: Sequence[Axiom]
    meanings: list[ClassExpression] = field(default_factory=list)
    """What each number stands for; a disjointness of many classes has numbers that stand for nothing readable."""
    ids: dict[ClassExpression, int] = field(default_factory=dict)
    num_named: int = 0
    """The first numbers are the named classes."""
    relations: list[str] = field(default_factory=list)
    told: list[tuple[int, int, int]] = field(default_factory=list)
    """(sub, sup, axiom)"""
    conjunctions: list[tuple[int, int, int, int]] = field(default_factory=list)
    """(class, class, sup, axiom)"""
    somes: list[tuple[int, int, int, int]] = field(default_factory=list)
    """(sub, relation, filler, axiom)"""
    some_lefts: list[tuple[int, int, int, int]] = field(default_factory=list)
    """(relation, filler, sup, axiom)"""
    sub_relations: list[tuple[int, int, int]] = field(default_factory=list)
    chains: list[tuple[int, int, int, int]] = field(default_factory=list)
    ranges: dict[int, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    """By relation, the classes of its ranges with their axioms."""
    loops: dict[int, int] = field(default_factory=dict)
    """By relation, the class of what it leads from to itself."""
    unread: tuple[Unread, ...] = ()


def named_classes(axioms: Sequence[Axiom], declared: Iterable[str]) -> set[str]:
    """The named classes that axioms are about, and those that are declared, without owl:Thing and owl:Nothing."""
    found = set(declared)
    for axiom in axioms:
        found.update(_names_in(axiom))
    return found - {THING, NOTHING}


def normal_forms(axioms: Sequence[Axiom], classes: Sequence[str], *, file: str = "") -> NormalForms:
    """The rules of axioms between these named classes, which get numbers in their order."""
    return _Normaliser(axioms, classes, file).result()


class _Normaliser:
    """One pass over the axioms."""

    def __init__(self, axioms: Sequence[Axiom], classes: Sequence[str], file: str) -> None:
        self._rules = NormalForms(axioms)
        self._file, self._axiom = file, BY_MEANING
        self._above: dict[ClassExpression, int] = {}
        self._below: dict[ClassExpression, int] = {}
        self._relations: dict[str, int] = {}
        self._lacking: dict[str, tuple[int, str]] = {}
        self._outside: set[str] = set()
        self._used = False
        for name in (THING, NOTHING, *classes):
            self._named(name)
        self._rules.num_named = len(self._rules.meanings)

    def result(self) -> NormalForms:
        for number, axiom in enumerate(self._rules.axioms):
            self._axiom, self._used = number, False
            self._outside.clear()
            self._add(axiom)
            if self._outside:
                self._count(axiom)
        self._with_loops()
        self._with_ranges()
        self._rules.unread = tuple(
            Unread(kind, count, first, "axiom", NOT_USED) for kind, (count, first) in self._lacking.items()
        )
        self._rules.relations = list(self._relations)
        return self._rules

    def _count(self, axiom: Axiom) -> None:
        """Count what of an axiom is not used, once, under the first construct in the way."""
        part = min(self._outside)
        kind = f"{axiom.construct} axioms" + (f" with {part}" if part not in ("", axiom.construct) else "")
        if self._used:
            kind += ", in part"
        count, first = self._lacking.get(kind, (0, f"{self._file}: {axiom}"))
        self._lacking[kind] = count + 1, first

    # --- numbers ------------------------------------------------------------------------------------

    def _named(self, name: str) -> int:
        return self._number(self._rules.ids, name)

    def _number(self, known: dict[ClassExpression, int], meaning: ClassExpression) -> int:
        number = known.get(meaning)
        if number is None:
            number = known[meaning] = len(self._rules.meanings)
            self._rules.meanings.append(meaning)
        return number

    def _relation(self, name: str) -> int:
        if is_inverse(name):
            raise OutsideError("owl:inverseOf")
        return self._relations.setdefault(name, len(self._relations))

    def _loop(self, name: str) -> int:
        relation = self._relation(name)
        if relation not in self._rules.loops:
            self._rules.loops[relation] = self._number(self._above, HasSelf(name))
        return self._rules.loops[relation]

    # --- rules --------------------------------------------------------------------------------------

    def _tell(self, sub: int, sup: int, *, meant: bool = False) -> None:
        if sup not in (sub, TOP):
            self._rules.told.append((sub, sup, BY_MEANING if meant else self._axiom))
        self._used |= not meant

    def _meet(self, one: int, other: int, sup: int, *, meant: bool = False) -> None:
        if one == other:
            self._tell(one, sup, meant=meant)
        else:
            self._rules.conjunctions.append((one, other, sup, BY_MEANING if meant else self._axiom))
        self._used |= not meant

    def _below_all(self, sub: ClassExpression, sup: ClassExpression) -> None:
        """`sub` is a `sup`."""
        try:
            self._put_above(self._class_below(sub), sup)
        except OutsideError as error:
            self._outside.add(str(error))

    def _class_below(self, expression: ClassExpression) -> int:
        """A class of which everything is that the expression describes."""
        if isinstance(expression, str):
            return self._named(expression)
        known = self._below.get(expression)
        return self._described_below(expression) if known is None else known

    def _described_below(self, expression: ClassExpression) -> int:
        match expression:
            case And(members):
                found = self._conjunction(tuple(dict.fromkeys(map(self._class_below, members))))
            case Or(members):
                parts = [self._class_below(member) for member in members]
                found = self._number(self._below, expression)
                for part in parts:
                    self._tell(part, found, meant=True)
            case Some(relation, filler) | AtLeast(1, relation, filler):
                inner = self._filler_below(filler)
                return self._some_below(relation, inner, expression)
            case AtLeast(0):
                return TOP
            case HasSelf(relation):
                return self._loop(relation)
            case _:
                raise OutsideError(_named_construct(expression))
        self._below[expression] = found
        return found

    def _filler_below(self, filler: ClassExpression) -> int:
        if isinstance(filler, Datatype) and filler.name == "owl:onDatatype":
            raise OutsideError(filler.construct)
        return (
            self._number(self._above, filler) if isinstance(filler, Datatype) else self._class_below(filler)
        )

    def _some_below(self, relation: str, inner: int, expression: ClassExpression) -> int:
        number = self._relation(relation)
        found = self._number(self._below, expression)
        self._rules.some_lefts.append((number, inner, found, BY_MEANING))
        return found

    def _conjunction(self, members: tuple[int, ...]) -> int:
        """The class of what is of all of them."""
        if not members:
            return TOP
        first = members[0]
        for other in members[1:]:
            first = self._pair(first, other)
        return first

    def _pair(self, one: int, other: int) -> int:
        meaning = And((self._rules.meanings[one], self._rules.meanings[other]))
        if meaning in self._below:
            return self._below[meaning]
        found = self._number(self._below, meaning)
        self._meet(one, other, found, meant=True)
        return found

    def _put_above(self, sub: int, expression: ClassExpression) -> None:
        """The class `sub` is a subclass of the expression."""
        match expression:
            case str():
                self._tell(sub, self._named(expression))
            case And(members):
                for member in members:
                    self._try(self._put_above, sub, member)
            case Some(relation, filler):
                self._put_some(sub, relation, filler)
            case HasSelf(relation):
                self._tell(sub, self._loop(relation))
            case Or(members) if len(members) == 1:
                self._put_above(sub, members[0])
            case Not() | All() | AtMost() | Exactly(0):
                self._forbid(sub, expression)
            case AtLeast() | Exactly():
                self._put_counted(sub, expression)
            case _:
                raise OutsideError(_named_construct(expression))

    def _put_counted(self, sub: int, expression: AtLeast | Exactly) -> None:
        """At least one is some; that there are more is outside of EL."""
        if expression.count > 0:
            self._put_some(sub, expression.relation, expression.filler)
        if expression.count > 1 or isinstance(expression, Exactly):
            raise OutsideError(expression.construct)
        self._used = True

    def _forbid(self, sub: int, expression: ClassExpression) -> None:
        """What `sub` shares nothing with; anything else that such an expression says is outside of EL."""
        match expression:
            case Not(other):
                self._meet(sub, self._class_below(other), BOTTOM)
            case All(relation, filler) if filler == NOTHING:
                self._meet(sub, self._class_below(Some(relation, THING)), BOTTOM)
            case AtMost(0, relation, filler) | Exactly(0, relation, filler):
                self._meet(sub, self._class_below(Some(relation, filler)), BOTTOM)
            case _:
                raise OutsideError(_named_construct(expression))

    def _try(self, put: Callable[..., None], *arguments: object) -> None:
        """Use what can be used of several parts."""
        try:
            put(*arguments)
        except OutsideError as error:
            self._outside.add(str(error))

    def _put_some(self, sub: int, relation: str, filler: ClassExpression) -> None:
        self._rules.somes.append((sub, self._relation(relation), self._filler_above(filler), self._axiom))
        self._used = True

    def _filler_above(self, filler: ClassExpression) -> int:
        """A class that the filler is above of: anonymous things that are as the filler says, and nothing more."""
        if isinstance(filler, str):
            return self._named(filler)
        if (known := self._above.get(filler)) is not None:
            return known
        found = self._number(self._above, filler)
        if not isinstance(filler, Datatype):
            self._try(self._put_above, found, filler)
        return found

    # --- axioms -------------------------------------------------------------------------------------

    def _add(self, axiom: Axiom) -> None:
        try:
            self._said(axiom)
        except OutsideError as error:
            self._outside.add(str(error))

    def _said(self, axiom: Axiom) -> None:
        match axiom:
            case SubClassOf(sub, sup):
                self._below_all(sub, sup)
            case EquivalentClasses(members):
                self._equivalent(members)
            case DisjointClasses(members):
                self._disjoint(members)
            case DisjointUnion(cls, members):
                for member in members:
                    self._below_all(member, cls)
                self._below_all(cls, Or(members))
                self._disjoint(members)
            case PropertyDomain(relation, cls):
                self._put_above(self._class_below(Some(relation, THING)), cls)
            case PropertyRange(relation, cls):
                if not isinstance(cls, Datatype):
                    self._rules.ranges[self._relation(relation)].append(
                        (self._filler_above(cls), self._axiom)
                    )
                    self._used = True
            case _ if not isinstance(axiom, _OF_INDIVIDUALS):
                self._said_of_properties(axiom)

    def _equivalent(self, members: tuple[ClassExpression, ...]) -> None:
        for one, other in itertools.pairwise((*members, members[0])):
            self._below_all(one, other)
        if len(members) == 2:
            return
        for one, other in itertools.pairwise(
            reversed((*members, members[0]))
        ):  # where one direction is outside
            if self._outside:
                self._below_all(one, other)

    def _said_of_properties(self, axiom: Axiom) -> None:
        match axiom:
            case SubProperty(sub, sup):
                self._sub_relation(sub, sup)
            case EquivalentProperties(members):
                for one, other in itertools.pairwise((*members, members[0])):
                    self._sub_relation(one, other)
            case PropertyChain(chain, sup):
                self._chain(chain, sup)
            case PropertyIs(Kind.TRANSITIVE, relation):
                self._chain((relation, relation), relation)
            case PropertyIs(Kind.REFLEXIVE, relation):
                self._tell(TOP, self._loop(relation))
            case _:
                raise OutsideError(axiom.construct)

    def _sub_relation(self, sub: str, sup: str) -> None:
        if is_inverse(sub) and is_inverse(sup):
            sub, sup = sub.removesuffix("^-1"), sup.removesuffix("^-1")
        self._rules.sub_relations.append((self._relation(sub), self._relation(sup), self._axiom))
        self._used = True

    def _chain(self, chain: tuple[str, ...], sup: str) -> None:
        numbers = [self._relation(name) for name in chain]
        head = self._relation(sup)
        if len(numbers) == 1:
            self._rules.sub_relations.append((numbers[0], head, self._axiom))
        while len(numbers) > 2:
            first, second, *rest = numbers
            step = self._relation(f"~{self._rules_name(first)} {self._rules_name(second)}")
            self._rules.chains.append((first, second, step, BY_MEANING))
            numbers = [step, *rest]
        if len(numbers) == 2:
            self._rules.chains.append((numbers[0], numbers[1], head, self._axiom))
        self._used = True

    def _rules_name(self, relation: int) -> str:
        return next(itertools.islice(self._relations, relation, None))

    def _disjoint(self, members: tuple[ClassExpression, ...]) -> None:
        """No two of them share anything: pairs of few, a tree of many, whose size is linear."""
        level: list[int] = []
        for member in members:
            try:
                level.append(self._class_below(member))
            except OutsideError as error:  # noqa: PERF203 - each member for itself
                self._outside.add(str(error))
        if len(level) <= _FEW:
            for one, other in itertools.combinations(level, 2):
                self._meet(one, other, BOTTOM)
            return
        while len(level) > 1:
            pairs = list(zip(level[::2], level[1::2], strict=False))
            level = [*(self._either(one, other) for one, other in pairs), *level[len(pairs) * 2 :]]

    def _either(self, one: int, other: int) -> int:
        self._meet(one, other, BOTTOM)
        found = self._number(
            self._below, Or((self._rules.meanings[one], Unknown(str(len(self._rules.meanings)))))
        )
        for part in (one, other):
            self._tell(part, found, meant=True)
        return found

    # --- loops and ranges -------------------------------------------------------------------------------------

    def _with_loops(self) -> None:
        """What leads to itself by a relation does so by those above, and by chains of such relations."""
        rules = self._rules
        if not rules.loops:
            return
        above = super_relations(len(self._relations), rules.sub_relations)
        names = list(self._relations)
        waiting = list(rules.loops)
        while waiting:
            relation = waiting.pop()
            found = {sup for sup in above[relation] if sup != relation}
            for sup in sorted(found):
                waiting += () if sup in rules.loops else (sup,)
                rules.told.append((rules.loops[relation], self._loop(names[sup]), BY_MEANING))
            for first, second, sup, axiom in rules.chains:
                if relation in (first, second) and first in rules.loops and second in rules.loops:
                    waiting += () if sup in rules.loops else (sup,)
                    sides = (rules.loops[first], rules.loops[second])
                    rules.conjunctions.append((*sides, self._loop(names[sup]), axiom))
            rules.told += [
                (rules.loops[relation], cls, axiom)
                for sup in above[relation]
                for cls, axiom in rules.ranges.get(sup, ())
            ]

    def _with_ranges(self) -> None:
        """Put a class below filler and range in the place of each filler of a relation with a range."""
        rules = self._rules
        if not rules.ranges:
            return
        above = super_relations(len(self._relations), rules.sub_relations)
        names = list(self._relations)
        ranged = {
            relation: found
            for relation in range(len(names))
            if (found := [pair for sup in above[relation] for pair in rules.ranges.get(sup, ())])
        }
        made: dict[tuple[int, int], int] = {}
        for place, (sub, relation, filler, axiom) in enumerate(rules.somes):
            if relation in ranged:
                key = (filler, relation)
                if key not in made:
                    made[key] = self._ranged_filler(filler, names[relation], ranged[relation])
                rules.somes[place] = (sub, relation, made[key], axiom)
        self._count_ranges_of_chains(ranged)

    def _ranged_filler(self, filler: int, relation: str, ranges: Sequence[tuple[int, int]]) -> int:
        rules = self._rules
        meaning = And((rules.meanings[filler], Some(f"{relation}^-1", THING)))
        found = self._number(self._above, meaning)
        rules.told.append((found, filler, BY_MEANING))
        rules.told += [(found, cls, axiom) for cls, axiom in ranges]
        return found

    def _count_ranges_of_chains(self, ranged: dict[int, list[tuple[int, int]]]) -> None:
        """Count chains whose relation has a range that their last relation has not: OWL 2 EL does not allow them."""
        seen: set[int] = set()
        for _, last, sup, number in self._rules.chains:
            wanted = {cls for cls, _ in ranged.get(sup, ())} - {TOP}
            if wanted - {cls for cls, _ in ranged.get(last, ())} and number not in seen:
                seen.add(number)
                axiom = self._rules.axioms[number]
                kind = "ranges of property chains"
                count, first = self._lacking.get(kind, (0, f"{self._file}: {axiom}"))
                self._lacking[kind] = count + 1, first


def super_relations(count: int, pairs: Sequence[tuple[int, int, int]]) -> list[list[int]]:
    """For each relation, itself and all above it."""
    direct: dict[int, list[int]] = defaultdict(list)
    for sub, sup, _ in pairs:
        direct[sub].append(sup)
    found = []
    for relation in range(count):
        seen = {relation: None}
        waiting = [relation]
        while waiting:
            for sup in direct.get(waiting.pop(), ()):
                if sup not in seen:
                    seen[sup] = None
                    waiting.append(sup)
        found.append(list(seen))
    return found


def _named_construct(expression: ClassExpression) -> str:
    if isinstance(expression, OneOf | HasValue):
        return f"{expression.construct} (an individual)"
    if isinstance(expression, str):
        return ""
    return expression.what if isinstance(expression, Unknown) else expression.construct


def _names_in(axiom: Axiom) -> list[str]:
    """The named classes of an axiom."""
    found: list[str] = []
    waiting: list[object] = []
    match axiom:
        case SubClassOf(sub, sup):
            waiting = [sub, sup]
        case EquivalentClasses(members) | DisjointClasses(members):
            waiting = [*members]
        case DisjointUnion(cls, members):
            waiting = [cls, *members]
        case PropertyDomain(_, cls) | PropertyRange(_, cls):
            waiting = [cls]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            found.append(part)
        elif isinstance(part, And | Or):
            waiting += part.members
        elif isinstance(part, Some | All | AtLeast | AtMost | Exactly):
            waiting.append(part.filler)
        elif isinstance(part, Not):
            waiting.append(part.of)
    return found
