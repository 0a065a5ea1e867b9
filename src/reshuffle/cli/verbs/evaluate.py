"""Rank the true answer of every query among wrong ones; metrics, tie rate, and baselines beside them.

reshuffle evaluate model --benchmark FB15k-237-v1
reshuffle evaluate rules --benchmark FB15k-237-v1
reshuffle evaluate mined.rules --facts F --queries Q --known K --protocol full --aggregate max-plus
reshuffle evaluate types --train T --facts F --queries Q --known K --protocol full

SCORER is a model directory that `reshuffle train` wrote, a rule file, whose confidences are the weights, or a baseline:
`types` (what kind of thing a candidate is), `rules` (mined closed paths), or `rules+types`. Baselines are fitted on the
benchmark's training graph, or on --train; the type baseline beside a model is that of the facts it was trained on,
beside a rule file that of the facts given. The mined-rule baseline is reported too, except for a model that is
evaluated on your own files, which has no training facts to mine.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING

from reshuffle.cli.inputs import (
    InputFacts,
    InputFile,
    InputModel,
    bad_rows_of,
    benchmark_of,
    refuse_skipping,
    theory_of,
)
from reshuffle.cli.options import add_aggregate, add_columns, add_naming_options
from reshuffle.cli.outputs import OutputFile
from reshuffle.cli.processes import is_first, shared_work
from reshuffle.errors import InputError, Place, did_you_mean

if TYPE_CHECKING:
    import argparse

    from reshuffle.cli.console import Console
    from reshuffle.evaluation import RankingProtocol, Report, RuleBaseline, Scorer, TypeBaseline
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.kg.splits import Benchmark, GraphSplit
    from reshuffle.work_shares import Shares

HELP = "ranking metrics, tie rate, and baselines beside them"
BASELINES = ("types", "rules", "rules+types")
PROTOCOL_NAMES = (
    "sampled-50",
    "sampled-50-official-code",
    "grail-49",
    "nbfnet-estimate",
    "full",
    "full-facts",
    "type-matched",
)

_MAX_LENGTH = 2


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "scorer",
        type=InputModel,
        metavar="SCORER",
        help=f"a model directory, a rule file, or a baseline: {', '.join(BASELINES)}",
    )
    _add_data(parser)
    add_columns(parser)
    add_aggregate(parser)
    _add_ranking(parser)
    parser.add_argument(
        "--max-length", type=int, metavar="N", help=f"atoms in a mined body (default {_MAX_LENGTH})"
    )
    parser.add_argument("--no-rules", action="store_true", help="leave out the mined rules beside it")
    parser.add_argument(
        "-o",
        "--output",
        type=OutputFile,
        metavar="OUT",
        help="write a report, too: .html is a page with plots and a table by relation; "
        ".csv, .tsv, .parquet, .arrow, .json, .jsonl and .md hold the table of metrics",
    )
    parser.add_argument("--device", default="auto", help="of a model: cpu, cuda, or auto (default)")
    add_naming_options(parser)
    parser.set_defaults(usage_error=parser.error)


def _add_data(parser: argparse.ArgumentParser) -> None:
    data = parser.add_argument_group("data", "a benchmark by name, or your own files")
    data.add_argument(
        "--benchmark",
        metavar="NAME",
        help="as `reshuffle data list` names it, or a directory with train, valid and test files",
    )
    data.add_argument(
        "--facts",
        type=InputFacts,
        action="append",
        metavar="F",
        help="the graph to look at: a file, a folder or a pattern, may be repeated",
    )
    data.add_argument("--queries", type=InputFile, metavar="Q", help="the triples to predict")
    data.add_argument(
        "--known",
        type=InputFile,
        metavar="K",
        action="append",
        help="more true triples, filtered where the protocol filters a validation set; repeatable",
    )
    data.add_argument(
        "--train", type=InputFile, metavar="T", help="the graph to learn from (default: the facts)"
    )


def _add_ranking(parser: argparse.ArgumentParser) -> None:
    ranking = parser.add_argument_group("ranking")
    ranking.add_argument(
        "--protocol",
        metavar="P",
        default="sampled-50",
        help=f"one of {', '.join(PROTOCOL_NAMES)} (default sampled-50)",
    )
    ranking.add_argument(
        "--seed", type=int, default=0, metavar="S", help="random seed of the candidates (default 0)"
    )
    ranking.add_argument(
        "--negatives",
        type=InputFile,
        metavar="FILE",
        help="rank against these candidates, saved before for the same protocol",
    )
    ranking.add_argument(
        "--save-negatives", type=OutputFile, metavar="FILE", help="write the candidates as Parquet"
    )
    ranking.add_argument(
        "--unknown",
        choices=("refuse", "skip", "isolate"),
        default="refuse",
        help="queries of unseen relations or missing entities",
    )


@dataclass(frozen=True)
class Task:
    """The graph to train on, the facts to look at, the queries to rank, and all known triples, which are filtered."""

    train: KnowledgeGraph
    facts: KnowledgeGraph
    queries: KnowledgeGraph
    known: GraphSplit


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Fit, rank, report."""
    from reshuffle.evaluation import protocol_of
    from reshuffle.kg.io.files import check_writable

    _check_usage(arguments)
    _check_scorer(arguments)
    protocol = protocol_of(arguments.protocol)
    if arguments.save_negatives and protocol.sampling is None:
        arguments.usage_error(f"--save-negatives: the protocol '{protocol.name}' ranks all entities")
    if arguments.save_negatives:
        check_writable(arguments.save_negatives)
    if arguments.output:
        from reshuffle.results.table_formats import check_table_writable

        check_table_writable(arguments.output)
    console.names.learn(arguments, *(arguments.facts or ()), arguments.queries, arguments.train, labels=True)
    with shared_work(arguments.device) as (shares, arguments.device):
        report = _evaluated(arguments, protocol, shares, console)
    if not is_first():
        return 0
    for remark in report.remarks() if console.json else ():  # the table has them below it
        console.message(remark)
    if arguments.save_negatives and report.negatives is not None:
        report.negatives.save(arguments.save_negatives)
    if arguments.output:
        _write(report, arguments, console)
    console.result(str(report), {"benchmark": arguments.benchmark} | report.to_dict())
    return 0


