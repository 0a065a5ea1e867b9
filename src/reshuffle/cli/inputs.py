"""What verbs are given: the options that several of them share, and how rules, models, facts and settings are read.

Rules come from a rule file, compiled constraints or a model directory. Facts come from a file; to train on, also from a
benchmark by name.
"""

from __future__ import annotations

import glob
from pathlib import Path
from typing import TYPE_CHECKING

from reshuffle.cli.outputs import InputFacts, InputFile, InputModel
from reshuffle.cli.shown_names import add_naming_options
from reshuffle.errors import InputError, Place, did_you_mean
from reshuffle.text import counted

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence

    from reshuffle.cli.console import Console
    from reshuffle.constraints import OrderingConstraints
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.kg.io.prefixes import Prefixes
    from reshuffle.kg.splits import Benchmark, GraphSplit
    from reshuffle.learning.settings import Settings
    from reshuffle.reasoning import Reasoner
    from reshuffle.rulelist import RuleModel
    from reshuffle.rules import RuleBase

RECIPE_NAMES = ("best", "best-0.1", "paper")
"""`learning.recipes.RECIPES`, which needs torch to be installed."""

_BEYOND = {
    "auto|chase|duckdb": "; duckdb: for more facts than fit into the memory",
    "auto|chase|duckdb|spark": "; duckdb, spark: for more facts than fit into the memory",
}

RULE_MODEL = "model.rules"
"""`rulelist.model_text.FILE`, which is slow to import; few verbs are given a rule model."""


def add_rule_options(parser: argparse.ArgumentParser) -> None:
    """The arguments of verbs that build a rule graph."""
    parser.add_argument(
        "rules",
        type=InputFile,
        metavar="RULES",
        help="a rule file: ours, AnyBURL's, AMIE's, or an OWL ontology",
    )
    parser.add_argument(
        "--bound", type=int, metavar="M", help="exact for what follows in M steps, for any path rules"
    )
    parser.add_argument(
        "--skip-unsupported", action="store_true", help="read on past rules outside the class"
    )
    parser.add_argument(
        "--node-budget", type=int, metavar="N", default=20_000, help="give up beyond N nodes (default 20000)"
    )


def add_reasoning_options(
    parser: argparse.ArgumentParser, *, facts_may_be_missing: bool = False, engines: str = "auto|chase"
) -> None:
    """The arguments of verbs that reason: rules, facts, and how to reason."""
    parser.add_argument(
        "rules",
        type=InputModel,
        metavar="RULES",
        help="a rule file, compiled constraints, or a model directory",
    )
    add_facts(
        parser,
        may_be_missing=facts_may_be_missing,
        more="; may be left out where RULES holds facts, too" if facts_may_be_missing else "",
    )
    parser.add_argument(
        "--bound", type=int, metavar="M", help="only what follows in M steps, for any path rules"
    )
    parser.add_argument(
        "--engine",
        default="auto",
        metavar=engines,
        help="chase: every rule file that can be read, without geometry; auto takes it where the geometry would be too "
        "large" + _BEYOND.get(engines, ""),
    )
    add_naming_options(parser)
    parser.add_argument("--memory", metavar="SIZE", help="at most this much for answering, such as 500MB")
    parser.add_argument(
        "--skip-unsupported", action="store_true", help="read on past rules outside the class"
    )
    parser.add_argument("--node-budget", type=int, metavar="N", help="give up beyond N nodes")


def add_facts(
    parser: argparse.ArgumentParser, *, metavar: str = "FACTS", more: str = "", may_be_missing: bool = False
) -> None:
    """The facts of a verb, and how they are read."""
    parser.add_argument(
        "facts",
        type=InputFacts,
        nargs="*" if may_be_missing else "+",
        metavar=metavar,
        help=f"files of triples, folders of them, or patterns; - is stdin{more}",
    )
    add_columns(parser)


def add_columns(parser: argparse.ArgumentParser, *, formats: bool = True) -> None:
    """How facts are read; where `--format` is of the output, their endings alone say the format."""
    parser.add_argument(
        "--columns",
        metavar="H,R,T",
        help="the names of the columns that hold head, relation and tail (default: common names)",
    )
    if formats:
        parser.add_argument(
            "--format",
            metavar="FORMAT",
            help="of the facts, where their ending does not say it: tsv, csv, nt, ttl, jsonl, ...",
        )


def fact_files(facts: Sequence[InputFacts] | None) -> list[str]:
    """The single files that facts come from."""
    return [path for given in facts or () for path in given.paths()]


def add_training_options(parser: argparse.ArgumentParser, *, recipes: Sequence[str] = RECIPE_NAMES) -> None:
    """The arguments of verbs that train: the facts and the settings."""
    add_facts(
        parser,
        metavar="FACTS_OR_BENCHMARK",
        more="; or the name of a benchmark, or a directory that holds one",
    )
    add_settings_options(parser, recipes=recipes)


