"""Print the best new links of a model, with names, scores and reasons.

reshuffle predict model facts.tsv --head ada --relation speaks --reasons 2
reshuffle predict model facts.tsv --relation speaks --tail english --top 5 --reasons 0
reshuffle predict model facts.tsv --head ada                           what is not known about ada
reshuffle predict mined.rules facts.tsv --head ada --relation speaks --aggregate max-plus
reshuffle predict model facts.tsv --all --top 100 --reasons 2 -o missing.csv
reshuffle predict model facts.tsv --head ada -o report.html            one page with reasons and rules, to mail
reshuffle predict model facts.tsv --all --per-relation 20 --min-probability 0.5 -o missing.csv
reshuffle predict model facts.nt --all --head-type Person --not-linked     no pair that a fact joins
reshuffle predict model facts.nt --head ada --constraints ontology.ttl      no link that would break one
reshuffle predict model facts.tsv --all -o missing.csv --engine spark --master spark://host:7077

MODEL is a directory that `reshuffle train` wrote, or a rule file (confidences are the weights). --all finds the
missing links of the whole graph, or of one relation. The most likely link comes first. A rule list gives the links that
its rules lead to; a soft model asks about entities whose facts are like those of a head in training, on a large graph
only the questions to which its rule list has the best answers. Ctrl-C ends --all by
a rule list early: the links found by then are printed or written, and with -o the same command goes on from there.
Exit status 1 if there is no new link.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from reshuffle.cli.inputs import InputFile, InputModel, graph_of, theory_of
from reshuffle.cli.options import add_aggregate, add_facts, add_naming_options
from reshuffle.cli.outputs import OutputFile
from reshuffle.cli.processes import is_first, shared_work
from reshuffle.cli.spark_options import add_spark_engine, spark_choice
from reshuffle.errors import InputError
from reshuffle.text import counted

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from reshuffle.cli.console import Console
    from reshuffle.evaluation.ranked_links import Link, Predictions
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.theories import Theory
    from reshuffle.work_shares import Shares

HELP = "ranked new links, with reasons"
REPORT_ENDINGS = (".html",)
_REASONS_IN_REPORT = 3
_INTERRUPTED = 130  # as whatever Ctrl-C ends
_TYPES = {"head_type": "head_types", "tail_type": "tail_types", "type_relation": "type_relation"}
_FILTERS = _TYPES | {name: name for name in ("per_relation", "min_probability", "seen_ends", "not_linked")}
"""Options that need --all, and what they are called in `missing`."""
_OF_LISTS = ("reasons_only", "resume")
_OF_SOFT_MODELS = ("all_questions",)
_OF_KNOWN = (
    "scores of known facts are made with the fact itself in the graph, and do not compare with the others'"
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("model", type=InputModel, metavar="MODEL", help="a model directory, or a rule file")
    add_facts(parser)
    parser.add_argument("--head", metavar="H", help="ask for the tails of (H, R, ?), or of all relations")
    parser.add_argument("--relation", metavar="R")
    parser.add_argument("--tail", metavar="T", help="ask for the heads of (?, R, T), or of all relations")
    parser.add_argument("--all", action="store_true", help="find links of the whole graph")
    parser.add_argument(
        "--top",
        type=int,
        metavar="N",
        help="number of links (default 10; all with --per-relation or --min-probability)",
    )
    parser.add_argument(
        "--per-relation", type=int, metavar="K", help="with --all: at most K links of each relation"
    )
    parser.add_argument(
        "--min-probability",
        type=float,
        metavar="P",
        help="with --all: only links that are at least that likely",
    )
    parser.add_argument(
        "--reasons-only",
        action="store_true",
        help="with --all: only links to which rules add more than distance and types do",
    )
    _add_limits(parser)
    parser.add_argument(
        "--all-questions",
        action="store_true",
        help="with --all and a soft model: ask all questions, not only those that its rules have the best answers to",
    )
    parser.add_argument(
        "--resume", action="store_true", help="with --all and -o: go on with a search that was cut off"
    )
    parser.add_argument(
        "--known", choices=("exclude", "mark"), default="exclude", help="leave facts out, or mark them"
    )
    parser.add_argument(
        "--constraints",
        type=InputFile,
        metavar="FILE",
        help="an ontology, or rules with constraints: links that would break one are held back, and counted",
    )
    parser.add_argument(
        "--reasons",
        type=int,
        metavar="N",
        help="at most N reasons for each link, printed or in a column (1; none with --all or -o; 3 in a report)",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=OutputFile,
        metavar="OUT",
        help="write the table: .csv, .tsv, .parquet, .arrow, .json, .jsonl, .md, or the links alone as RDF (.nt, ...); "
        "or a report to mail to somebody: .html",
    )
    parser.add_argument("--device", default="auto", help="cpu, cuda, or auto (default)")
    add_aggregate(parser)
    add_spark_engine(parser, help="with --all: ask on the workers of Spark, with the same result")
    add_naming_options(parser)
    parser.set_defaults(usage_error=parser.error)


def _add_limits(parser: argparse.ArgumentParser) -> None:
    for end in ("head", "tail"):
        parser.add_argument(
            f"--{end}-type",
            action="append",
            default=[],
            metavar="T",
            help=f"with --all: only links whose {end} is of this type by the facts; repeatable, one of them will do",
        )
    parser.add_argument(
        "--type-relation",
        metavar="R",
        help="the relation that says of what type something is (default: one called rdf:type, instance_of, P31, ...)",
    )
    parser.add_argument(
        "--seen-ends",
        action="store_true",
        help="with --all: only heads and tails that the relation has in the facts already",
    )
    parser.add_argument(
        "--not-linked",
        action="store_true",
        help="with --all: only pairs that no fact joins, in either direction",
    )


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Load, ask, print or write."""
    _check_usage(arguments)
    _set_top(arguments)
    reasons = _reasons(arguments)
    arguments.spark = spark_choice(arguments, beside=arguments.output)
    with shared_work(arguments.device) as (shares, arguments.device):
        found, theory, graph = _found(arguments, shares, console)
    if not is_first():
        return 0
    if any(row.known for row in found):
        console.message(_OF_KNOWN)
    if arguments.output:
        if _is_report(arguments):
            from reshuffle.cli.report_pages import write_predictions

            write_predictions(
                found, arguments, reasons=reasons, theory=theory, facts=graph, names=console.names
            )
        else:
            found.write(arguments.output, reasons=reasons)
        text = f"{arguments.output}: {counted(len(found), 'prediction')}"
        console.result(text, {"file": arguments.output, "predictions": len(found)})
    elif console.json:
        console.result("", found.to_dict(reasons=reasons))
    else:
        console.result(found.text(reasons=reasons, shown=console.names.text), {}, fold=False)
    if not getattr(found, "complete", True):
        return _INTERRUPTED
    return 0 if any(not row.known for row in found) else 1


