"""AnyBURL's syntax: `predictions<TAB>support<TAB>confidence<TAB>head <= body`.

A name runs to its parenthesis, so it needs no quotes; where it has them they are taken off. A variable is one
upper-case letter: `Q30` is an entity of Wikidata. (`?name` is a variable, too, since letters run out.)

Datalog has the same order with another arrow. Its dialects differ in what a variable is, so its reader passes a
`Syntax` of its own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reshuffle.rules.formats.statement import (
    BRACKETED,
    QUOTED,
    statement_of,
    unquoted,
    written_columns,
)
from reshuffle.rules.rule import Constant, ConstantRule, Quality, quoted_text
from reshuffle.text import HIDDEN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reshuffle.errors import InputError
    from reshuffle.rules.formats.statement import SourceLine, Statement
    from reshuffle.rules.rule import RuleBase, Term, Terms

# Blanks belong to one part of a pattern only: where two could take them, a line of blanks takes quadratic time.
_WITHIN_ATOM = r"(?:(?!\)\s*[,&]).)"  # a name or constant never runs on into the next atom
_WRITTEN = rf"(?:{QUOTED}|{BRACKETED})(?:\^-1)*"
_NAME = rf"({_WRITTEN}|(?!{_WRITTEN}\()(?=\S){_WITHIN_ATOM}+?)"
_VARIABLE = r"\s*([A-Z]|\?\w+)\s*"
_ATOM = re.compile(rf"\s*{_NAME}\({_VARIABLE},{_VARIABLE}\)")
_IS_VARIABLE = re.compile(r"(?:[A-Z]|\?\w+)\Z")
# Constants are entity names as they stand in the data, blanks, commas and parentheses included.
_CONSTANT = rf"\s*({QUOTED}|(?=\S){_WITHIN_ATOM}+?(?<=\S))\s*"
_ATOM_WITH_CONSTANTS = re.compile(
    rf"\s*({_WRITTEN}|(?!{_WRITTEN}\()[^\s(][^(]*)\({_CONSTANT},{_CONSTANT}\)(?=\s*(?:[,&#]|\Z))"
)
_VARIABLES_ONLY = re.compile(
    r"(?:[A-Z]|\?\w+)(?:\s*,\s*(?:[A-Z]|\?\w+))+"
)  # three arguments, not a long name
_SIMPLE = rf"\s*({QUOTED}|[^\s(),\"][^(),\"]*?)\s*"  # an argument that needs no second look
_SIMPLE_ATOM = re.compile(rf"\s*({_WRITTEN}|[^\s(\"<][^(\"]*)\({_SIMPLE},{_SIMPLE}\)(?=\s*(?:[,&#]|\Z))")
_LONGEST = 10_000  # of an atom with constants: each comma in it may be the one between them
_SEPARATOR = re.compile(r"\s*[,&]\s*")
_FALSE = re.compile(r"\s*false\s*\Z")
_END = re.compile(r"\s*(#.*)?\Z")
# Names that reach their parenthesis without being taken for a quote, a comment, an arrow or another atom.
# A brace in front would make the file look like JSON.
_BARE = re.compile(rf"""[^\s{HIDDEN}"<#()&,{{](?:[^{HIDDEN}"<()&,]*[^\s{HIDDEN}"<()&,])?\Z""")
_INNER = "ABCDEFGHIJKLMNOPQRSTUVW"  # AnyBURL's variables between X and Y
_COLUMNS = re.compile(r"\s*((?:[^\t]*\t)*)")


def _argument(written: str) -> str:
    return written if _IS_VARIABLE.match(written) else Constant(unquoted(written))


_QUICK_NAME = r"([^\s()\",<>#?\\^]+)"
_QUICK_ATOM = rf"{_QUICK_NAME}\({_QUICK_NAME},{_QUICK_NAME}\)"
_QUICK = re.compile(
    rf"(\d+)(?::\d+)?\t(\d+)\t(\d+\.\d+(?:E-\d+)?)\t{_QUICK_ATOM} <= (?:{_QUICK_ATOM})?[ \r]*\Z"
)


class QuickReader:
    """Reads the lines that AnyBURL writes by the hundred thousand: columns, and at most one atom with a constant.

    It gives what `read_line` and `meaning` give, without their objects; None for any other line.
    """

    def __init__(self) -> None:
        self._names: dict[str, str] = {}  # one object for each name

    def read(self, text: str) -> ConstantRule | None:
        """The rule on a line, where it is one of these."""
        match = _QUICK.match(text)
        if match is None:
            return None
        predictions, support, confidence, head, start, end, relation, one, other = match.groups()
        known = self._names.setdefault
        numbers: dict[str, int] = {}
        atoms: tuple[Terms, ...] = ()
        if relation is not None:
            if one == other and _is_letter(one):
                return None
            atoms = ((known(relation, relation), self._term(one, numbers), self._term(other, numbers)),)
        inside = len(numbers)
        conclusion = known(head, head), self._term(start, numbers), self._term(end, numbers)
        safe = len(numbers) == inside if atoms else len(numbers) < 2
        if not safe or start == end or (isinstance(conclusion[1], int) and isinstance(conclusion[2], int)):
            return None
        return ConstantRule(atoms, conclusion, Quality(int(predictions), int(support), float(confidence)))

    def _term(self, written: str, numbers: dict[str, int]) -> Term:
        if _is_letter(written):
            return numbers.setdefault(written, len(numbers))
        return self._names.setdefault(written, written)


def _is_letter(written: str) -> bool:
    return len(written) == 1 and "A" <= written <= "Z"


