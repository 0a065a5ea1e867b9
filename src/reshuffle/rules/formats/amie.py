"""AMIE's output: `?a  <r1>  ?b  ?b  <r2>  ?c   => ?a  <r>  ?c` and seven columns, between log lines.

The columns are head coverage, standard confidence, PCA confidence, positive examples, body size, PCA body
size and the functional variable. `Quality` keeps positive examples, body size and standard confidence.
"""

from __future__ import annotations

import math
import re
from contextlib import suppress
from typing import TYPE_CHECKING

from reshuffle.rules.formats.statement import Atom, SourceLine, Statement, relation_name, unquoted
from reshuffle.rules.rule import Constant, ConstantRule, Quality, quoted_text
from reshuffle.text import HIDDEN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reshuffle.errors import InputError
    from reshuffle.rules.rule import RuleBase

_HEADER = (
    "Rule", "Head Coverage", "Std Confidence", "PCA Confidence",
    "Positive Examples", "Body size", "PCA Body size", "Functional variable",
)  # fmt: skip
_QUOTED_NAME = r'"(?:\\.|[^"\\])*"(?:\^-1)*|<[^<>]*>(?:\^-1)*'
# AMIE puts two blanks between the parts of an atom, so that a name may hold one; hand-written files may not.
_WIDE = re.compile(rf"{_QUOTED_NAME}|\S+(?: \S+)*")
_NARROW = re.compile(rf"{_QUOTED_NAME}|\S+")
_UNBRACKETED = re.compile(rf'[<>{HIDDEN}"\\]|\A=')
_VARIABLE = re.compile(r"\?\w+\Z")
_HINT = "an atom of AMIE is written ?a  relation  ?b"
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def is_header(text: str) -> bool:
    """Is this the line of column names that `lines` writes?"""
    return text.split("\t") == list(_HEADER)


def read_line(line: SourceLine, arrow_at: int) -> Statement:
    """The statement on a line `body => head [columns]`, whose arrow stands at an offset."""
    rule, *columns = line.text.rstrip("\r\n").split("\t")
    body = _atoms(line, 0, arrow_at, "body")
    head = _atoms(line, arrow_at + 2, len(rule), "head")
    if len(head) != 1:
        raise line.error("a rule has one head", at=head[1].start_at, hint="write one rule per head")
    return Statement(line, tuple(body), head[0], _quality(line, columns, len(rule)))


def lines(base: RuleBase) -> Iterator[str]:
    """AMIE's header and its eight columns; what `Quality` does not hold stays empty."""
    yield "\t".join(_HEADER)
    for rule in base.given:
        names = [_variable(index) for index in range(2 * len(rule.body) + 2)]
        if isinstance(rule, ConstantRule):
            terms = rule.terms(names, _written)
        else:
            terms = rule.terms(names[: len(rule.body) + 1])
        *body, head = (f"{start}  {_written(name)}  {end}" for name, start, end in terms)
        yield "\t".join((f"{'  '.join(body)}   => {head}", *_columns(rule.quality or Quality())))


def _atoms(line: SourceLine, start: int, end: int, what: str) -> list[Atom]:
    parts = list(_WIDE.finditer(line.text, start, end))
    if len(parts) % 3:
        parts = list(_NARROW.finditer(line.text, start, end))
    if not parts:
        raise line.error(f"missing {what}", at=min(start, len(line.text.rstrip())), hint=_HINT)
    if len(parts) % 3:
        raise line.error(
            f"wrong arity: {len(parts)} parts in the {what}, and three make an atom",
            at=parts[0].start(),
            hint=_HINT,
        )
    return [_atom(*parts[index : index + 3]) for index in range(0, len(parts), 3)]


def _atom(start: re.Match[str], relation: re.Match[str], end: re.Match[str]) -> Atom:
    ends = _argument(start[0]), _argument(end[0])
    return Atom(relation_name(relation[0]), *ends, relation.start(), start.start(), end.start())


def _argument(written: str) -> str:
    return written if _VARIABLE.match(written) else Constant(unquoted(written))


def _quality(line: SourceLine, columns: list[str], at: int) -> Quality | None:
    if not columns:
        return None
    if len(columns) != len(_HEADER) - 1:
        raise _odd_columns(line, f"expected {len(_HEADER)} with the rule, found {len(columns) + 1}", at)
    _, confidence, _, support, predictions, _, _ = columns
    quality = Quality(_count(line, predictions, at), _count(line, support, at), _number(line, confidence, at))
    return None if quality == Quality() else quality


def _count(line: SourceLine, written: str, at: int) -> int | None:
    number = _number(line, written, at)  # AMIE writes some counts as 12.0
    return None if number is None else int(number)


def _number(line: SourceLine, written: str, at: int) -> float | None:
    if not written.strip():
        return None
    with suppress(ValueError):
        number = float(written.replace(",", "."))  # AMIE writes numbers in the locale of its machine
        if math.isfinite(number):
            return number
    raise _odd_columns(line, f"expected a number, found '{written}'", at)


def _odd_columns(line: SourceLine, problem: str, at: int) -> InputError:
    return line.error(
        f"unknown columns: {problem}",
        at=at,
        hint="after the rule AMIE writes head coverage, confidence, PCA confidence, positive examples,"
        " body size, PCA body size and the functional variable",
    )


def _columns(quality: Quality) -> list[str]:
    values = ("", quality.confidence, "", quality.support, quality.predictions, "", "?a")
    return ["" if value is None else str(value) for value in values]


def _variable(index: int) -> str:
    number = index // len(_LETTERS)
    return f"?{_LETTERS[index % len(_LETTERS)]}{number or ''}"


def _written(relation: str) -> str:
    return quoted_text(relation) if _UNBRACKETED.search(relation) else f"<{relation}>"
