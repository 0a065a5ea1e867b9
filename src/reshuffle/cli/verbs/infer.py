"""Print the triples that follow from rules and facts and are not facts, sorted, one per line.

RULES is a rule file, compiled constraints, or a model directory. The matrices of a model are hardened, and its injected
rules are applied, too. Answers come in blocks of heads in the order of their names, so that the
output is sorted while memory stays bounded. With --sketch the answers are a superset.

Of an ontology without facts (OBO, OBO Graph JSON, functional syntax, Turtle, RDF/XML) these are the edges between its
classes: every `C p D` for which `C SubClassOf p some D` follows, and the subclasses, in short names (CURIEs).

Exit status 1 when what follows breaks a constraint, such as a disjointness; the answers are written all the same.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from heapq import merge
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from reshuffle.cli.engine_inference import (
    ENGINES,
    add_engine_options,
    engine_answers,
)
from reshuffle.cli.inputs import (
    InputModel,
    certain_of,
    classes_of,
    graph_of,
    is_parquet,
    reasoners_of,
    sort_files,
)
from reshuffle.cli.options import add_reasoning_options
from reshuffle.cli.outputs import OutputFile
from reshuffle.cli.summaries import some_violations, tell_violations, write_summary
from reshuffle.errors import BudgetError, InputError, Place
from reshuffle.text import counted

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from reshuffle.cli.console import Console
    from reshuffle.cli.engine_inference import OnEngine
    from reshuffle.kg import KnowledgeGraph, Triple
    from reshuffle.kg.io.prefixes import Prefixes
    from reshuffle.reasoning import Answers, Reasoner
    from reshuffle.reasoning.answers import Count
    from reshuffle.reasoning.classes.class_answers import ClassAnswers
    from reshuffle.reasoning.violations import Violation
    from reshuffle.results import Table
    from reshuffle.rules.exactness import Exactness
    from reshuffle.theories import Theory

HELP = "the triples that follow"

_LARGE = 1_000_000_000  # bytes of facts from which an estimate is made


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_reasoning_options(parser, facts_may_be_missing=True, engines="auto|geometry|chase|duckdb|spark")
    add_engine_options(parser)
    sketch = parser.add_argument_group("sketches", "fast and never missing, but sometimes wrongly yes")
    sketch.add_argument("--sketch", type=int, metavar="K", help="use K random channels")
    sketch.add_argument("--epsilon", type=float, metavar="E", help="choose K for a mean false-positive rate")
    sketch.add_argument("--seed", type=int, default=0, metavar="S", help="their random seed (default 0)")
    parser.add_argument(
        "--min-confidence", type=float, metavar="C",
        help="only rules with confidence of at least C (default: of a rule model those without an exception, else all)",
    )  # fmt: skip
    parser.add_argument(
        "--reduced",
        action="store_true",
        help="of an ontology: direct parents, and edges that do not follow from the rest",
    )
    parser.add_argument("--count", action="store_true", help="per relation: derived and total, storing none")
    parser.add_argument("--with-facts", action="store_true", help="the facts, too, among the derived triples")
    parser.add_argument(
        "--with-labels",
        action="store_true",
        help="the labels of names, too, in three more columns: those that ontologies and RDF inputs have, or --labels",
    )
    parser.add_argument(
        "--named-graphs",
        action="store_true",
        help="with --with-facts: facts and derived triples as two named graphs (.nq, .trig, .jsonld)",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=OutputFile,
        metavar="OUT",
        help=".tsv, .csv, .jsonl, .parquet, .nt, .ttl, .rdf, .nq, .trig, .jsonld, also .gz; DIR/ is a Parquet data set",
    )
    parser.add_argument(
        "--summary",
        type=OutputFile,
        metavar="FILE.json",
        help="write how many triples follow, whether these are all, what was not read, and what breaks a constraint",
    )
    parser.set_defaults(usage_error=parser.error)


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Read, reason, print or write."""
    from reshuffle.kg.io.files import check_writable

    _check_options(arguments)
    sort_files(arguments, console)
    if arguments.summary:
        check_writable(arguments.summary, endings=(".json",))
    inputs = (arguments, *arguments.facts, arguments.rules)
    if arguments.prefixes or arguments.labels or arguments.with_labels:
        console.names.learn(
            *inputs, *map(InputModel, getattr(arguments, "more_rules", ())), labels=arguments.with_labels
        )
    else:
        console.names.inputs = inputs  # for messages; triples have full names
    if (classes := _classes(arguments, console)) is not None:
        if arguments.with_labels:
            console.names.know(classes.names.labels)
        return _put(InMemory(classes, classes.relations), arguments, console)
    if arguments.engine in ENGINES:
        with engine_answers(arguments, console) as on_engine:
            return _put(on_engine, arguments, console)
    _refuse_engine_options(arguments)
    _check_output(arguments)
    _refuse_too_large(arguments)
    certain = certain_of(arguments, console)
    return _put(_answers(arguments, certain, console), arguments, console, certain.nothing_follows)


