"""The interface that all engines implement."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from heapq import merge
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from reshuffle.errors import UnknownNameError
from reshuffle.kg.frames import ArrowFrames, pandas_frame, polars_frame
from reshuffle.kg.io.tables import SCHEMA, batches_of, name_batches
from reshuffle.kg.rows import Triple, is_triple
from reshuffle.pictures.notebook import shown_triples
from reshuffle.progress import SILENT, UNHEARD
from reshuffle.reasoning.scaling.engine_interface import Options, write_blocks
from reshuffle.reasoning.scaling.engines import check_output, opened
from reshuffle.reasoning.sharing import Copied
from reshuffle.reasoning.violations import warning_lines
from reshuffle.reasoning.why_not import NoProof
from reshuffle.rules.exactness import Exactness
from reshuffle.spark.spark_session import IN_MEMORY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from os import PathLike

    import pandas as pd
    import polars as pl

    from reshuffle.kg import KnowledgeGraph
    from reshuffle.progress import Notes, Progress
    from reshuffle.reasoning.proofs import Proof
    from reshuffle.reasoning.scaling.engine_interface import Deduction
    from reshuffle.reasoning.sharing import Shared
    from reshuffle.reasoning.violations import Violation
    from reshuffle.reasoning.why_not import PartialDerivation
    from reshuffle.rules import RuleBase
    from reshuffle.rules.exactness import Way
    from reshuffle.rules.rule import Unread

_MOST_TOLD = 3  # violations that a note tells


@dataclass(frozen=True)
class Count:
    """For one relation: how many derived triples are not facts, and how many triples hold."""

    derived: int
    total: int


class DerivedTriples(Copied, Collection[Triple], ArrowFrames):
    """A collection of the derived triples that are not facts: `in`, iteration, and `len`, which stores none of them.

    `copy.copy`, `copy.deepcopy` and `pickle` give answers of their own: what is added to one is not added to the other.

    `list(answers)` counts the triples first, as it does with all collections; `list(answers.triples())` does not.
    """

    @property
    @abstractmethod
    def facts(self) -> KnowledgeGraph:
        """The graph as it is now, updates included."""

    @abstractmethod
    def holds(self, head: str, relation: str, tail: str) -> bool:
        """Does the triple follow (or stand in the graph)?"""

    @abstractmethod
    def triples(self) -> Iterator[Triple]:
        """The derived triples that are not facts, streamed, one relation after the other, otherwise in no order."""

    @abstractmethod
    def counts(self) -> dict[str, Count]:
        """Per relation, how many are derived and how many hold, without storing them."""

    def count(self) -> int:
        """How many triples are derived that are not facts."""
        return sum(count.derived for count in self.counts().values())

    def __len__(self) -> int:
        return self.count()

    def __bool__(self) -> bool:
        return next(self.triples(), None) is not None  # the first one says it, without counting all

    def __iter__(self) -> Iterator[Triple]:
        return self.triples()

    def __contains__(self, triple: object) -> bool:
        if not is_triple(triple):
            return False
        try:
            return self.holds(*triple) and triple not in self.facts
        except UnknownNameError:
            return False

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The derived triples as Arrow blocks of names, streamed."""
        return batches_of(self.triples())

    def to_arrow(self, *, facts: bool = False) -> pa.Table:
        """The derived triples as one Arrow table; behind the facts where `facts` is true."""
        given = name_batches(self.facts) if facts else ()
        return pa.Table.from_batches(chain(given, self.batches()), schema=SCHEMA)

    def to_pandas(self, *, facts: bool = False) -> pd.DataFrame:
        """The derived triples as a pandas frame; behind the facts where `facts` is true."""
        return pandas_frame(self.to_arrow(facts=facts))

    def to_polars(self, *, facts: bool = False) -> pl.DataFrame:
        """The derived triples as a polars frame; behind the facts where `facts` is true."""
        return polars_frame(self.to_arrow(facts=facts))

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The derived triples for whatever reads Arrow streams, such as DuckDB, block by block."""
        reader = pa.RecordBatchReader.from_batches(SCHEMA, self.batches())
        return reader.__arrow_c_stream__(requested_schema)


class DerivedByOthers(DerivedTriples):
    """The triples that several other answers derive together, each of them once."""

    @abstractmethod
    def entailed(self) -> Sequence[Answers]:
        """The other answers, all over the same facts."""

    def holds(self, head: str, relation: str, tail: str) -> bool:
        """Does the triple follow (or stand in the graph)?"""
        return any(answers.holds(head, relation, tail) for answers in self.entailed())

    def triples(self) -> Iterator[Triple]:
        """The derived triples that are not facts, streamed."""
        before: list[Answers] = []
        for answers in self.entailed():
            for triple in answers.triples():
                if not any(triple in other for other in before):
                    yield triple
            before.append(answers)

    def counts(self) -> dict[str, Count]:
        """Per relation, how many are derived and how many hold; those that several derive are counted once."""
        return counted_once(self.entailed(), self.triples())


def counted_once(each: Sequence[Answers], derived: Iterable[Triple]) -> dict[str, Count]:
    """Per relation, how many triples several answers over the same facts derive together, and how many hold.

    `derived` are those triples, each once; of a single answer they are not gone through.
    """
    first, *more = [answers.counts() for answers in each]
    if not more:
        return first
    found = Counter(triple.relation for triple in derived)
    known = {name: one.total - one.derived for counts in (first, *more) for name, one in counts.items()}
    return {name: Count(found[name], found[name] + facts) for name, facts in known.items()}


class Answers(DerivedTriples):
    """The consequences of rules over a graph. Names go in and come out.

    `holds`, `tails` and `heads` include the facts; `triples` and `count` are the derived triples that are
    not facts. So are the answers themselves, as a collection: `len(answers)`, `triple in answers`, `for triple in
    answers`, `to_pandas()`. Inverse, identity and fresh relations never appear. A name that neither the graph nor the
    rules know raises `UnknownNameError`; `in` says no.

    Threads may share one object. Questions run beside each other; `add` and `remove` wait for those that run, and a
    question sees the facts before a change or after it. What is streamed (`triples`, `sorted_triples`, `batches`,
    `violations`) raises `RuntimeError` when facts change before the last triple is read.
    """

    shared: Shared
    """What threads that share the answers hold while they read or change them; each engine makes its own."""

    unread_facts: tuple[Unread, ...] = ()
    """Axioms among the facts, from which nothing follows."""

    @property
    @abstractmethod
    def way(self) -> Way:
        """How the engine answers."""

    @property
    @abstractmethod
    def read_rules(self) -> RuleBase | None:
        """The rules that were read; constraints that were learned have none."""

    @property
    def claim(self) -> Exactness:
        """Whether the answers are exact; false where something was not read."""
        return Exactness.of(self.way, self.read_rules, self.unread_facts)

    @property
    def exactness(self) -> str:
        """What the answers are: exact, exact within m steps, an exact fixpoint without geometry, a sketch; and how
        much was not read.
        """
        return str(self.claim)

    @abstractmethod
    def tails(self, head: str, relation: str) -> Iterator[str]:
        """All f for which (head, relation, f) holds, in no particular order."""

    @abstractmethod
    def heads(self, relation: str, tail: str) -> Iterator[str]:
        """All e for which (e, relation, tail) holds, in no particular order."""

    def sorted_triples(self) -> Iterator[Triple]:
        """The derived triples sorted by head, relation and tail; streamed where the engine can."""
        return iter(sorted(self.triples()))

    def sorted_batches(self) -> Iterator[pa.RecordBatch]:
        """The same as Arrow blocks of names."""
        return batches_of(self.sorted_triples())

    def write(  # noqa: PLR0913 - each has a default, and all are keywords
        self,
        path: str | PathLike[str],
        *,
        facts: bool = False,
        engine: str = IN_MEMORY,
        memory: int | str | None = None,
        session: Any = None,
        master: str | None = None,
        partitions: int | None = None,
        plan: str | None = None,
        progress: Progress = SILENT,
        notes: Notes = UNHEARD,
    ) -> int:
        """Write the derived triples, among the facts where `facts` is true; returns how many are derived.

        The output is there whole or not at all. A name that ends in a slash becomes a Parquet data set with a folder
        per relation, `.parquet` one file; any other ending is text, in order. `engine="duckdb"` and `engine="spark"`
        derive outside of this process (docs/how-to/scale.md); a Spark `session` that is given is used, and not
        stopped. `notes` hears what such an engine does, and the first pairs that break a disjointness constraint.
        """
        if engine == IN_MEMORY:
            derived = self._write(path, facts=facts, progress=progress)
            self._tell(self.violations, notes)
            return derived
        options = Options(engine, memory, master, partitions, plan, session)
        check_output(path)
        with opened(
            self.deduction,
            self.facts_to_derive_from,
            options,
            beside=path,
            progress=progress,
            notes=notes,
        ) as answers:
            derived = answers.write(path, with_facts=facts)
            self._tell(lambda: answers.violations(lambda triple: self.proofs(*triple)[0]), notes)
        return derived

    def _write(self, path: str | PathLike[str], *, facts: bool, progress: Progress) -> int:
        with progress("writing", unit="triples") as report:

            def told(blocks: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
                for block in blocks:
                    yield block
                    report(len(block))

            written = write_blocks(path, lambda in_order: told(self._blocks(in_order, facts=facts)), ())
        return written - len(self.facts) if facts else written

    def _tell(self, found: Callable[[], Iterator[Violation]], notes: Notes) -> None:
        """Warn of what breaks a constraint, if anybody hears it."""
        some = [] if notes is UNHEARD else list(islice(found(), _MOST_TOLD + 1))
        for line in warning_lines(some, _MOST_TOLD, "answers.violations() has all") if some else ():
            notes(line)

    def _blocks(self, in_order: bool, *, facts: bool) -> Iterator[pa.RecordBatch]:
        if not in_order:
            return chain(name_batches(self.facts) if facts else (), self.batches())
        return (
            batches_of(merge(sorted(self.facts), self.sorted_triples())) if facts else self.sorted_batches()
        )

    @property
    @abstractmethod
    def deduction(self) -> Deduction:
        """What the answers are derived by, for an engine outside of this process."""

    @property
    def facts_to_derive_from(self) -> KnowledgeGraph:
        """The facts that such an engine needs."""
        return self.facts

    @abstractmethod
    def counts(self) -> dict[str, Count]:
        """Per relation, how many are derived and how many hold, without storing them."""

    def count(self) -> int:
        """How many triples are derived that are not facts."""
        return sum(count.derived for count in self.counts().values())

    @abstractmethod
    def add(self, triples: Iterable[tuple[str, str, str]]) -> None:
        """Add facts, also with new entities; only what changes is recomputed."""

    @abstractmethod
    def remove(self, triples: Iterable[tuple[str, str, str]]) -> None:
        """Take facts back; what followed only from them no longer holds. An unknown name is refused."""

    @abstractmethod
    def proofs(self, head: str, relation: str, tail: str, *, most: int = 1) -> list[Proof]:
        """Up to `most` different derivations, smaller ones first; empty when the triple does not follow.

        None uses a triple to derive itself. The chase begins with a smallest one (in a dense fixpoint of millions of
        triples it may settle for one of little depth). Geometry derives along a shortest path of facts: where another
        path needs fewer rules, that one is not found first.
        """

    def explain(self, head: str, relation: str, tail: str) -> Proof | NoProof:
        """The first of `proofs`; where the triple does not follow, an object that is false and prints why not."""
        with self.shared.reading():
            for proof in self.proofs(head, relation, tail):
                return proof
            nearest = tuple(self.why_not(head, relation, tail))
            return NoProof(Triple(head, relation, tail), self.claim.about(relation), nearest)

    @abstractmethod
    def why_not(
        self, head: str, relation: str, tail: str, *, most: int = 5, progress: Progress = SILENT
    ) -> list[PartialDerivation]:
        """The rules that come nearest to a triple that does not follow, each with the atoms that hold and those that
        are missing; fewest missing atoms first. Empty where the triple follows, or no rule concludes its relation.
        """

    @abstractmethod
    def violations(self) -> Iterator[Violation]:
        """The pairs that break a disjointness constraint of the rules, with both proofs."""

    def _repr_html_(self) -> str:
        with self.shared.reading():
            return shown_triples(f"derived, {repr(self)[1:-1]}", self.triples())
