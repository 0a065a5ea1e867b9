"""The kinds of rules as data, how their atoms are written, and rule bases: sets of rules.

A closed path rule `r1(X1,X2) & ... & rp(Xp,Xp+1) -> r(X1,Xp+1)` is the word r1;...;rp and the head r. A
hierarchy rule is a path of one atom. An atom that runs backwards uses the inverse relation `r^-1`.
"""

from __future__ import annotations

import itertools
import re
from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Self, TypeAlias

from reshuffle.kg import inverse_name
from reshuffle.kg.vocabulary import base_relation, is_inverse
from reshuffle.pictures.markup import SHOWN
from reshuffle.pictures.notebook import shown_rows
from reshuffle.text import counted, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

_PLAIN = re.compile(r"[^\W\d][\w.:-]*(\^-1)?\Z")
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\""})
VARIABLE = re.compile(r"([A-Z][0-9]*|\?\w+)\Z")

_FRESH_PREFIX = "~"
SAME = "~same"
"""The relation of an entity to itself."""
PSEUDOCOUNT = 5  # PyClause's default: rules with few predictions are believed less


@dataclass(frozen=True)
class Quality:
    """How good a miner found a rule: the predictions of its body, how many of them are true, and the confidence."""

    predictions: int | None = None
    support: int | None = None
    confidence: float | None = None

    def recomputed(self) -> Quality:
        """The same counts with PyClause's confidence, support / (predictions + 5), where both counts are known.

        >>> Quality(predictions=15, support=10, confidence=0.66).recomputed().confidence
        0.5
        """
        if self.predictions is None or self.support is None:
            return self
        return replace(self, confidence=self.support / (self.predictions + PSEUDOCOUNT))


def quoted(relation: str) -> str:
    """A relation name as the rule syntax needs it: plain words as they are, anything else in quotes.

    >>> quoted("bornIn"), quoted("/film/film/genre"), quoted("X")
    ('bornIn', '"/film/film/genre"', '"X"')
    """
    if _PLAIN.match(relation) and not VARIABLE.match(relation) and relation != "false":
        return relation
    if relation.endswith("^-1"):
        return quoted_text(inverse_name(relation)) + "^-1"
    return quoted_text(relation)


def quoted_text(name: str) -> str:
    r"""`name` in double quotes, with `\`, `"` and control characters escaped."""
    return f'"{visible(name.translate(_ESCAPES))}"'


@dataclass(frozen=True)
class _Implication(ABC):
    """A body of relations that implies a head; the kinds of rules say how the variables of the body meet."""

    body: tuple[str, ...]
    head: str
    quality: Quality | None = field(default=None, compare=False)

    @property
    @abstractmethod
    def num_variables(self) -> int:
        """How many variables the rule has."""

    @abstractmethod
    def _ends(self, names: Sequence[str]) -> Iterable[tuple[str, str]]:
        """The two variables of each body atom."""

    def renamed(self, short: Callable[[str], str]) -> Self:
        """The same rule with other names of relations."""
        return replace(self, body=tuple(map(short, self.body)), head=short(self.head))

    def terms(self, names: Sequence[str]) -> Iterator[tuple[str, str, str]]:
        """(relation, start, end) of each body atom and then of the head; inverse relations are turned around.

        The head leads from the first of the variables `names` to the last.

        >>> list(PathRule(("r", "s^-1"), "t").terms("XYZ"))
        [('r', 'X', 'Y'), ('s', 'Z', 'Y'), ('t', 'X', 'Z')]
        """
        for relation, (start, end) in zip(self.body, self._ends(names), strict=True):
            yield _turned(relation, start, end)
        yield _turned(self.head, names[0], names[-1])

    def __str__(self) -> str:
        *body, head = (_atom(*term) for term in self.terms(variables(self.num_variables)))
        return f"{' & '.join(body)} -> {head}"


