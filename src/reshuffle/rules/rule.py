"""The kinds of rules, as data.

A closed path rule `r1(X1,X2) & ... & rp(Xp,Xp+1) -> r(X1,Xp+1)` is the word r1;...;rp and the head r. A
hierarchy rule is a path of one atom. An atom that runs backwards uses the inverse relation `r^-1`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from reshuffle.kg import inverse_name

_PLAIN = re.compile(r"[^\W\d][\w.:-]*(\^-1)?\Z")
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n", "\r": r"\r", "\t": r"\t"})
VARIABLE = re.compile(r"([A-Z][0-9]*|\?\w+)\Z")

_PSEUDOCOUNT = 5  # PyClause's default: rules with few predictions are believed less


@dataclass(frozen=True)
class Quality:
    """What a miner said of a rule: how many predictions its body makes, how many are true, and the share."""

    predictions: int | None = None
    support: int | None = None
    confidence: float | None = None

    def recomputed(self) -> Quality:
        """With PyClause's confidence, support / (predictions + 5), where both counts are known.

        >>> Quality(predictions=15, support=10, confidence=0.66).recomputed().confidence
        0.5
        """
        if self.predictions is None or self.support is None:
            return self
        return replace(self, confidence=self.support / (self.predictions + _PSEUDOCOUNT))


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
    r"""`name` in double quotes, with `\`, `"` and what would end a line or column escaped."""
    return f'"{name.translate(_ESCAPES)}"'


@dataclass(frozen=True)
class PathRule:
    """A closed path rule; `body` is the word of relations from the head's first variable to its second.

    >>> print(PathRule(("bornIn", "cityIn"), "citizenOf"))
    bornIn(X, Y) & cityIn(Y, Z) -> citizenOf(X, Z)
    """

    body: tuple[str, ...]
    head: str
    quality: Quality | None = field(default=None, compare=False)

    def __str__(self) -> str:
        names = variables(len(self.body) + 1)
        atoms = [
            _atom(relation, start, end)
            for relation, start, end in zip(self.body, names, names[1:], strict=False)
        ]
        return f"{' & '.join(atoms)} -> {_atom(self.head, names[0], names[-1])}"

    @property
    def is_tautology(self) -> bool:
        """`r -> r` says nothing."""
        return self.body == (self.head,)

    def reversed(self) -> PathRule:
        """The same rule read from its second variable: `r1;r2 -> r` gives `r2^-1;r1^-1 -> r^-1`."""
        return replace(
            self, body=tuple(inverse_name(r) for r in reversed(self.body)), head=inverse_name(self.head)
        )


@dataclass(frozen=True)
class IntersectionRule:
    """`r1(X,Y) & r2(X,Y) [& ...] -> r(X,Y)`.

    >>> print(IntersectionRule(("livesIn", "worksIn"), "localTo"))
    livesIn(X, Y) & worksIn(X, Y) -> localTo(X, Y)
    """

    body: tuple[str, ...]
    head: str
    quality: Quality | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"{' & '.join(_atom(r, 'X', 'Y') for r in self.body)} -> {_atom(self.head, 'X', 'Y')}"

    @property
    def is_tautology(self) -> bool:
        """The head is one of its own conditions."""
        return self.head in self.body

    def reversed(self) -> IntersectionRule:
        """The same rule read from its second variable."""
        return replace(self, body=tuple(inverse_name(r) for r in self.body), head=inverse_name(self.head))


@dataclass(frozen=True)
class Disjointness:
    """`r1(X,Y) & r2(X,Y) -> false`: a constraint on answers, from which nothing is derived."""

    first: str
    second: str

    def __str__(self) -> str:
        return f"{_atom(self.first, 'X', 'Y')} & {_atom(self.second, 'X', 'Y')} -> false"


Rule: TypeAlias = PathRule | IntersectionRule


def _atom(relation: str, start: str, end: str) -> str:
    """An inverse relation is written as the relation with its arguments swapped."""
    if relation.endswith("^-1"):
        return f"{quoted(inverse_name(relation))}({end}, {start})"
    return f"{quoted(relation)}({start}, {end})"


def variables(count: int) -> list[str]:
    """X, Y, Z, then Z1, Z2, ...

    >>> variables(5)
    ['X', 'Y', 'Z', 'Z1', 'Z2']
    """
    return [*"XYZ"[:count], *(f"Z{index}" for index in range(1, count - 2))]
