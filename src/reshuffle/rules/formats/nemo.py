"""Datalog as nemo reads it (`.rls`): `head(?X, ?Y) :- body(?X, ?Y) .`, odd names as percent-encoded IRIs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from reshuffle.rules.formats.terms import terms
from reshuffle.rules.rule import variables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reshuffle.rules.base import RuleBase

_PLAIN = re.compile(r"[a-z][A-Za-z0-9_]*\Z")
_IN_IRI = (
    "/:#?&=+@!$'()*,;[]"  # what an IRI may hold as it is; % is not among them, so that the way back is clear
)


def lines(base: RuleBase) -> Iterator[str]:
    """One Datalog rule per rule."""
    for rule in base.given:
        names = [f"?{variable}" for variable in variables(len(rule.body) + 1)]
        *body, head = (f"{written(name)}({start}, {end})" for name, start, end in terms(rule, names))
        yield f"{head} :- {', '.join(body)} ."


def written(relation: str) -> str:
    """A relation as a nemo predicate.

    >>> written("bornIn"), written("/film/film genre")
    ('bornIn', '</film/film%20genre>')
    """
    return relation if _PLAIN.match(relation) else f"<{quote(relation, safe=_IN_IRI)}>"


def name_of(predicate: str) -> str:
    """The relation that `written` wrote, with or without its brackets."""
    return unquote(predicate.removeprefix("<").removesuffix(">"))
