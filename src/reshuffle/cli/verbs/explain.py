"""Print why a triple follows: a proof tree in the rules as they were written. Exit status 1 when it does not follow.

RULES may be a model directory: then it is what the triple's score is made of, and the facts that lead from head to tail
with the rule that they follow. Exit status 1 when nothing supports it. With --hard it is what the hardened matrices
entail, as `infer` has it: for every slot that the relation asks for, the facts by which it is reached. Of a rule model
it is the sum that makes the score, the largest part first; exit status 1 when no rule leads there.

-o draws it as a tree, in the format that the ending names; a page (.html) has it in words, too. PNG needs matplotlib or
Graphviz.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Protocol

from reshuffle.cli.inputs import graph_of, is_model, is_rule_list, reasoners_of, rule_model_of
from reshuffle.cli.options import add_reasoning_options
from reshuffle.cli.outputs import OutputFile
from reshuffle.errors import InputError, Place, ReshuffleError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Sequence

    from reshuffle.cli.console import Console
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.learning.estimator import Reshuffle
    from reshuffle.pictures.diagram import Diagram
    from reshuffle.reasoning import Answers, Reasoner
    from reshuffle.reasoning.proofs import Proof, Proofs

HELP = "why a triple follows"

_REASONS = 3  # of a model, unless told
_ALL = sys.maxsize


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_reasoning_options(parser, engines="auto|chase|duckdb")
    for name in ("head", "relation", "tail"):
        parser.add_argument(name, metavar=name.upper())
    parser.add_argument(
        "--most", type=int, metavar="N", help="up to N proofs or reasons (default 1, of a model 3)"
    )
    parser.add_argument(
        "--hard", action="store_true", help="of a model: by its hardened matrices, as infer goes"
    )
    parser.add_argument(
        "-o",
        "--output",
        type=OutputFile,
        metavar="FILE",
        help="draw it instead: .svg, .png, .html, .mmd (Mermaid), .dot, or .json",
    )


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Print or draw proofs, or say that it does not follow."""
    if arguments.output is not None:
        from reshuffle.cli.picture_files import check_picture  # noqa: PLC0415

        check_picture(arguments.output)
    if arguments.most is not None and arguments.most < 1:
        raise InputError(f"--most {arguments.most} asks for no proof", hint="give 1 or more")
    console.names.learn(arguments, *arguments.facts, arguments.rules, labels=True)
    if is_rule_list(arguments.rules):
        return _explain_by_list(arguments, console)
    if is_model(arguments.rules) and not arguments.hard:
        return _explain_by_model(arguments, console)
    if arguments.hard and not is_model(arguments.rules):
        raise InputError(
            "--hard is for models, and this is none",
            place=Place(arguments.rules),
            hint="rules are hard; leave it out",
        )
    if arguments.engine == "duckdb":
        return _explain_on_duckdb(arguments, console)
    first, *injected = reasoners_of(arguments, console)
    graph = graph_of(arguments, console, [first])
    triple = _triple(arguments, console, graph, lambda: first.names)
    for reasoner in injected:  # a rule that somebody wrote says more than matrices do
        if (proved := _derived(reasoner, graph, triple, arguments.most or 1)) is not None:
            _show(proved, arguments, console)
            return 0
    answers = first.on(graph, progress=console.progress, notes=console.message)
    # Matrices that were learned have no rules: their proofs are one path for each slot, and all of them belong to it.
    proofs = answers.proofs(*triple, most=arguments.most or (_ALL if arguments.hard else 1))
    if not proofs:
        _show(answers.explain(*triple), arguments, console)
        return 1
    together = arguments.hard and arguments.most is None and len(proofs) > 1
    said = f"{len(proofs)} paths, which together meet every slot that the relation asks for:\n\n"
    _show(_told(answers, proofs, said if together else ""), arguments, console)
    return 0


def _explain_on_duckdb(arguments: argparse.Namespace, console: Console) -> int:
    """Print a proof from the facts that DuckDB finds behind the triple; no other facts are loaded."""
    from reshuffle.cli.engine_inference import facts_behind  # noqa: PLC0415
    from reshuffle.kg import Triple  # noqa: PLC0415
    from reshuffle.reasoning.why_not import NoProof  # noqa: PLC0415

    if (arguments.most or 1) > 1:
        raise InputError("DuckDB finds one proof", hint="leave out --most, or --engine duckdb")
    triple, reasoner, behind = facts_behind(arguments, console)
    if behind is None:
        nothing = NoProof(Triple(*triple), reasoner.exactness)
        console.result(str(nothing), nothing.to_dict())
        return 1
    answers = reasoner.on(behind)
    _show(_told(answers, answers.proofs(*triple)), arguments, console)
    return 0


