"""Loads rules, models, facts and settings from the files that verbs are given.

Rules come from a rule file, compiled constraints or a model directory. Facts come from a file; to train on, also from a
benchmark by name.
"""

from __future__ import annotations

import glob
import os
import stat
import sys
from contextlib import nullcontext, suppress
from functools import reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING

from reshuffle.errors import InputError, Place, did_you_mean

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from reshuffle.cli.console import Console
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.kg.guards.bad_rows import BadRows
    from reshuffle.kg.io.prefixes import Prefixes
    from reshuffle.kg.splits import Benchmark, GraphSplit
    from reshuffle.learning.settings import Settings
    from reshuffle.reasoning import Reasoner
    from reshuffle.reasoning.classes.class_answers import ClassAnswers
    from reshuffle.rules import RuleBase
    from reshuffle.rules.ontologies.axioms import Ontology
    from reshuffle.theories import Theory

MODEL_FILES = ("model.safetensors", "settings.toml", "injected.json", "injected.rules", "model.rules")
"""The files that make a model of a directory; `learning.model_files` and `rulelist.model_text` write them."""


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
            found = [] if is_benchmark(self) else [str(file) for file in Path(self).iterdir()]
        return [path for path in found if Path(path).is_file()]


def is_benchmark(name: str) -> bool:
    """Is it a benchmark's name, which wins over a directory's? Models are often called by what they were trained on."""
    from reshuffle.data.load import benchmark_names

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


def sort_files(arguments: argparse.Namespace, console: Console) -> None:
    """Let `rules`, `more_rules` and `facts` be what the given files hold, and tell what was sorted."""
    from reshuffle.theories.given_files import given_files

    found = given_files(str(arguments.rules), [str(path) for path in arguments.facts])
    if found is None:
        return
    first, *arguments.more_rules = found.rules
    arguments.rules = InputModel(first)
    arguments.facts = [InputFacts(path) for path in found.facts]
    for line in found.told:
        console.message(line)


def theory_of(path: str, arguments: argparse.Namespace, console: Console, *, device: str = "cpu") -> Theory:
    """Whatever the path holds, ranking as --aggregate says; what there is to say about it is told."""
    if more := getattr(arguments, "more_rules", ()):
        return _together([path, *more], arguments, console)
    from reshuffle.theories import load

    theory = load(
        path,
        skip_unsupported=getattr(arguments, "skip_unsupported", True),
        prefixes=_declared(arguments),
        device=device,
        notes=console.message,
        full_names=_has_iris(arguments),
    )
    by = getattr(arguments, "aggregate", None)
    return theory if by is None else theory.aggregated(by)


def classes_of(
    arguments: argparse.Namespace, console: Console, *, short: bool = True, reduced: bool = False
) -> ClassAnswers | None:
    """What follows between the classes of ontologies, where there are no facts; None for anything else.

    Several are one where their formats know classes alone.
    """
    from reshuffle.rules.ontologies.ontology_reading import holds_axioms_alone, read_ontologies
    from reshuffle.theories.kinds import kind_at

    given = [arguments.rules, *getattr(arguments, "more_rules", ())]
    if arguments.facts or any(kind_at(Path(path)) != "ontology_files" for path in given):
        return None
    of_classes = all(map(holds_axioms_alone, given))
    if len(given) > 1 and not of_classes:
        return None
    ontology = read_ontologies(given)
    if not of_classes and (ontology.facts or not ontology.axioms):
        return None
    return classified(ontology, console, short=short, reduced=reduced)


def classified(
    ontology: Ontology, console: Console, *, short: bool = True, reduced: bool = False
) -> ClassAnswers:
    """The classes of an ontology; what was not read is told, and classes without members."""
    from reshuffle.reasoning.classes.class_answers import ClassAnswers
    from reshuffle.theories.ontology_files import told

    answers = ClassAnswers(ontology, short=short, reduced=reduced, progress=console.progress)
    told(answers, ontology.file, console.message)
    return answers


def _together(paths: Sequence[str], arguments: argparse.Namespace, console: Console) -> Theory:
    """The rules and axioms of several files as one theory."""
    from reshuffle.theories.ontology_files import read_all
    from reshuffle.theories.theory import Reading

    reading = Reading(
        arguments.skip_unsupported,
        _declared(arguments),
        notes=console.message,
        full_names=_has_iris(arguments),
    )
    return read_all(list(map(Path, paths)), reading)


def _has_iris(arguments: argparse.Namespace) -> bool:
    """Are facts in RDF, whose names are IRIs? An ontology of classes beside them needs the same."""
    from reshuffle.kg.io.files import format_of
    from reshuffle.kg.io.rdf import RDF

    paths = (Path(path) for path in getattr(arguments, "facts", None) or ())
    return any(path.is_file() and format_of(path) in RDF for path in paths)


