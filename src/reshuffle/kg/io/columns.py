"""Find the head, relation and tail columns of a table: by given names, or by common names.

>>> columns_of(["tail", "weight", "relation", "head"]).places
(3, 2, 0)
>>> columns_of(["s", "p", "o"]).names
('s', 'p', 'o')
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reshuffle.errors import InputError
from reshuffle.kg.rows import COLUMNS
from reshuffle.progress import UNHEARD
from reshuffle.text import counted

if TYPE_CHECKING:
    from reshuffle.errors import Place
    from reshuffle.progress import Notes

# What columns are called elsewhere: in RDF, in graph libraries and databases, and by their first letters.
_KNOWN = {
    "head": ("head", "subject", "source", "from", "start", "s", "h", ":start_id"),
    "relation": ("relation", "predicate", "type", "property", "edge", "p", "r", ":type"),
    "tail": ("tail", "object", "target", "to", "end", "o", "t", ":end_id"),
}
COMMON_NAMES = {name: column for column, names in _KNOWN.items() for name in names}
"""What each of these names stands for: head, relation or tail."""
_LISTED = 8  # columns that a message names
HINT = (
    "say which columns hold the head, the relation and the tail: --columns HEAD,RELATION,TAIL "
    "(columns=('HEAD', 'RELATION', 'TAIL'))"
)


@dataclass(frozen=True)
class ChosenColumns:
    """The columns of head, relation and tail, by place and by name, and the names of all others."""

    places: tuple[int, int, int]
    names: tuple[str, str, str]
    others: tuple[str, ...]

    @property
    def in_order(self) -> bool:
        """Are there three columns, in the order head, relation, tail?"""
        return self.places == (0, 1, 2) and not self.others

    @property
    def passed_over(self) -> str | None:
        """A note that names the other columns; None where there are none."""
        if not self.others:
            return None
        more = ", ..." if len(self.others) > _LISTED else ""
        return f"{counted(len(self.others), 'column')} skipped: {', '.join(self.others[:_LISTED])}{more}"


@dataclass(frozen=True)
class WantedColumns:
    """Which columns hold triples, as far as the user says it."""

    wanted: Sequence[str] | None
    notes: Notes

    def chosen(self, header: list[str], place: Place) -> ChosenColumns:
        """The columns of a header; a note names those that are skipped."""
        chosen = columns_of(header, self.wanted, place=place)
        if chosen.passed_over is not None:
            self.notes(f"{place.file}: {chosen.passed_over}")
        return chosen

    def in_order(self, header: list[str]) -> bool:
        """Does a header name head, relation and tail in this order, and nothing else?"""
        try:
            return columns_of(header, self.wanted).in_order and not any(
                name != name.strip() for name in header
            )
        except InputError:
            return False


BY_COMMON_NAMES = WantedColumns(None, UNHEARD)


def columns_of(
    found: Sequence[str], wanted: Sequence[str] | None = None, *, place: Place | None = None
) -> ChosenColumns:
    """The columns that hold triples; raises `InputError` where that is not clear."""
    names = COLUMNS if wanted is None else checked_columns(wanted)
    chosen = _recognised(found, place) if wanted is None else _named(found, names, place)
    if chosen is None:
        raise InputError(
            f"found the columns {_listed(found)}; expected {', '.join(names)}", place=place, hint=HINT
        )
    others = tuple(name for number, name in enumerate(found) if number not in chosen)
    return ChosenColumns(chosen, (found[chosen[0]], found[chosen[1]], found[chosen[2]]), others)


def by_role(header: Sequence[str]) -> str:
    """The names of a header as `--columns` takes them: head, relation, tail."""
    return ",".join(columns_of(header).names)


def checked_columns(wanted: Sequence[str]) -> tuple[str, str, str]:
    """Three different names, as a user gives them: in a sequence, or as one text with commas between them.

    Columns of a frame without names have numbers, which tables write as text.
    """
    given = wanted.split(",") if isinstance(wanted, str) else wanted
    found: list[object] = [*given] if isinstance(given, Sequence) else []
    kind = int if all(type(name) is int for name in found) else str
    names = [str(name).strip() if isinstance(name, kind) else "" for name in found]
    if len(names) != 3 or len(set(names)) != 3 or not all(names):
        raise InputError(f"found columns = {wanted!r}, expected the names of three columns", hint=HINT)
    return names[0], names[1], names[2]


def _named(found: Sequence[str], wanted: Sequence[str], place: Place | None) -> tuple[int, int, int] | None:
    counts = Counter(found)
    if any(not counts[name] for name in wanted):
        return None
    for name in wanted:
        if counts[name] > 1:
            raise InputError(
                f"found the column {name} more than once", place=place, hint="rename one of them"
            )
    return found.index(wanted[0]), found.index(wanted[1]), found.index(wanted[2])


def _recognised(found: Sequence[str], place: Place | None) -> tuple[int, int, int] | None:
    if set(COLUMNS) <= set(found):
        return _named(found, COLUMNS, place)
    lowered = [str(name).strip().casefold() for name in found]
    meant = [COMMON_NAMES.get(name) for name in lowered]
    roles = [[number for number, role in enumerate(meant) if role == column] for column in COLUMNS]
    if not all(roles):
        return None
    for column, numbers in zip(COLUMNS, roles, strict=True):
        if len(numbers) > 1:
            both = " and ".join(found[number] for number in numbers)
            raise InputError(f"the columns {both} could both hold the {column}", place=place, hint=HINT)
    return roles[0][0], roles[1][0], roles[2][0]


def _listed(found: Sequence[str]) -> str:
    names = [str(name) for name in found]
    return ", ".join(names[:_LISTED]) + (", ..." if len(names) > _LISTED else "") if names else "none"
