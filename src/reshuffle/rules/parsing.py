"""Read a `RuleBase` from text, a file or a list of rules, in any format."""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from reshuffle.errors import InputError, Place, did_you_mean
from reshuffle.kg import inverse_name, refuse_inverse_names
from reshuffle.kg.io.files import files_inside, find_source
from reshuffle.kg.io.prefixes import Prefixes, declared_in
from reshuffle.kg.vocabulary import base_relation, is_inverse
from reshuffle.rules.formats import amie, anyburl, datalog_programs, nemo, owl
from reshuffle.rules.formats import native as text
from reshuffle.rules.formats.statement import BRACKETED, QUOTED, OutsideClassError, SourceLine, meaning
from reshuffle.rules.ontologies import rdf_axioms
from reshuffle.rules.ontologies.axiom_rules import rule_base
from reshuffle.rules.rule import (
    Constant,
    ConstantRule,
    Constraint,
    DisjointEnds,
    Disjointness,
    IntersectionRule,
    PathRule,
    Rule,
    RuleBase,
    Unread,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from reshuffle.rules.formats.statement import Atom, Statement

READABLE = ("text", "anyburl", "amie", "nemo", "datalog", "owl")
ONTOLOGY_ENDINGS = (".ttl", ".owl", ".rdf", ".nt", ".n3")
PROGRAM_ENDINGS = (".dl", ".datalog")
WRITTEN_ONLY = {".pl": "Prolog"}
LOG_LINES = "log lines"
_ARROW = re.compile(rf"{QUOTED}|(<=|->|=>|:-)|{BRACKETED}")
_EXAMPLE = "bornIn(X, Y) & cityIn(Y, Z) -> citizenOf(X, Z)"
_LARGEST = 1 << 29  # bytes of a rule file, unpacked
_PREFIX_LINE = re.compile(r"\s*(@prefix|PREFIX|prefix)\s[^()]*<[^<>]*>[\s.]*\Z")
_TOKEN = rf"(?:{QUOTED}|{BRACKETED}|[^\s\"<(]+)"
_OPENS_AS_AMIE = re.compile(rf"\s*(?:\?|(?:{QUOTED}|{BRACKETED})\s+(?!\()|{_TOKEN}\s+{_TOKEN}\s+\?\w)")
_OPENING = 5  # lines that tell triples from rules

Confidence = Literal["file", "recomputed"]

_READERS: dict[str, Callable[[SourceLine, int], Statement]] = {
    "text": lambda line, _: text.read_line(line),  # which meets its arrow on its way
    "anyburl": anyburl.read_line,
    "amie": amie.read_line,
    "nemo": nemo.read_line,
}


_LIKE_NAMES = ("text", "nemo")
"""Formats in which a variable may look like the name of an entity: `Q30` is one."""


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
    prefixes: Prefixes | None = None,
) -> RuleBase:
    """The rules of a text, a line each: `body -> head`, AnyBURL's `head <= body`, Datalog's `head :- body.`, or AMIE's.

    Rules outside the class are errors, or with `skip_unsupported` counted in the result's `unread`.
    `confidence` is the file's, or recomputed from the file's counts as PyClause does. A name such as `ex:knows` is
    expanded where `prefixes` or a line `@prefix ex: <http://example.org/> .` declare its prefix.

    >>> base = parse_rules("bornIn(X, Y) & cityIn(Y, Z) -> citizenOf(X, Z)  # by birth")
    >>> base.rules
    (PathRule(body=('bornIn', 'cityIn'), head='citizenOf', quality=None),)
    """
    if not isinstance(source, str):
        raise InputError(
            f"found {source!r}, expected rules as text", hint="reshuffle.read_rules(path) reads a file"
        )
    read: list[Rule | Constraint] = []
    facts: list[tuple[str, str, str]] = []
    variables: set[str] = set()
    skipped: defaultdict[str, list[SourceLine]] = defaultdict(list)
    known = _known_prefixes(source, prefixes)
    quick = anyburl.QuickReader() if known is None else None
    written = _written_lines(source, file, quick)
    others = [line for line in written if isinstance(line, _WrittenLine)]
    if len(others) == len(written):
        _refuse_triples(others, file)
    is_amie = any(line.format == "amie" for line in others)
    for item in written:
        if isinstance(item, ConstantRule):
            read.append(item)
            continue
        line, format_, arrow_at = item
        if is_amie and format_ != "amie":
            if not amie.is_header(line.text):
                skipped[LOG_LINES].append(line)
            continue
        with _counted(skipped, line, skip_unsupported):
            statement = _READERS[format_](line, arrow_at)
            if format_ in _LIKE_NAMES:
                variables.update(statement.variables)
            if statement.is_fact:
                facts.append(_fact(statement))
            else:
                read.append(meaning(statement if known is None else _expanded(statement, known)))
    unread = _unread(skipped)
    refuse_inverse_names((relation for _, relation, _ in facts), place=Place(file))
    base = _base(read, unread, file, confidence)
    return replace(base, variables=frozenset(variables), facts=tuple(facts))