@dataclass(frozen=True)
class Syntax:
    """How a dialect writes atoms: the patterns to try in turn, and what an argument means."""

    atoms: tuple[re.Pattern[str], ...] = (_SIMPLE_ATOM, _ATOM, _ATOM_WITH_CONSTANTS)
    argument: Callable[[str], str] = _argument
    needs_body: bool = False


def read_line(line: SourceLine, arrow_at: int, syntax: Syntax = Syntax()) -> Statement:  # noqa: B008 - it is frozen
    """The statement on a line `[columns] head <= body`, whose arrow stands at an offset."""
    columns = _COLUMNS.match(line.text, 0, arrow_at)
    assert columns is not None
    body = _body(line, arrow_at + 2, _form(line, arrow_at), syntax)
    head = _head(line, columns.end(), arrow_at, syntax)
    return statement_of(line, body, head, columns.span(1), syntax.argument)


def lines(base: RuleBase) -> Iterator[str]:
    """`columns head <= body` for every rule; AnyBURL has no constraints."""
    for rule in base.given:
        if isinstance(rule, ConstantRule):
            terms = rule.terms(_with_constants(rule.num_variables), _constant)
        else:
            terms = rule.terms(_variables(len(rule.body) + 1))
        *body, head = (_written(*term) for term in terms)
        yield f"{written_columns(rule.quality)}{head} <= {', '.join(body)}"


def _with_constants(count: int) -> list[str]:
    """X, A, B, ...: of a rule with constants."""
    return _variables(count + 1)[:count]


def _constant(name: str) -> str:
    """A constant as it stands in the data, or in quotes where it would be taken for something else."""
    return name if _BARE.match(name) and not _IS_VARIABLE.match(name) else quoted_text(name)


def _variables(count: int) -> list[str]:
    """X, A, B, ..., Y: the head's variables are X and Y, as AnyBURL writes them."""
    inner = [
        _INNER[index] if index < len(_INNER) else f"?{_INNER[index % len(_INNER)]}{index // len(_INNER)}"
        for index in range(count - 2)
    ]
    return ["X", *inner, "Y"]


def _written(relation: str, start: str, end: str) -> str:
    name = relation if _BARE.match(relation) else quoted_text(relation)
    return f"{name}({start},{end})"


def _head(line: SourceLine, at: int, arrow_at: int, syntax: Syntax) -> re.Match[str] | None:
    if _FALSE.match(line.text, at, arrow_at):
        return None
    if not line.text[at:arrow_at].strip():
        raise line.error("missing head", at=at, hint=_form(line, arrow_at))
    atom = _atom(line, at, arrow_at, syntax)
    end = atom.end()
    if line.text[end:arrow_at].strip():
        raise line.error(
            f"expected '{line.text[arrow_at : arrow_at + 2]}' here, found '{line.text[end:arrow_at].strip()}'",
            at=arrow_at - len(line.text[end:arrow_at].lstrip()),
            hint=f"a rule has one head; {_form(line, arrow_at)}",
        )
    return atom


def _form(line: SourceLine, arrow_at: int) -> str:
    """How such a rule is written: Datalog has the same order with another arrow."""
    arrow = line.text[arrow_at : arrow_at + 2]
    return f"{'an AnyBURL' if arrow == '<=' else 'a Datalog'} rule is written head {arrow} body"


def _body(line: SourceLine, at: int, form: str, syntax: Syntax) -> list[re.Match[str]]:
    if _END.match(line.text, at):
        if syntax.needs_body:
            raise line.error("missing body", at=min(at, len(line.text.rstrip())), hint=form)
        return []
    atoms = []
    while True:
        atoms.append(_atom(line, at, len(line.text), syntax))
        at = atoms[-1].end()
        if _END.match(line.text, at):
            return atoms
        separator = _SEPARATOR.match(line.text, at)
        if separator is None:
            raise _no_separator(line, at)
        at = separator.end()


def _atom(line: SourceLine, at: int, end: int, syntax: Syntax) -> re.Match[str]:
    plain, *others = syntax.atoms
    match = plain.match(line.text, at, end)
    for pattern in others:
        match = match or pattern.match(line.text, at, min(end, at + _LONGEST))
    if match is None or _VARIABLES_ONLY.fullmatch(match[3] or ""):
        raise _why_no_atom(line, at, end)
    return match


def _why_no_atom(line: SourceLine, at: int, end: int) -> InputError:
    text = line.text[at:end]
    start = at + len(text) - len(text.lstrip())
    hint = "an atom is written relation(X,Y); a name runs to its parenthesis"
    if not text.strip():
        return line.error("missing atom", at=min(start, len(line.text.rstrip())), hint=hint)
    name, opening, inside = text.partition("(")
    if opening and ")" not in inside:
        return line.error(
            "unbalanced parentheses: this '(' is not closed", at=at + len(name), hint="add the missing ')'"
        )
    if not opening:
        return line.error(f"expected an atom here, found '{text.strip()}'", at=start, hint=hint)
    arguments = inside.partition(")")[0].split(",")
    if len(arguments) == 2:
        return line.error(f"the arguments of {name.strip()} cannot be read", at=at + len(name) + 1, hint=hint)
    plural = "" if len(arguments) == 1 else "s"
    return line.error(
        f"wrong arity: {name.strip()} has {len(arguments)} argument{plural} here, and needs 2",
        at=start,
        hint="relations are binary: relation(X,Y)",
    )


def _no_separator(line: SourceLine, at: int) -> InputError:
    rest = line.text[at:].lstrip()
    start = len(line.text) - len(rest)
    if rest.startswith(")"):
        return line.error(
            "unbalanced parentheses: this ')' closes nothing",
            at=start,
            hint="remove it, or add the missing '('",
        )
    return line.error(f"expected ',' here, found '{rest[0]}'", at=start, hint="atoms are separated by commas")
