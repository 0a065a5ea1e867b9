"""The statement that every rule reader produces, and the kind of rule it is.

A statement has atoms that know their columns, so that errors can point there. `meaning` is the one definition of the
rule class: a closed path, an intersection or a disjointness. A body is a path when its atoms, in any order and
direction, lead from the head's first variable to its second through variables that occur nowhere else.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from reshuffle.errors import InputError, Place
from reshuffle.kg import inverse_name
from reshuffle.kg.vocabulary import is_inverse
from reshuffle.rules.linked_variables import Links
from reshuffle.rules.rule import (
    Constant,
    ConstantRule,
    DisjointEnds,
    Disjointness,
    IntersectionRule,
    PathRule,
    Quality,
    quoted_text,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from reshuffle.rules.rule import Constraint, Rule

SKIP_HINT = "--skip-unsupported (skip_unsupported=True) reads on and counts them"
QUOTED = r'"[^"\\]*(?:\\.[^"\\]*)*"'
BRACKETED = r"<[^<>=][^<>]*>"  # not `<=`, which is an arrow

_UNKNOWN = "-"
_ESCAPE = re.compile(r"\\(?:u([0-9a-f]{4})|(.))", re.DOTALL)
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t"}


class OutsideClassError(InputError):
    """A well-formed rule that is not one of our kinds; `kind` names such rules in the plural."""

    kind = "rules outside the class"


class SourceLine(NamedTuple):
    """One line of a rule file; `at` below are offsets in `text`, printed as columns from 1."""

    file: str
    number: int
    text: str
    breaks: tuple[int, ...] = ()
    """Of a clause over several lines: the offsets at which lines after the first begin."""

    def error(self, message: str, *, at: int, hint: str | None = None) -> InputError:
        """The error for a mistake at an offset of the line."""
        return InputError(message, place=self._place(at), source=self._shown(at), hint=hint)

    def outside_class(self, message: str, *, at: int, kind: str, hint: str) -> OutsideClassError:
        """The error for a rule that can be read but is outside the class."""
        error = OutsideClassError(message, place=self._place(at), source=self._shown(at), hint=hint)
        error.kind = kind
        return error

    def _place(self, at: int) -> Place:
        before = [start for start in self.breaks if start <= at]
        return Place(self.file, self.number + len(before), at - max(before, default=0) + 1)

    def _shown(self, at: int) -> str:
        """The line that an offset is on."""
        start = max((start for start in self.breaks if start <= at), default=0)
        end = min((start for start in self.breaks if start > at), default=len(self.text))
        # A tab is one column of the source line, and must be one column on the screen for the caret to fit.
        return self.text[start:end].rstrip().replace("\t", " ")

    def __str__(self) -> str:
        text = " ".join(self.text.split()) if self.breaks else self.text.strip()
        return f"{self.file}:{self.number}: {text}"


UNARY = Constant("true")
"""The second argument of an atom that has one: `kind(X)` says the same as `kind(X, "true")`."""


class Bare(Constant):
    """A word that is neither a variable nor in quotes, in a format that asks for one of the two."""

    __slots__ = ()


class Atom(NamedTuple):
    """`relation(start, end)` with the offsets of its three parts."""

    relation: str
    start: str
    end: str
    at: int
    start_at: int
    end_at: int


@dataclass(frozen=True)
class Statement:
    """One rule as written; `head` is None for `false`."""

    line: SourceLine
    body: tuple[Atom, ...]
    head: Atom | None
    quality: Quality | None = None
    is_fact: bool = False
    """Is it the head alone, as given?"""

    @property
    def variables(self) -> set[str]:
        """The variables as they were written."""
        ends = (end for atom in self.body for end in (atom.start, atom.end))
        return {end for end in ends if not isinstance(end, Constant)}


def statement_of(
    line: SourceLine,
    body: Iterable[re.Match[str]],
    head: re.Match[str] | None,
    columns: tuple[int, int],
    argument: Callable[[str], str],
) -> Statement:
    """The statement of a line whose atoms and leading columns have been found.

    The groups of an atom's match are its relation and its two arguments, of which `argument` makes variables and
    constants; `columns` are two offsets.
    """
    atoms = tuple(_atom(match, argument) for match in body)
    target = None if head is None else _atom(head, argument)
    return Statement(line, atoms, target, _read_columns(line, *columns))


def _atom(match: re.Match[str], argument: Callable[[str], str]) -> Atom:
    name, start = match[1].strip(), argument(match[2])
    end = UNARY if match[3] is None else argument(match[3])
    return Atom(
        relation_name(name), start, end, match.start(1), match.start(2), match.start(3 if match[3] else 2)
    )


def relation_name(written: str) -> str:
    """The relation meant by a written name: quotes or brackets off, double inverses cancelled.

    >>> relation_name('"a \\\\"b\\\\""'), relation_name("<http://x/r>^-1"), relation_name("r^-1^-1")
    ('a "b"', 'http://x/r^-1', 'r')
    """
    name, inverses = written, 0
    while name.endswith("^-1"):
        name, inverses = name[:-3], inverses + 1
    name = unquoted(name)
    while name.endswith("^-1"):
        name, inverses = name[:-3], inverses + 1
    return inverse_name(name) if inverses % 2 else name


def unquoted(text: str) -> str:
    """The text without the quotes or angle brackets around it, if any."""
    if len(text) > 1 and text[0] == '"' == text[-1]:
        return _ESCAPE.sub(_unescaped, text[1:-1])
    if len(text) > 1 and text[0] == "<" and text[-1] == ">":
        return text[1:-1]
    return text


def _unescaped(match: re.Match[str]) -> str:
    return chr(int(match[1], 16)) if match[1] else _ESCAPED.get(match[2], match[2])


def _read_columns(line: SourceLine, start: int, end: int) -> Quality | None:
    """AnyBURL's three leading columns between two offsets: predictions, support, confidence."""
    fields = line.text[start:end].split("\t")[:-1]
    if not fields:
        return None
    if len(fields) != 3:
        raise _odd_columns(line, f"found {len(fields)}", start)
    try:
        predictions, support = map(_count, fields[:2])
        confidence = None if fields[2].strip() == _UNKNOWN else _finite(fields[2])
    except ValueError:
        raise _odd_columns(line, "found " + ", ".join(repr(field) for field in fields), start) from None
    return Quality(predictions, support, confidence)


