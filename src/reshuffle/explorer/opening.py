"""Open the rules, model or benchmark, the facts and the labels that `reshuffle serve` names.

Files are read before the server starts, so errors in them are reported at once. Slow work (loading a model, mining)
runs in the server, with progress.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from reshuffle.data.families import NAME as FAMILIES
from reshuffle.data.families import families
from reshuffle.data.finding import demo_directory
from reshuffle.data.load import benchmark_names, load_benchmark
from reshuffle.errors import InputError, Place
from reshuffle.explorer.class_subjects import ClassSubject
from reshuffle.explorer.decisions import ENDING, Decisions
from reshuffle.explorer.exhibits import Exhibit
from reshuffle.explorer.rule_bases import RuleBaseSubject
from reshuffle.explorer.rule_lists import RuleListSubject
from reshuffle.explorer.soft_models import SoftModelSubject
from reshuffle.explorer.subject import Source
from reshuffle.explorer.views.training_page import LOG, SETTINGS
from reshuffle.kg import KnowledgeGraph, read_graph
from reshuffle.kg.io.labels import labels_among, read_labels
from reshuffle.kg.io.prefixes import prefixes_among
from reshuffle.kg.splits import InductiveBenchmark
from reshuffle.progress import SILENT, UNHEARD
from reshuffle.reasoning.classes.normal_forms import named_classes
from reshuffle.rulelist import RuleModel, is_rule_model, load_rule_model
from reshuffle.rules.class_axioms import domains_of
from reshuffle.rules.mining import mine
from reshuffle.rules.ontologies.ontology_reading import holds_axioms_alone, read_ontology
from reshuffle.rules.parsing import may_hold_facts
from reshuffle.theories.kinds import kind_at, load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reshuffle.explorer.subject import Subject
    from reshuffle.kg.splits import GraphSplit
    from reshuffle.progress import Notes, Progress

_LEAST_SUPPORT = 3  # of mined rules
_LEAST_CONFIDENCE = 0.1
_CLASSES = "classes"
"""The key of the classes of an ontology."""


@dataclass(frozen=True)
class Wanted:
    """What the command line names."""

    name: str
    """A model directory, a rule file or a benchmark."""
    facts: str | None = None
    """A file, a folder, a pattern or a benchmark."""
    labels: str | None = None
    held_out: str | None = None
    engine: str = "auto"
    bound: int | None = None
    progress: Progress = field(default=SILENT, repr=False)
    notes: Notes = field(default=UNHEARD, repr=False)
    prefixes: str | None = None
    more_facts: tuple[str, ...] = ()
    """More files, folders and patterns."""
    columns: str | None = None
    format: str | None = None
    files: tuple[str, ...] = ()
    """The files of facts that folders and patterns stand for."""
    bad_rows: str = "refuse"
    report: str | None = None
    """Where skipped rows of the facts are listed."""
    decisions: str | None = None
    """The file of decisions about links."""


def opened(wanted: Wanted) -> list[Exhibit]:
    """The exhibits, the one to begin with first."""
    exhibits = list(_exhibits(wanted))
    named = (wanted.name, wanted.facts, *wanted.more_facts, *wanted.files, wanted.held_out)
    inputs = list(dict.fromkeys(path for path in named if path is not None))
    labels = labels_among(inputs) if wanted.labels is None else read_labels(wanted.labels)
    prefixes = prefixes_among(inputs, wanted.prefixes)
    read = tuple(Path(name) for name in (*named[1:], wanted.labels) if name is not None)
    decisions = _decisions(wanted)
    for exhibit in exhibits:
        exhibit.decisions = decisions
        exhibit.labels, exhibit.prefixes = {**exhibit.labels, **labels}, prefixes
        exhibit.inputs = (*exhibit.inputs, *(path for path in read if path.exists()))
    return exhibits


def _decisions(wanted: Wanted) -> Decisions:
    """Those of the file that is named, or of one in this directory that is called after what is shown."""
    file = Path(Path(wanted.name).stem + ENDING) if wanted.decisions is None else Path(wanted.decisions)
    made = Decisions(file.absolute())
    made.standing()  # errors in the file are told at once
    return made


def _exhibits(wanted: Wanted) -> Iterator[Exhibit]:
    path = Path(wanted.name)
    if wanted.name in benchmark_names() and wanted.facts is None:
        yield from _of_benchmark(wanted)
    elif path.exists():
        shown = _OF_KIND.get(kind_at(path), _of_rules)(path, wanted)
        yield shown
        if shown.key == _CLASSES and may_hold_facts(path):
            yield _of_rules(path, wanted)
    else:
        raise InputError(
            "there is no model directory, no rule file and no benchmark of that name",
            place=Place(wanted.name),
            hint="give one of them; `reshuffle data list` shows the benchmarks",
        )


# --- facts ------------------------------------------------------------------------------------------------------------


def _source(
    wanted: Wanted, path: Path, *, directory: Path | None = None, literals_suffice: bool = False
) -> Source:
    source = Source(path.name, directory=directory)
    if wanted.facts is not None and wanted.facts in benchmark_names() and not wanted.more_facts:
        split = _tested(wanted.facts, wanted.progress)
        source = replace(source, facts=split.facts, held_out=split.queries)
    elif wanted.facts is not None:
        graph = read_graph(
            wanted.facts,
            *wanted.more_facts,
            columns=wanted.columns,
            format=wanted.format,
            literals_suffice=literals_suffice,
            bad_rows=wanted.bad_rows,
            report=wanted.report,
            progress=wanted.progress,
            notes=wanted.notes,
        )
        source = replace(source, facts=graph)
    if wanted.held_out is not None:
        held_out = read_graph(wanted.held_out, progress=wanted.progress, notes=wanted.notes)
        source = replace(source, held_out=held_out)
    return source


def _tested(name: str, progress: Progress) -> GraphSplit:
    """The graph of a benchmark that questions are asked about."""
    bench = load_benchmark(name, progress=progress)
    return bench.test if isinstance(bench, InductiveBenchmark) else bench.graph


# --- what is explored -------------------------------------------------------------------------------------------------


def _of_benchmark(wanted: Wanted) -> Iterator[Exhibit]:
    if wanted.name == FAMILIES:
        demo = families()
        split = demo.benchmark.test
        source = Source(FAMILIES, split.facts, split.queries)
        subject = RuleBaseSubject(demo.rules, source, engine=wanted.engine, bound=wanted.bound)
        yield Exhibit("rules", f"{FAMILIES}: rules", subject.kind, lambda _: subject)
        made = demo_directory()
        if (made / "model" / SETTINGS).is_file():
            yield _network(made / "model", replace(source, directory=made / "model"))
        if is_rule_model(made / "rules"):
            yield _list(made / "rules", replace(source, directory=made / "rules"), key="list")
        return
    bench = load_benchmark(wanted.name, progress=wanted.progress)
    learned = bench.train if isinstance(bench, InductiveBenchmark) else bench.graph
    split = bench.test if isinstance(bench, InductiveBenchmark) else bench.graph
    source = Source(wanted.name, split.facts, split.queries)

    def mined(progress: Progress) -> Subject:
        found = mine(
            learned.facts,
            min_support=_LEAST_SUPPORT,
            min_confidence=_LEAST_CONFIDENCE,
            progress=progress,
        )
        return RuleListSubject(RuleModel.from_rules(found.rules), source)

    yield Exhibit("mined", f"{wanted.name}: mined rules", RuleListSubject.kind, mined)


def _of_list(path: Path, wanted: Wanted) -> Exhibit:
    return _list(path, _source(wanted, path, directory=path if path.is_dir() else path.parent), key="model")


def _list(path: Path, source: Source, *, key: str) -> Exhibit:
    listed = RuleListSubject(load_rule_model(path), source)
    title = f"{source.name}: rule model"
    return Exhibit(key, title, listed.kind, lambda _: listed, source.directory, inputs=(path,))


def _of_network(path: Path, wanted: Wanted) -> Exhibit:
    return _network(path, _source(wanted, path, directory=path))


def _network(path: Path, source: Source) -> Exhibit:
    """A network, or a training that has not ended yet."""
    if not any((path / file).is_file() for file in (SETTINGS, LOG)):
        raise InputError(
            "found neither a model nor a training in this directory",
            place=Place(str(path)),
            hint="`reshuffle train FACTS -o DIR` writes one",
        )

    def trained(progress: Progress) -> Subject:
        from reshuffle.learning.estimator import Reshuffle  # noqa: PLC0415 - torch

        with progress("loading the model", total=None):
            if not (path / SETTINGS).is_file():
                raise InputError(
                    "there is no model yet: the training is still running",
                    place=Place(path.name),
                    hint="the page Training shows the progress",
                )
            return SoftModelSubject(Reshuffle.load(path, device="cpu"), source)

    title = f"{source.name}: soft model"
    return Exhibit("model", title, SoftModelSubject.kind, trained, path, inputs=(path,))


def _of_ontology(path: Path, wanted: Wanted) -> Exhibit:
    """Its classes, where there are no individuals; otherwise the rules for these."""
    if wanted.facts is not None:
        return _of_rules(path, wanted)
    ontology = read_ontology(str(path))
    has_classes = bool(named_classes(ontology.axioms, ontology.classes))
    if ontology.facts or not (has_classes or holds_axioms_alone(path)):
        return _of_rules(path, wanted)
    subject = ClassSubject(ontology, Source(path.name), progress=wanted.progress)
    title = f"{path.name}: classes" if may_hold_facts(path) else path.name
    return Exhibit(_CLASSES, title, subject.kind, lambda _: subject, labels=subject.labels, inputs=(path,))


def _of_rules(path: Path, wanted: Wanted) -> Exhibit:
    rules = load(path, skip_unsupported=True, notes=wanted.notes).written_rules()
    if wanted.facts is None and not rules.facts and may_hold_facts(path):
        wanted = replace(wanted, facts=str(path))  # which may hold both
    has_domains = any(True for _ in domains_of(rules))
    source = _source(wanted, path, literals_suffice=has_domains)
    if rules.facts:  # as in a Datalog program
        source = replace(source, facts=source.facts | KnowledgeGraph(rules.facts))
    subject: Subject
    if any(rule.quality is not None and (rule.quality.confidence or 0) < 1 for rule in rules.rules):
        subject = RuleListSubject(RuleModel.from_rules(rules), source)
    else:
        subject = RuleBaseSubject(rules, source, engine=wanted.engine, bound=wanted.bound)
    return Exhibit("rules", path.name, subject.kind, lambda _: subject, inputs=(path,))


_OF_KIND: dict[str, Callable[[Path, Wanted], Exhibit]] = {
    "weighted_rules": _of_list,
    "networks": _of_network,
    "ontology_files": _of_ontology,
}
"""What is shown of a kind of theory, if more than its rules; models are loaded when they are first looked at."""