def add_settings_options(parser: argparse.ArgumentParser, *, recipes: Sequence[str] = RECIPE_NAMES) -> None:
    """The options for settings: a recipe, a file, single settings, and the device."""
    parser.add_argument(
        "--recipe",
        choices=recipes,
        help="the settings to start from: the best ones known, those of release 0.1, or the paper's own model"
        + ("; rules: a weighted rule list instead, which needs no torch" if "rules" in recipes else ""),
    )
    parser.add_argument(
        "--config", type=InputFile, metavar="FILE.toml", help="settings, one `name = value` per line"
    )
    parser.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        dest="changes",
        help="one setting, such as num_slots=30, num_channels=60, num_layers=4, margin=2.0, learning_rate=0.005, "
        "max_epochs=100, seed=2; may be repeated; a wrong name lists near ones",
    )
    parser.add_argument("--device", default="auto", help="cpu, cuda, or auto (default)")
    parser.set_defaults(usage_error=parser.error)


def rules_of(arguments: argparse.Namespace, console: Console) -> RuleBase:
    """The rules of the file; duplicates and tautologies are told."""
    from reshuffle.rules import read_rules  # noqa: PLC0415

    base = read_rules(
        arguments.rules,
        skip_unsupported=arguments.skip_unsupported,
        prefixes=_declared(arguments),
        notes=console.message,
    )
    for name, rules in (("given more than once", base.duplicates), ("says nothing", base.tautologies)):
        for rule in rules:
            console.message(f"{arguments.rules}: {name}: {rule}")
    return base


def _declared(arguments: argparse.Namespace) -> Prefixes | None:
    """What --prefixes declares, which holds for rule files, too."""
    from reshuffle.kg.io.prefixes import read_prefixes  # noqa: PLC0415

    path = getattr(arguments, "prefixes", None)
    return None if path is None else read_prefixes(path)


def reasoners_of(arguments: argparse.Namespace, console: Console) -> list[Reasoner]:
    """The reasoner of a rule file, of compiled constraints or of a hardened model.

    A model with injected rules gives a second reasoner, of these rules.
    """
    from reshuffle.constraints import OrderingConstraints  # noqa: PLC0415
    from reshuffle.reasoning import Reasoner  # noqa: PLC0415

    sources: Sequence[OrderingConstraints | RuleBase]
    if is_rule_list(arguments.rules):
        sources = [_sure_rules(arguments, console)]
    elif is_model(arguments.rules):
        sources = _hardened(arguments.rules, console)
    elif Path(arguments.rules).is_file() and is_compiled(arguments.rules):
        sources = [OrderingConstraints.load(arguments.rules)]
    else:
        sources = [rules_of(arguments, console)]
    return [
        Reasoner(
            source,
            bound=arguments.bound,
            engine=arguments.engine,
            memory=arguments.memory,
            node_budget=arguments.node_budget,
        )
        for source in sources
    ]


def graph_of(
    arguments: argparse.Namespace, console: Console, reasoners: Sequence[Reasoner] = ()
) -> KnowledgeGraph:
    """The facts of all files together, and those that stand among the rules, as in a Datalog program.

    Without a file these alone, or the triples of an ontology, which may hold both.
    """
    from reshuffle.kg import KnowledgeGraph, read_graph  # noqa: PLC0415

    inside = [fact for reasoner in reasoners if reasoner.rules is not None for fact in reasoner.rules.facts]
    paths = arguments.facts
    if not paths and not inside:
        if Path(arguments.rules).suffix.lower() not in (".ttl", ".nt", ".rdf", ".owl"):
            arguments.usage_error("the following arguments are required: FACTS")
        paths = [arguments.rules]
    if inside:
        paths = [path for path in paths if not _is_same(path, arguments.rules)]
    if not paths:
        return KnowledgeGraph(inside)
    graph = read_graph(
        *paths,
        columns=arguments.columns,
        format=arguments.format,
        literals_suffice=any(_have_domains(reasoner) for reasoner in reasoners),
        progress=console.progress,
        notes=console.message,
    )
    return graph | KnowledgeGraph(inside) if inside else graph


def _have_domains(reasoner: Reasoner) -> bool:
    """Can literals say something about the types of their subjects?"""
    classes = None if reasoner.rules is None else reasoner.rules.classes
    return classes is not None and classes.have_domains


def _is_same(one: str, other: str) -> bool:
    return one != "-" and Path(one).exists() and Path(one).samefile(other)


def is_rule_list(path: str) -> bool:
    """Is the path a rule model: a directory that holds its file, or the file?"""
    return (Path(path) / RULE_MODEL).is_file() or (Path(path).name == RULE_MODEL and Path(path).is_file())