def _count(written: str) -> int | None:
    """A count; of a rule without a body AnyBURL writes `7221:5563`, and the first is the predictions."""
    first = written.partition(":")[0].strip()
    return None if first == _UNKNOWN else int(first)


def _finite(written: str) -> float:
    number = float(written)
    if not math.isfinite(number):
        raise ValueError(written)
    return number


def written_columns(quality: Quality | None) -> str:
    """The three leading columns with their tabs; what is not known is a dash.

    >>> written_columns(Quality(predictions=12, support=3, confidence=0.25))
    '12\\t3\\t0.25\\t'
    """
    if quality is None:
        return ""
    values = (quality.predictions, quality.support, quality.confidence)
    return "".join(f"{_UNKNOWN if value is None else value}\t" for value in values)


def _odd_columns(line: SourceLine, found: str, at: int) -> InputError:
    return line.error(
        f"unknown columns: expected three numbers before the rule, {found}",
        at=at,
        hint="the columns are AnyBURL's: predictions, support and confidence, each followed by a tab",
    )


def without_built_in(line: SourceLine, found: str, at: int) -> OutsideClassError:
    """The error for a condition that is no relation."""
    return line.outside_class(
        f"'{found}' in the body: rules have neither negation nor comparisons",
        at=at,
        kind="rules with negation or comparisons",
        hint=f"rules with them are outside the class; {SKIP_HINT}",
    )


NOT_A_PATH = "rules that are not closed paths"
REPEATING = "rules with the same variable twice in an atom"
WIDE_CONSTRAINT = "constraints that are not two atoms over the same variables"