def _check_usage(arguments: argparse.Namespace) -> None:
    ends = [name for name in ("head", "tail") if getattr(arguments, name) is not None]
    if arguments.all and (ends or arguments.known == "mark"):
        arguments.usage_error("--all asks about all heads: leave out --head, --tail and --known mark")
    if not arguments.all and len(ends) != 1:
        arguments.usage_error("give --head H or --tail T, with or without --relation R; or --all")
    if not arguments.all and arguments.relation is None and arguments.known == "mark":
        arguments.usage_error("--known mark needs --relation R")
    _check_filters(arguments)
    if arguments.aggregate and arguments.all:
        arguments.usage_error("--aggregate ranks the answers of one question: give --head or --tail")
    if arguments.engine is not None and not arguments.all:
        arguments.usage_error("--engine spark needs --all: workers share the questions of a whole graph")
    for name, least in (("top", 1), ("reasons", 0)):
        if (given := getattr(arguments, name)) is not None and given < least:
            raise InputError(f"--{name} {given}", hint=f"give {least} or more")


def _check_filters(arguments: argparse.Namespace) -> None:
    if (
        option := _given(arguments, *_FILTERS, *_OF_LISTS, *_OF_SOFT_MODELS)
    ) is not None and not arguments.all:
        arguments.usage_error(f"{option} needs --all")
    if arguments.type_relation is not None and not (arguments.head_type or arguments.tail_type):
        arguments.usage_error("--type-relation needs --head-type or --tail-type")
    if arguments.resume and (not arguments.output or arguments.engine is not None):
        arguments.usage_error(
            "--resume needs -o OUT, beside which the unfinished search lies, and no --engine"
        )


