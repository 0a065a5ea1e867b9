"""Print the rules that a model has captured, best first.

reshuffle rules model --on facts.tsv --min-confidence 0.5 --top 20
reshuffle rules family.json --max-length 2 --format anyburl
reshuffle rules model --on facts.tsv -o rules.html
reshuffle rules mined.rules --on facts.tsv --format amie

MODEL is a directory that `reshuffle train` wrote, constraints that `reshuffle compile` wrote, or a rule file with
confidences, or with --on. With --on, each rule is measured on a graph; without, the order is by how far the model
captures it. A rule marked * follows from others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reshuffle.cli.inputs import InputFacts, InputModel, theory_of
from reshuffle.cli.options import add_columns, add_naming_options
from reshuffle.cli.outputs import OutputFile
from reshuffle.errors import InputError, Place
from reshuffle.text import counted

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from reshuffle.cli.console import Console
    from reshuffle.extraction import ExtractedRules
    from reshuffle.rulelist import RuleModel

HELP = "the rules a model has captured"
FORMATS = ("text", "anyburl", "amie", "datalog", "json")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "model",
        type=InputModel,
        metavar="MODEL",
        help="a model directory, compiled constraints, or a rule file",
    )
    parser.add_argument(
        "--on",
        type=InputFacts,
        action="append",
        metavar="FACTS",
        help="measure the rules on these triples: a file, a folder or a pattern, may be repeated",
    )
    add_columns(parser, formats=False)
    parser.add_argument(
        "--min-confidence", type=float, default=0.0, metavar="C", help="leave out less sure rules; needs --on"
    )
    parser.add_argument(
        "--min-support", type=int, default=0, metavar="N", help="leave out rules seen less often; needs --on"
    )
    parser.add_argument(
        "--sort",
        choices=("reading", "weight", "confidence", "support", "head_coverage", "degree", "evidence", "head"),
        default="reading",
        help="reading (default): first what explains most that no rule before explains",
    )
    parser.add_argument("--max-length", type=int, default=3, metavar="N", help="atoms in a body (default 3)")
    parser.add_argument("--top", type=int, metavar="N", help="only the N best")
    parser.add_argument("--hard", action="store_true", help="of a model: harden it first")
    parser.add_argument("--types", action="store_true", help="also rules about single entities; needs --on")
    parser.add_argument("--no-redundant", action="store_true", help="leave out what follows from other rules")
    parser.add_argument(
        "-o",
        "--output",
        type=OutputFile,
        metavar="OUT",
        help="write a page instead, with a table that can be sorted: .html; or the table alone: .csv, .tsv, .parquet, "
        ".arrow, .json, .jsonl, .md",
    )
    parser.add_argument(
        "--format",
        choices=FORMATS,
        help="lines for other programs instead of a table; `check` reads all of them but json, which is --json",
    )
    add_naming_options(parser)


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Extract, print."""
    from reshuffle.extraction import extract_rules
    from reshuffle.extraction.result import SHOWN_COLUMNS
    from reshuffle.kg import read_graph

    if arguments.top is not None and arguments.top < 1:
        raise InputError(f"--top {arguments.top} asks for no rule", hint="give 1 or more")
    if arguments.output:
        _check_output(arguments)
    console.names.learn(arguments, *(arguments.on or ()), labels=True)
    theory = theory_of(arguments.model, arguments, console)
    matrices = theory.matrices(hard=arguments.hard)
    if matrices is None:
        return _print_list(theory.weighted(), arguments, console)
    if theory.remark is not None:
        console.message(theory.remark)
    facts = None
    if arguments.on is not None:
        facts = read_graph(
            *arguments.on,
            columns=arguments.columns,
            bad_rows=arguments.bad_rows,
            report=arguments.report,
            progress=console.progress,
            notes=console.message,
        )
    elif theory.trained:  # those of compiled constraints were written by someone
        console.message("not measured on facts: many of these may never apply; give --on FACTS")
    found = extract_rules(
        matrices,
        on=facts,
        max_length=arguments.max_length,
        min_confidence=arguments.min_confidence,
        min_support=arguments.min_support,
        types=arguments.types,
        progress=console.progress,
    )
    if arguments.no_redundant:
        found = found.without_redundant()
    found = found.sorted_by(arguments.sort)
    if arguments.output:
        measured = "on no facts" if facts is None else f"on {', '.join(arguments.on)}: {repr(facts)[1:-1]}"
        return _write(found, SHOWN_COLUMNS, ("measured", measured), arguments, console)
    _print(found, arguments, console)
    return 0