@dataclass(frozen=True)
class PathRule(_Implication):
    """A closed path rule; `body` is the word of relations from the head's first variable to its second.

    >>> print(PathRule(("bornIn", "cityIn"), "citizenOf"))
    bornIn(X, Y) & cityIn(Y, Z) -> citizenOf(X, Z)
    """

    @property
    def num_variables(self) -> int:
        """One more than the body has atoms."""
        return len(self.body) + 1

    def _ends(self, names: Sequence[str]) -> Iterable[tuple[str, str]]:
        return itertools.pairwise(names)

    @property
    def is_tautology(self) -> bool:
        """Is it `r -> r`, which says nothing?"""
        return self.body == (self.head,)

    def reversed(self) -> PathRule:
        """The same rule read from its second variable: `r1;r2 -> r` gives `r2^-1;r1^-1 -> r^-1`."""
        return replace(
            self, body=tuple(inverse_name(r) for r in reversed(self.body)), head=inverse_name(self.head)
        )


@dataclass(frozen=True)
class IntersectionRule(_Implication):
    """`r1(X,Y) & r2(X,Y) [& ...] -> r(X,Y)`.

    >>> print(IntersectionRule(("livesIn", "worksIn"), "localTo"))
    livesIn(X, Y) & worksIn(X, Y) -> localTo(X, Y)
    """

    @property
    def num_variables(self) -> int:
        """Two, which all atoms share."""
        return 2

    def _ends(self, names: Sequence[str]) -> Iterable[tuple[str, str]]:
        return [(names[0], names[-1])] * len(self.body)

    @property
    def is_tautology(self) -> bool:
        """Is the head one of its own conditions?"""
        return self.head in self.body

    def reversed(self) -> IntersectionRule:
        """The same rule read from its second variable."""
        return replace(self, body=tuple(inverse_name(r) for r in self.body), head=inverse_name(self.head))


@dataclass(frozen=True)
class Disjointness:
    """`r1(X,Y) & r2(X,Y) -> false`: a constraint on answers, from which nothing is derived.

    With `SAME` as its second relation it says that the first leads from nothing to itself.

    >>> print(Disjointness("partOf", SAME))
    partOf(X, X) -> false
    """

    first: str
    second: str

    @property
    def relations(self) -> tuple[str, str]:
        """Both relations."""
        return self.first, self.second

    def renamed(self, short: Callable[[str], str]) -> Disjointness:
        """The same constraint with other names."""
        return Disjointness(short(self.first), short(self.second))

    def __str__(self) -> str:
        if self.second == SAME:
            return f"{_atom(self.first, 'X', 'X')} -> false"
        first, second = (_atom(*_turned(relation, "X", "Y")) for relation in (self.first, self.second))
        return f"{first} & {second} -> false"


@dataclass(frozen=True)
class DisjointEnds:
    """`r1(X, "a") & r2(X, "b") -> false`: no entity leads to both; relations may be inverse.

    >>> print(DisjointEnds("is", "Course", "teaches^-1", "ada"))
    is(X, "Course") & teaches("ada", X) -> false

    With `SAME` as its second relation it says that one triple does not hold.

    >>> print(DisjointEnds("teaches", "logic", SAME, "ada"))
    teaches("ada", "logic") -> false
    """

    first: str
    first_end: str
    second: str
    second_end: str

    @property
    def relations(self) -> tuple[str, str]:
        """Both relations."""
        return self.first, self.second

    def renamed(self, short: Callable[[str], str]) -> DisjointEnds:
        """The same constraint with other names."""
        return DisjointEnds(*map(short, (self.first, self.first_end, self.second, self.second_end)))

    @property
    def sides(self) -> tuple[tuple[str, str], tuple[str, str]]:
        """Both relations with the entities that they lead to."""
        return (self.first, self.first_end), (self.second, self.second_end)

    def __str__(self) -> str:
        if self.second == SAME:
            one = _turned(self.first, quoted_text(self.second_end), quoted_text(self.first_end))
            return f"{_atom(*one)} -> false"
        sides = dict.fromkeys(self.sides)
        atoms = (_atom(*_turned(relation, "X", quoted_text(end))) for relation, end in sides)
        return f"{' & '.join(atoms)} -> false"


