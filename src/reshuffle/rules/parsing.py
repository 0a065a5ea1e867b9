"""From rule text, rule files and lists of rules to a `RuleBase`, whatever the format."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from reshuffle.errors import InputError, Place, did_you_mean
from reshuffle.kg.io.files import GZIP_ERRORS, broken_gzip, files_inside, find_source
from reshuffle.rules.class_axioms import ClassAxiom, ClassAxioms, DisjointClasses
from reshuffle.rules.formats import amie, anyburl, nemo, owl
from reshuffle.rules.formats import native as text
from reshuffle.rules.formats.statement import BRACKETED, QUOTED, OutsideClassError, SourceLine, meaning
from reshuffle.rules.rule import Disjointness, IntersectionRule, PathRule, Rule, RuleBase, Unread

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reshuffle.rules.formats.statement import Statement

READABLE = ("text", "anyburl", "amie", "nemo", "owl")
ONTOLOGY_ENDINGS = (".ttl", ".owl", ".rdf", ".nt")
WRITTEN_ONLY = {".dl": "Soufflé", ".pl": "Prolog"}
LOG_LINES = "log lines"
_ARROW = re.compile(rf"{QUOTED}|(<=|->|=>|:-)|{BRACKETED}")
_EXAMPLE = "bornIn(X, Y) & cityIn(Y, Z) -> citizenOf(X, Z)"
_LARGEST = 1 << 29  # bytes of a rule file, unpacked
_OPENING = 5  # lines that tell triples from rules

Confidence = Literal["file", "recomputed"]

_READERS: dict[str, Callable[[SourceLine, int], Statement]] = {
    "text": lambda line, _: text.read_line(line),  # which meets its arrow on its way
    "anyburl": anyburl.read_line,
    "amie": amie.read_line,
    "nemo": nemo.read_line,
}


class _WrittenLine(NamedTuple):
    """A line of a rule file, the format that its arrow tells, and the arrow's offset."""

    line: SourceLine
    format: str
    arrow_at: int


def parse_rules(
    source: str,
    *,
    file: str = "<text>",
    skip_unsupported: bool = False,
    confidence: Confidence = "file",
) -> RuleBase:
    """The rules of a text, a line each: `body -> head`, AnyBURL's `head <= body`, Datalog's `head :- body.`, or AMIE's.

    Rules outside the class are errors, or with `skip_unsupported` counted in the result's `unread`.
    `confidence` is the file's, or recomputed from the file's counts as PyClause does.

    >>> base = parse_rules("bornIn(X, Y) & cityIn(Y, Z) -> citizenOf(X, Z)  # by birth")
    >>> base.rules
    (PathRule(body=('bornIn', 'cityIn'), head='citizenOf', quality=None),)
    """
    read: list[Rule | Disjointness] = []
    skipped: defaultdict[str, list[SourceLine]] = defaultdict(list)
    written = _written_lines(source, file)
    _refuse_triples(written, file)
    is_amie = any(line.format == "amie" for line in written)
    for line, format_, arrow_at in written:
        if is_amie and format_ != "amie":
            if not amie.is_header(line.text):
                skipped[LOG_LINES].append(line)
            continue
        try:
            read.append(meaning(_READERS[format_](line, arrow_at)))
        except OutsideClassError as error:
            if not skip_unsupported:
                raise
            skipped[error.kind].append(line)
    unread = [Unread(kind, len(lines), str(lines[0])) for kind, lines in skipped.items()]
    return _base(read, unread, file, confidence)


def read_rules(
    path: Path | str,
    *,
    format: str | None = None,
    skip_unsupported: bool = False,
    confidence: Confidence = "file",
    notes: Callable[[str], None] | None = None,
) -> RuleBase:
    """The rules of a file, in a format told by its ending and content unless named.

    What is not read is counted in the result's `unread`, and told to `notes` one sentence at a time.
    """
    path = Path(path)
    kind = _checked(format) if format else _format_of(path)
    content = _content(path)
    if kind == "owl":
        base = _base(*owl.read(content, str(path)), str(path), confidence)
    else:
        source = _decoded(content, str(path))
        base = parse_rules(source, file=str(path), skip_unsupported=skip_unsupported, confidence=confidence)
    if notes:
        for unread in base.unread:
            notes(str(unread))
    return base


def _written_lines(source: str, file: str) -> list[_WrittenLine]:
    """The lines that hold something; only newlines end one, since names may hold other separators."""
    return [
        _WrittenLine(SourceLine(file, number, line), *_format_and_arrow(line))
        for number, line in enumerate(source.split("\n"), start=1)
        if line.strip() and not line.lstrip().startswith("#")
    ]


def _format_and_arrow(text: str) -> tuple[str, int]:
    """The format of a line, told by its arrow, and the arrow's offset."""
    arrow, at = arrow_of(text)
    if arrow == "<=":
        return "anyburl", at
    if arrow == "=>" and text.lstrip().startswith("?"):
        return "amie", at
    if arrow == ":-" and text[:at].rstrip().endswith(")"):  # a plain word may hold one, too
        return "nemo", at
    return "text", at


def arrow_of(text: str) -> tuple[str, int]:
    """The arrow of a rule and its offset, or ("", -1): the first after an atom, since a name may hold another.

    >>> arrow_of('"a -> b"(X, Y) <= c(X, Y)'), arrow_of("city->country(X,Y) <= in(X,Y)")
    (('<=', 15), ('<=', 19))
    """
    arrows = [match for match in _ARROW.finditer(text) if match[1]]
    after_atom = (match for match in arrows if text[: match.start()].rstrip().endswith((")", "false")))
    arrow = next(after_atom, arrows[0] if arrows else None)
    return (arrow[1], arrow.start()) if arrow else ("", -1)