def _write(report: Report, arguments: argparse.Namespace, console: Console) -> None:
    from reshuffle.cli.report_pages import write_evaluation
    from reshuffle.results import Table

    if arguments.output.endswith(".html"):
        write_evaluation(report, arguments, console.names)
    else:
        Table.of(report.rows()).write(arguments.output)
    console.message(f"{arguments.output}: the report")


def _evaluated(
    arguments: argparse.Namespace, protocol: RankingProtocol, shares: Shares, console: Console
) -> Report:
    from reshuffle.evaluation import TypeBaseline, evaluate
    from reshuffle.evaluation.queries import unseen_facts

    task = _task_of(arguments, console)
    rules = _rules_of(arguments, task, console)
    if arguments.scorer not in BASELINES:
        scorer, types = _model_of(arguments, task, console)
    else:
        types = TypeBaseline.fit(task.train)
        scorer = _scorer_of(arguments, task, types, rules)
    if (passed_over := unseen_facts(scorer)) is not None:
        console.message(passed_over)
    return evaluate(
        scorer,
        task.queries,
        protocol=protocol,
        known=task.known,
        seed=arguments.seed,
        baseline=False if arguments.scorer == "types" else types,
        rules=None if arguments.scorer == "rules" else rules,
        negatives=arguments.negatives,
        unknown=arguments.unknown,
        progress=console.progress,
        shares=shares,
    )


def _check_usage(arguments: argparse.Namespace) -> None:
    files = [arguments.facts, arguments.queries, arguments.known, arguments.train]
    if arguments.benchmark and any(files):
        arguments.usage_error(
            "--benchmark brings its own data; leave out --facts, --queries, --known, --train"
        )
    if arguments.benchmark:
        refuse_skipping(arguments, "a benchmark")
    if not arguments.benchmark and not (arguments.facts and arguments.queries):
        arguments.usage_error("give --benchmark NAME, or --facts F and --queries Q")
    if arguments.max_length is not None and arguments.max_length < 1:
        arguments.usage_error("--max-length: a body has at least one atom")
    if arguments.no_rules and "rules" in arguments.scorer.split("+"):
        arguments.usage_error("--no-rules leaves out the rules beside a scorer, and these are to be scored")
    if arguments.max_length is not None and not _mines(arguments):
        arguments.usage_error("--max-length is for rules that are mined, and none are")
    if arguments.aggregate and arguments.scorer in BASELINES:
        from reshuffle.theories.theory import no_rule_file

        raise no_rule_file("a baseline", arguments.scorer)
    if arguments.train and arguments.scorer not in BASELINES:
        arguments.usage_error("--train is for baselines: a model has learned already, so leave it out")