def meaning(statement: Statement) -> Rule | Constraint:
    """The rule that a statement writes, or an error that points at the first atom which does not fit.

    The head of the result is never an inverse relation: such a rule is read from its second variable.
    """
    atoms = statement.body if statement.head is None else (*statement.body, statement.head)
    for atom in atoms:
        _check_arguments(statement, atom)
    with_constants = not statement.body or any(
        isinstance(end, Constant) for atom in atoms for end in (atom.start, atom.end)
    )
    if statement.head is None:
        return _disjoint_ends(statement) if with_constants else _disjointness(statement)
    if with_constants:
        return _with_constants(statement, statement.head)
    _check_head_variables(statement, statement.head)
    rule = _intersection(statement, statement.head) or _path(statement, statement.head)
    return rule.reversed() if is_inverse(rule.head) else rule


def with_names_apart(statement: Statement) -> Statement:
    """The same statement; a plain word may not be both a relation and a variable of one rule."""
    atoms = statement.body if statement.head is None else (*statement.body, statement.head)
    variables = {name for atom in atoms for name in (atom.start, atom.end) if not isinstance(name, Constant)}
    for atom in atoms:
        written_plain = statement.line.text[atom.at] not in '"<'
        if written_plain and atom.relation in variables:
            raise statement.line.error(
                f"{atom.relation} is used as a relation and as a variable",
                at=atom.at,
                hint=f'rename the variable, or write the relation as "{atom.relation}"',
            )
    return statement


def _with_constants(statement: Statement, head: Atom) -> ConstantRule:
    """The rule, if its variables hang together as paths."""
    *body, conclusion = ((atom.relation, atom.start, atom.end) for atom in (*statement.body, head))
    rule = ConstantRule.of(body, conclusion, statement.quality)
    found = Links(rule).why_outside()
    if found is not None:
        reason, kind = found if body else ("missing body", "rules without a body")
        raise statement.line.outside_class(reason, at=head.at, kind=kind, hint=SKIP_HINT)
    return rule


def _disjoint_ends(statement: Statement) -> DisjointEnds:
    sides = [
        (atom.relation, atom.start, atom.end)
        if isinstance(atom.end, Constant)
        else (inverse_name(atom.relation), atom.end, atom.start)
        for atom in statement.body
    ]
    if len(sides) == 1:  # nothing may lead there
        sides *= 2
    if (
        len(sides) != 2
        or sides[0][1] != sides[1][1]
        or any(isinstance(who, Constant) or not isinstance(end, Constant) for _, who, end in sides)
    ):
        raise statement.line.outside_class(
            "not a disjointness: '-> false' takes two atoms over the same variables",
            at=statement.body[-1].at if statement.body else 0,
            kind=WIDE_CONSTRAINT,
            hint='write r1(X, Y) & r2(X, Y) -> false, or r1(X, "a") & r2(X, "b") -> false',
        )
    (first, _, first_end), (second, _, second_end) = sides
    return DisjointEnds(first, str(first_end), second, str(second_end))


def _check_arguments(statement: Statement, atom: Atom) -> None:
    for argument, at in ((atom.start, atom.start_at), (atom.end, atom.end_at)):
        if isinstance(argument, Bare):
            raise statement.line.outside_class(
                f"{argument} is neither a variable nor a name in quotes",
                at=at,
                kind="rules with names that are not in quotes",
                hint=f"write {quoted_text(argument)} for the entity; a variable is one upper-case letter with"
                f" optional digits, or ?name; {SKIP_HINT}",
            )
    if atom.start == atom.end and not isinstance(atom.start, Constant):
        raise statement.line.outside_class(
            f"{atom.start} occurs twice in one atom: the two arguments must differ",
            at=atom.end_at,
            kind=REPEATING,
            hint=f"a loop on one entity is not a path between two; {SKIP_HINT}",
        )


