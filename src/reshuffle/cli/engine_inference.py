"""`infer` on DuckDB or Spark: for more facts than fit into the memory of one process, or into one machine."""

from __future__ import annotations

import argparse
import shlex
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from reshuffle.cli.inputs import graph_of, reasoners_of
from reshuffle.cli.spark_options import add_spark_options, refuse_without_spark
from reshuffle.errors import BudgetError, InputError, NotExpressibleError, Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from reshuffle.cli.console import Console
    from reshuffle.kg import KnowledgeGraph, Triple
    from reshuffle.reasoning import Count, Reasoner
    from reshuffle.reasoning.proofs import Proof
    from reshuffle.reasoning.scaling.engine_interface import EngineAnswers
    from reshuffle.reasoning.scaling.parquet_facts import ParquetFacts
    from reshuffle.reasoning.violations import Violation

_ENGINES = ("duckdb", "spark")
_MOST_VIOLATIONS = 100  # of a constraint that are looked for
_LARGE = 1_000_000_000  # bytes of facts from which an estimate is made


def add_engine_options(parser: argparse.ArgumentParser) -> None:
    """The options of engines past one process."""
    group = add_spark_options(parser)
    group.add_argument(
        "--plan",
        metavar="split|tables",
        help="split: shares of the heads, where the facts fit a worker; tables: joins (default: split where it fits)",
    )


def is_engine(arguments: argparse.Namespace) -> bool:
    """Is it an engine past one process? Options of such an engine alone are refused."""
    if arguments.engine in _ENGINES:
        return True
    refuse_without_spark(arguments, "plan")
    return False


@dataclass
class OnEngine:
    """The answers of an engine, as `infer` prints them."""

    answers: EngineAnswers
    reasoner: Reasoner
    derived: int | None = None

    @property
    def each(self) -> Sequence[OnEngine]:
        """The one that there is."""
        return [self]

    @property
    def exactness(self) -> str:
        """How exact the answers are."""
        return self.reasoner.exactness

    def counts(self) -> dict[str, Count]:
        """How many triples of each relation follow, and how many there are in all."""
        from reshuffle.reasoning.answers import Count  # noqa: PLC0415

        hidden = self._hidden
        counts = {name: Count(*both) for name, both in self.answers.counts().items() if name not in hidden}
        self.derived = sum(count.derived for count in counts.values())
        return counts

    def sorted_triples(self) -> Iterator[Triple]:
        """The triples that follow, in order."""
        from reshuffle.kg import Triple  # noqa: PLC0415
        from reshuffle.reasoning.scaling.engine_interface import rows_of  # noqa: PLC0415

        self.derived = 0
        for batch in self.answers.batches(in_order=True):
            self.derived += len(batch)
            yield from map(Triple._make, rows_of(batch))

    @property
    def facts(self) -> Sequence[Triple]:
        """None: an engine does not hand the facts out again."""
        return ()

    def all_triples(self, *, with_facts: bool) -> Iterator[Triple]:
        """The triples that follow, in order."""
        assert not with_facts  # refused before
        return self.sorted_triples()

    def write(self, arguments: argparse.Namespace) -> None:
        """Write the triples that follow to a file or a data set."""
        self.derived = self.answers.write(arguments.output)

    def violations(self) -> Iterator[Violation]:
        """The pairs that break a disjointness constraint, with proofs from the facts behind them; a few of each."""
        from reshuffle.reasoning.violations import Violation  # noqa: PLC0415

        for constraint, *both in self.answers.forbidden_pairs(_MOST_VIOLATIONS):
            proofs = [self._proof(triple) for triple in both]
            yield Violation(constraint, *proofs)

    def _proof(self, triple: Triple) -> Proof:
        behind = self.answers.behind(*triple)
        assert behind is not None, f"{triple} holds but nothing is behind it"
        facts = [fact for fact in behind if fact[1] not in self._hidden]
        return self.reasoner.on(facts).proofs(*triple)[0]

    @property
    def _hidden(self) -> frozenset[str]:
        """The helper relations of class axioms."""
        rules = self.reasoner.rules
        return frozenset() if rules is None or rules.classes is None else rules.classes.relations


@contextmanager
def engine_answers(arguments: argparse.Namespace, console: Console) -> Iterator[OnEngine]:
    """Read rules and facts, and put them on the engine."""
    from reshuffle.kg.io.files import check_writable  # noqa: PLC0415 - verbs import when they run
    from reshuffle.reasoning.scaling.engine_interface import Deduction, Options  # noqa: PLC0415
    from reshuffle.reasoning.scaling.engines import check_output, opened  # noqa: PLC0415

    if arguments.sketch is not None or arguments.epsilon is not None:
        raise InputError("sketches are made in memory", hint="leave out --engine, or --sketch and --epsilon")
    if arguments.with_facts or arguments.named_graphs:
        raise InputError(
            f"{arguments.engine} writes derived triples only",
            hint="leave out --with-facts and --named-graphs",
        )
    options = Options(
        arguments.engine, arguments.memory, arguments.master, arguments.partitions, arguments.plan
    )
    if arguments.output:
        (check_writable if arguments.count else check_output)(arguments.output)
    reasoner = _reasoner(arguments, console)
    deduction = Deduction(reasoner.constraints, reasoner.rules, arguments.node_budget)
    facts = _facts(arguments, console, reasoner)
    with opened(
        deduction, facts, options, beside=arguments.output, progress=console.progress, notes=console.message
    ) as answers:
        yield OnEngine(answers, reasoner)


