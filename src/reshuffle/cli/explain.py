"""Print why a triple follows: a proof tree in the rules as they were written. Exit status 1 when it does not follow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reshuffle.cli.infer import add_reasoning_options, reasoner_of
from reshuffle.errors import InputError

if TYPE_CHECKING:
    import argparse

    from reshuffle.cli.console import Console
    from reshuffle.reasoning import Answers

HELP = "why a triple follows"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_reasoning_options(parser)
    for name in ("head", "relation", "tail"):
        parser.add_argument(name, metavar=name.upper())
    parser.add_argument("--most", type=int, default=1, metavar="N", help="up to N proofs, smallest first")


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Prove, or say no."""
    from reshuffle.kg import read_graph  # noqa: PLC0415 - verbs import when they run

    if arguments.most < 1:
        raise InputError(f"--most {arguments.most} asks for no proof", hint="give 1 or more")
    reasoner = reasoner_of(arguments, console)
    graph = read_graph(arguments.facts, progress=console.progress, notes=console.message)
    answers = reasoner.on(graph, progress=console.progress, notes=console.message)
    triple = (arguments.head, arguments.relation, arguments.tail)
    proofs = answers.proofs(*triple, most=arguments.most)
    if not proofs:
        return _refuse(answers, triple, console)
    text = "\n\n".join(str(proof) for proof in proofs)
    console.result(
        text,
        {
            "follows": True,
            "exactness": answers.exactness,
            "proofs": [proof.to_dict() for proof in proofs],
        },
    )
    return 0


def _refuse(answers: Answers, triple: tuple[str, str, str], console: Console) -> int:
    """No, and how near it comes."""
    from reshuffle.reasoning.proofs import spelled  # noqa: PLC0415

    nearest = answers.why_not(*triple)
    lines = [f"{spelled(triple)} does not follow ({answers.exactness})"]
    if nearest:
        lines += ["", "nearest:", *(str(partial) for partial in nearest)]
    console.result(
        "\n".join(lines),
        {
            "follows": False,
            "exactness": answers.exactness,
            "proofs": [],
            "nearest": [partial.to_dict() for partial in nearest],
        },
    )
    return 1
