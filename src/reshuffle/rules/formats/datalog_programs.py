"""Datalog programs of users (`.dl`): clauses that end with a full stop and may span several lines.

    % comments like this, // like this, and /* like this */
    parent(ann, bob).
    ancestor(X, Y) :- parent(X, Y).
    ancestor(X, Z) :-
        parent(X, Y),
        ancestor(Y, Z).

The dialect decides which words are variables. In programs with Soufflé's declarations (`.decl`) every bare word of a
rule is one; where some variable is written `?x`, as in nemo, only such names are; elsewhere a word that begins with an
upper-case letter or `_` is one, as in Prolog, and a name may stand in single quotes. Facts are triples (head, relation,
tail). Rules are read as nemo's are, so that there is one definition of the rule class. Declarations, imports and
questions are counted; of declarations, `eqrel` gives two rules, and rules about a relation with a `choice-domain` are
outside the class.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from reshuffle.errors import InputError
from reshuffle.kg import inverse_name
from reshuffle.rules.formats import nemo
from reshuffle.rules.formats.datalog import name_of
from reshuffle.rules.formats.statement import (
    BRACKETED,
    QUOTED,
    SKIP_HINT,
    UNARY,
    OutsideClassError,
    SourceLine,
    unquoted,
)
from reshuffle.rules.rule import Constant, PathRule
from reshuffle.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reshuffle.kg.io.prefixes import Prefixes
    from reshuffle.rules.formats.statement import Atom, Statement

DIRECTIVES, QUESTIONS = "declarations and imports", "questions"
_COMMENT = r"//[^\n]*|%[^\n]*|/\*.*?\*/|(?:(?<=\n)|\A)[ \t]*#[^\n]*"
_PIECE = re.compile(rf"{QUOTED}|<[^<>\s]*>|({_COMMENT})|(\.)(?=\s|\Z|//|%)", re.DOTALL)
_PROLOG_QUOTES = re.compile(
    rf"{QUOTED}|<[^<>\s]*>|(?:{_COMMENT})|(?<!\w)'((?:[^'\\\n]|\\.|'')*)'(?!\w)", re.DOTALL
)
_DIRECTIVE = re.compile(r"\.[a-z]\w*[^\n(]*(?:\([^)]*\))?[^\n]*(?:\n\s*(?:eqrel|choice-domain)\b[^\n]*)*")
_DECLARED = re.compile(r"\s*\.decl\s+([^(]+)\([^)]*\)(.*)", re.DOTALL)
_KINDS = re.compile(r"\b(eqrel|choice-domain)\b")
_SOUFFLE = re.compile(r"^\s*\.decl\b", re.MULTILINE)
_ARROW = re.compile(rf"{QUOTED}|<[^<>\s]*>|(:-)")
_QUESTION = re.compile(r"\s*\?-|.*\?\s*\Z", re.DOTALL)
_FACT = re.compile(rf'\s*({QUOTED}|{BRACKETED}|[^\s(),"<>]+)\s*\(((?:{QUOTED}|{BRACKETED}|[^()"<>])*)\)\s*\Z')
_ARGUMENT = re.compile(rf"\s*({QUOTED}|{BRACKETED}|[^,\"<>]*?)\s*(?:,|\Z)")
_WORD = re.compile(r"[^\W\d]\w*\Z")
_PART = rf"({QUOTED}|{BRACKETED}|[^(),\"<>\s]+)"
_TRIPLE = re.compile(rf"\btriple\s*\(\s*{_PART}\s*,\s*{_PART}\s*,\s*{_PART}\s*\)")


@dataclass
class Program:
    """The clauses of a program, told apart."""

    rules: list[tuple[SourceLine, int]] = field(default_factory=list)
    """Each with the offset of its arrow."""
    facts: list[SourceLine] = field(default_factory=list)
    others: list[tuple[str, SourceLine]] = field(default_factory=list)
    """What is not read, by kind."""
    argument: Callable[[str], str] = nemo.upper_case
    """What an argument of a rule is: a variable or a constant."""
    equivalences: list[str] = field(default_factory=list)
    """The relations that are declared as equivalences."""
    choosing: set[str] = field(default_factory=set)
    """The relations that keep one tuple of several, which depends on the order of evaluation."""


def program_of(text: str, file: str) -> Program:
    """The clauses of a text."""
    text = _PROLOG_QUOTES.sub(_in_double_quotes, text)
    program = Program(argument=_dialect(text))
    for line in _clauses(text, file):
        arrow = next((match for match in _ARROW.finditer(line.text) if match[1]), None)
        start = line.text.lstrip()
        if start.startswith((".", "@", ":-")):
            if not (_declares_kind(line, program) or start.startswith("@prefix")):
                program.others.append((DIRECTIVES, line))
        elif _QUESTION.match(line.text):
            program.others.append((QUESTIONS, line))
        elif arrow is not None:
            program.rules.append((line, arrow.start()))
        else:
            program.facts.append(line)
    return program


def _dialect(text: str) -> Callable[[str], str]:
    if _SOUFFLE.search(text):
        return _any_word
    bare = _PIECE.sub(lambda match: " " if match[1] else match[0], text)
    return nemo.question_mark if nemo.has_question_marks(bare) else nemo.upper_case


def _any_word(written: str) -> str:
    return written if _WORD.match(written) or written == "_" else nemo.constant(written)


def _declares_kind(line: SourceLine, program: Program) -> bool:
    """Does a declaration say more of a relation than its columns? Then the program keeps it."""
    declared = _DECLARED.match(line.text)
    kinds = set() if declared is None else set(_KINDS.findall(declared[2]))
    names = [] if declared is None else [name_of(name.strip()) for name in declared[1].split(",")]
    if "eqrel" in kinds:
        program.equivalences += names
    if "choice-domain" in kinds:
        program.choosing.update(names)
    return bool(kinds)


def equivalence_rules(program: Program) -> Iterator[PathRule]:
    """An equivalence is symmetric and transitive; with both, each of its members is related to itself."""
    for name in program.equivalences:
        yield PathRule((inverse_name(name),), name)
        yield PathRule((name, name), name)


def _in_double_quotes(found: re.Match[str]) -> str:
    """A name in Prolog's quotes as our rules write it; all else as it is."""
    if found[1] is None:
        return found[0]
    return '"' + found[1].replace("''", "'").replace("\\'", "'").replace('"', '\\"') + '"'