def _classes(arguments: argparse.Namespace, console: Console) -> ClassAnswers | None:
    """What follows between the classes of an ontology without individuals; None for anything else.

    RDF has full names, every other output short ones.
    """
    from reshuffle.kg.io.files import written_format
    from reshuffle.kg.io.rdf import RDF

    _check_output(arguments)
    is_text = arguments.output is None or arguments.output.endswith("/") or arguments.count
    short = is_text or written_format(arguments.output) not in RDF
    classes = classes_of(arguments, console, short=short, reduced=arguments.reduced)
    if classes is None and arguments.reduced:
        raise InputError(
            "--reduced is for the classes of an ontology without individuals",
            place=Place(arguments.rules),
            hint="leave it out, or give an ontology without facts",
        )
    if classes is not None and arguments.engine in ENGINES:
        raise InputError(
            f"--engine {arguments.engine} derives from facts, and this is an ontology without any",
            place=Place(arguments.rules),
            hint="leave it out: classes are classified in memory",
        )
    return classes


def _put(
    answers: InMemory | OnEngine,
    arguments: argparse.Namespace,
    console: Console,
    nothing_follows: str | None = None,
) -> int:
    """Print or write what was asked for, and what breaks a constraint; or say that nothing follows."""
    if arguments.count:
        _put_counts(answers, arguments.output, console)
    elif arguments.output:
        _write(answers, arguments, console)
    elif arguments.with_labels:
        _print_labelled(_labelled(answers, arguments, console), console)
    else:
        _print_triples(answers.batches(with_facts=arguments.with_facts), console)
    if nothing_follows is not None and answers.derived == 0:
        console.message(nothing_follows)
    found = some_violations(answers, console)
    if found:
        console.names.learn(arguments, *arguments.facts, arguments.rules, labels=True)
        tell_violations(found, console)
    if arguments.summary:
        skipped = getattr(arguments, "skipped_rows", 0)
        write_summary(
            arguments.summary, answers.derived or 0, answers.claim, found, console, skipped_rows=skipped
        )
    return 1 if found else 0


@dataclass
class InMemory:
    """Answers inside this process, as they are printed and written."""

    answers: Answers
    names: Sequence[str]
    """The relations and classes that the rules name."""
    derived: int | None = None
    """How many triples follow; None until all of them have been counted or read."""

    @property
    def claim(self) -> Exactness:
        """How exact the answers are."""
        return self.answers.claim

    def violations(self) -> Iterator[Violation]:
        """What breaks a constraint."""
        return self.answers.violations()

    def write(self, arguments: argparse.Namespace) -> None:
        """Write the triples that follow, in order, with the facts where these are wanted."""
        from reshuffle.kg.io.writing import write_batches, write_named_graphs
        from reshuffle.reasoning.scaling.data_sets import write_data_set

        path = arguments.output
        if path.endswith("/"):
            write_data_set(self.batches(with_facts=arguments.with_facts), path)
            return
        prefixes = _prefixes(self, arguments)
        if arguments.named_graphs:
            parts = {"facts": sorted(self.answers.facts), "derived": self._sorted_triples()}
            write_named_graphs(parts, path, prefixes=prefixes)
        else:
            write_batches(self.batches(with_facts=arguments.with_facts), path, prefixes=prefixes)

    def _sorted_triples(self) -> Iterator[Triple]:
        self.derived = 0
        for triple in self.answers.sorted_triples():
            yield triple
            self.derived += 1

    @property
    def num_facts(self) -> int:
        """The number of facts."""
        return len(self.answers.facts)

    def batches(self, *, with_facts: bool) -> Iterator[pa.RecordBatch]:
        """The triples that follow, in order, among the facts where these are wanted."""
        from reshuffle.kg.io.tables import batches_of

        if with_facts:
            yield from batches_of(merge(sorted(self.answers.facts), self._sorted_triples()))
            return
        self.derived = 0
        for batch in self.answers.sorted_batches():
            yield batch
            self.derived += len(batch)

    def counts(self) -> dict[str, Count]:
        """How many triples of each relation follow, and how many there are in all."""
        counts = self.answers.counts()
        self.derived = sum(count.derived for count in counts.values())
        return counts