def _check_output(arguments: argparse.Namespace) -> None:
    from reshuffle.results.table_formats import check_table_writable

    check_table_writable(arguments.output)
    if arguments.format is not None:
        raise InputError(
            f"--format {arguments.format} prints lines, and -o writes a table or a page",
            hint="give one of the two; > FILE keeps what is printed",
        )


def _write(
    found: ExtractedRules | RuleModel,
    columns: Sequence[str],
    made: tuple[str, str],
    arguments: argparse.Namespace,
    console: Console,
) -> int:
    from reshuffle.results import Table

    kept = found if arguments.top is None else found.top(arguments.top)
    if arguments.output.endswith(".html"):
        from reshuffle.cli.report_pages import write_rules

        write_rules(kept, arguments, columns=columns, made=made, names=console.names)
    else:
        Table.of(kept.rows(), heading=counted(len(kept), "rule")).write(arguments.output)
    text = f"{arguments.output}: {counted(len(kept), 'rule')}"
    console.result(text, {"file": arguments.output, "rules": len(kept)})
    return 0


def _print_list(model: RuleModel, arguments: argparse.Namespace, console: Console) -> int:
    """Print the rules of a rule model, which brings its order and its measures; those on given facts with --on."""
    import json

    from reshuffle.kg import read_graph
    from reshuffle.rulelist.learner import measured_on
    from reshuffle.rulelist.rule_model import COLUMNS
    from reshuffle.rules.writing import format_rules

    for name in ("hard", "types", "no_redundant"):
        if getattr(arguments, name):
            raise InputError(
                f"--{name.replace('_', '-')} is not for a rule model: it has its rules, and nothing else",
                place=Place(arguments.model),
                hint="leave it out",
            )
    if arguments.on is not None:
        facts = read_graph(
            *arguments.on,
            columns=arguments.columns,
            bad_rows=arguments.bad_rows,
            report=arguments.report,
            progress=console.progress,
            notes=console.message,
        )
        model = measured_on(model, facts, progress=console.progress)
    found = model.selected(
        min_confidence=arguments.min_confidence,
        min_support=arguments.min_support,
        max_length=arguments.max_length,
    ).sorted_by(arguments.sort)
    if arguments.output:
        return _write(found, COLUMNS, ("model", model.heading), arguments, console)
    kept = found if arguments.top is None else found.top(arguments.top)
    if arguments.format is None and not console.json:
        console.out.write(console.names.text(found.table(arguments.top or 20)) + "\n")
    elif console.json or arguments.format == "json":
        console.out.write(json.dumps(kept.to_dict(), ensure_ascii=False) + "\n")
    else:
        console.out.write(format_rules(kept.rule_base(), arguments.format))
    return 0


def _print(found: ExtractedRules, arguments: argparse.Namespace, console: Console) -> None:
    """Print the rules as a table or in a format. The table says how many are not shown; else a message does."""
    if arguments.format is None and not console.json:
        console.out.write(console.names.text(found.table(arguments.top)) + "\n")
        return
    kept = found if arguments.top is None else found.top(arguments.top)
    if len(kept) < len(found):
        console.message(f"{len(kept):,} of {counted(len(found), 'rule')}")
    if console.json or arguments.format == "json":
        console.out.write(console.as_json(kept.to_dict()) + "\n")
        return
    from reshuffle.rules.writing import format_rules

    console.out.write(format_rules(kept.to_rule_base(), arguments.format))
    for remark in kept.remarks():
        console.message(remark)
