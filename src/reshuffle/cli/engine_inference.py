"""`infer` on DuckDB or Spark: for more facts than fit into the memory of one process, or into one machine."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from reshuffle.cli.inputs import certain_of, graph_of, is_parquet, reasoners_of
from reshuffle.cli.spark_options import add_spark_options
from reshuffle.cli.summaries import some_violations
from reshuffle.errors import InputError, Place, UnknownNameError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa

    from reshuffle.cli.console import Console
    from reshuffle.kg import KnowledgeGraph, Triple
    from reshuffle.reasoning import Count, Reasoner
    from reshuffle.reasoning.proofs import Proof
    from reshuffle.reasoning.scaling.engine_interface import EngineAnswers
    from reshuffle.reasoning.scaling.ontology_rules import OverFacts
    from reshuffle.reasoning.scaling.parquet_facts import ParquetFacts
    from reshuffle.reasoning.violations import Violation
    from reshuffle.rules.exactness import Exactness

ENGINES = ("duckdb", "spark")
"""The engines past one process."""


def add_engine_options(parser: argparse.ArgumentParser) -> None:
    """The options of engines past one process."""
    group = add_spark_options(parser)
    group.add_argument(
        "--plan",
        metavar="split|tables",
        help="split: shares of the heads, where the facts fit a worker; tables: joins (default: split where it fits)",
    )


@dataclass
class OnEngine:
    """The answers of an engine, as `infer` prints them."""

    answers: EngineAnswers
    over: OverFacts
    claim: Exactness
    literals: KnowledgeGraph | None = None
    derived: int | None = None

    def counts(self) -> dict[str, Count]:
        """How many triples of each relation follow, and how many there are in all."""
        from reshuffle.reasoning.answers import Count

        hidden = self._hidden
        counts = {name: Count(*both) for name, both in self.answers.counts().items() if name not in hidden}
        self.derived = sum(count.derived for count in counts.values())
        return counts

    @property
    def num_facts(self) -> int:
        """The number of facts."""
        return self.answers.num_facts

    def batches(self, *, with_facts: bool) -> Iterator[pa.RecordBatch]:
        """The triples that follow, in order, among the facts where these are wanted."""
        found = 0
        for batch in self.answers.batches(in_order=True, with_facts=with_facts):
            found += len(batch)
            yield batch
        self.derived = found - self.num_facts if with_facts else found

    def write(self, arguments: argparse.Namespace) -> None:
        """Write the triples that follow to a file or a data set, with the facts where these are wanted."""
        self.derived = self.answers.write(arguments.output, with_facts=arguments.with_facts)

    def violations(self) -> Iterator[Violation]:
        """The pairs that break a disjointness constraint, with proofs from the facts behind them; a few of each."""
        return self.answers.violations(self._proof)

    def _proof(self, triple: Triple) -> Proof:
        behind = self.answers.behind(*triple)
        assert behind is not None, f"{triple} holds but nothing is behind it"
        return self.over.proving.on(_shown_facts(behind, self.over.reasoner, self.literals)).proofs(*triple)[
            0
        ]

    @property
    def _hidden(self) -> frozenset[str]:
        return _helper_relations(self.over.reasoner)


def _shown_facts(
    behind: Iterable[tuple[str, str, str]], reasoner: Reasoner, literals: KnowledgeGraph | None
) -> KnowledgeGraph:
    """The facts that an engine found behind a triple, without helper facts; literals stand beside them again."""
    from reshuffle.kg import KnowledgeGraph

    hidden = _helper_relations(reasoner)
    return KnowledgeGraph([fact for fact in behind if fact[1] not in hidden]).with_literals(literals)


def _helper_relations(reasoner: Reasoner) -> frozenset[str]:
    """The helper relations of rules with constants."""
    return frozenset() if reasoner.encoding is None else reasoner.encoding.relations


@contextmanager
def engine_answers(arguments: argparse.Namespace, console: Console) -> Iterator[OnEngine]:
    """Read rules and facts, and put them on the engine."""
    from reshuffle.kg.io.files import check_writable
    from reshuffle.reasoning.scaling.engine_interface import Options
    from reshuffle.reasoning.scaling.engines import check_output, opened

    if arguments.sketch is not None or arguments.epsilon is not None:
        raise InputError("sketches are made in memory", hint="leave out --engine, or --sketch and --epsilon")
    if arguments.named_graphs:
        raise InputError("named graphs are written in memory", hint="leave out --engine, or --named-graphs")
    options = Options(
        arguments.engine, arguments.memory, arguments.master, arguments.partitions, arguments.plan
    )
    if arguments.output:
        (check_writable if arguments.count else check_output)(arguments.output)
    over, facts, claim = _given(arguments, console)
    with opened(
        over.reasoner.deduction,
        facts,
        options,
        beside=arguments.output,
        progress=console.progress,
        notes=console.message,
    ) as answers:
        yield OnEngine(answers, over, claim, getattr(facts, "literals", None))


@dataclass(frozen=True)
class FactsBehind:
    """What an engine found about one triple."""

    triple: tuple[str, str, str]
    reasoner: Reasoner
    facts: KnowledgeGraph | None
    """Those of one derivation; None where the triple does not follow."""
    claim: Exactness
    violations: Sequence[Violation]
    """Some of what breaks a constraint, where JSON asks for it."""


def facts_behind(arguments: argparse.Namespace, console: Console) -> FactsBehind:
    """The triple that is meant, and the facts of one derivation, which the engine looks for."""
    from reshuffle.reasoning.scaling.engine_interface import Options
    from reshuffle.reasoning.scaling.engines import opened

    over, facts, claim = _given(arguments, console)
    options = Options(arguments.engine, arguments.memory)
    typed = (arguments.head, arguments.relation, arguments.tail)
    literals = getattr(facts, "literals", None)
    with opened(
        over.reasoner.deduction, facts, options, progress=console.progress, notes=console.message
    ) as answers:
        triple, behind = _behind(answers, typed, console)
        on_engine = OnEngine(answers, over, claim, literals)
        violations = some_violations(on_engine, console) if console.json else ()
    shown = None if behind is None else _shown_facts(behind, over.reasoner, literals)
    return FactsBehind(triple, over.proving, shown, claim.about(triple[1]), violations)


def _behind(
    answers: EngineAnswers, typed: tuple[str, str, str], console: Console
) -> tuple[tuple[str, str, str], list[tuple[str, str, str]] | None]:
    """What is behind a triple; names as they were typed win over what their prefixes stand for."""
    try:
        return typed, answers.behind(*typed)
    except UnknownNameError:
        head, relation, tail = map(console.names.full, typed)
        if (head, relation, tail) == typed:
            raise
        return (head, relation, tail), answers.behind(head, relation, tail)


def _reasoner(arguments: argparse.Namespace, console: Console) -> Reasoner:
    """With constraints where they are exact, otherwise with rules alone, as the chase goes."""
    reasoners = reasoners_of(arguments, certain_of(arguments, console), engine="auto")
    if len(reasoners) > 1:
        raise InputError(
            "a model with injected rules is two sets of constraints, which are joined in memory only",
            place=Place(arguments.rules),
            hint=f"leave out --engine {arguments.engine}",
        )
    return reasoners[0]


def _lies_in_parquet(arguments: argparse.Namespace) -> bool:
    """Are the facts one file or folder of Parquet? Several files, and those of a pattern, are read into memory."""
    path = arguments.facts[0]
    return (
        len(arguments.facts) == 1 and is_parquet(path) and Path(path).exists() and arguments.columns is None
    )


def _given(
    arguments: argparse.Namespace, console: Console
) -> tuple[OverFacts, KnowledgeGraph | ParquetFacts, Exactness]:
    """The rules, the facts with what rules with constants need besides, and what answers will be."""
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.reasoning.constant_answers import with_helpers
    from reshuffle.reasoning.scaling.ontology_rules import for_engine

    read = _reasoner(arguments, console)
    facts = _facts(arguments, console, read)
    over = for_engine(read, facts)
    reasoner, rules = over.reasoner, over.reasoner.rules
    if reasoner.constraints is None and reasoner.no_geometry is not None:
        console.message(f"the rules run as tables ({reasoner.no_geometry.message})")
    for unread in over.left_out:
        console.message(f"warning: {unread}\n  hint: leave out --engine {arguments.engine}")
    graph = facts if isinstance(facts, KnowledgeGraph) else None
    claim = reasoner.claim(graph, notes=console.message)
    claim = replace(claim, not_read=(*claim.not_read, *over.left_out))
    if rules is not None and reasoner.encoding is not None:
        if isinstance(facts, KnowledgeGraph):
            facts = with_helpers(facts, rules).with_literals(facts.literals)
        else:
            facts = facts.with_helpers_of(reasoner.encoding)
    return over, facts, claim


def _facts(
    arguments: argparse.Namespace, console: Console, reasoner: Reasoner
) -> KnowledgeGraph | ParquetFacts:
    """Parquet stays; anything else is read."""
    from reshuffle.reasoning.scaling.parquet_facts import ParquetFacts

    if not _lies_in_parquet(arguments) or (reasoner.rules is not None and reasoner.rules.facts):
        return graph_of(arguments, console, [reasoner])
    if arguments.bad_rows == "skip":
        raise InputError(
            f"--engine {arguments.engine} takes Parquet as it lies, and skips no rows",
            place=Place(arguments.facts[0]),
            hint="leave out --bad-rows, or --engine; rows without a name can be filtered out beforehand",
        )
    return ParquetFacts.at(arguments.facts[0])
