"""What verbs tell besides triples: what breaks a constraint, and a file that says how far answers are to be trusted."""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Protocol

from reshuffle.cli.inputs import certain_of, graph_of, reasoners_of
from reshuffle.text import counted

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from reshuffle.cli.console import Console
    from reshuffle.reasoning import Answers
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


def report_consistency(arguments: argparse.Namespace, console: Console) -> int:
    """Say whether there is a clash, with proofs; 1 where there is one. The result is on stdout, whatever -q says."""
    if not console.json:
        console.names.learn(arguments, *arguments.facts, arguments.rules, labels=True)
    answers = _answers(arguments, console)
    found, claim = some_violations(answers, console), answers.claim
    told = found if console.verbosity > 0 else found[:_MOST_TOLD]
    console.result(_text(found, told, claim), _data(found, claim), fold=True)
    return 1 if found else 0


def _answers(arguments: argparse.Namespace, console: Console) -> Answers:
    certain = certain_of(arguments, console)
    reasoners = reasoners_of(arguments, certain)
    graph = graph_of(arguments, console, reasoners)
    return certain.answered(reasoners, graph, progress=console.progress, notes=console.message)


def _text(found: Sequence[Violation], told: Sequence[Violation], claim: Exactness) -> str:
    if not found:
        return "consistent (exact)" if claim else f"no clash follows; {claim}"
    more = f"; the first {len(told)}, -v shows all" if len(told) < len(found) else ""
    return "\n".join(
        chain([f"inconsistent: {counted(len(found), 'clash', 'clashes')}{more}"], map(str, told))
    )


def _data(found: Sequence[Violation], claim: Exactness) -> dict[str, Any]:
    return {
        "consistent": not found,
        **claim.to_dict(),
        "violations": [violation.to_dict() for violation in found],
    }
