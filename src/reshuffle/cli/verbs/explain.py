"""Print why a triple follows: a proof tree in the rules as they were written. Exit status 1 when it does not follow.

RULES may be a model directory: then it is what the triple's score is made of, and the facts that lead from head to tail
with the rule that they follow. Exit status 1 when nothing supports it. With --hard it is what the hardened matrices
entail, as `infer` has it: for every slot that the relation asks for, the facts by which it is reached. Of a rule model
it is the sum that makes the score, the largest part first; exit status 1 when no rule leads there.

A model has a score for each of two questions, (HEAD, RELATION, ?) and (?, RELATION, TAIL), as `predict --head` and
`predict --tail` ask them. --side says which of them is explained; the score for the other one stands beside it.

-o draws it as a tree, in the format that the ending names; a page (.html) has it in words, too.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from reshuffle.cli.inputs import InputModel, classes_of, graph_of, reasoners_of, sort_files, theory_of
from reshuffle.cli.options import add_reasoning_options
from reshuffle.cli.outputs import OutputFile
from reshuffle.cli.summaries import some_violations
from reshuffle.errors import InputError, Place

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Sequence

    from reshuffle.cli.console import Console
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.reasoning import Answers, Reasoner
    from reshuffle.reasoning.classes.class_answers import ClassAnswers
    from reshuffle.reasoning.proofs import Proof, Proofs
    from reshuffle.reasoning.violations import Violation
    from reshuffle.results import Explanation
    from reshuffle.theories import Theory

HELP = "why a triple follows"

_ALL = sys.maxsize


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_reasoning_options(parser, facts_may_be_missing=True, engines="auto|geometry|chase|duckdb")
    parser.set_defaults(usage_error=parser.error)
    for name in ("head", "relation", "tail"):
        parser.add_argument(name, metavar=name.upper())
    parser.add_argument(
        "--most", type=int, metavar="N", help="up to N proofs or reasons (default 1, of a model 3)"
    )
    parser.add_argument(
        "--side",
        choices=("tail", "head"),
        help="of a model: the score as an answer to (HEAD, RELATION, ?), or to (?, RELATION, TAIL) (default tail)",
    )
    parser.add_argument(
        "--hard", action="store_true", help="of a model: by its hardened matrices, as infer goes"
    )
    parser.add_argument(
        "-o",
        "--output",
        type=OutputFile,
        metavar="FILE",
        help="draw or write it instead: .svg, .html, .mmd (Mermaid), .dot, .json, or .txt",
    )


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Print or draw proofs, or say that it does not follow."""
    if arguments.output is not None:
        from reshuffle.kg.io.files import check_writable
        from reshuffle.results.explanation_formats import FORMATS

        check_writable(arguments.output, endings=FORMATS)
    if arguments.most is not None and arguments.most < 1:
        raise InputError(f"--most {arguments.most} asks for no proof", hint="give 1 or more")
    sort_files(arguments, console)
    more = getattr(arguments, "more_rules", ())
    console.names.learn(arguments, *arguments.facts, arguments.rules, *map(InputModel, more), labels=True)
    if (classes := classes_of(arguments, console)) is not None:
        return _explain_edge(classes, arguments, console)
    theory = theory_of(arguments.rules, arguments, console)
    if theory.ranks and not arguments.hard:
        return _explain_score(theory, arguments, console)
    _refuse_what_is_for_models(theory, arguments)
    if arguments.engine == "duckdb":
        return _explain_on_duckdb(arguments, console)
    first, *injected = reasoners_of(arguments, theory.certain(notes=console.message))
    graph = graph_of(arguments, console, [first])
    triple = _triple(arguments, console, graph, lambda: first.names)
    for reasoner in injected:  # a rule that somebody wrote says more than matrices do
        if (proved := _derived(reasoner, graph, triple, arguments.most or 1)) is not None:
            _show(proved, arguments, console, ())
            return 0
    answers = first.on(graph, progress=console.progress, notes=console.message)
    # Matrices that were learned have no rules: their proofs are one path for each slot, and all of them belong to it.
    proofs = answers.proofs(*triple, most=arguments.most or (_ALL if arguments.hard else 1))
    broken = some_violations(answers, console) if console.json else ()
    if not proofs:
        _show(answers.explain(*triple), arguments, console, broken)
        return 1
    together = arguments.hard and arguments.most is None and len(proofs) > 1
    said = f"{len(proofs)} paths, which together meet every slot that the relation asks for:\n\n"
    _show(_told(answers, proofs, said if together else ""), arguments, console, broken)
    return 0


