"""From a `RuleBase` to the formats that other programs read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from reshuffle.errors import InputError, Place, did_you_mean
from reshuffle.kg.io.files import written_whole
from reshuffle.rules.formats import amie, anyburl, nemo, owl, prolog, souffle
from reshuffle.rules.formats import native as text
from reshuffle.rules.rule import Disjointness, IntersectionRule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reshuffle.rules.class_axioms import ClassAxiom, DisjointClasses
    from reshuffle.rules.rule import Rule, RuleBase


@dataclass(frozen=True)
class Format:
    """A way to write rules; `lacks` is the kind of rule that it cannot express."""

    endings: tuple[str, ...]
    lines: Callable[[RuleBase], Iterator[str]]
    lacks: type[Rule | Disjointness] | None = None


WRITABLE = {
    "text": Format((".rules", ".txt"), text.lines),
    "anyburl": Format((".anyburl",), anyburl.lines, Disjointness),
    "amie": Format((".amie", ".tsv"), amie.lines, Disjointness),
    "nemo": Format((".rls",), nemo.lines, Disjointness),
    "souffle": Format((".dl",), souffle.lines, Disjointness),
    "prolog": Format((".pl",), prolog.lines, Disjointness),
    "owl": Format((".ttl",), owl.lines, IntersectionRule),
}
_ALSO_CALLED = {"datalog": "nemo", "soufflé": "souffle", "turtle": "owl"}


def format_rules(
    base: RuleBase,
    format: str = "text",
    *,
    skip_unsupported: bool = False,
    notes: Callable[[str], None] | None = None,
) -> str:
    """The rules in a format: text, anyburl, amie, nemo (also called datalog), souffle, prolog or owl.

    What a format cannot express is an error, or with `skip_unsupported` left out and told to `notes`.

    >>> from reshuffle.rules import parse_rules
    >>> print(format_rules(parse_rules("r(X, Y) & s(Z, Y) -> t(X, Z)"), "nemo"), end="")
    <t>(?X, ?Z) :- <r>(?X, ?Y), <s>(?Z, ?Y) .
    """
    chosen = _named(format)
    lacking = _inexpressible(base, chosen)
    if lacking:
        message = f"{len(lacking)} of the rules cannot be written as {format}, the first: {lacking[0]}"
        if not skip_unsupported:
            raise InputError(message, hint="leave them out with --skip-unsupported (skip_unsupported=True)")
        if notes:
            notes(message)
        if base.classes is not None and chosen.lines is not owl.lines:
            base = replace(base, given=base.own_rules, classes=None)
    return "".join(f"{line}\n" for line in chosen.lines(base))


def write_rules(
    base: RuleBase,
    path: Path | str,
    *,
    format: str | None = None,
    skip_unsupported: bool = False,
    notes: Callable[[str], None] | None = None,
) -> None:
    """Write the rules to a file, whole or not at all, in the format that its ending or `format` names."""
    chosen = format or format_of(path)
    content = format_rules(base, chosen, skip_unsupported=skip_unsupported, notes=notes)
    with written_whole(path) as aside:
        aside.write_bytes(content.encode())


def _named(name: str) -> Format:
    canonical = _ALSO_CALLED.get(name.lower(), name.lower())
    if canonical not in WRITABLE:
        raise InputError(
            f"'{name}' is not a format rules are written in{did_you_mean(name, WRITABLE)}",
            hint=f"the formats are {', '.join(WRITABLE)}",
        )
    return WRITABLE[canonical]


def _inexpressible(
    base: RuleBase, chosen: Format
) -> list[Rule | Disjointness | ClassAxiom | DisjointClasses]:
    lacking: list[Rule | Disjointness | ClassAxiom | DisjointClasses] = []
    if chosen.lacks is not None:
        lacking += [item for item in (*base.given, *base.disjointness) if isinstance(item, chosen.lacks)]
    if base.classes is not None and chosen.lines is not owl.lines:  # rules have no constants
        lacking += [*base.classes.axioms, *base.classes.disjoint]
    return lacking


def format_of(path: Path | str) -> str:
    """The format that a file's ending names."""
    ending = Path(path).suffix.lower()
    for name, known in WRITABLE.items():
        if ending in known.endings:
            return name
    endings = ", ".join(ending for known in WRITABLE.values() for ending in known.endings)
    raise InputError(
        f"no rule format has the ending '{ending}'", place=Place(str(path)), hint=f"the endings are {endings}"
    )
