"""Datalog as nemo reads it (`.rls`): `<head>(?X, ?Y) :- <body>(?X, ?Y) .`, names as percent-encoded IRIs."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from reshuffle.rules.formats.terms import terms
from reshuffle.rules.rule import variables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reshuffle.rules.base import RuleBase

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