Constraint: TypeAlias = Disjointness | DisjointEnds

Term: TypeAlias = int | str
"""An argument: a variable by its number, or the entity that a constant names."""
Terms: TypeAlias = tuple[str, Term, Term]
"""An atom: relation, start and end. No relation is an inverse."""


@dataclass(frozen=True)
class ConstantRule:
    """A rule whose atoms may have constants. Variables are numbered in the order in which they first occur.

    Without a body it says what always holds; a variable of the conclusion then stands for every entity.

    >>> rule = ConstantRule.of([("bornIn", "?who", Constant("london"))], ("speaks", "?who", Constant("english")))
    >>> print(rule)
    bornIn(X, "london") -> speaks(X, "english")
    >>> rule.atoms
    (('bornIn', 0, 'london'),)
    """

    atoms: tuple[Terms, ...]
    conclusion: Terms
    quality: Quality | None = field(default=None, compare=False)

    @classmethod
    def of(
        cls,
        atoms: Iterable[tuple[str, str, str]],
        conclusion: tuple[str, str, str],
        quality: Quality | None = None,
    ) -> ConstantRule:
        """The rule of atoms as they are written: a `Constant` is one, any other argument is a variable."""
        numbers: dict[str, int] = {}
        *body, head = (_numbered(atom, numbers) for atom in (*dict.fromkeys(atoms), conclusion))
        return cls(tuple(body), head, quality)

    @property
    def body(self) -> tuple[str, ...]:
        """The relations of the atoms."""
        return tuple(relation for relation, _, _ in self.atoms)

    @property
    def head(self) -> str:
        """The relation that the rule concludes."""
        return self.conclusion[0]

    @property
    def num_variables(self) -> int:
        """How many variables the rule has."""
        ends = (end for _, *ends in (*self.atoms, self.conclusion) for end in ends if isinstance(end, int))
        return 1 + max(ends, default=-1)

    @property
    def constants(self) -> tuple[str, ...]:
        """The entities that the rule names, each once."""
        ends = (end for _, *ends in (*self.atoms, self.conclusion) for end in ends)
        return tuple(dict.fromkeys(end for end in ends if isinstance(end, str)))

    @property
    def shape(self) -> tuple[Terms, ...]:
        """The atoms and the conclusion without the names of the constants: what many rules share."""
        return tuple(
            (relation, *("" if isinstance(end, str) else end for end in ends))  # type: ignore[misc]
            for relation, *ends in (*self.atoms, self.conclusion)
        )

    @property
    def is_tautology(self) -> bool:
        """Is the conclusion one of its own conditions?"""
        return self.conclusion in self.atoms

    def reversed(self) -> ConstantRule:
        """The rule itself, which has no direction."""
        return self

    def renamed(self, short: Callable[[str], str]) -> ConstantRule:
        """The same rule with other names of relations and entities."""
        atoms = (
            (short(relation), *(short(end) if isinstance(end, str) else end for end in ends))
            for relation, *ends in (*self.atoms, self.conclusion)
        )
        *body, head = atoms
        return replace(self, atoms=tuple(dict.fromkeys(body)), conclusion=head)  # type: ignore[arg-type]

    def terms(
        self, names: Sequence[str] | Mapping[int, str], constant: Callable[[str], str] = str
    ) -> Iterator[tuple[str, str, str]]:
        """(relation, start, end) of each atom and then of the conclusion, in these names of the variables."""
        for relation, *ends in (*self.atoms, self.conclusion):
            start, end = (names[end] if isinstance(end, int) else constant(end) for end in ends)
            yield relation, start, end

    @property
    def spelled_atoms(self) -> tuple[str, ...]:
        """The atoms and then the conclusion, as they are written."""
        return tuple(_atom(*term) for term in self.terms(variables(self.num_variables), quoted_text))

    def __str__(self) -> str:
        *body, head = self.spelled_atoms
        return f"{' & '.join(body)} -> {head}" if body else f"-> {head}"

    def fits(self, premises: Sequence[tuple[str, str, str]], conclusion: tuple[str, str, str]) -> bool:
        """Is this one instance of the rule? Triples are (head, relation, tail), premises in the order of the body."""
        bound: dict[int, str] = {}
        atoms = (*self.atoms, self.conclusion)
        return len(premises) == len(self.atoms) and all(
            bound_by(atom, triple, bound) for atom, triple in zip(atoms, (*premises, conclusion), strict=True)
        )