def rules_of(arguments: argparse.Namespace, console: Console) -> RuleBase:
    """The rules that somebody wrote or that were fitted; duplicates and tautologies of a file are told."""
    paths = (arguments.rules, *getattr(arguments, "more_rules", ()))
    several = len(paths) > 1
    theory = (
        _together(paths, arguments, console) if several else theory_of(arguments.rules, arguments, console)
    )
    if _skips_constants(arguments):
        theory = theory.paths_alone(notes=console.message)
    return theory.written_rules()


def _skips_constants(arguments: argparse.Namespace) -> bool:
    """A bound counts the steps of path rules alone; --skip-unsupported leaves the others out."""
    return arguments.skip_unsupported and getattr(arguments, "bound", None) is not None


def _declared(arguments: argparse.Namespace) -> Prefixes | None:
    """What --prefixes declares, which holds for rule files, too."""
    from reshuffle.kg.io.prefixes import read_prefixes

    path = getattr(arguments, "prefixes", None)
    return None if path is None else read_prefixes(path)


def certain_of(arguments: argparse.Namespace, console: Console) -> Theory:
    """The part of the rules, constraints or model that entails."""
    least = getattr(arguments, "min_confidence", None)
    certain = theory_of(arguments.rules, arguments, console).certain(least=least, notes=console.message)
    return certain.paths_alone(notes=console.message) if _skips_constants(arguments) else certain


def reasoners_of(
    arguments: argparse.Namespace, certain: Theory, *, engine: str | None = None
) -> list[Reasoner]:
    """What entails, as the arguments say; a model with injected rules has two reasoners."""
    from reshuffle.theories import Reasoning

    how = Reasoning(engine or arguments.engine, arguments.bound, arguments.memory, arguments.node_budget)
    return certain.reasoners(how)


def bad_rows_of(arguments: argparse.Namespace, console: Console) -> AbstractContextManager[BadRows]:
    """What is done with the bad rows of all facts that are read meanwhile."""
    from reshuffle.kg.guards.bad_rows import treated

    return treated(arguments.bad_rows, arguments.report, console.message)


def refuse_skipping(arguments: argparse.Namespace, what: str) -> None:
    """Refuse --bad-rows skip for facts of which no row can be skipped."""
    if arguments.bad_rows == "skip":
        raise InputError(
            f"--bad-rows skip is for files that are read row by row, and this is {what}",
            place=Place(arguments.facts[0]) if arguments.facts else None,
            hint="leave it out; bad rows are refused",
        )


def graph_of(
    arguments: argparse.Namespace,
    console: Console,
    reasoners: Sequence[Reasoner] = (),
    *,
    bad_rows: BadRows | None = None,
) -> KnowledgeGraph:
    """The facts of all files together, and those that stand among the rules, as in a Datalog program.

    A benchmark's name stands for the facts that its questions are asked about, as for `serve`; it wins over a file's.
    Without a file these alone, or the triples of an ontology, which may hold both.
    """
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.rules.parsing import may_hold_facts

    inside = [fact for reasoner in reasoners if reasoner.rules is not None for fact in reasoner.rules.facts]
    paths = arguments.facts
    if not paths and not inside:
        given = [arguments.rules, *getattr(arguments, "more_rules", ())]
        paths = [path for path in given if may_hold_facts(path)]
        if not paths:
            after = " (before HEAD, RELATION and TAIL, which are three)" if hasattr(arguments, "tail") else ""
            arguments.usage_error(f"the following arguments are required: FACTS{after}")
    if inside:
        paths = [path for path in paths if not _is_same(path, arguments.rules)]
    named = [path for path in paths if is_benchmark(path)]
    paths = [path for path in paths if path not in named]
    folders = [path for path in paths if Path(path).is_dir() and is_parquet(path)]
    if arguments.columns is not None or arguments.bad_rows == "skip":  # which are for files
        folders = []
    parts = [KnowledgeGraph(inside)] if inside else []
    parts += [_asked_facts(name, console) for name in named] + [_data_set(folder) for folder in folders]
    files = [path for path in paths if path not in folders]
    if not files:
        refuse_skipping(arguments, "none")
        return reduce(or_, parts)
    graph = _graph_in(files, arguments, console, reasoners, bad_rows)
    if inside:
        _tell_unlike_names(parts[0], graph, arguments, console)
    return graph | reduce(or_, parts) if parts else graph


def _tell_unlike_names(
    edges: KnowledgeGraph, facts: KnowledgeGraph, arguments: argparse.Namespace, console: Console
) -> None:
    """Warn where facts name no class of an ontology that is joined with them."""
    from reshuffle.rules.ontologies.ontology_reading import holds_axioms_alone

    given = [arguments.rules, *getattr(arguments, "more_rules", ())]
    if any(map(holds_axioms_alone, given)) and not any(name in edges.entities for name in facts.entities):
        written = edges.entities[0]
        console.message(
            f"warning: the facts name no class of the ontology, which writes names such as {written}"
        )


