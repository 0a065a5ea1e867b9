"""The errors that users see. Each says what was found, what was expected, and how to fix it."""

from __future__ import annotations

import difflib
import itertools
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reshuffle.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterable


def with_hint(message: str, hint: str | None) -> str:
    """The message with the hint on a line of its own, as the command line prints it."""
    return f"{message}\n  hint: {hint}" if hint else message


class ReshuffleError(Exception):
    """Anything this library refuses to do. The command line prints its text and exits with `exit_status`.

    `hint` says what to do about it.

    >>> print(ReshuffleError("found no rules", hint="give at least one"))
    found no rules
      hint: give at least one
    """

    exit_status = 2

    def __init__(self, message: str = "", *, hint: str | None = None) -> None:
        super().__init__(visible(with_hint(message, hint), but="\n\t"))
        self.message, self.hint = message, hint


@dataclass(frozen=True)
class Place:
    """A place in a file; lines and columns count from 1."""

    file: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        return ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)


class InputError(ReshuffleError):
    """Bad data: one message with the place, the offending line under it, and a hint."""

    def __init__(
        self, message: str, *, place: Place | None = None, source: str | None = None, hint: str | None = None
    ) -> None:
        super().__init__(_located(message, place, source), hint=hint)
        self.message, self.place, self.source = message, place, source


def _located(message: str, place: Place | None, source: str | None) -> str:
    """The message after its place, with the line below it and, where the column is known, a mark under that."""
    lines = [f"{place}: {message}" if place else message]
    if source is not None:
        lines.append(f"    {source}")
        if place is not None and place.column is not None:
            lines.append("    " + " " * (place.column - 1) + "^")
    return "\n".join(lines)


class UnknownNameError(ReshuffleError, KeyError):
    """A name that the vocabulary does not hold, with the nearest ones it does."""

    def __init__(self, kind: str, name: object, known: Iterable[str]) -> None:
        if isinstance(name, str):
            message = f"unknown {kind} '{visible(name)}'{did_you_mean(name, known)}"
        else:
            message = f"unknown {kind} {name!r}: a name is text"
        super().__init__(message)
        self.kind, self.name = kind, name

    def __str__(self) -> str:  # KeyError would print the quoted repr
        return self.message


class NotExpressibleError(ReshuffleError):
    """No exact geometry exists for what was asked; `remedy` says what does work."""

    exit_status = 1

    def __init__(self, reason: str, *, remedy: str) -> None:
        super().__init__(reason, hint=remedy)
        self.reason, self.remedy = reason, remedy


class BudgetError(ReshuffleError):
    """A size limit (nodes, memory) would be exceeded; the message says by how much."""


class InternalError(ReshuffleError):
    """A mistake in this library, found before it could do harm."""

    def __init__(self, message: str) -> None:
        super().__init__(
            f"internal error: {message}", hint="please report it, with the rules and facts that lead here"
        )


def install_line(extra: str) -> str:
    """How to install an extra: from a checkout, since no index of packages has this library."""
    return f"in a checkout of reshuffle: pip install -e '.[{extra}]'"


class MissingPackageError(ReshuffleError, ImportError):
    """An optional part of this library needs a package that is not installed."""

    def __init__(self, package: str, *, extra: str) -> None:
        super().__init__(f"this needs {package}, which is not installed", hint=install_line(extra))


class Terminated(KeyboardInterrupt):
    """A request to end (SIGTERM), which a training follows as it follows Ctrl-C; exit status 143."""


def whole_number(name: str, value: object, *, hint: str) -> int:
    """The value, if it is a whole number of Python's or numpy's; an option that is anything else is refused.

    >>> whole_number("bound", 2.5, hint="give 0 or more")
    Traceback (most recent call last):
      ...
    reshuffle.errors.InputError: found bound = 2.5, expected a whole number
      hint: give 0 or more
    """
    try:
        if not isinstance(value, bool):
            return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        pass
    raise InputError(f"found {name} = {value!r}, expected a whole number", hint=hint)


_MOST_CANDIDATES = 50_000


def near_names(name: str, known: Iterable[str], *, most: int = 3) -> list[str]:
    """Up to `most` names of `known` that look like `name`, nearest first; of IRIs, paths and ids the last part will do.

    >>> near_names("speeks", ["speaks", "bornIn", "spouse"])
    ['speaks']
    >>> near_names("treats", ["http://ex.org/treats", "http://ex.org/causes"])
    ['http://ex.org/treats']
    >>> near_names("DB00945", ["Compound::DB00945", "Gene::1017"])
    ['Compound::DB00945']
    """
    # difflib is quadratic in the name length, so only a bounded number of candidates is compared.
    candidates: dict[str, dict[str, None]] = {}
    for candidate in itertools.islice(known, _MOST_CANDIDATES):
        for key in {candidate.casefold(), _local_name(candidate)}:
            candidates.setdefault(key, {})[candidate] = None
    matches = difflib.get_close_matches(name.casefold(), candidates, n=most)
    matches = matches or difflib.get_close_matches(_local_name(name), candidates, n=most)
    found = dict.fromkeys(candidate for match in matches for candidate in candidates[match])
    return list(found)[:most]


def _local_name(name: str) -> str:
    """The part of a name behind its last slash, hash or colon, or the whole name where nothing follows."""
    before = max(name.rfind(mark, 0, len(name) - 1) for mark in "/#:")
    return name[before + 1 :].casefold()


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The ending of a message: `; did you mean 'x'?`, or nothing when no name is near."""
    names = near_names(str(name), known)  # which may be no text where a caller is wrong
    return f"; did you mean {' or '.join(repr(near) for near in names)}?" if names else ""