def _refuse_engine_options(arguments: argparse.Namespace) -> None:
    for name in ("master", "partitions", "plan"):
        if getattr(arguments, name) is not None:
            raise InputError(f"--{name} is for Spark", hint="add --engine spark, or leave it out")


def _check_options(arguments: argparse.Namespace) -> None:
    if arguments.count and (arguments.with_facts or arguments.named_graphs):
        arguments.usage_error(
            "--count counts facts and derived triples: leave out --with-facts and --named-graphs"
        )
    if arguments.with_labels and (arguments.count or arguments.named_graphs):
        arguments.usage_error("--with-labels is for triples in a table: leave out --count and --named-graphs")
    if arguments.min_confidence is not None and not 0 <= arguments.min_confidence <= 1:
        arguments.usage_error(f"--min-confidence {arguments.min_confidence}: a confidence is between 0 and 1")
    if arguments.named_graphs and not (arguments.with_facts and arguments.output):
        arguments.usage_error("--named-graphs needs --with-facts and -o OUT")


def _check_output(arguments: argparse.Namespace) -> None:
    """Refuse an output file that cannot be written, before any work is done."""
    from reshuffle.kg.io.files import check_writable
    from reshuffle.kg.io.writing import check_triples_writable

    if arguments.output and arguments.count:
        check_writable(arguments.output, endings=("", ".tsv", ".txt", ".json"))
    elif arguments.output and arguments.with_labels:
        from reshuffle.results.labelled_triples import check_labels_writable

        check_labels_writable(arguments.output)
    elif arguments.output and arguments.output.endswith("/"):
        from reshuffle.reasoning.scaling.data_sets import check_folder_writable

        check_folder_writable(arguments.output)
    elif arguments.output:
        check_triples_writable(arguments.output, named_graphs=arguments.named_graphs)


def _refuse_too_large(arguments: argparse.Namespace) -> None:
    """Refuse facts that would not fit into the memory, and say which engine would do."""
    large = [Path(path) for path in arguments.facts if _is_large(Path(path))]
    if not large:
        return
    from reshuffle.reasoning.scaling.estimates import available_bytes, bytes_to_load
    from reshuffle.reasoning.sharing import spelled_bytes

    needed, there = sum(map(bytes_to_load, large)), available_bytes()
    if needed > there:
        given = (arguments.rules, *arguments.facts, "-o", arguments.output or "out/")
        memory = f"{max(1, int(0.8 * there / 1e9))}GB"
        command = shlex.join(["reshuffle", "infer", *given, "--engine", "duckdb", "--memory", memory])
        raise BudgetError(
            f"loading these facts takes about {spelled_bytes(needed)}, and {spelled_bytes(there)} are free",
            hint=f"DuckDB works beyond the memory: {command}",
        )


def _is_large(path: Path) -> bool:
    return is_parquet(str(path)) if path.is_dir() else path.is_file() and path.stat().st_size >= _LARGE


def _answers(arguments: argparse.Namespace, certain: Theory, console: Console) -> InMemory:
    """Read the facts, and put what entails on them."""
    reasoners = reasoners_of(arguments, certain)
    graph = graph_of(arguments, console, reasoners)
    if arguments.sketch is not None or arguments.epsilon is not None:
        answers = _sketch(arguments, console, reasoners, graph)
    else:
        answers = certain.answered(reasoners, graph, progress=console.progress, notes=console.message)
        if console.verbosity > 0:
            console.detail(answers.exactness)
    return InMemory(answers, [name for reasoner in reasoners for name in reasoner.names])


