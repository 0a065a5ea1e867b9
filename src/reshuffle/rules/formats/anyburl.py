"""AnyBURL's syntax: `predictions<TAB>support<TAB>confidence<TAB>head <= body`.

A name runs to its parenthesis, so it needs no quotes; where it has them they are taken off.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from reshuffle.rules.formats.statement import BRACKETED, QUOTED, statement_of, written_columns
from reshuffle.rules.rule import quoted_text
from reshuffle.text import HIDDEN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reshuffle.errors import InputError
    from reshuffle.rules.formats.statement import SourceLine, Statement
    from reshuffle.rules.rule import RuleBase

# Blanks belong to one part of a pattern only: where two could take them, a line of blanks takes quadratic time.
_WITHIN_ATOM = r"(?:(?!\)\s*[,&]).)"  # a name or constant never runs on into the next atom
_NAME = rf"((?:{QUOTED}|{BRACKETED})(?:\^-1)*|(?=\S){_WITHIN_ATOM}+?)"
_VARIABLE = r"\s*([A-Z][0-9]*|\?\w+)\s*"
_ATOM = re.compile(rf"\s*{_NAME}\({_VARIABLE},{_VARIABLE}\)")
# Constants are entity names as they stand in the data, blanks, commas and parentheses included.
_CONSTANT = rf"\s*({QUOTED}|(?=\S){_WITHIN_ATOM}+?(?<=\S))\s*"
_ATOM_WITH_CONSTANTS = re.compile(rf"\s*([^\s(][^(]*)\({_CONSTANT},{_CONSTANT}\)(?=\s*(?:[,&#]|\Z))")
_LONGEST = 10_000  # of an atom with constants: each comma in it may be the one between them
_SEPARATOR = re.compile(r"\s*[,&]\s*")
_FALSE = re.compile(r"\s*false\s*\Z")
_END = re.compile(r"\s*(#.*)?\Z")
# Names that reach their parenthesis without being taken for a quote, a comment, an arrow or another atom.
# A brace in front would make the file look like JSON.
_BARE = re.compile(rf"""[^\s{HIDDEN}"<#()&,{{](?:[^{HIDDEN}"<()&,]*[^\s{HIDDEN}"<()&,])?\Z""")
_INNER = "ABCDEFGHIJKLMNOPQRSTUVW"  # AnyBURL's variables between X and Y
_COLUMNS = re.compile(r"\s*((?:[^\t]*\t)*)")


def read_line(line: SourceLine, arrow_at: int) -> Statement:
    """The statement on a line `[columns] head <= body`, whose arrow stands at an offset."""
    columns = _COLUMNS.match(line.text, 0, arrow_at)
    assert columns is not None
    body = _body(line, arrow_at + 2, _form(line, arrow_at))
    return statement_of(line, body, _head(line, columns.end(), arrow_at), columns.span(1))


def lines(base: RuleBase) -> Iterator[str]:
    """`columns head <= body` for every rule; AnyBURL has no constraints."""
    for rule in base.given:
        *body, head = (_written(*term) for term in rule.terms(_variables(len(rule.body) + 1)))
        yield f"{written_columns(rule.quality)}{head} <= {', '.join(body)}"


def _variables(count: int) -> list[str]:
    """X, A, B, ..., Y: the head's variables are X and Y, as AnyBURL writes them."""
    inner = [
        _INNER[index % len(_INNER)] + (str(index // len(_INNER)) if index >= len(_INNER) else "")
        for index in range(count - 2)
    ]
    return ["X", *inner, "Y"]


def _written(relation: str, start: str, end: str) -> str:
    name = relation if _BARE.match(relation) else quoted_text(relation)
    return f"{name}({start},{end})"


def _head(line: SourceLine, at: int, arrow_at: int) -> re.Match[str] | None:
    if _FALSE.match(line.text, at, arrow_at):
        return None
    if not line.text[at:arrow_at].strip():
        raise line.error("missing head", at=at, hint=_form(line, arrow_at))
    atom = _atom(line, at, arrow_at)
    end = atom.end()
    if line.text[end:arrow_at].strip():
        raise line.error(
            f"expected '{line.text[arrow_at : arrow_at + 2]}' here, found '{line.text[end:arrow_at].strip()}'",
            at=arrow_at - len(line.text[end:arrow_at].lstrip()),
            hint=f"a rule has one head; {_form(line, arrow_at)}",
        )
    return atom


def _form(line: SourceLine, arrow_at: int) -> str:
    """How such a rule is written: Datalog has the same order with another arrow."""
    arrow = line.text[arrow_at : arrow_at + 2]
    return f"{'an AnyBURL' if arrow == '<=' else 'a Datalog'} rule is written head {arrow} body"


def _body(line: SourceLine, at: int, form: str) -> list[re.Match[str]]:
    if _END.match(line.text, at):
        raise line.outside_class(
            "missing body",
            at=min(at, len(line.text.rstrip())),
            kind="rules without a body",
            hint=f"{form}; rules without a body are outside the class",
        )
    atoms = []
    while True:
        atoms.append(_atom(line, at, len(line.text)))
        at = atoms[-1].end()
        if _END.match(line.text, at):
            return atoms
        separator = _SEPARATOR.match(line.text, at)
        if separator is None:
            raise _no_separator(line, at)
        at = separator.end()


def _atom(line: SourceLine, at: int, end: int) -> re.Match[str]:
    match = _ATOM.match(line.text, at, end)
    match = match or _ATOM_WITH_CONSTANTS.match(line.text, at, min(end, at + _LONGEST))
    if match is None:
        raise _why_no_atom(line, at, end)
    return match


def _why_no_atom(line: SourceLine, at: int, end: int) -> InputError:
    text = line.text[at:end]
    start = at + len(text) - len(text.lstrip())
    hint = "an atom is written relation(X,Y); a name runs to its parenthesis"
    if not text.strip():
        return line.error("missing atom", at=min(start, len(line.text.rstrip())), hint=hint)
    name, opening, inside = text.partition("(")
    if opening and ")" not in inside:
        return line.error(
            "unbalanced parentheses: this '(' is not closed", at=at + len(name), hint="add the missing ')'"
        )
    if not opening:
        return line.error(f"expected an atom here, found '{text.strip()}'", at=start, hint=hint)
    arguments = inside.partition(")")[0].split(",")
    if len(arguments) == 2:
        return line.error(f"the arguments of {name.strip()} cannot be read", at=at + len(name) + 1, hint=hint)
    plural = "" if len(arguments) == 1 else "s"
    return line.error(
        f"wrong arity: {name.strip()} has {len(arguments)} argument{plural} here, and needs 2",
        at=start,
        hint="relations are binary: relation(X,Y)",
    )


def _no_separator(line: SourceLine, at: int) -> InputError:
    rest = line.text[at:].lstrip()
    start = len(line.text) - len(rest)
    if rest.startswith(")"):
        return line.error(
            "unbalanced parentheses: this ')' closes nothing",
            at=start,
            hint="remove it, or add the missing '('",
        )
    return line.error(f"expected ',' here, found '{rest[0]}'", at=start, hint="atoms are separated by commas")
