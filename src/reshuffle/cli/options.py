"""The options that several verbs share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reshuffle.cli.inputs import InputFacts, InputFile, InputModel
from reshuffle.cli.outputs import OutputFile

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

RECIPE_NAMES = ("best", "best-0.1", "paper")
"""`learning.recipes.RECIPES`, which needs torch to be installed."""

NODE_BUDGET = 20_000
"""`rulegraphs.budgets.DEFAULT_NODE_BUDGET`, which is slow to import."""
_BEYOND = {
    "auto|geometry|chase|duckdb": "; duckdb: for more facts than fit into the memory",
    "auto|geometry|chase|duckdb|spark": "; duckdb, spark: for more facts than fit into the memory",
}


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
        "--skip-unsupported", action="store_true", help="skip rules that cannot be read, and count them"
    )
    parser.add_argument(
        "--node-budget",
        type=int,
        metavar="N",
        default=NODE_BUDGET,
        help="give up beyond N nodes (default 20000)",
    )


def add_reasoning_options(
    parser: argparse.ArgumentParser,
    *,
    facts_may_be_missing: bool = False,
    engines: str = "auto|geometry|chase",
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
        help="auto: an exact one; geometry: an error where there is none; chase: every rule file that can be read, "
        "without geometry" + _BEYOND.get(engines, ""),
    )
    add_naming_options(parser)
    parser.add_argument("--memory", metavar="SIZE", help="at most this much for answering, such as 500MB")
    parser.add_argument(
        "--skip-unsupported", action="store_true", help="skip rules that cannot be read, and count them"
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
        default=[],
        metavar=metavar,
        help=f"files of triples, folders of them, patterns, or a benchmark's name; - is stdin{more}",
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
    parser.add_argument(
        "--bad-rows",
        choices=("refuse", "skip"),
        default="refuse",
        help="what to do with a row of the facts that holds no triple: refuse the file (default), or skip the row",
    )
    parser.add_argument(
        "--report",
        type=OutputFile,
        metavar="FILE",
        help="with --bad-rows skip: a .csv file that lists these rows, with file, line, reason and content",
    )


def add_naming_options(parser: argparse.ArgumentParser) -> None:
    """The options of verbs that show names."""
    group = parser.add_argument_group("names", "short names such as ex:ada are shown, and may be typed")
    group.add_argument(
        "--prefixes",
        type=InputFile,
        metavar="FILE",
        help="more prefixes, as Turtle declares them; those of the inputs are known",
    )
    group.add_argument(
        "--labels",
        type=InputFile,
        metavar="FILE",
        help="words beside names: name<TAB>label, rdfs:label, or OBO",
    )


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


def add_aggregate(parser: argparse.ArgumentParser) -> None:
    """How the rules of a file rank."""
    parser.add_argument(
        "--aggregate",
        choices=("max-plus", "noisy-or", "top5"),
        help="of a rule file: rank answers by all rules, constants included: by the surest rule and then the next "
        "(max-plus), by all together (noisy-or), or by the five surest (top5)",
    )
