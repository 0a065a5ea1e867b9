"""What every reader of rule lines produces: atoms that know their columns, and errors that point there."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from reshuffle.errors import InputError, Place
from reshuffle.kg import inverse_name
from reshuffle.rules.rule import Quality

if TYPE_CHECKING:
    from collections.abc import Iterable

SKIP_HINT = "--skip-unsupported (skip_unsupported=True) reads on and counts them"
QUOTED = r'"(?:\\.|[^"\\])*"'
BRACKETED = r"<[^<>=][^<>]*>"  # not `<=`, which is an arrow

_UNKNOWN = "-"
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
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

    def error(self, message: str, *, at: int, hint: str | None = None) -> InputError:
        """The error for a mistake at an offset of the line."""
        return InputError(message, place=self._place(at), source=self._shown, hint=hint)

    def outside_class(self, message: str, *, at: int, kind: str, hint: str) -> OutsideClassError:
        """The error for a rule that can be read but is outside the class."""
        error = OutsideClassError(message, place=self._place(at), source=self._shown, hint=hint)
        error.kind = kind
        return error

    def _place(self, at: int) -> Place:
        return Place(self.file, self.number, at + 1)

    @property
    def _shown(self) -> str:
        # A tab is one column of the source line, and must be one column on the screen for the caret to fit.
        return self.text.rstrip().replace("\t", " ")

    def __str__(self) -> str:
        return f"{self.file}:{self.number}: {self.text.strip()}"


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
        return _ESCAPE.sub(lambda match: _ESCAPED.get(match[1], match[1]), text[1:-1])
    if len(text) > 1 and text[0] == "<" and text[-1] == ">":
        return text[1:-1]
    return text


def _read_columns(line: SourceLine, start: int, end: int) -> Quality | None:
    """AnyBURL's three leading columns between two offsets: predictions, support, confidence."""
    fields = line.text[start:end].split("\t")[:-1]
    if not fields:
        return None
    if len(fields) != 3:
        raise _odd_columns(line, f"found {len(fields)}", start)
    try:
        predictions, support = (None if field.strip() == _UNKNOWN else int(field) for field in fields[:2])
        confidence = None if fields[2].strip() == _UNKNOWN else float(fields[2])
    except ValueError:
        raise _odd_columns(line, "found " + ", ".join(repr(field) for field in fields), start) from None
    return Quality(predictions, support, confidence)


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
