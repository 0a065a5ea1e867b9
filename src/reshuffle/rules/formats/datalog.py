"""Shared by the Datalog dialects: clauses, and names for dialects with strict name rules."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from reshuffle.kg.vocabulary import base_relation
from reshuffle.rules.rule import ConstantRule, quoted_text, variables

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from reshuffle.rules.rule import RuleBase

_ESCAPE = re.compile(r"_u([0-9a-f]+)_")
_STRANGE = re.compile(r"[^A-Za-z0-9_]|_(?=u)")
_LEADING = "x"  # a name may not start with an escape, since `_` starts a variable in Prolog


def clauses(
    base: RuleBase,
    written: Callable[[str], str],
    *,
    quoted: Callable[[str], str] = quoted_text,
    prefix: str = "",
    stop: str = ".",
) -> Iterator[str]:
    """One clause `head :- body` per rule; `written` gives a relation's name in the dialect, `quoted` a constant.

    `prefix` stands before every variable, `stop` after every clause.
    """
    for rule in base.given:
        names = [prefix + variable for variable in variables(len(rule.body) + 1)]
        if isinstance(rule, ConstantRule):
            terms = rule.terms([prefix + name for name in variables(rule.num_variables)], quoted)
        else:
            terms = rule.terms(names)
        *body, head = (f"{written(name)}({start}, {end})" for name, start, end in terms)
        yield f"{head} :- {', '.join(body)}{stop}" if body else f"{head}{stop}"


def declared(base: RuleBase) -> dict[str, bool]:
    """Every relation that facts may use, and whether a rule derives it."""
    derived = {base_relation(rule.head) for rule in base.given}
    return {name: name in derived for name in map(base_relation, base.relations)}


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