def has_full_stops(text: str) -> bool:
    """Does every rule of a text end with a full stop, as those of a program do?"""
    stops = sum(1 for match in _PIECE.finditer(text) if match[2])
    return 0 < text.count(":-") <= stops


def _clauses(text: str, file: str) -> Iterator[SourceLine]:
    """Each clause as one line, without its full stop and with blanks for comments, so that offsets stay."""
    bare = _PIECE.sub(lambda match: re.sub(r"[^\n]", " ", match[1]) if match[1] else match[0], text)
    start, at = 0, 0
    stops = (match.end() for match in _PIECE.finditer(bare) if match[2])
    stop = next(stops, len(bare))
    while at < len(bare):
        begin = at + len(bare[at:stop]) - len(bare[at:stop].lstrip())
        directive = _DIRECTIVE.match(bare, begin)
        end = directive.end() if directive else stop
        start = bare.rfind("\n", 0, begin) + 1
        if bare[begin:end].strip(" \t\r\n."):
            yield _line(text, bare, start, begin, end, file)
        at = end
        while stop <= at < len(bare):
            stop = next(stops, len(bare))


def _line(text: str, bare: str, start: int, begin: int, end: int, file: str) -> SourceLine:
    """The clause between two offsets; what else stands on its first line is blanked out."""
    piece = " " * (begin - start) + bare[begin:end]
    if not piece.lstrip().startswith("."):
        piece = piece.rstrip().removesuffix(".")
    breaks = tuple(match.end() for match in re.finditer("\n", piece))
    return SourceLine(
        file, text.count("\n", 0, start) + 1, piece.replace("\n", " ").replace("\r", " "), breaks
    )