def read_rules(
    path: Path | str,
    *,
    format: str | None = None,
    skip_unsupported: bool = False,
    confidence: Confidence = "file",
    prefixes: Prefixes | None = None,
    notes: Callable[[str], None] | None = None,
) -> RuleBase:
    """The rules of a file, in a format told by its ending and content unless named.

    What is not read is counted in the result's `unread`, and told to `notes` one sentence at a time.
    """
    if not isinstance(path, str | os.PathLike):
        raise InputError(
            f"found {path!r}, expected the path of a rule file", hint="parse_rules(text) takes text"
        )
    path = Path(path)
    kind = _checked(format) if format else _format_of(path)
    content = _content(path)
    if kind == "owl":
        base = ontology_base({str(path): content})
    else:
        base = _read_text(
            _decoded(content, str(path)), str(path), kind, skip_unsupported, confidence, prefixes
        )
    if notes:
        for unread in base.unread:
            notes(str(unread))
    return base


def ontology_base(contents: Mapping[str, bytes]) -> RuleBase:
    """The rules of ontologies in RDF, by their files: one base for all, so that each may import another."""
    base = rule_base([rdf_axioms.read(content, file) for file, content in contents.items()])
    stated = (owl.stated(content, file) for file, content in contents.items())
    return replace(base, stated=sum(stated, Counter()))


def read_together(
    paths: Sequence[Path | str],
    *,
    skip_unsupported: bool = False,
    prefixes: Prefixes | None = None,
    notes: Callable[[str], None] | None = None,
) -> RuleBase:
    """The rules of several files, ontologies among them, as one base."""
    ontologies = [Path(path) for path in paths if may_hold_facts(path)]
    bases = [ontology_base({str(path): _content(path) for path in ontologies})] if ontologies else []
    for unread in [one for base in bases for one in base.unread] if notes else ():
        notes(str(unread))  # type: ignore[misc]
    bases += [
        read_rules(path, skip_unsupported=skip_unsupported, prefixes=prefixes, notes=notes)
        for path in paths
        if not may_hold_facts(path)
    ]
    return joined(bases)


def joined(bases: Sequence[RuleBase]) -> RuleBase:
    """All of the rules as one base, which is about an ontology where one of them is."""
    stated = [base.stated for base in bases if base.stated is not None]
    return RuleBase(
        tuple(rule for base in bases for rule in base.given),
        tuple(pair for base in bases for pair in base.disjointness),
        unread=tuple(one for base in bases for one in base.unread),
        facts=tuple(fact for base in bases for fact in base.facts),
        variables=frozenset().union(*(base.variables for base in bases)),
        stated=sum(stated, Counter()) if stated else None,
        schema=tuple(fact for base in bases for fact in base.schema),
        by_instance=tuple(rule for base in bases for rule in base.by_instance),
    )


def _read_text(
    source: str,
    file: str,
    kind: str,
    skip_unsupported: bool,
    confidence: Confidence,
    prefixes: Prefixes | None,
) -> RuleBase:
    if kind == "datalog" or (file.endswith(".rls") and datalog_programs.has_full_stops(source)):
        return parse_program(source, file=file, skip_unsupported=skip_unsupported, prefixes=prefixes)
    return parse_rules(
        source, file=file, skip_unsupported=skip_unsupported, confidence=confidence, prefixes=prefixes
    )