def is_compiled(path: str) -> bool:
    """Does the file look like compiled constraints (rather than rules)?"""
    from reshuffle.constraints import OPENING  # noqa: PLC0415

    with Path(path).open("rb") as file:
        return file.read(len(OPENING)) == OPENING


def rule_model_of(path: str, console: Console) -> RuleModel:
    """The rule model of a directory, or of a file of rules that may have confidences."""
    from reshuffle.rulelist import RuleModel, load_rule_model  # noqa: PLC0415
    from reshuffle.rules import read_rules  # noqa: PLC0415

    if is_rule_list(path):
        return load_rule_model(path)
    return RuleModel.from_rules(read_rules(path, skip_unsupported=True, notes=console.message))


def _sure_rules(arguments: argparse.Namespace, console: Console) -> RuleBase:
    """The rules of a rule model that are sure enough to reason with."""
    least = getattr(arguments, "min_confidence", None)
    chosen = rule_model_of(arguments.rules, console)
    sure = chosen.sure_rules(least)
    told = "without an exception in the training facts" if least is None else f"of confidence {least} or more"
    console.message(f"{arguments.rules}: {len(sure):,} of {counted(len(chosen), 'rule')}, those {told}")
    if not len(sure):
        raise InputError(
            "no rule is sure enough to reason with",
            place=Place(arguments.rules),
            hint="give a lower --min-confidence; `reshuffle predict` ranks by all of them",
        )
    return sure


def is_model(path: str) -> bool:
    """Is the path a model, that is, a directory?"""
    return Path(path).is_dir()


def _hardened(directory: str, console: Console) -> list[OrderingConstraints]:
    """The hardened constraints of a model, and those of its injected rules where it has some."""
    from reshuffle.learning.estimator import Reshuffle  # noqa: PLC0415 - torch

    model = Reshuffle.load(directory, device="cpu")
    told = f"{directory}: reasoning with the hard constraints nearest to what was learned"
    block = model.model.injected
    if block is None:
        console.message(told)
        return [model.harden()]
    console.message(f"{told}, and with {counted(len(block.constraints.rules or ()), 'injected rule')}")
    return [model.harden(), block.constraints]


def settings_of(arguments: argparse.Namespace, *, recipe: str = "best") -> Settings:
    """The settings: those of a recipe, changed by the file, then by each --set."""
    from reshuffle.learning.settings import Settings, read_settings, setting_from_text  # noqa: PLC0415

    changes = dict(map(setting_from_text, arguments.changes))
    # What a recipe sets goes below the file, even where --set names it.
    chosen = changes.pop("recipe", None)
    if chosen is not None and arguments.recipe not in (None, chosen):
        arguments.usage_error(f"--recipe {arguments.recipe} and --set recipe={chosen}: give one of the two")
    settings = Settings.of(arguments.recipe or recipe if chosen is None else chosen)
    if arguments.config:
        settings = read_settings(arguments.config, settings, recipe=chosen)
    return settings.changed(**changes)


def facts_of(arguments: argparse.Namespace, console: Console) -> KnowledgeGraph | GraphSplit:
    """The triples of files, or the training graph of a benchmark, by its name or its directory."""
    from reshuffle.kg.splits import InductiveBenchmark  # noqa: PLC0415

    first, *more = arguments.facts
    bench = None if more else benchmark_of(first, console)
    if bench is not None:
        return bench.train if isinstance(bench, InductiveBenchmark) else bench.graph
    return graph_of(arguments, console)


def benchmark_of(name: str, console: Console) -> Benchmark | None:
    """The benchmark of a name, or in a directory; None for files of triples. A name wins over a file's."""
    from reshuffle.data.load import benchmark_names, load_benchmark  # noqa: PLC0415

    names = benchmark_names()
    if name in names:
        return load_benchmark(name, progress=console.progress)
    if Path(name).is_dir():
        from reshuffle.kg.splits import benchmark_in  # noqa: PLC0415

        return benchmark_in(name)
    if not (Path(name).exists() or Path(name).suffix or name == "-" or glob.has_magic(name)):
        raise no_such_data(name, names)
    return None


def no_such_data(name: str, benchmarks: Iterable[str]) -> InputError:
    """The error for a name that is neither a file nor a benchmark, with files of that name and another ending."""
    beside = Path(name).parent.glob(f"{glob.escape(Path(name).name)}.*")
    files = sorted(str(file) for file in beside if file.is_file())
    meant = (
        f"; did you mean {' or '.join(map(repr, files[:3]))}?" if files else did_you_mean(name, benchmarks)
    )
    return InputError(
        f"there is no file '{name}' and no benchmark of that name{meant}",
        hint="give a file of triples, or a name that `reshuffle data list` shows",
    )
