"""What verbs are given: files that they read, and how rules, models, facts and settings are read from them.

Rules come from a rule file, compiled constraints or a model directory. Facts come from a file; to train on, also from a
benchmark by name.
"""

from __future__ import annotations

import glob
import os
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from reshuffle.errors import InputError, Place, did_you_mean
from reshuffle.text import counted

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Sequence

    from reshuffle.cli.console import Console
    from reshuffle.constraints import OrderingConstraints
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.kg.io.prefixes import Prefixes
    from reshuffle.kg.splits import Benchmark, GraphSplit
    from reshuffle.learning.settings import Settings
    from reshuffle.reasoning import Reasoner
    from reshuffle.rulelist import RuleModel
    from reshuffle.rules import RuleBase

MODEL_FILES = ("model.safetensors", "settings.toml", "injected.json", "injected.rules", "model.rules")
"""The files that make a model of a directory; `learning.model_files` and `rulelist.model_text` write them."""

RULE_MODEL = "model.rules"
"""`rulelist.model_text.FILE`, which is slow to import; few verbs are given a rule model."""


class InputFile(str):
    """A file that is read. A directory of that name is something else: a benchmark may have the same name."""

    __slots__ = ()

    def files(self) -> Iterator[os.stat_result]:
        """What is read, as the file system knows it."""
        with suppress(OSError, ValueError):  # nothing there, or a stream without a file behind it
            found = os.fstat(sys.stdin.fileno()) if self == "-" else Path(self).stat()
            if stat.S_ISREG(found.st_mode):
                yield found

    def paths(self) -> list[str]:
        """The paths of single files, as far as they are there."""
        return [str(self)] if Path(self).is_file() else []


class InputFacts(InputFile):
    """Facts that are read: a file, the files of a folder, or those that match a pattern."""

    __slots__ = ()

    def files(self) -> Iterator[os.stat_result]:
        """All of these files."""
        yield from super().files()
        for file in self.paths():
            yield from InputFile(file).files()

    def paths(self) -> list[str]:
        """The paths of these files, as far as they are there."""
        if Path(self).is_file():
            return [str(self)]
        if not Path(self).is_dir():
            found = glob.glob(self, recursive=True)  # noqa: PTH207 - takes absolute patterns
        else:
            found = [] if _is_benchmark(self) else [str(file) for file in Path(self).iterdir()]
        return [path for path in found if Path(path).is_file()]


def _is_benchmark(name: str) -> bool:
    """Is it a benchmark's name, which wins over a directory's? Models are often called by what they were trained on."""
    from reshuffle.data.load import benchmark_names  # noqa: PLC0415 - slow to import

    return name in benchmark_names()


class InputModel(InputFile):
    """A model directory that is read, or a file in its place."""

    __slots__ = ()

    def files(self) -> Iterator[os.stat_result]:
        """The directory itself, too."""
        yield from super().files()
        if Path(self).is_dir():
            yield Path(self).stat()
            for name in MODEL_FILES:
                yield from InputFile(Path(self) / name).files()


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
        _refuse_confidence(arguments)
        sources = _hardened(arguments.rules, console)
    elif Path(arguments.rules).is_file() and is_compiled(arguments.rules):
        _refuse_confidence(arguments)
        sources = [OrderingConstraints.load(arguments.rules)]
    else:
        base = rules_of(arguments, console)
        least = getattr(arguments, "min_confidence", None)
        sources = [base if least is None else _confident(base, least, arguments, console)]
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
    from reshuffle.rules.parsing import may_hold_facts  # noqa: PLC0415

    inside = [fact for reasoner in reasoners if reasoner.rules is not None for fact in reasoner.rules.facts]
    paths = arguments.facts
    if not paths and not inside:
        if not may_hold_facts(arguments.rules):
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


def has_rules(path: str) -> bool:
    """Is the path a rule model, or a file of rules that may have confidences?"""
    return is_rule_list(path) or (Path(path).is_file() and not is_compiled(path))


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
    _tell_sure(len(sure), len(chosen), told, arguments, console)
    return sure


def _confident(base: RuleBase, least: float, arguments: argparse.Namespace, console: Console) -> RuleBase:
    """The rules of a file that are as sure as --min-confidence asks; one without a confidence is."""
    sure = base.at_least(least)
    _tell_sure(len(sure.rules), len(base.rules), f"of confidence {least} or more", arguments, console)
    return sure


def _tell_sure(sure: int, of: int, told: str, arguments: argparse.Namespace, console: Console) -> None:
    console.message(f"{arguments.rules}: {sure:,} of {counted(of, 'rule')}, those {told}")
    if not sure:
        raise InputError(
            "no rule is sure enough to reason with",
            place=Place(arguments.rules),
            hint="give a lower --min-confidence; `reshuffle predict` ranks by all of them",
        )


def _refuse_confidence(arguments: argparse.Namespace) -> None:
    """Refuse --min-confidence where there are no rules with confidences."""
    if getattr(arguments, "min_confidence", None) is not None:
        raise InputError(
            "--min-confidence is for rules, and this holds constraints",
            place=Place(arguments.rules),
            hint="leave it out; `reshuffle rules` gives the rules of a model with their confidences",
        )


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


def learned_facts_of(arguments: argparse.Namespace, console: Console) -> KnowledgeGraph:
    """The triples to learn from, without those that a benchmark holds out for early stopping."""
    from reshuffle.kg.splits import GraphSplit  # noqa: PLC0415

    given = facts_of(arguments, console)
    return given.facts if isinstance(given, GraphSplit) else given


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
