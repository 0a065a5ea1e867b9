"""`check --consistent`: does what follows from rules, axioms and facts break a constraint?"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from reshuffle.cli.inputs import certain_of, graph_of, reasoners_of
from reshuffle.cli.summaries import some_violations
from reshuffle.text import counted

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from reshuffle.cli.console import Console
    from reshuffle.reasoning import Answers
    from reshuffle.reasoning.violations import Violation
    from reshuffle.rules.exactness import Exactness

_MOST_TOLD = 3


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
