"""From rule text to a `RuleBase`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from reshuffle.errors import InputError, Place
from reshuffle.rules.base import RuleBase, Unread
from reshuffle.rules.formats import anyburl, text
from reshuffle.rules.formats.shape import meaning
from reshuffle.rules.formats.statement import OutsideClassError, SourceLine, Statement, arrow_of
from reshuffle.rules.rule import Disjointness, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator


def parse_rules(source: str, *, file: str = "<text>", skip_unsupported: bool = False) -> RuleBase:
    """The rules of a text, one per line, as `body -> head` or as AnyBURL's `head <= body`.

    Rules outside the class are errors, or with `skip_unsupported` counted in the result's `unread`.

    >>> base = parse_rules("bornIn(X, Y) & cityIn(Y, Z) -> citizenOf(X, Z)  # by birth")
    >>> base.rules
    (PathRule(body=('bornIn', 'cityIn'), head='citizenOf', quality=None),)
    """
    rules: list[Rule] = []
    disjointness: list[Disjointness] = []
    unread: dict[str, list[SourceLine]] = {}
    for line in _lines(source, file):
        try:
            read = meaning(_statement(line))
        except OutsideClassError as error:
            if not skip_unsupported:
                raise
            unread.setdefault(error.kind, []).append(line)
            continue
        if isinstance(read, Disjointness):
            disjointness.append(read)
        else:
            rules.append(read)
    skipped = tuple(Unread(kind, len(lines), str(lines[0])) for kind, lines in unread.items())
    if not rules and not disjointness:
        raise _no_rules(file, skipped)
    return RuleBase(tuple(rules), tuple(disjointness), unread=skipped)


def _lines(source: str, file: str) -> Iterator[SourceLine]:
    """The lines that hold something; only newlines end one, since names may hold other separators."""
    for number, line in enumerate(source.split("\n"), start=1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield SourceLine(file, number, line)


def _statement(line: SourceLine) -> Statement:
    arrow, at = arrow_of(line.text)
    return anyburl.read_line(line, at) if arrow == "<=" else text.read_line(line)


def _no_rules(file: str, skipped: tuple[Unread, ...]) -> InputError:
    if skipped:
        counts = Counter({unread.what: unread.count for unread in skipped})
        left = ", ".join(f"{count} {what}" for what, count in counts.items())
        return InputError(f"no rules left: {left} not read", place=Place(file))
    return InputError(
        "no rules found",
        place=Place(file),
        hint="one rule per line, such as bornIn(X, Y) & cityIn(Y, Z) -> citizenOf(X, Z)",
    )
