"""Print the best new links of a model, with names, scores and reasons.

reshuffle predict model facts.tsv --head ada --relation speaks --reasons 2
reshuffle predict model facts.tsv --relation speaks --tail english --top 5 --reasons 0
reshuffle predict model facts.tsv --head ada                           what is not known about ada
reshuffle predict model facts.tsv --all --top 100 --reasons 2 -o missing.csv
reshuffle predict model facts.tsv --head ada -o report.html            one page with reasons and rules, to mail
reshuffle predict model facts.tsv --all -o missing.csv --engine spark --master spark://host:7077

MODEL is a directory that `reshuffle train` wrote, or a rule file, whose confidences are the weights. --all looks for
the most plausible missing links of the whole graph, or of one relation: of all heads whose facts are like those of a
head in training. They come in the order of their plausibility. Exit status 1 when there is no new link.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from reshuffle.cli.inputs import InputModel, graph_of, has_rules, rule_model_of
from reshuffle.cli.options import add_facts, add_naming_options
from reshuffle.cli.outputs import OutputFile
from reshuffle.cli.processes import is_first, shared_work
from reshuffle.cli.spark_options import add_spark_engine, spark_choice
from reshuffle.errors import InputError
from reshuffle.text import counted

if TYPE_CHECKING:
    import argparse

    from reshuffle.cli.console import Console
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.learning.estimator import Reshuffle
    from reshuffle.model.answers.predictions import Predictions
    from reshuffle.rulelist import RuleModel
    from reshuffle.rulelist.rule_predictions import RulePredictions
    from reshuffle.work_shares import Shares

HELP = "ranked new links, with reasons"
REPORT_ENDINGS = (".html",)
_REASONS_IN_REPORT = 3
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
    parser.add_argument("--all", action="store_true", help="look for links of all plausible heads")
    parser.add_argument("--top", type=int, default=10, metavar="N", help="so many links (default 10)")
    parser.add_argument(
        "--known", choices=("exclude", "mark"), default="exclude", help="leave facts out, or mark them"
    )
    parser.add_argument(
        "--reasons",
        type=int,
        metavar="N",
        help="up to N for each link, printed or as a column (default 1; none with --all or -o; 3 in a report)",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=OutputFile,
        metavar="OUT",
        help="write the table: .parquet, .csv or .tsv; or a report to mail to somebody: .html",
    )
    parser.add_argument("--device", default="auto", help="cpu, cuda, or auto (default)")
    add_spark_engine(parser, help="with --all: ask on the workers of Spark, with the same result")
    add_naming_options(parser)
    parser.set_defaults(usage_error=parser.error)


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Load, ask, print or write."""
    _check_usage(arguments)
    reasons = _reasons(arguments)
    arguments.spark = spark_choice(arguments, beside=arguments.output)
    with shared_work(arguments.device) as (shares, arguments.device):
        found, model, graph = _found(arguments, shares, console)
    if not is_first():
        return 0
    if any(row.known for row in found):
        console.message(_OF_KNOWN)
    if arguments.output:
        if _is_report(arguments):
            from reshuffle.cli.report_pages import write_predictions  # noqa: PLC0415 - verbs import when they run

            write_predictions(
                found, arguments, reasons=reasons, model=model, facts=graph, names=console.names
            )
        else:
            found.write(arguments.output, reasons=reasons)
        text = f"{arguments.output}: {counted(len(found), 'prediction')}"
        console.result(text, {"file": arguments.output, "predictions": len(found)})
    elif console.json:
        console.result("", found.to_dict(reasons=reasons))
    else:
        console.result(found.text(reasons=reasons, shown=console.names.text), {}, fold=False)
    return 0 if any(not row.known for row in found) else 1


def _check_usage(arguments: argparse.Namespace) -> None:
    ends = [name for name in ("head", "tail") if getattr(arguments, name) is not None]
    if arguments.all and (ends or arguments.known == "mark"):
        arguments.usage_error("--all asks about all heads: leave out --head, --tail and --known mark")
    if not arguments.all and len(ends) != 1:
        arguments.usage_error("give --head H or --tail T, with or without --relation R; or --all")
    if not arguments.all and arguments.relation is None and arguments.known == "mark":
        arguments.usage_error("--known mark needs --relation R")
    if arguments.engine is not None and not arguments.all:
        arguments.usage_error("--engine spark needs --all: workers share the questions of a whole graph")
    for name, least in (("top", 1), ("reasons", 0)):
        if (given := getattr(arguments, name)) is not None and given < least:
            raise InputError(f"--{name} {given}", hint=f"give {least} or more")


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
) -> tuple[Predictions | RulePredictions, Reshuffle | RuleModel, KnowledgeGraph]:
    """Load the model, read the facts, ask."""
    from reshuffle.kg.io.files import check_writable  # noqa: PLC0415
    from reshuffle.kg.io.writing import ROW_ENDINGS  # noqa: PLC0415

    if arguments.output:
        check_writable(arguments.output, endings=(*ROW_ENDINGS, *REPORT_ENDINGS))
    model = _model_of(arguments, console)
    graph = graph_of(arguments, console)
    answers = model.on(graph, notes=console.message)
    console.names.learn(arguments, *arguments.facts, arguments.model, labels=True)
    _take_full_names(arguments, console, graph)
    if arguments.all:
        # A rule list asks all questions at once: every process does.
        more: dict[str, Any] = {} if has_rules(arguments.model) else {"shares": shares}
        if arguments.spark:
            more |= {"beside": arguments.output, "notes": console.message}
        found = answers.missing(
            relation=arguments.relation,
            top=arguments.top,
            progress=console.progress,
            **arguments.spark,
            **more,
        )
        return found, model, graph
    found = answers.predict(
        relation=arguments.relation,
        head=arguments.head,
        tail=arguments.tail,
        top=arguments.top,
        known=arguments.known,
    )
    return found, model, graph


def _take_full_names(arguments: argparse.Namespace, console: Console, graph: KnowledgeGraph) -> None:
    """Let the arguments be full names, where short ones were typed."""
    for name in ("head", "relation", "tail"):
        if (typed := getattr(arguments, name)) is not None:
            known = graph.relations if name == "relation" else graph.entities
            setattr(arguments, name, console.names.full(typed, known))


def _model_of(arguments: argparse.Namespace, console: Console) -> Reshuffle | RuleModel:
    """A trained model, a rule model, or the rules of a file, weighted by their confidences."""
    if has_rules(arguments.model):
        return rule_model_of(arguments.model, console)
    from reshuffle.learning.estimator import Reshuffle  # noqa: PLC0415 - torch

    return Reshuffle.load(arguments.model, device="cpu" if arguments.spark else arguments.device)