def parse_program(
    source: str,
    *,
    file: str = "<text>",
    skip_unsupported: bool = False,
    prefixes: Prefixes | None = None,
) -> RuleBase:
    """The rules and facts of a Datalog program; `reshuffle.rules.formats.datalog_programs` says how one is written.

    >>> base = parse_program("parent(ann, bob).  ancestor(X, Y) :- % over two lines\\n  parent(X, Y).")
    >>> print(base, base.facts)
    parent(X, Y) -> ancestor(X, Y) (('ann', 'parent', 'bob'),)
    """
    program = datalog_programs.program_of(source, file)
    known = _known_prefixes(source, prefixes)
    read: list[Rule | Constraint] = []
    facts: list[tuple[str, str, str]] = []
    skipped: defaultdict[str, list[SourceLine]] = defaultdict(list)
    for kind, line in program.others:
        skipped[kind].append(line)
    variables: set[str] = set()
    read += datalog_programs.equivalence_rules(program)
    for line, arrow_at in program.rules:
        with _counted(skipped, line, skip_unsupported):
            statement = datalog_programs.rule_of(line, arrow_at, program)
            variables.update(statement.variables)
            read.append(meaning(statement if known is None else _expanded(statement, known)))
    for line in program.facts:
        with _counted(skipped, line, skip_unsupported):
            facts.append(datalog_programs.fact_of(line, program, known or Prefixes()))
    unread = _unread(skipped)
    refuse_inverse_names((relation for _, relation, _ in facts), place=Place(file))
    base = _base(read, unread, file, "file")
    return replace(base, facts=tuple(facts), variables=frozenset(variables))


def _fact(statement: Statement) -> tuple[str, str, str]:
    rule = meaning(statement)
    assert isinstance(rule, ConstantRule)
    relation, head, tail = rule.conclusion
    return str(head), relation, str(tail)


@contextmanager
def _counted(
    skipped: dict[str, list[SourceLine]], line: SourceLine, skip_unsupported: bool
) -> Iterator[None]:
    """Count a clause outside the class, where that is wanted."""
    try:
        yield
    except OutsideClassError as error:
        if not skip_unsupported:
            raise
        skipped[error.kind].append(line)


def _unread(skipped: Mapping[str, Sequence[SourceLine]]) -> list[Unread]:
    """What was skipped, by kind."""
    return [Unread(kind, len(lines), str(lines[0]), _noun(kind)) for kind, lines in skipped.items()]


def _noun(kind: str) -> str:
    if kind in (LOG_LINES, datalog_programs.DIRECTIVES, datalog_programs.QUESTIONS):
        return ""  # these say nothing about triples
    return "fact" if kind.startswith("facts") else "rule"


def _known_prefixes(source: str, prefixes: Prefixes | None) -> Prefixes | None:
    """The prefixes that a caller knows, and those that the text declares, which win."""
    if "prefix" not in source.lower():
        return prefixes
    return (prefixes or Prefixes()) | declared_in(source)


def _expanded(statement: Statement, known: Prefixes) -> Statement:
    """The statement with full names of relations, where a plain word has a prefix that is declared."""

    def entity(name: str, at: int) -> str:
        if not isinstance(name, Constant) or statement.line.text[at] in '"<':
            return name
        return Constant(known.expanded(name) or name)

    def full(atom: Atom) -> Atom:
        atom = atom._replace(start=entity(atom.start, atom.start_at), end=entity(atom.end, atom.end_at))
        if statement.line.text[atom.at] in '"<':
            return atom
        relation = known.expanded(base_relation(atom.relation)) or base_relation(atom.relation)
        return atom._replace(relation=inverse_name(relation) if is_inverse(atom.relation) else relation)

    head = None if statement.head is None else full(statement.head)
    return replace(statement, body=tuple(map(full, statement.body)), head=head)