def bound_by(atom: Terms, triple: tuple[str, str, str], bound: dict[int, str]) -> bool:
    """Can the atom mean the triple? Its variables are then `bound`, which must not say otherwise."""
    relation, *ends = atom
    head, found, tail = triple
    return relation == found and all(
        end == name if isinstance(end, str) else bound.setdefault(end, name) == name
        for end, name in zip(ends, (head, tail), strict=True)
    )


class Constant(str):
    """An argument that names an entity. Each format says what is one; any other argument is a variable."""

    __slots__ = ()


def _numbered(atom: tuple[str, str, str], numbers: dict[str, int]) -> Terms:
    relation, start, end = _turned(*atom)
    first, second = (
        str(name) if isinstance(name, Constant) else numbers.setdefault(name, len(numbers))
        for name in (start, end)
    )
    return relation, first, second


Rule: TypeAlias = PathRule | IntersectionRule | ConstantRule


def _turned(relation: str, start: str, end: str) -> tuple[str, str, str]:
    """An inverse relation is written as the relation with its arguments swapped."""
    if relation.endswith("^-1"):
        return inverse_name(relation), end, start
    return relation, start, end


def _atom(relation: str, start: str, end: str) -> str:
    return f"{quoted(relation)}({start}, {end})"


def variables(count: int) -> list[str]:
    """The first variable names: X, Y, Z, then Z1, Z2, ...

    >>> variables(5)
    ['X', 'Y', 'Z', 'Z1', 'Z2']
    """
    return [*"XYZ"[:count], *(f"Z{index}" for index in range(1, count - 2))]


# --- rule bases ----------------------------------------------------------------------------------------


NOT_READ = "not read"


@dataclass(frozen=True)
class Unread:
    """Parts of a rule file that are not used: how many of a kind, and where the first one stands.

    >>> print(Unread("rules with constants", 2, "mined.txt:7: speaks(X,english) <= bornIn(X,london)"))
    rules with constants not read: 2; the first: mined.txt:7: speaks(X,english) <= bornIn(X,london)
    """

    what: str
    count: int
    first: str
    noun: str = "rule"
    """What each of them is; "" for what says nothing about triples, such as a line of a log."""
    lack: str = NOT_READ
    """What was not done with them."""

    def __str__(self) -> str:
        return f"{self.what} {self.lack}: {self.count}; the first: {self.first}"