def _triple(
    arguments: argparse.Namespace, console: Console, graph: KnowledgeGraph, names: Callable[[], Iterable[str]]
) -> tuple[str, str, str]:
    """What is asked about, in full names; `names` gives those that rules or a model know besides."""
    typed = (arguments.head, arguments.relation, arguments.tail)
    if not any(":" in name for name in typed):  # which every short name has
        return typed
    known = frozenset(names())
    head, relation, tail = (
        console.names.full(name, there, known)
        for name, there in zip(typed, (graph.entities, graph.relations, graph.entities), strict=True)
    )
    return head, relation, tail


def _derived(
    reasoner: Reasoner, graph: KnowledgeGraph, triple: tuple[str, str, str], most: int
) -> Proofs | None:
    """The proofs of a triple by injected rules; None where the rules do not derive it.

    That it is a fact is no derivation.
    """
    assert reasoner.constraints is not None  # injected rules have geometry
    head, relation, tail = triple
    if (
        relation not in reasoner.constraints.relation_ids
        or head not in graph.entities
        or tail not in graph.entities
    ):
        return None  # the model says what it does not know
    answers = reasoner.on(graph)
    proofs = [proof for proof in answers.proofs(*triple, most=most + 1) if proof.rule is not None]
    return _told(answers, proofs[:most], "by injected rules:\n\n") if proofs else None


def _told(answers: Answers, proofs: Sequence[Proof], opening: str = "") -> Proofs:
    """The proofs as they are told."""
    from reshuffle.reasoning.proofs import Proofs  # noqa: PLC0415 - verbs import when they run

    return Proofs(tuple(proofs), answers.exactness, opening)


class _Explanation(Protocol):
    """What is printed, written as JSON, or drawn."""

    def to_dict(self) -> dict[str, Any]: ...

    def diagram(self) -> Diagram: ...


def _show(explanation: _Explanation, arguments: argparse.Namespace, console: Console) -> None:
    """Print an explanation, or draw it and print where."""
    text, data = str(explanation), explanation.to_dict()
    if arguments.output is None:
        console.result(text, data, fold=True)
        return
    from reshuffle.cli.picture_files import write_tree  # noqa: PLC0415

    drawn = explanation.diagram().worded(console.names.text)
    write_tree(drawn, arguments, text=console.names.text(text), as_json=console.as_json(data))
    said = {name: data[name] for name in ("follows", "supported") if name in data}
    console.result(f"{arguments.output}: {drawn.title}", {"file": arguments.output, **said})


def _explain_by_list(arguments: argparse.Namespace, console: Console) -> int:
    """Print the sum behind the score of a rule model."""
    if arguments.bound is not None or arguments.engine != "auto" or arguments.hard:
        raise InputError(
            "--bound, --engine and --hard are not for rule models",
            place=Place(arguments.rules),
            hint="leave them out; `reshuffle infer` reasons with the rules that are sure",
        )
    model = rule_model_of(arguments.rules, console)
    graph = graph_of(arguments, console)
    answers, most = model.on(graph, notes=console.message), arguments.most or 1
    triple = _triple(arguments, console, graph, lambda: answers.relations)
    found = answers.explain(*triple, most=most)
    _show(found, arguments, console)
    return 0 if found else 1


def _explain_by_model(arguments: argparse.Namespace, console: Console) -> int:
    """Print a model's judgement of the triple, the reasons for it, and what the evidence looked at."""
    from reshuffle.learning.estimator import Reshuffle  # noqa: PLC0415 - torch

    if arguments.bound is not None or arguments.engine != "auto":
        raise InputError(
            "--bound and --engine are for rules, and this is a model",
            place=Place(arguments.rules),
            hint="leave them out; or `reshuffle rules` writes the rules of a model",
        )
    model = Reshuffle.load(arguments.rules, device="cpu")
    graph = graph_of(arguments, console)
    triple = _triple(arguments, console, graph, lambda: model.relations)
    explanation = model.on(graph).explain(*triple, most=arguments.most or _REASONS)
    _show(explanation, arguments, console)
    if explanation.supported:
        return 0
    if _follows_hardened(model, graph, explanation.judgement.triple):
        console.message(
            "it follows from the hardened matrices, which `infer` goes by: `explain --hard` shows how"
        )
    return 1


def _follows_hardened(model: Reshuffle, graph: KnowledgeGraph, triple: tuple[str, str, str]) -> bool:
    """Does the triple follow from the hardened matrices in as many steps as the model has layers?

    `infer` takes any number of steps, but may need minutes to prepare.
    """
    try:
        hard = model.hardened()
    except ReshuffleError:  # the squared variant, or one with a bias, has no hard form
        return False
    return hard.on(graph).explain(*triple, most=1).follows