def _graph_in(
    files: Sequence[str],
    arguments: argparse.Namespace,
    console: Console,
    reasoners: Sequence[Reasoner],
    bad_rows: BadRows | None,
) -> KnowledgeGraph:
    from reshuffle.kg import read_graph

    with bad_rows_of(arguments, console) if bad_rows is None else nullcontext(bad_rows) as bad:
        graph = read_graph(
            *files,
            columns=arguments.columns,
            format=arguments.format,
            literals_suffice=any(_have_domains(reasoner) for reasoner in reasoners),
            bad_rows=bad,
            progress=console.progress,
            notes=console.message,
        )
    arguments.skipped_rows = bad.count
    return graph


def _asked_facts(name: str, console: Console) -> KnowledgeGraph:
    """The facts of a benchmark that its questions are asked about."""
    from reshuffle.data.load import load_benchmark
    from reshuffle.kg.splits import InductiveBenchmark

    bench = load_benchmark(name, progress=console.progress)
    return (bench.test if isinstance(bench, InductiveBenchmark) else bench.graph).facts


def _data_set(folder: str) -> KnowledgeGraph:
    """The facts of a Parquet data set, such as `infer -o DIR/` writes, in memory."""
    from reshuffle.reasoning.scaling.parquet_facts import ParquetFacts

    return ParquetFacts.at(folder).graph()


def is_parquet(path: str) -> bool:
    """Is it a Parquet file, or a folder of nothing else?"""
    from reshuffle.reasoning.scaling.data_sets import is_hidden

    if not Path(path).is_dir():
        return path.endswith(".parquet")
    inside = [
        file for file in Path(path).rglob("*") if file.is_file() and not is_hidden(file.relative_to(path))
    ]
    return bool(inside) and all(file.suffix == ".parquet" for file in inside)


def _have_domains(reasoner: Reasoner) -> bool:
    """Can literals say something about the types of their subjects?"""
    from reshuffle.rules.class_axioms import domains_of

    return reasoner.rules is not None and any(True for _ in domains_of(reasoner.rules))


def _is_same(one: str, other: str) -> bool:
    return one != "-" and Path(one).exists() and Path(one).samefile(other)


def settings_of(arguments: argparse.Namespace, *, recipe: str = "best") -> Settings:
    """The settings: those of a recipe, changed by the file, then by each --set."""
    from reshuffle.kg.io.toml import setting_from_text
    from reshuffle.learning.settings import Settings, read_settings

    changes = dict(map(setting_from_text, arguments.changes))
    # What a recipe sets goes below the file, even where --set names it.
    chosen = changes.pop("recipe", None)
    if chosen is not None and arguments.recipe not in (None, chosen):
        arguments.usage_error(f"--recipe {arguments.recipe} and --set recipe={chosen}: give one of the two")
    settings = Settings.of(arguments.recipe or recipe if chosen is None else chosen)
    if arguments.config:
        settings = read_settings(arguments.config, settings, recipe=chosen)
    return settings.changed(**changes)


def facts_of(
    arguments: argparse.Namespace, console: Console, *, bad_rows: BadRows | None = None
) -> KnowledgeGraph | GraphSplit:
    """The triples of files, or the training graph of a benchmark, by its name or its directory."""
    from reshuffle.kg.splits import InductiveBenchmark

    first, *more = arguments.facts
    bench = None if more else benchmark_of(first, console)
    if bench is not None:
        refuse_skipping(arguments, "a benchmark")
        return bench.train if isinstance(bench, InductiveBenchmark) else bench.graph
    return graph_of(arguments, console, bad_rows=bad_rows)


def learned_facts_of(arguments: argparse.Namespace, console: Console) -> KnowledgeGraph:
    """The triples to learn from, without those that a benchmark holds out for early stopping."""
    from reshuffle.kg.splits import GraphSplit

    given = facts_of(arguments, console)
    return given.facts if isinstance(given, GraphSplit) else given


def valid_of(
    arguments: argparse.Namespace, console: Console, *, bad_rows: BadRows | str = "refuse"
) -> KnowledgeGraph | None:
    """The triples of --valid; None where it was not given."""
    from reshuffle.kg import read_graph

    if arguments.valid is None:
        return None
    return read_graph(
        arguments.valid,
        may_be_empty=True,
        bad_rows=bad_rows,
        progress=console.progress,
        notes=console.message,
    )


def benchmark_of(name: str, console: Console) -> Benchmark | None:
    """The benchmark of a name, or in a directory; None for files of triples. A name wins over a file's."""
    from reshuffle.data.load import benchmark_names, load_benchmark

    names = benchmark_names()
    if name in names:
        return load_benchmark(name, progress=console.progress)
    if Path(name).is_dir():
        from reshuffle.kg.splits import benchmark_in

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
