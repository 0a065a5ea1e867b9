"""What every reader of rule lines produces, and what kind of rule it is.

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
from reshuffle.rules.rule import VARIABLE, Disjointness, IntersectionRule, PathRule, Quality

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reshuffle.rules.rule import Rule

SKIP_HINT = "--skip-unsupported (skip_unsupported=True) reads on and counts them"
QUOTED = r'"(?:\\.|[^"\\])*"'
BRACKETED = r"<[^<>=][^<>]*>"  # not `<=`, which is an arrow

_UNKNOWN = "-"
_ESCAPE = re.compile(r"\\(?:u([0-9a-f]{4})|(.))", re.DOTALL)
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t"}


class OutsideClassError(InputError):
    """A well-formed rule that is not one of our kinds; `kind` names such rules in the plural."""

    kind = "rules outside the class"


@dataclass(frozen=True)
class SourceLine:
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


def statement_of(
    line: SourceLine,
    body: Iterable[re.Match[str]],
    head: re.Match[str] | None,
    columns: tuple[int, int],
) -> Statement:
    """The statement of a line whose atoms and leading columns have been found.

    The groups of an atom's match are its relation and its two arguments; `columns` are two offsets.
    """
    atoms = tuple(_atom(match) for match in body)
    return Statement(line, atoms, None if head is None else _atom(head), _read_columns(line, *columns))


def _atom(match: re.Match[str]) -> Atom:
    name, start, end = match[1].strip(), match[2], match[3]
    return Atom(relation_name(name), start, end, match.start(1), match.start(2), match.start(3))


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
        predictions, support = (None if field.strip() == _UNKNOWN else int(field) for field in fields[:2])
        confidence = None if fields[2].strip() == _UNKNOWN else _finite(fields[2])
    except ValueError:
        raise _odd_columns(line, "found " + ", ".join(repr(field) for field in fields), start) from None
    return Quality(predictions, support, confidence)


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


NOT_A_PATH = "rules that are not closed paths"
WITH_CONSTANTS = "rules with constants"
REPEATING = "rules with the same variable twice in an atom"
WIDE_CONSTRAINT = "constraints that are not two atoms over the same variables"


def meaning(statement: Statement) -> Rule | Disjointness:
    """The rule that a statement writes, or an error that points at the first atom which does not fit.

    The head of the result is never an inverse relation: such a rule is read from its second variable.
    """
    for atom in statement.body if statement.head is None else (*statement.body, statement.head):
        _check_arguments(statement, atom)
    if statement.head is None:
        return _disjointness(statement)
    _check_head_variables(statement, statement.head)
    rule = _intersection(statement, statement.head) or _path(statement, statement.head)
    return rule.reversed() if is_inverse(rule.head) else rule


def is_variable(argument: str) -> bool:
    """Is the argument one upper-case letter with optional digits, or `?name`?

    >>> is_variable("X"), is_variable("Z12"), is_variable("?who"), is_variable("London")
    (True, True, True, False)
    """
    return VARIABLE.match(argument) is not None


def with_names_apart(statement: Statement) -> Statement:
    """The same statement; a plain word may not be both a relation and a variable of one rule."""
    atoms = statement.body if statement.head is None else (*statement.body, statement.head)
    variables = {variable for atom in atoms for variable in (atom.start, atom.end)}
    for atom in atoms:
        written_plain = statement.line.text[atom.at] not in '"<'
        if written_plain and atom.relation in variables and is_variable(atom.relation):
            raise statement.line.error(
                f"{atom.relation} is used as a relation and as a variable",
                at=atom.at,
                hint=f'rename the variable, or write the relation as "{atom.relation}"',
            )
    return statement


def _check_arguments(statement: Statement, atom: Atom) -> None:
    for argument, at in ((atom.start, atom.start_at), (atom.end, atom.end_at)):
        if not is_variable(argument):
            raise statement.line.outside_class(
                f"constant {argument} in an atom: arguments are variables,"
                " one upper-case letter with optional digits or ?name",
                at=at,
                kind=WITH_CONSTANTS,
                hint=f"rules with constants, as AnyBURL mines them, are outside the class; {SKIP_HINT}",
            )
    if atom.start == atom.end:
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


def _intersection(statement: Statement, head: Atom) -> Rule | None:
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