def facts_behind(
    arguments: argparse.Namespace, console: Console, triple: tuple[str, str, str]
) -> tuple[Reasoner, list[tuple[str, str, str]] | None]:
    """The reasoner, and the facts of one derivation of a triple, which the engine looks for; None if there is none."""
    from reshuffle.reasoning.scaling.engine_interface import Deduction, Options  # noqa: PLC0415
    from reshuffle.reasoning.scaling.engines import opened  # noqa: PLC0415

    reasoner = _reasoner(arguments, console)
    deduction = Deduction(reasoner.constraints, reasoner.rules, arguments.node_budget)
    facts = _facts(arguments, console, reasoner)
    options = Options(arguments.engine, arguments.memory)
    with opened(deduction, facts, options, progress=console.progress, notes=console.message) as answers:
        return reasoner, answers.behind(*triple)


def _reasoner(arguments: argparse.Namespace, console: Console) -> Reasoner:
    """With constraints where they are exact, otherwise with rules alone, as the chase goes."""
    try:
        reasoners = reasoners_of(_with_engine(arguments, "auto"), console)
    except NotExpressibleError as error:
        if arguments.bound is not None:
            raise
        console.message(f"no exact geometry: the rules run as tables ({error.reason})")
        reasoners = reasoners_of(_with_engine(arguments, "chase"), console)
    if len(reasoners) > 1:
        raise InputError(
            "a model with injected rules is two sets of constraints, which are joined in memory only",
            place=Place(arguments.rules),
            hint=f"leave out --engine {arguments.engine}",
        )
    return reasoners[0]


def _with_engine(arguments: argparse.Namespace, engine: str) -> argparse.Namespace:
    return argparse.Namespace(**{**vars(arguments), "engine": engine})


def _facts(
    arguments: argparse.Namespace, console: Console, reasoner: Reasoner
) -> KnowledgeGraph | ParquetFacts:
    """Parquet stays where it is; anything else is read, and gets the helper facts of class axioms."""
    from reshuffle.reasoning.class_answers import with_helpers  # noqa: PLC0415
    from reshuffle.reasoning.scaling.parquet_facts import ParquetFacts  # noqa: PLC0415

    classes = None if reasoner.rules is None else reasoner.rules.classes
    stored = arguments.facts[0] if len(arguments.facts) == 1 and _is_parquet(arguments.facts[0]) else None
    if classes is not None:
        if stored is not None and Path(stored).is_dir():
            raise InputError(
                "class axioms need helper facts, which a data set of Parquet files does not get",
                place=Place(stored),
                hint="give one file of facts, which is read",
            )
        if classes.disjoint:
            console.message(f"disjoint classes are checked in memory only, not by {arguments.engine}")
        return with_helpers(graph_of(arguments, console, [reasoner]), classes)
    inside = reasoner.rules is not None and reasoner.rules.facts
    if stored is not None and not inside and arguments.columns is None:
        return ParquetFacts.at(stored)
    return graph_of(arguments, console, [reasoner])


def write_folder(triples: Iterable[tuple[str, str, str]], path: str) -> None:
    """Write what was derived in memory as a data set."""
    from reshuffle.kg.io.writing import batch_of  # noqa: PLC0415
    from reshuffle.reasoning.scaling.data_sets import RelationFolders, written_folder  # noqa: PLC0415

    rows = iter(triples)
    with written_folder(path) as aside, RelationFolders(aside) as folders:
        while some := list(islice(rows, 100_000)):
            folders.write(batch_of(some))


def refuse_too_large(arguments: argparse.Namespace) -> None:
    """Refuse facts that would not fit into the memory, and say which engine would do."""
    large = [Path(path) for path in arguments.facts if _is_large(Path(path))]
    if not large:
        return
    from reshuffle.reasoning.scaling.estimates import available_bytes, bytes_to_load  # noqa: PLC0415
    from reshuffle.reasoning.sharing import spelled_bytes  # noqa: PLC0415

    needed, there = sum(map(bytes_to_load, large)), available_bytes()
    if needed > there:
        given = (arguments.rules, *arguments.facts, "-o", arguments.output or "out/")
        memory = f"{max(1, int(0.8 * there / 1e9))}GB"
        command = shlex.join(["reshuffle", "infer", *given, "--engine", "duckdb", "--memory", memory])
        raise BudgetError(
            f"loading these facts takes about {spelled_bytes(needed)}, and {spelled_bytes(there)} are free",
            hint=f"DuckDB works beyond the memory: {command}",
        )


def _is_parquet(path: str) -> bool:
    """Is it a Parquet file, or a folder of nothing else?"""
    if not Path(path).is_dir():
        return path.endswith(".parquet")
    inside = [
        file for file in Path(path).rglob("*") if file.is_file() and not file.name.startswith((".", "_"))
    ]
    return bool(inside) and all(file.suffix == ".parquet" for file in inside)


def _is_large(path: Path) -> bool:
    return _is_parquet(str(path)) if path.is_dir() else path.is_file() and path.stat().st_size >= _LARGE
