"""Our own syntax: `body -> head`, `&` or `,` between atoms, `#` comments, names quoted unless plain words."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from reshuffle.rules.formats.statement import (
    BRACKETED,
    QUOTED,
    SKIP_HINT,
    Bare,
    statement_of,
    unquoted,
    with_names_apart,
    without_built_in,
    written_columns,
)
from reshuffle.rules.rule import VARIABLE, Constant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reshuffle.errors import InputError
    from reshuffle.rules.formats.statement import SourceLine, Statement
    from reshuffle.rules.rule import RuleBase

_WORD = r"[^\W\d](?:[\w.:]|-(?!>))*"
_NAME = rf"(?:{_WORD}|{QUOTED}|{BRACKETED})(?:\^-1)*"
_ARGUMENT = rf'\s*({QUOTED}|{BRACKETED}|[^(),&"<>\s](?:[^(),&"<>]*[^(),&"<>\s])?)\s*'
_ATOM = re.compile(rf"({_NAME})\s*\({_ARGUMENT}(?:,{_ARGUMENT})?\)")
_BLANKS = re.compile(r"\s*")
_SEPARATOR = re.compile(r"\s*([&,])")
_ARROW = re.compile(r"\s*->")
_FALSE = re.compile(r"false(?!\s*[\w(^.:-])")
_END = re.compile(r"\s*(#.*)?\Z")
_NOTHING = re.compile(r"(#.*|(->|<=).*)?\Z")
_COLUMNS = re.compile(r"(?:[^\t(\"<#]*\t)*")
_EMPTY_NAME = re.compile(r'("(\^-1)*"|<(\^-1)+>)(\^-1)*\Z')  # nothing is left without quotes and inverses
_ATOM_HINT = "an atom is written relation(X, Y)"
_BUILT_IN = re.compile(
    rf"(not(?=\s+{_NAME}\s*\()|[!~](?=\s*{_NAME}\s*\()|\\\+)|[\w?]+\s*(!=|>=?|==?(?!>)|<(?![=\w/:]))"
)
_FUNCTION = re.compile(r"(?:[^(),&]*,)?\s*([^\W\d]\w*)\([^()]*\)\s*[,)]")
_CLOSED = re.compile(rf"(?:{QUOTED}|(?!->)[^()\"])*\)")


def read_line(line: SourceLine) -> Statement:
    """The statement on a line `[columns] body -> head`; all its parts are found before any is looked into."""
    start = _skip_blanks(line, 0)
    columns = _COLUMNS.match(line.text, start)
    assert columns is not None
    body, at = _body(line, columns.end())
    is_fact = len(body) == 1 and _END.match(line.text, at) is not None and _is_ground(body[0])
    head: re.Match[str] | None = body.pop() if is_fact else None
    if not is_fact:
        head, at = _head(line, _after_arrow(line, at))
    if not _END.match(line.text, at):
        raise _trailing(line, _skip_blanks(line, at))
    if head is None and not body:
        raise line.error("missing body", at=start, hint="a constraint is written body -> false")
    statement = statement_of(line, body, head, (start, columns.end()), _argument)
    return with_names_apart(replace(statement, is_fact=is_fact))


def _body(line: SourceLine, at: int) -> tuple[list[re.Match[str]], int]:
    return ([], at) if _ARROW.match(line.text, at) else _conjunction(line, at)


def _is_ground(atom: re.Match[str]) -> bool:
    written: tuple[str | None, ...] = atom[2], atom[3]
    return all(name is None or isinstance(_argument(name), Constant) for name in written)


def _argument(written: str) -> str:
    if written[0] in '"<':
        return Constant(unquoted(written))
    return written if VARIABLE.match(written) else Bare(written)


def lines(base: RuleBase) -> Iterator[str]:
    """A line for every rule and constraint, with its columns where a miner gave them."""
    for rule in base.given:
        yield f"{written_columns(rule.quality)}{rule}"
    yield from map(str, base.disjointness)


def _skip_blanks(line: SourceLine, at: int) -> int:
    blanks = _BLANKS.match(line.text, at)
    assert blanks is not None
    return blanks.end()


def _conjunction(line: SourceLine, at: int) -> tuple[list[re.Match[str]], int]:
    atoms = []
    expected = "body"
    while True:
        atom, at = _atom(line, at, expected)
        atoms.append(atom)
        separator = _SEPARATOR.match(line.text, at)
        if separator is None:
            return atoms, at
        expected, at = f"atom after '{separator[1]}'", separator.end()


def _atom(line: SourceLine, at: int, expected: str) -> tuple[re.Match[str], int]:
    at = _skip_blanks(line, at)
    match = _ATOM.match(line.text, at)
    if match is None:
        raise _why_no_atom(line, at, expected)
    if _EMPTY_NAME.match(match[1]):
        raise line.error("empty name: a relation needs at least one character", at=at, hint=_ATOM_HINT)
    return match, match.end()


def _after_arrow(line: SourceLine, at: int) -> int:
    arrow = _ARROW.match(line.text, at)
    if arrow is None:
        raise _why_no_arrow(line, _skip_blanks(line, at))
    return arrow.end()


def _head(line: SourceLine, at: int) -> tuple[re.Match[str] | None, int]:
    at = _skip_blanks(line, at)
    false = _FALSE.match(line.text, at)
    return (None, false.end()) if false else _atom(line, at, "head")


def _why_no_atom(line: SourceLine, at: int, expected: str) -> InputError:
    """The error for the first part of an atom that is missing at `at`."""
    text = line.text
    if _NOTHING.match(text, at):
        return line.error(f"missing {expected}", at=at, hint="a rule is written body -> head")
    if text[at] == '"' and not re.compile(QUOTED).match(text, at):
        return line.error(
            "unterminated quote", at=at, hint='close the name with "; a " inside it is written \\"'
        )
    if text[at] == "<" and ">" not in text[at:]:
        return line.error("unterminated angle bracket", at=at, hint="close the name with >")
    if text[at] in "()":
        return line.error(f"expected a relation name here, found '{text[at]}'", at=at, hint=_ATOM_HINT)
    name = re.compile(_NAME).match(text, at)
    opening = _skip_blanks(line, name.end()) if name else -1
    if name is None or text[opening : opening + 1] != "(":
        return _why_no_name(line, at)
    return _why_no_arguments(line, name[0], at, opening)


def _why_no_name(line: SourceLine, at: int) -> InputError:
    built_in = _BUILT_IN.match(line.text, at)
    if built_in is not None:
        place = 1 if built_in[1] else 2
        return without_built_in(line, built_in[place], built_in.start(place))
    found, parenthesis, _ = line.text[at:].partition("(")
    if parenthesis and not re.search(r"\s|[&,]|->", found.strip()):
        return line.error(
            f"'{found.strip()}' is not a plain word",
            at=at,
            hint=f'names with other characters are quoted: "{found.strip()}"(X, Y)',
        )
    before_closing = re.match(r"[^()]*\)", line.text[at:])
    if before_closing and not re.search("[&]|->", before_closing[0]):
        return line.error(
            "unbalanced parentheses: this ')' closes nothing",
            at=at + before_closing.end() - 1,
            hint="add the missing '(' after the relation name",
        )
    first = re.match(r"\S[^\s(),&]*", line.text[at:])
    assert first is not None  # `at` is not blank
    return line.error(f"expected an atom here, found '{first[0]}'", at=at, hint=_ATOM_HINT)


def _why_no_arguments(line: SourceLine, name: str, at: int, opening: int) -> InputError:
    inner = _FUNCTION.match(line.text, opening + 1)
    if inner is not None:
        return line.outside_class(
            f"'{inner[1]}' is a function symbol: arguments are variables and names",
            at=inner.start(1),
            kind="rules with function symbols",
            hint=f"rules with them are outside the class; {SKIP_HINT}",
        )
    closed = _CLOSED.match(line.text, opening + 1)
    if closed is None:
        return line.error(
            "unbalanced parentheses: this '(' is not closed", at=opening, hint="add the missing ')'"
        )
    inside = closed[0][:-1]
    arguments = [argument.strip() for argument in inside.split(",")] if inside.strip() else []
    if len(arguments) > 2 or not arguments:
        plural = "" if len(arguments) == 1 else "s"
        return line.error(
            f"wrong arity: {name} has {len(arguments)} argument{plural} here, and needs 1 or 2",
            at=at,
            hint='relations are binary: relation(X, Y); kind(X) says the same as kind(X, "true")',
        )
    if "" in arguments:
        return line.error(f"an argument of {name} is empty", at=opening, hint=_ATOM_HINT)
    return line.error(f"the arguments of {name} cannot be read", at=opening + 1, hint=_ATOM_HINT)


def _why_no_arrow(line: SourceLine, at: int) -> InputError:
    rest = line.text[at:]
    if not rest or rest.startswith("#"):
        return line.error(
            "missing arrow: expected -> and a head", at=at, hint="a rule is written body -> head"
        )
    if rest.startswith(")"):
        return _closes_nothing(line, at)
    return line.error(
        f"expected '&', ',' or '->' here, found '{rest[0]}'", at=at, hint="a rule is written body -> head"
    )


def _trailing(line: SourceLine, at: int) -> InputError:
    found = line.text[at]
    if found == ")":
        return _closes_nothing(line, at)
    hint = (
        "a rule has one head; write one rule per head"
        if found in "&,"
        else "one rule per line; # starts a comment"
    )
    return line.error(f"expected the end of the rule here, found '{found}'", at=at, hint=hint)


def _closes_nothing(line: SourceLine, at: int) -> InputError:
    return line.error(
        "unbalanced parentheses: this ')' closes nothing", at=at, hint="remove it, or add the missing '('"
    )