def _sketch(
    arguments: argparse.Namespace, console: Console, reasoners: Sequence[Reasoner], graph: KnowledgeGraph
) -> Answers:
    from reshuffle.reasoning.joined_answers import JoinedAnswers

    each = [
        reasoner.sketch(
            graph,
            channels=arguments.sketch,
            epsilon=arguments.epsilon,
            seed=arguments.seed,
            progress=console.progress,
        )
        for reasoner in reasoners
    ]
    for sketch in each:
        console.message(sketch.exactness)
    return each[0] if len(each) == 1 else JoinedAnswers(each)


def _put_counts(answers: InMemory | OnEngine, path: str | None, console: Console) -> None:
    """Print the counts, or write them to the file: as lines, or as one JSON object."""
    from reshuffle.kg.io.files import written_whole
    from reshuffle.kg.io.tables import batch_of
    from reshuffle.kg.io.writing import tsv_text

    counts = sorted(answers.counts().items())
    data = {relation: {"derived": count.derived, "total": count.total} for relation, count in counts}
    if console.json:
        text = console.as_json(data) + "\n"
    else:
        rows = [(relation, str(count.derived), str(count.total)) for relation, count in counts]
        text = tsv_text(batch_of(rows), path or "<stdout>")
    if path is None:
        console.out.write(text)
        return
    with written_whole(path) as aside:
        aside.write_text(text, encoding="utf-8")
    console.result(
        f"{path}: counts of {counted(len(counts), 'relation')}", {"file": path, "relations": len(counts)}
    )


def _print_triples(batches: Iterator[pa.RecordBatch], console: Console) -> None:
    """Print the triples as they come: as lines, or as one JSON array."""
    from reshuffle.kg.io.tables import rows_of
    from reshuffle.kg.io.writing import tsv_text

    if not console.json:
        for batch in batches:
            console.out.write(tsv_text(batch, "<stdout>"))
        return
    opening = "["
    for triple in chain.from_iterable(map(rows_of, batches)):
        console.out.write(f"{opening}{console.as_json(list(triple))}")
        opening = ",\n "
    console.out.write("[]\n" if opening == "[" else "]\n")


def _labelled(answers: InMemory | OnEngine, arguments: argparse.Namespace, console: Console) -> Table:
    """The triples with their labels in columns."""
    from reshuffle.results.labelled_triples import labelled

    return labelled(answers.batches(with_facts=arguments.with_facts), console.names.labels)


def _print_labelled(table: Table, console: Console) -> None:
    """Print the rows as lines with tabs, or as one JSON array of objects."""
    if console.json:
        console.out.write(f"{console.as_json(list(table.rows()))}\n")
        return
    for row in table.rows():
        console.out.write("\t".join(" ".join(str(cell).split("\t")) for cell in row.values()) + "\n")


def _write(answers: InMemory | OnEngine, arguments: argparse.Namespace, console: Console) -> None:
    path = arguments.output
    if arguments.with_labels:
        _labelled(answers, arguments, console).write(path)
    else:
        answers.write(arguments)
    derived = answers.derived or 0
    facts = {"facts": answers.num_facts} if arguments.with_facts else {}
    told = f" and {counted(facts['facts'], 'fact')}" if facts else ""
    console.result(
        f"{path}: {counted(derived, 'derived triple')}{told}",
        {"file": path, "derived": derived, **facts, "exactness": str(answers.claim)},
    )


def _prefixes(answers: InMemory, arguments: argparse.Namespace) -> Prefixes | None:
    """The prefixes that shorten names of the output: common ones, and those that rules and facts declare."""
    from reshuffle.kg.io.files import Format, written_format
    from reshuffle.kg.io.prefixes import prefixes_among

    if written_format(arguments.output) not in (Format.TURTLE, Format.TRIG, Format.RDF_XML):
        return None
    files = (path for given in (*arguments.facts, arguments.rules) for path in given.paths())
    known = prefixes_among(files, arguments.prefixes)
    facts = answers.answers.facts
    return known.used_in(chain(answers.names, facts.relations, facts.entities))