def _given(arguments: argparse.Namespace, *options: str) -> str | None:
    """The first of some options that was given, as it was typed."""
    given = [name for name in options if getattr(arguments, name) not in (None, False, [])]
    return f"--{given[0].replace('_', '-')}" if given else None


def _check_kind(arguments: argparse.Namespace, theory: Theory) -> None:
    """Refuse what only the other kind of model can do."""
    if not theory.shares_questions:
        if (option := _given(arguments, *_OF_SOFT_MODELS)) is not None:
            raise InputError(
                f"{option} needs a soft model, and {arguments.model} is none",
                hint="leave it out: all links that rules lead to are looked at",
            )
    elif (option := _given(arguments, *_OF_LISTS)) is not None:
        raise InputError(
            f"{option} needs a rule list, and {arguments.model} is a soft model",
            hint="train one: reshuffle train FACTS -o MODEL --recipe rules",
        )


def _set_top(arguments: argparse.Namespace) -> None:
    if arguments.top is None and arguments.per_relation is None and arguments.min_probability is None:
        arguments.top = 10


def _reasons(arguments: argparse.Namespace) -> int:
    """How many reasons to print for each link."""
    if arguments.reasons is not None:
        return int(arguments.reasons)
    if _is_report(arguments):
        return _REASONS_IN_REPORT
    return 0 if arguments.all or arguments.output else 1


def _is_report(arguments: argparse.Namespace) -> bool:
    return Path(arguments.output or "").suffix in REPORT_ENDINGS


def _found(
    arguments: argparse.Namespace, shares: Shares, console: Console
) -> tuple[Predictions[Link], Theory, KnowledgeGraph]:
    """Load the model, read the facts, ask."""
    from reshuffle.results.table_formats import check_table_writable

    if arguments.output:
        check_table_writable(arguments.output)
    device = "cpu" if arguments.spark else arguments.device
    theory = theory_of(arguments.model, arguments, console, device=device)
    graph = graph_of(arguments, console)
    answers = theory.on(graph, notes=console.message)
    console.names.learn(arguments, *arguments.facts, arguments.model, labels=True)
    _take_full_names(arguments, console, graph)
    if arguments.all:
        _check_kind(arguments, theory)
        more: dict[str, Any] = {called: getattr(arguments, name) for name, called in _FILTERS.items()}
        if theory.shares_questions:
            more |= {"shares": shares, "all_questions": arguments.all_questions}
        else:
            more |= {name: getattr(arguments, name) for name in _OF_LISTS} | {"part": True}
        if arguments.spark or not theory.shares_questions:
            more["beside"] = arguments.output
        more["notes"] = console.message
        more |= {"relation": arguments.relation, "progress": console.progress, **arguments.spark}
        ask: Callable[..., Predictions[Link]] = answers.missing
    else:
        more = {name: getattr(arguments, name) for name in ("relation", "head", "tail", "known")}
        ask = answers.predict
    if arguments.constraints is None:
        return ask(top=arguments.top, **more), theory, graph
    from reshuffle.theories.impossible_links import read_impossible, without_impossible

    wanted = {"top": arguments.top} | {name: more.pop(name) for name in ("per_relation",) if name in more}
    impossible = read_impossible(
        arguments.constraints, graph, progress=console.progress, notes=console.message
    )
    found = without_impossible(
        lambda numbers: ask(**numbers, **more), wanted, impossible, notes=console.message
    )
    rest = "" if impossible.claim else f"; {impossible.claim}"
    console.message(
        f"{counted(found.held_back or 0, 'link')} held back, which would break a constraint{rest}"
    )
    return found, theory, graph


def _take_full_names(arguments: argparse.Namespace, console: Console, graph: KnowledgeGraph) -> None:
    """Let the arguments be full names, where short ones were typed."""
    for name in ("head", "relation", "tail", "type_relation"):
        if (typed := getattr(arguments, name)) is not None:
            known = graph.relations if name.endswith("relation") else graph.entities
            setattr(arguments, name, console.names.full(typed, known))
    for name in ("head_type", "tail_type"):
        full = [console.names.full(typed, graph.entities) for typed in getattr(arguments, name)]
        setattr(arguments, name, full)