def rule_of(line: SourceLine, arrow_at: int, program: Program) -> Statement:
    """The statement of a clause with a body."""
    line = _with_pairs(line, program.argument)
    statement = _read(line, arrow_at, program.argument)
    fresh = iter(range(1, len(line.text)))
    read = [_renamed(atom, line, fresh) for atom in statement.body]
    head = None if statement.head is None else _renamed(statement.head, line, fresh)
    if head is not None:
        _refuse_choice(line, head.relation, program)
    return replace(statement, body=tuple(read), head=head)


def _with_pairs(line: SourceLine, argument: Callable[[str], str]) -> SourceLine:
    """The clause with `p(s, o)` in the place of `triple(s, p, o)`, where p is a constant."""

    def as_pair(found: re.Match[str]) -> str:
        start, relation, end = found.groups()
        if not isinstance(argument(relation), Constant):
            return found[0]
        return f"{relation}({start}, {end})".ljust(len(found[0]))  # offsets behind it stay

    return line._replace(text=_TRIPLE.sub(as_pair, line.text))


def _refuse_choice(line: SourceLine, relation: str, program: Program) -> None:
    if relation in program.choosing:
        raise line.outside_class(
            f"{relation} is declared with a choice-domain, which keeps one of several tuples",
            at=len(line.text) - len(line.text.lstrip()),
            kind="clauses about relations with a choice-domain",
            hint=f"what is kept depends on the order of evaluation, and nothing follows from it; {SKIP_HINT}",
        )


def _read(line: SourceLine, arrow_at: int, argument: Callable[[str], str]) -> Statement:
    """The statement; relations that are not binary, which Datalog has, are outside the class."""
    try:
        return nemo.read_line(line, arrow_at, argument)
    except InputError as error:
        if isinstance(error, OutsideClassError) or not error.message.startswith("wrong arity"):
            raise
        outside = OutsideClassError(
            error.message, place=error.place, source=error.source, hint=f"{error.hint}; {SKIP_HINT}"
        )
        outside.kind = "rules with relations that are not binary"
        raise outside from None


def _renamed(atom: Atom, line: SourceLine, fresh: Iterator[int]) -> Atom:
    start, end = (_variable(name, fresh) for name in (atom.start, atom.end))
    relation = atom.relation if line.text[atom.at] in '"<' else name_of(atom.relation)
    return atom._replace(relation=relation, start=start, end=end)


def _variable(name: str, fresh: Iterator[int]) -> str:
    """The argument, where each `_` is another variable."""
    return f"?_{next(fresh)}" if name == "_" and not isinstance(name, Constant) else name


def fact_of(line: SourceLine, program: Program, known: Prefixes) -> tuple[str, str, str]:
    """The triple of a clause without a body."""
    line = _with_pairs(line, program.argument)
    at = len(line.text) - len(line.text.lstrip())
    match = _FACT.match(line.text)
    if match is None:
        raise line.error(
            "expected a fact or a rule here",
            at=at,
            hint="clauses are relation(a, b). and head(X, Y) :- body(X, Y). each with a full stop",
        )
    arguments = [argument[1] for argument in _ARGUMENT.finditer(match[2]) if argument[0]]
    if len(arguments) not in (1, 2) or not all(arguments):
        raise line.outside_class(
            f"wrong arity: {match[1]} has {counted(len(arguments), 'argument')} here, and needs 1 or 2",
            at=at,
            kind="facts that are not pairs",
            hint=f"relations are binary: relation(a, b); {SKIP_HINT}",
        )
    if not all(isinstance(program.argument(name), Constant) for name in arguments):
        raise _variable_in_fact(line, match)
    relation = _named(match[1], known)
    head, tail = (*(_named(name, known) for name in arguments), UNARY)[:2]
    relation = name_of(relation) if match[1] == relation else relation
    _refuse_choice(line, relation, program)
    return head, relation, str(tail)


def _variable_in_fact(line: SourceLine, match: re.Match[str]) -> OutsideClassError:
    return line.outside_class(
        "a fact with a variable: it would hold for everything",
        at=match.start(2),
        kind="facts with variables",
        hint=f'write a name that begins with an upper-case letter in quotes: "Ada"; {SKIP_HINT}',
    )


def _named(written: str, known: Prefixes) -> str:
    if written[:1] in '"<':
        return unquoted(written)
    return known.expanded(written) or written
