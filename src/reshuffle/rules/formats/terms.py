"""What the writers share: a rule's atoms with variables, and names for languages that are strict on them."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from reshuffle.kg import inverse_name
from reshuffle.kg.inverses import INVERSE_SUFFIX
from reshuffle.rules.rule import IntersectionRule

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from reshuffle.rules.rule import Rule

Term = tuple[str, str, str]

_ESCAPE = re.compile(r"_u([0-9a-f]+)_")
_STRANGE = re.compile(r"[^A-Za-z0-9_]|_(?=u)")
_LEADING = "x"  # a name may not start with an escape, since `_` starts a variable in Prolog


def terms(rule: Rule, variables: Sequence[str]) -> Iterator[Term]:
    """(relation, start, end) of each body atom and then of the head; inverse relations are turned around.

    >>> from reshuffle.rules import PathRule
    >>> list(terms(PathRule(("r", "s^-1"), "t"), "XYZ"))
    [('r', 'X', 'Y'), ('s', 'Z', 'Y'), ('t', 'X', 'Z')]
    """
    if isinstance(rule, IntersectionRule):
        variables = (variables[0], variables[-1])
        ends = [(variables[0], variables[1])] * len(rule.body)
    else:
        ends = list(itertools.pairwise(variables))
    for relation, (start, end) in zip(rule.body, ends, strict=True):
        yield _turned(relation, start, end)
    yield _turned(rule.head, variables[0], variables[-1])


def _turned(relation: str, start: str, end: str) -> Term:
    if relation.endswith(INVERSE_SUFFIX):
        return inverse_name(relation), end, start
    return relation, start, end


def identifier(name: str, *, reserved: Collection[str] = ()) -> str:
    """A name as a lower-case ASCII identifier, one to one; `name_of` is the way back.

    >>> identifier("bornIn"), identifier("/film/genre"), identifier("Person")
    ('bornIn', 'x_u2f_film_u2f_genre', 'x_u50_erson')
    """
    written = _STRANGE.sub(_escaped, name)
    if re.match("[a-z]", written) and not written.startswith(f"{_LEADING}_u") and name not in reserved:
        return written
    return f"{_LEADING}_u{ord(name[0]):x}_{_STRANGE.sub(_escaped, name[1:])}"


def _escaped(match: re.Match[str]) -> str:
    return f"_u{ord(match[0]):x}_"


def name_of(written: str) -> str:
    """The name that `identifier` wrote.

    >>> name_of("x_u2f_film_u2f_genre")
    '/film/genre'
    """
    if written.startswith(_LEADING + "_u"):
        written = written[len(_LEADING) :]
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)), written)