def _written_lines(
    source: str, file: str, quick: anyburl.QuickReader | None
) -> list[_WrittenLine | ConstantRule]:
    """The lines that hold something, or what is read of them at once.

    Only newlines end a line, since names may hold other separators.
    """
    found: list[_WrittenLine | ConstantRule] = []
    for number, line in enumerate(source.split("\n"), start=1):
        rule = None if quick is None else quick.read(line)
        if rule is not None:
            found.append(rule)
        elif line.strip() and not line.lstrip().startswith("#") and not _PREFIX_LINE.match(line):
            found.append(_WrittenLine(SourceLine(file, number, line), *_format_and_arrow(line)))
    return found


def _format_and_arrow(text: str) -> tuple[str, int]:
    """The format of a line, told by its arrow, and the arrow's offset."""
    arrow, at = arrow_of(text)
    if arrow == "<=":
        return "anyburl", at
    if arrow == "=>" and _OPENS_AS_AMIE.match(text):
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


class TriplesFoundError(InputError):
    """A file of triples in place of rules."""


def _refuse_triples(written: Sequence[_WrittenLine], file: str) -> None:
    """Refuse facts where rules belong: each of their lines would be a strange kind of rule."""
    opening = written[:_OPENING]
    if opening and all(_is_triple(line.line.text) and line.format != "amie" for line in opening):
        raise TriplesFoundError(
            "this looks like triples, not rules",
            place=Place(file),
            hint=f"rules are lines such as {_EXAMPLE}; infer and explain take the rules first, then the facts",
        )


def _is_triple(text: str) -> bool:
    """Does the line have three columns and no parenthesis, which all rules have but AMIE's?"""
    columns = text.strip().split("\t" if "\t" in text else ",")
    return len(columns) == 3 and all(columns) and "(" not in text


def _base(
    read: Iterable[Rule | Constraint],
    unread: Sequence[Unread],
    file: str,
    confidence: Confidence,
) -> RuleBase:
    rules: list[Rule] = []
    disjointness: list[Constraint] = []
    for item in read:
        if isinstance(item, Disjointness | DisjointEnds):
            disjointness.append(item)
        else:
            rules.append(_recomputed(item) if confidence == "recomputed" else item)
    if not rules and not disjointness:
        raise _no_rules(file, unread)
    return RuleBase(tuple(rules), tuple(disjointness), unread=tuple(unread))


def _recomputed(rule: Rule) -> Rule:
    return replace(rule, quality=rule.quality.recomputed()) if rule.quality else rule


def _no_rules(file: str, unread: Sequence[Unread]) -> InputError:
    if unread:
        counts = ", ".join(f"{kind.count} {kind.what}" for kind in unread)
        return InputError(f"no rules found, only unsupported statements: {counts}", place=Place(file))
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


def may_hold_facts(path: Path | str) -> bool:
    """Is it, by its ending, an ontology, whose file may hold facts as well?"""
    return _ending(Path(path)) in ONTOLOGY_ENDINGS


def _ending(path: Path) -> str:
    packed = path.suffix.lower() == ".gz"
    return (Path(path.stem) if packed else path).suffix.lower()


def _format_of(path: Path) -> str:
    ending = _ending(path)
    if ending in WRITTEN_ONLY:
        raise InputError(
            f"{WRITTEN_ONLY[ending]} programs are written, not read",
            place=Place(str(path)),
            hint="write the rules as body -> head, one per line",
        )
    if ending in PROGRAM_ENDINGS:
        return "datalog"
    return "owl" if ending in ONTOLOGY_ENDINGS else "text"


def _content(path: Path) -> bytes:
    if path.is_dir():
        raise InputError("a directory, not a rule file", place=Place(str(path)), hint=files_inside(path))
    return find_source(str(path)).read_text(most=_LARGEST)


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


Rules: TypeAlias = RuleBase | Iterable[Rule | Constraint]

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
    disjointness: list[Constraint] = []
    for item in given:
        if isinstance(item, Disjointness | DisjointEnds):
            disjointness.append(item)
        elif isinstance(item, PathRule | IntersectionRule | ConstantRule):
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
