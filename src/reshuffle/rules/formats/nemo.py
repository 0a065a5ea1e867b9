"""Datalog as nemo reads it (`.rls`): `<head>(?X, ?Y) :- <body>(?X, ?Y) .`, names as percent-encoded IRIs.

Rules can be read, too; facts and imports are not.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from reshuffle.rules.formats import anyburl
from reshuffle.rules.formats.datalog import clauses
from reshuffle.rules.formats.statement import BRACKETED, QUOTED, unquoted, without_built_in
from reshuffle.rules.rule import Constant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reshuffle.rules.formats.statement import Atom, SourceLine, Statement
    from reshuffle.rules.rule import RuleBase

_ARGUMENT = rf"\s*({QUOTED}|{BRACKETED}|[^(),\"<>\s](?:[^(),\"<>]*[^(),\"<>\s])?)\s*"
_ATOM = re.compile(
    rf"\s*((?:{QUOTED}|{BRACKETED})(?:\^-1)*|[^\s(),&](?:[^(),&]*))\({_ARGUMENT}(?:,{_ARGUMENT})?\)"
)
_QUESTION_MARK = re.compile(rf"{QUOTED}|{BRACKETED}|[(,]\s*(\?\w+)\s*[,)]")
_NAMED = re.compile(r"\?\w+\Z")
_UPPER = re.compile(r"(?:_|[^\W\d_a-z])\w*\Z")
_BUILT_IN = re.compile(rf"{QUOTED}|{BRACKETED}|(!=|\\\+|\\=|[<>=]|(?<![\w)])!|(?<![^\s,&])~|\bnot\b)")
_FULL_STOP = re.compile(r"(?<=\))\s*\.\s*(#.*)?\Z")


def read_line(line: SourceLine, arrow_at: int, argument: Callable[[str], str] | None = None) -> Statement:
    """The statement on a line `head :- body .`: AnyBURL's order, with another arrow and a full stop.

    Unless `argument` says it, a variable is `?name` on a line that has one; elsewhere it is as in Prolog, a word that
    begins with an upper-case letter or `_`.
    """
    _refuse_built_in(line, arrow_at)
    bare = line._replace(text=_FULL_STOP.sub("", line.text))
    if argument is None:
        argument = question_mark if has_question_marks(line.text) else upper_case
    statement = anyburl.read_line(bare, arrow_at, anyburl.Syntax((_ATOM,), argument, needs_body=True))
    head = None if statement.head is None else _decoded(statement.head, line)
    body = tuple(_decoded(atom, line) for atom in statement.body)
    return replace(statement, line=line, body=body, head=head)


def _refuse_built_in(line: SourceLine, arrow_at: int) -> None:
    found = next((match for match in _BUILT_IN.finditer(line.text, arrow_at + 2) if match[1]), None)
    if found is not None:
        raise without_built_in(line, found[1], found.start())


def has_question_marks(text: str) -> bool:
    """Does a text write variables as nemo does?"""
    return any(match[1] for match in _QUESTION_MARK.finditer(text))


def question_mark(written: str) -> str:
    """An argument where `?name` is a variable."""
    return written if _NAMED.match(written) else constant(written)


def upper_case(written: str) -> str:
    """An argument as Prolog reads it: `Person` and `_` are variables."""
    return written if _UPPER.match(written) or _NAMED.match(written) else constant(written)


def constant(written: str) -> Constant:
    """The entity that an argument names."""
    return Constant(unquoted(written))


def _decoded(atom: Atom, line: SourceLine) -> Atom:
    return atom._replace(relation=unquote(atom.relation)) if line.text[atom.at] == "<" else atom


def lines(base: RuleBase) -> Iterator[str]:
    """A Datalog clause for every rule."""
    return clauses(base, written, prefix="?", stop=" .")


def written(relation: str) -> str:
    """A relation as a nemo predicate; always an IRI, since plain words may be functions of nemo.

    >>> written("contains"), written("/film/film genre")
    ('<contains>', '</film/film%20genre>')
    """
    encoded = quote(relation, safe="/")  # `:` too, since nemo looks for a protocol before it
    if encoded.startswith("_"):  # nemo keeps names that start with __ for itself
        encoded = "%5F" + encoded[1:]
    return f"<{encoded}>"


def name_of(predicate: str) -> str:
    """The relation that `written` wrote, with or without its brackets."""
    return unquote(predicate.removeprefix("<").removesuffix(">"))