@dataclass(frozen=True)
class RuleBase:
    """Rules in the order they were written. Duplicates and tautologies are kept apart and reported.

    `fresh` are the relations that `binarised` made, to be hidden from answers; `unread` is what the rule file
    held besides rules of our kinds. Rules with constants are among the others, in order; `rules.encoding` makes paths
    of them, in a base whose `source` is this one.

    >>> hyp = PathRule(("hyp", "hyp"), "hyp")
    >>> base = RuleBase((hyp, PathRule(("hyp",), "isa"), PathRule(("isa",), "isa")))
    >>> base.relations, base.head_relations
    (('hyp', 'isa'), ('hyp', 'isa'))
    >>> print(base.tautologies[0])
    isa(X, Y) -> isa(X, Y)
    """

    given: tuple[Rule, ...]
    disjointness: tuple[Constraint, ...] = ()
    fresh: frozenset[str] = frozenset()
    unread: tuple[Unread, ...] = field(default=(), compare=False)
    source: RuleBase | None = field(default=None, compare=False, repr=False)
    """Of an encoded base: the rules with constants that it stands for."""
    facts: tuple[tuple[str, str, str], ...] = field(default=(), compare=False)
    """Triples that stood among the rules, as in a Datalog program; engines add them to the others."""
    variables: frozenset[str] = field(default=frozenset(), compare=False)
    """The variables as they were written, where a name of an entity may look like one."""
    stated: Counter[tuple[str, str, str]] | None = field(default=None, compare=False, repr=False)
    """The axioms of an ontology as triples, which may stand among facts as well; None where rules are none."""
    schema: tuple[tuple[str, str, str], ...] = field(default=(), compare=False, repr=False)
    """What an ontology says of classes and properties, in triples of names; more follows between these."""
    by_instance: tuple[ConstantRule, ...] = field(default=(), compare=False)
    """Rules of axioms that no engine takes; `reasoning.rule_instances` answers them."""

    @property
    def not_read(self) -> tuple[Unread, ...]:
        """What was not read of what could have said more about triples."""
        return tuple(unread for unread in self.unread if unread.noun)

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The given rules without duplicates and tautologies."""
        return tuple(rule for rule in dict.fromkeys(self.given) if not rule.is_tautology)

    def paths_alone(self) -> RuleBase:
        """The same without rules with constants, which are counted as not read."""
        found = [rule for rule in self.given if isinstance(rule, ConstantRule)]
        if not found:
            return self
        kept = tuple(rule for rule in self.given if not isinstance(rule, ConstantRule))
        unread = Unread("rules with constants", len(found), str(found[0]))
        return replace(self, given=kept, unread=(*self.unread, unread))

    def at_least(self, confidence: float) -> RuleBase:
        """The rules of at least that confidence, and those that have none: somebody wrote them as they stand."""
        qualities = ((rule, rule.quality) for rule in self.given)
        kept = (
            rule
            for rule, quality in qualities
            if quality is None or quality.confidence is None or quality.confidence >= confidence
        )
        return replace(self, given=tuple(kept))

    @cached_property
    def duplicates(self) -> tuple[Rule, ...]:
        """The rules that were given more than once, each once."""
        return tuple(rule for rule, count in Counter(self.given).items() if count > 1)

    @cached_property
    def tautologies(self) -> tuple[Rule, ...]:
        """The rules that say nothing, such as `r(X, Y) -> r(X, Y)`."""
        return tuple(dict.fromkeys(rule for rule in self.given if rule.is_tautology))

    @cached_property
    def constant_rules(self) -> tuple[ConstantRule, ...]:
        """The rules with constants."""
        return tuple(rule for rule in self.rules if isinstance(rule, ConstantRule))

    @cached_property
    def path_rules(self) -> tuple[PathRule, ...]:
        """The closed path rules, hierarchy rules included."""
        return tuple(rule for rule in self.rules if isinstance(rule, PathRule))

    @cached_property
    def intersection_rules(self) -> tuple[IntersectionRule, ...]:
        """The intersection rules."""
        return tuple(rule for rule in self.rules if isinstance(rule, IntersectionRule))

    @cached_property
    def relations(self) -> tuple[str, ...]:
        """Every relation that occurs in a rule, a constraint or a tautology, in order of appearance."""
        seen: dict[str, None] = {}
        for rule in self.given:
            seen.update(dict.fromkeys((*rule.body, rule.head)))
        for pair in self.disjointness:
            seen.update(dict.fromkeys(pair.relations))
        return tuple(seen)

    @cached_property
    def head_relations(self) -> tuple[str, ...]:
        """Relations that some rule derives (the paper's R_1)."""
        return tuple(dict.fromkeys(rule.head for rule in self.rules))

    @cached_property
    def by_head(self) -> dict[str, tuple[Rule, ...]]:
        """The rules of each head relation."""
        grouped: dict[str, list[Rule]] = {}
        for rule in self.rules:
            grouped.setdefault(rule.head, []).append(rule)
        return {head: tuple(rules) for head, rules in grouped.items()}

    @cached_property
    def concluded(self) -> frozenset[str]:
        """The relations that heads give triples to, backwards or not, and those that were made up for the rules."""
        return frozenset(map(base_relation, (*self.head_relations, *self.fresh)))

    def never_met(self, given: Iterable[str]) -> list[str]:
        """The relations that bodies ask for, and that are neither given nor concluded.

        Rules with constants ask for none: an ontology says the domains of many properties that no fact has.
        """
        rules = (rule for rule in self.given if not isinstance(rule, ConstantRule))
        asked = dict.fromkeys(name for rule in rules for name in rule.body)
        met = self.concluded.union(given)
        return list(dict.fromkeys(name for name in map(base_relation, asked) if name not in met))

    @cached_property
    def uses_inverses(self) -> bool:
        """Does any atom run backwards?"""
        return any(is_inverse(relation) for relation in self.relations)

    def __len__(self) -> int:
        return len(self.rules)

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def _repr_html_(self) -> str:
        qualities = ((rule, rule.quality or Quality()) for rule in self.rules[:SHOWN])
        rows = [
            {"rule": str(rule), "support": quality.support, "confidence": quality.confidence}
            for rule, quality in qualities
        ]
        heading = f"{counted(len(self), 'rule')} of {counted(len(self.relations), 'relation')}"
        return shown_rows(heading, rows, total=len(self), remarks=map(str, self.disjointness[:SHOWN]))

    def __str__(self) -> str:
        return "\n".join(str(rule) for rule in (*self.given, *self.disjointness))

    def closed_under_reversal(self) -> RuleBase:
        """The rules, and each rule also read from its second variable, with `r^-1` as a relation of its own.

        Needed as soon as one atom runs backwards, since (e, r, f) then holds iff (f, r^-1, e) does.
        """
        if not self.uses_inverses:
            return self
        both = (*self.given, *(rule.reversed() for rule in self.given))
        return replace(self, given=both, fresh=self.fresh | {inverse_name(name) for name in self.fresh})

    def binarised(self) -> RuleBase:
        """An equivalent base with bodies of at most two atoms.

        Longer bodies are cut by fresh relations, whose names start with `~` and which `fresh` lists.

        >>> print(RuleBase((PathRule(("a", "b", "c"), "r"),)).binarised())
        a(X, Y) & b(Y, Z) -> "~1"(X, Z)
        "~1"(X, Y) & c(Y, Z) -> r(X, Z)
        """
        names = self._unused_names()
        prefixes: dict[tuple[str, str], str] = {}  # a relation or shorter prefix, and one more atom
        rules: list[Rule] = []
        for rule in self.rules:
            if isinstance(rule, IntersectionRule) or len(rule.body) <= 2:
                rules.append(rule)
                continue
            first = rule.body[0]
            for atom in rule.body[1:-1]:
                prefix = (first, atom)
                if prefix not in prefixes:
                    prefixes[prefix] = next(names)
                    rules.append(PathRule(prefix, prefixes[prefix]))
                first = prefixes[prefix]
            rules.append(PathRule((first, rule.body[-1]), rule.head, rule.quality))
        return replace(self, given=tuple(rules), fresh=self.fresh | set(prefixes.values()))

    def _unused_names(self) -> Iterator[str]:
        """`~1`, `~2`, ... without those that a rule already uses, forwards or backwards."""
        taken = {base_relation(relation) for relation in self.relations}
        numbered = (f"{_FRESH_PREFIX}{number}" for number in itertools.count(1))
        return (name for name in numbered if name not in taken)