def _explain_edge(classes: ClassAnswers, arguments: argparse.Namespace, console: Console) -> int:
    """Print why an edge between classes follows, in short names and labels."""
    head, relation, tail = map(classes.full_name, (arguments.head, arguments.relation, arguments.tail))
    console.names.know(classes.names.labels)
    proofs = classes.proofs(head, relation, tail)
    _show(_told(classes, proofs) if proofs else classes.explain(head, relation, tail), arguments, console)
    return 0 if proofs else 1


def _refuse_what_is_for_models(theory: Theory, arguments: argparse.Namespace) -> None:
    """Refuse --hard of rules, and --side of what follows."""
    if arguments.hard and theory.matrices() is None:
        raise InputError(
            "--hard is for matrices, and these are rules",
            place=Place(arguments.rules),
            hint="leave it out: rules are hard, and `reshuffle infer` reasons with the rules of a list that are sure",
        )
    if arguments.side is not None:
        raise InputError(
            "--side is for scores, and what follows does so whichever end is asked for",
            place=Place(arguments.rules),
            hint="leave it out; or give a model, without --hard",
        )


def _explain_on_duckdb(arguments: argparse.Namespace, console: Console) -> int:
    """Print a proof from the facts that DuckDB finds behind the triple; no other facts are loaded."""
    from reshuffle.cli.engine_inference import facts_behind
    from reshuffle.kg import Triple
    from reshuffle.reasoning.proofs import Proofs
    from reshuffle.reasoning.why_not import NoProof

    if (arguments.most or 1) > 1:
        raise InputError("DuckDB finds one proof", hint="leave out --most, or --engine duckdb")
    found = facts_behind(arguments, console)
    if found.facts is None:
        _show(NoProof(Triple(*found.triple), found.claim), arguments, console, found.violations)
        return 1
    proofs = found.reasoner.on(found.facts).proofs(*found.triple)
    _show(Proofs(tuple(proofs), found.claim), arguments, console, found.violations)
    return 0


def _triple(
    arguments: argparse.Namespace, console: Console, graph: KnowledgeGraph, names: Callable[[], Iterable[str]]
) -> tuple[str, str, str]:
    """What is asked about, in full names; `names` gives those that rules or a model know besides."""
    typed = (arguments.head, arguments.relation, arguments.tail)
    if not (console.names.labels or any(":" in name for name in typed)):  # which every short name has
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
    from reshuffle.reasoning.proofs import Proofs

    return Proofs(tuple(proofs), answers.claim, opening)


def _show(
    explanation: Explanation,
    arguments: argparse.Namespace,
    console: Console,
    violations: Sequence[Violation] | None = None,
) -> None:
    """Print an explanation, or draw it and print where; for JSON, with what breaks a constraint where there are any."""
    text, data = str(explanation), explanation.to_dict()
    if violations is not None:
        data["violations"] = [violation.to_dict() for violation in violations]
    if arguments.output is None:
        console.result(text, data, fold=True)
        return
    from reshuffle.cli.picture_files import how_made
    from reshuffle.results.explanation_formats import Told, write_explanation

    drawn = explanation.diagram().worded(console.names.text)
    told = Told(drawn, console.names.text(text), console.as_json(data), how_made(arguments))
    write_explanation(told, arguments.output)
    said = {name: data[name] for name in ("follows", "supported") if name in data}
    console.result(f"{arguments.output}: {drawn.title}", {"file": arguments.output, **said})


def _explain_score(theory: Theory, arguments: argparse.Namespace, console: Console) -> int:
    """Print what makes the score of a triple, and the reasons for it."""
    from reshuffle.kg import Triple

    if arguments.bound is not None or arguments.engine != "auto":
        raise InputError(
            f"--bound and --engine are for proofs, and a {theory.kind} has scores",
            place=Place(arguments.rules),
            hint="leave them out; `reshuffle infer` derives what is certain",
        )
    graph = graph_of(arguments, console)
    answers = theory.on(graph, notes=console.message)
    triple = _triple(arguments, console, graph, lambda: theory.relations)
    most, side = arguments.most or theory.shown_reasons, arguments.side or "tail"
    explanation = answers.explain(*triple, most=most, side=side)
    _show(explanation, arguments, console)
    if explanation:
        return 0
    if (remark := theory.remark_on(graph, Triple(*triple))) is not None:
        console.message(remark)
    return 1