def _disjointness(statement: Statement) -> Disjointness:
    first, *others = statement.body
    if len(others) != 1 or {first.start, first.end} != {others[0].start, others[0].end}:
        raise statement.line.outside_class(
            "not a disjointness: '-> false' takes two atoms over the same two variables",
            at=others[-1].at if others else first.at,
            kind=WIDE_CONSTRAINT,
            hint="write r1(X, Y) & r2(X, Y) -> false",
        )
    pair = first.relation, _leading_from(first.start, others[0])
    if is_inverse(first.relation):
        pair = inverse_name(pair[0]), inverse_name(pair[1])
    return Disjointness(*pair)


def _leading_from(variable: str, atom: Atom) -> str:
    """The relation that leads from `variable` to the other argument: the inverse where the atom runs backwards."""
    return atom.relation if atom.start == variable else inverse_name(atom.relation)


def _check_head_variables(statement: Statement, head: Atom) -> None:
    inside = {variable for atom in statement.body for variable in (atom.start, atom.end)}
    for variable, at in ((head.start, head.start_at), (head.end, head.end_at)):
        if variable not in inside:
            raise statement.line.outside_class(
                f"head variable {variable} does not occur in the body",
                at=at,
                kind=NOT_A_PATH,
                hint=f"the body must lead from {head.start} to {head.end}",
            )


def _intersection(statement: Statement, head: Atom) -> PathRule | IntersectionRule | None:
    ends = {head.start, head.end}
    if any({atom.start, atom.end} != ends for atom in statement.body):
        return None
    conditions = tuple(dict.fromkeys(_leading_from(head.start, atom) for atom in statement.body))
    if len(conditions) == 1:  # the same atom twice says it once
        return PathRule(conditions, head.relation, statement.quality)
    return IntersectionRule(conditions, head.relation, statement.quality)


def _path(statement: Statement, head: Atom) -> PathRule:
    """Walk from the head's first variable; a closed path leaves no choice at any step."""
    left = list(statement.body)
    here, visited, word = head.start, {head.start}, []
    while here != head.end:
        step = next((atom for atom in left if here in (atom.start, atom.end)), None)
        if step is None:
            _stuck(statement, head, here, left)
        left.remove(step)
        word.append(_leading_from(here, step))
        here = step.end if here == step.start else step.start
        if here in visited:
            _turned_back(statement, head, step, here)
        visited.add(here)
    if left:
        _left_over(statement, head, left[0], visited)
    return PathRule(tuple(word), head.relation, statement.quality)


def _stuck(statement: Statement, head: Atom, here: str, left: list[Atom]) -> NoReturn:
    """No atom goes on from `here`; blame the first unused one, at the argument that is not the path's end."""
    atom = left[0]
    found, at = (atom.start, atom.start_at) if atom.start != head.end else (atom.end, atom.end_at)
    used = [other for other in statement.body if other not in left]
    known = {head.start, *(variable for other in used for variable in (other.start, other.end))}
    apart = not known & {variable for other in left for variable in (other.start, other.end)}
    problem = "disconnected body" if apart else "not a closed path"
    raise statement.line.outside_class(
        f"{problem}: expected {here} here, found {found}", at=at, kind=NOT_A_PATH, hint=_path_hint(head)
    )


def _turned_back(statement: Statement, head: Atom, atom: Atom, here: str) -> NoReturn:
    raise statement.line.outside_class(
        f"not a closed path: the path comes back to {here} here",
        at=atom.end_at if atom.end == here else atom.start_at,
        kind=NOT_A_PATH,
        hint=_path_hint(head),
    )


def _left_over(statement: Statement, head: Atom, atom: Atom, visited: set[str]) -> NoReturn:
    ends = f"{head.start} to {head.end}"
    if visited.isdisjoint((atom.start, atom.end)):
        message = f"disconnected body: this atom shares no variable with the path from {ends}"
    else:
        message = f"not a closed path: the path from {ends} is complete without this atom"
    raise statement.line.outside_class(message, at=atom.at, kind=NOT_A_PATH, hint=_path_hint(head))


def _path_hint(head: Atom) -> str:
    return f"the body must lead from {head.start} to {head.end}, each atom starting where another ends"