def _mines(arguments: argparse.Namespace) -> bool:
    """Are rules to be mined? They need training facts: a baseline has them, a model only if a benchmark is given."""
    return not arguments.no_rules and (arguments.scorer in BASELINES or bool(arguments.benchmark))


def _check_scorer(arguments: argparse.Namespace) -> None:
    """Refuse a scorer that is neither a baseline's name nor a directory nor a rule file."""
    if arguments.scorer in BASELINES or Path(arguments.scorer).exists():
        return
    raise InputError(
        f"'{arguments.scorer}' is neither a model directory nor a baseline"
        f"{did_you_mean(arguments.scorer, BASELINES)}",
        hint=f"give a directory that `reshuffle train` wrote, or one of {', '.join(BASELINES)}",
    )


def _task_of(arguments: argparse.Namespace, console: Console) -> Task:
    return _named(arguments.benchmark, console) if arguments.benchmark else _from_files(arguments, console)


def _named(name: str, console: Console) -> Task:
    from reshuffle.kg.splits import InductiveBenchmark

    bench = _benchmark(name, console)
    if isinstance(bench, InductiveBenchmark):
        return Task(bench.train.facts, bench.test.facts, bench.test.queries, bench.test)
    return Task(bench.facts, bench.facts, bench.queries, bench.graph)


def _benchmark(name: str, console: Console) -> Benchmark:
    """By its name, or in a directory of the user's own."""
    from reshuffle.data.load import benchmark_names, load_benchmark

    if name not in benchmark_names() and Path(name).is_dir():
        bench = benchmark_of(name, console)
        if bench is None:
            raise InputError(
                "found no train.txt or the like, expected the directory of a benchmark",
                place=Place(name),
                hint="it holds train, valid and test files; or give --facts and --queries",
            )
        return bench
    return load_benchmark(name, progress=console.progress)


def _from_files(arguments: argparse.Namespace, console: Console) -> Task:
    from reshuffle.kg import KnowledgeGraph, read_graph
    from reshuffle.kg.splits import TransductiveBenchmark

    def read(*paths: str, may_be_empty: bool = False) -> KnowledgeGraph:
        return read_graph(
            *paths,
            columns=arguments.columns,
            format=arguments.format,
            may_be_empty=may_be_empty,
            bad_rows=bad,
            progress=console.progress,
            notes=console.message,
        )

    with bad_rows_of(arguments, console) as bad:
        facts, queries = read(*arguments.facts), read(arguments.queries)
        train = read(arguments.train) if arguments.train else facts
        more = (read(path, may_be_empty=True) for path in arguments.known or ())
        valid = reduce(or_, more, KnowledgeGraph())
    # In parts, of which the protocol takes its own, as it does of a named benchmark's.
    known = TransductiveBenchmark.from_graphs("files", facts=facts, queries=queries, valid=valid).graph
    return Task(train, facts, queries, known)


def _rules_of(arguments: argparse.Namespace, task: Task, console: Console) -> RuleBaseline | None:
    """Rules mined from the training facts; None where no rules are wanted."""
    from reshuffle.evaluation import RuleBaseline

    if not _mines(arguments):
        return None
    max_length = arguments.max_length or _MAX_LENGTH
    return RuleBaseline.fit(task.train, max_length=max_length, progress=console.progress)


def _scorer_of(
    arguments: argparse.Namespace, task: Task, types: TypeBaseline, rules: RuleBaseline | None
) -> Scorer:
    from reshuffle.evaluation import TieBroken

    by_type = types.on(task.facts)
    if arguments.scorer == "types":
        return by_type
    assert rules is not None  # --no-rules is refused with them
    by_rules = rules.on(task.facts)
    return by_rules if arguments.scorer == "rules" else TieBroken(by_rules, by_type)


def _model_of(arguments: argparse.Namespace, task: Task, console: Console) -> tuple[Scorer, TypeBaseline]:
    from reshuffle.evaluation import TypeBaseline

    theory = theory_of(arguments.scorer, arguments, console, device=arguments.device)
    scorer = theory.on(task.facts).ranked
    return scorer, scorer.type_baseline if theory.trained else TypeBaseline.fit(task.train)
