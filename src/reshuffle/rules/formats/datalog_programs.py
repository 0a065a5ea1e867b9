"""Datalog programs as people have them (`.dl`): clauses that end with a full stop, over as many lines as they need.

    % comments like this, // like this, and /* like this */
    parent(ann, bob).
    ancestor(X, Y) :- parent(X, Y).
    ancestor(X, Z) :-
        parent(X, Y),
        ancestor(Y, Z).

A word that begins with an upper-case letter, `_` or `?` is a variable, and a name may stand in single quotes, as in
Prolog; in programs with Soufflé's
declarations (`.decl`) every bare word of a rule is one. Facts are triples (head, relation, tail). Rules are read as
nemo's are, so that there is one definition of the rule class; declarations, imports and questions are counted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from reshuffle.errors import InputError
from reshuffle.rules.formats import nemo
from reshuffle.rules.formats.datalog import name_of
from reshuffle.rules.formats.statement import (
    BRACKETED,
    QUOTED,
    SKIP_HINT,
    OutsideClassError,
    SourceLine,
    is_variable,
    unquoted,
)
from reshuffle.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reshuffle.kg.io.prefixes import Prefixes
    from reshuffle.rules.formats.statement import Atom, Statement

DIRECTIVES, QUESTIONS = "declarations and imports", "questions"
_COMMENT = r"//[^\n]*|%[^\n]*|/\*.*?\*/|(?:(?<=\n)|\A)[ \t]*#[^\n]*"
_PIECE = re.compile(rf"{QUOTED}|<[^<>\s]*>|({_COMMENT})|(\.)(?=\s|\Z|//|%)", re.DOTALL)
_PROLOG_QUOTES = re.compile(
    rf"{QUOTED}|<[^<>\s]*>|(?:{_COMMENT})|(?<!\w)'((?:[^'\\\n]|\\.|'')*)'(?!\w)", re.DOTALL
)
_DIRECTIVE = re.compile(r"\.[a-z]\w*[^\n(]*(?:\([^)]*\))?[^\n]*")
_SOUFFLE = re.compile(r"^\s*\.decl\b", re.MULTILINE)
_ARROW = re.compile(rf"{QUOTED}|<[^<>\s]*>|(:-)")
_QUESTION = re.compile(r"\s*\?-|.*\?\s*\Z", re.DOTALL)
_FACT = re.compile(rf'\s*({QUOTED}|{BRACKETED}|[^\s(),"<>]+)\s*\(((?:{QUOTED}|{BRACKETED}|[^()"<>])*)\)\s*\Z')
_ARGUMENT = re.compile(rf"\s*({QUOTED}|{BRACKETED}|[^,\"<>]*?)\s*(?:,|\Z)")
_VARIABLE = re.compile(r"[A-Z_]\w*\Z")
_WORD = re.compile(r"[^\W\d]\w*\Z")
_BUILT_IN = re.compile(rf"{QUOTED}|{BRACKETED}|(!=|\\\+|\\=|[<>=]|(?<![\w)])!|\bnot\b)")


@dataclass
class Program:
    """The clauses of a program, told apart."""

    rules: list[tuple[SourceLine, int]] = field(default_factory=list)
    """Each with the offset of its arrow."""
    facts: list[SourceLine] = field(default_factory=list)
    others: list[tuple[str, SourceLine]] = field(default_factory=list)
    """What is not read, by kind."""
    is_souffle: bool = False


def program_of(text: str, file: str) -> Program:
    """The clauses of a text."""
    program = Program(is_souffle=_SOUFFLE.search(text) is not None)
    text = _PROLOG_QUOTES.sub(_in_double_quotes, text)
    for line in _clauses(text, file):
        arrow = next((match for match in _ARROW.finditer(line.text) if match[1]), None)
        start = line.text.lstrip()
        if start.startswith((".", "@", ":-")):
            if not start.startswith("@prefix"):
                program.others.append((DIRECTIVES, line))
        elif _QUESTION.match(line.text):
            program.others.append((QUESTIONS, line))
        elif arrow is not None:
            program.rules.append((line, arrow.start()))
        else:
            program.facts.append(line)
    return program


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


def rule_of(line: SourceLine, arrow_at: int, *, souffle: bool) -> Statement:
    """The statement of a clause with a body."""
    found = next((match for match in _BUILT_IN.finditer(line.text, arrow_at + 2) if match[1]), None)
    if found is not None:
        raise line.outside_class(
            f"'{found[1]}' in the body: rules have neither negation nor comparisons",
            at=found.start(),
            kind="rules with negation or comparisons",
            hint=f"rules with them are outside the class; {SKIP_HINT}",
        )
    statement = _read(line, arrow_at)
    fresh = iter(range(1, len(line.text)))
    read = [_renamed(atom, line, souffle, fresh) for atom in statement.body]
    head = None if statement.head is None else _renamed(statement.head, line, souffle, fresh)
    return replace(statement, body=tuple(read), head=head)


def _read(line: SourceLine, arrow_at: int) -> Statement:
    """The statement; relations that are not binary, which Datalog has, are outside the class."""
    try:
        return nemo.read_line(line, arrow_at)
    except InputError as error:
        if isinstance(error, OutsideClassError) or not error.message.startswith("wrong arity"):
            raise
        outside = OutsideClassError(
            error.message, place=error.place, source=error.source, hint=f"{error.hint}; {SKIP_HINT}"
        )
        outside.kind = "rules with relations that are not binary"
        raise outside from None


def _renamed(atom: Atom, line: SourceLine, souffle: bool, fresh: Iterator[int]) -> Atom:
    start, end = (_variable(name, souffle, fresh) for name in (atom.start, atom.end))
    relation = atom.relation if line.text[atom.at] in '"<' else name_of(atom.relation)
    return atom._replace(relation=relation, start=start, end=end)


def _variable(name: str, souffle: bool, fresh: Iterator[int]) -> str:
    """The argument as our rules write it: `?Person` for the variable `Person`; constants stay."""
    if name == "_":  # each one is another variable
        return f"?_{next(fresh)}"
    if is_variable(name):
        return name
    return f"?{name}" if (_WORD if souffle else _VARIABLE).match(name) else name


def fact_of(line: SourceLine, known: Prefixes) -> tuple[str, str, str]:
    """The triple of a clause without a body."""
    at = len(line.text) - len(line.text.lstrip())
    match = _FACT.match(line.text)
    if match is None:
        raise line.error(
            "expected a fact or a rule here",
            at=at,
            hint="clauses are relation(a, b). and head(X, Y) :- body(X, Y). each with a full stop",
        )
    arguments = [argument[1] for argument in _ARGUMENT.finditer(match[2]) if argument[0]]
    if len(arguments) != 2 or not all(arguments):
        raise line.outside_class(
            f"wrong arity: {match[1]} has {counted(len(arguments), 'argument')} here, and needs 2",
            at=at,
            kind="facts that are not pairs",
            hint=f"relations are binary: relation(a, b); {SKIP_HINT}",
        )
    if any(_VARIABLE.match(name) or name.startswith("?") for name in arguments):
        raise _variable_in_fact(line, match)
    relation = _named(match[1], known)
    head, tail = (_named(name, known) for name in arguments)
    return head, name_of(relation) if match[1] == relation else relation, tail


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
