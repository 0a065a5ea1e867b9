"""What verbs tell besides triples: what breaks a constraint, and a file that says how far answers are to be trusted."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from reshuffle.cli.console import Console
    from reshuffle.reasoning.violations import Violation
    from reshuffle.rules.exactness import Exactness

_MOST_TOLD = 3
_MOST_LISTED = 100  # each has two proofs


class Answering(Protocol):
    """Answers of an engine, inside this process or outside."""

    def violations(self) -> Iterator[Violation]:
        """What breaks a constraint."""


def some_violations(answers: Answering, console: Console) -> list[Violation]:
    """What breaks a constraint: the first hundred, or with -v all."""
    return list(islice(answers.violations(), None if console.verbosity > 0 else _MOST_LISTED))


def tell_violations(found: Sequence[Violation], console: Console) -> None:
    """Warn of pairs that a constraint forbids, with both proofs: of a few, or with -v of all. No -q hides it."""
    from reshuffle.reasoning.violations import warning_lines

    if found:
        for line in warning_lines(found, None if console.verbosity > 0 else _MOST_TOLD, "-v shows all"):
            console.error(line)


def write_summary(
    path: str,
    derived: int,
    claim: Exactness,
    found: Sequence[Violation],
    console: Console,
    *,
    skipped_rows: int = 0,
) -> None:
    """Write what was derived, whether it is all that follows, what was not read, and what breaks a constraint.

    Skipped rows of the facts are counted where there are some.
    """
    from reshuffle.kg.io.files import written_whole

    data = {
        "derived": derived,
        "exact": bool(claim),
        "not_read": claim.to_dict()["not_read"],
        "violations": [violation.to_dict() for violation in found],
    } | ({"skipped_rows": skipped_rows} if skipped_rows else {})
    with written_whole(path) as aside:
        aside.write_text(console.as_json(data) + "\n", encoding="utf-8")
