"""Datalog as nemo reads it (`.rls`): `<head>(?X, ?Y) :- <body>(?X, ?Y) .`, names as percent-encoded IRIs.

Rules are read, too; what else a program may hold (facts, imports) is not.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from reshuffle.rules.formats import anyburl
from reshuffle.rules.formats.datalog import clauses

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reshuffle.rules.formats.statement import Atom, SourceLine, Statement
    from reshuffle.rules.rule import RuleBase

_FULL_STOP = re.compile(r"(?<=\))\s*\.\s*(#.*)?\Z")


def read_line(line: SourceLine, arrow_at: int) -> Statement:
    """The statement on a line `head :- body .`: AnyBURL's order, with another arrow and a full stop."""
    bare = replace(line, text=_FULL_STOP.sub("", line.text))
    statement = anyburl.read_line(bare, arrow_at)
    head = None if statement.head is None else _decoded(statement.head, line)
    body = tuple(_decoded(atom, line) for atom in statement.body)
    return replace(statement, line=line, body=body, head=head)


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