def _refuse_triples(written: Sequence[_WrittenLine], file: str) -> None:
    """Refuse facts where rules belong: each of their lines would be a strange kind of rule."""
    opening = written[:_OPENING]
    if opening and all(_is_triple(line.line.text) and line.format != "amie" for line in opening):
        raise InputError(
            "this looks like triples, not rules",
            place=Place(file),
            hint=f"rules are lines such as {_EXAMPLE}; infer and explain take the rules first, then the facts",
        )


def _is_triple(text: str) -> bool:
    """Does the line have three columns and no parenthesis, which all rules have but AMIE's?"""
    columns = text.strip().split("\t" if "\t" in text else ",")
    return len(columns) == 3 and all(columns) and "(" not in text


def _base(
    read: Iterable[Rule | Disjointness | ClassAxiom | DisjointClasses],
    unread: Sequence[Unread],
    file: str,
    confidence: Confidence,
) -> RuleBase:
    rules: list[Rule] = []
    disjointness: list[Disjointness] = []
    of_classes: list[ClassAxiom | DisjointClasses] = []
    for item in read:
        if isinstance(item, Disjointness):
            disjointness.append(item)
        elif isinstance(item, ClassAxiom | DisjointClasses):
            of_classes.append(item)
        else:
            rules.append(_recomputed(item) if confidence == "recomputed" else item)
    if not rules and not disjointness and not of_classes:
        raise _no_rules(file, unread)
    base = RuleBase(tuple(rules), tuple(disjointness), unread=tuple(unread))
    return base.with_classes(ClassAxioms.of(of_classes)) if of_classes else base


def _recomputed(rule: Rule) -> Rule:
    return replace(rule, quality=rule.quality.recomputed()) if rule.quality else rule


def _no_rules(file: str, unread: Sequence[Unread]) -> InputError:
    if unread:
        counts = ", ".join(f"{kind.count} {kind.what}" for kind in unread)
        return InputError(f"no rules found, only what is not read: {counts}", place=Place(file))
    return InputError(
        "no rules found",
        place=Place(file),
        hint=f"one rule per line, such as {_EXAMPLE}",
    )


def _checked(name: str) -> str:
    if name not in READABLE:
        raise InputError(
            f"'{name}' is not a format rules are read from{did_you_mean(name, READABLE)}",
            hint=f"the formats are {', '.join(READABLE)}; without one, the file's ending and content decide",
        )
    return name


def _format_of(path: Path) -> str:
    ending = path.suffix.lower()
    if ending in WRITTEN_ONLY:
        raise InputError(
            f"{WRITTEN_ONLY[ending]} programs are written, not read",
            place=Place(str(path)),
            hint="write the rules as body -> head, one per line",
        )
    return "owl" if ending in ONTOLOGY_ENDINGS else "text"


def _content(path: Path) -> bytes:
    if path.is_dir():
        raise InputError("a directory, not a rule file", place=Place(str(path)), hint=files_inside(path))
    source = find_source(str(path))
    try:
        with source.open(lambda _: None) as stream:
            content = stream.read(_LARGEST + 1)
    except GZIP_ERRORS as error:
        raise broken_gzip(source, error, line=1) from error
    if len(content) > _LARGEST:
        raise InputError(
            f"found more than {_LARGEST:,} bytes, expected rules",
            place=source.place(),
            hint="split the file, or check what it unpacks to",
        )
    return content


def _decoded(content: bytes, file: str) -> str:
    if b"\0" in content[:10_000]:
        raise InputError(
            "not a rule file, but binary data",
            place=Place(file),
            hint="give the rules themselves: one per line, body -> head",
        )
    if content[:1] == b"{":
        raise InputError(
            "not a rule file, but JSON",
            place=Place(file),
            hint="give the rules themselves, not what they compile to",
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        column = error.start - (content.rfind(b"\n", 0, error.start) + 1) + 1
        raise InputError(
            f"not UTF-8: byte 0x{content[error.start]:02x}",
            place=Place(file, line, column),
            hint="save the file as UTF-8",
        ) from None


Rules: TypeAlias = RuleBase | Iterable[Rule | Disjointness]

_SHOWN = 30


def as_rules(given: Rules) -> RuleBase:
    """A rule base of any collection of rules and constraints.

    >>> from reshuffle.rules import parse_rules
    >>> as_rules([PathRule(("a",), "b")]) == parse_rules("a(X, Y) -> b(X, Y)")
    True
    """
    if isinstance(given, RuleBase):
        return given
    if isinstance(given, str | PathLike) or not isinstance(given, Iterable):
        raise _not_rules(f"found {_shown(given)}")
    rules: list[Rule] = []
    disjointness: list[Disjointness] = []
    for item in given:
        if isinstance(item, Disjointness):
            disjointness.append(item)
        elif isinstance(item, PathRule | IntersectionRule):
            rules.append(item)
        else:
            raise _not_rules(f"found {_shown(item)} among the rules")
    return RuleBase(tuple(rules), tuple(disjointness))


def _not_rules(found: str) -> InputError:
    return InputError(
        f"{found}, expected rules",
        hint="parse_rules(text) takes rules as text, reshuffle.read_rules(path) reads a file",
    )


def _shown(given: object) -> str:
    """The argument as Python writes it; of a text of many lines only the opening."""
    if isinstance(given, str) and "\n" in given:
        return repr(given[:_SHOWN] + "...")
    return repr(given)
