"""Write a `RuleBase` in the formats of other programs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from reshuffle.errors import InputError, Place, did_you_mean
from reshuffle.kg.io.files import written_whole
from reshuffle.rules.formats import amie, anyburl, nemo, owl, owl_classes, prolog, souffle
from reshuffle.rules.formats import native as text
from reshuffle.rules.rule import ConstantRule, DisjointEnds, Disjointness, IntersectionRule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reshuffle.rules.rule import Constraint, Rule, RuleBase


@dataclass(frozen=True)
class Format:
    """A way to write rules; `lacks` says which it cannot express."""

    endings: tuple[str, ...]
    lines: Callable[[RuleBase], Iterator[str]]
    lacks: Callable[[Rule | Constraint], bool] = lambda _: False


def _is_constraint(item: Rule | Constraint) -> bool:
    return isinstance(item, Disjointness | DisjointEnds)


def _is_no_path(item: Rule | Constraint) -> bool:
    """AMIE's rules have a body."""
    return _is_constraint(item) or (isinstance(item, ConstantRule) and not item.atoms)


def _is_no_axiom(item: Rule | Constraint) -> bool:
    """OWL has no intersections of properties, and few of the rules with constants."""
    if isinstance(item, ConstantRule):
        return owl_classes.statement_of(item) is None
    return isinstance(item, IntersectionRule) or (
        isinstance(item, DisjointEnds) and not owl_classes.is_of_classes(item)
    )


WRITABLE = {
    "text": Format((".rules", ".txt"), text.lines),
    "anyburl": Format((".anyburl",), anyburl.lines, _is_constraint),
    "amie": Format((".amie", ".tsv"), amie.lines, _is_no_path),
    "nemo": Format((".rls",), nemo.lines, _is_constraint),
    "souffle": Format((".dl",), souffle.lines, _is_constraint),
    "prolog": Format((".pl",), prolog.lines, _is_constraint),
    "owl": Format((".ttl",), owl.lines, _is_no_axiom),
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
        left = set(lacking)
        base = replace(
            base,
            given=tuple(rule for rule in base.given if rule not in left),
            disjointness=tuple(pair for pair in base.disjointness if pair not in left),
        )
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


def _inexpressible(base: RuleBase, chosen: Format) -> list[Rule | Constraint]:
    return [item for item in (*base.given, *base.disjointness) if chosen.lacks(item)]


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
