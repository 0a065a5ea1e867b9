"""What every engine answers, whatever it computes with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from reshuffle.kg.io.writing import batch_of
from reshuffle.kg.rows import COLUMNS
from reshuffle.reasoning.scaling.engines import IN_MEMORY, Options, opened, write_blocks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from os import PathLike

    from reshuffle.kg import KnowledgeGraph, Triple
    from reshuffle.reasoning.proofs import Proof
    from reshuffle.reasoning.scaling.engines import Deduction
    from reshuffle.reasoning.sharing import Shared
    from reshuffle.reasoning.violations import Violation
    from reshuffle.reasoning.why_not import PartialDerivation

_ROWS = 100_000  # of one Arrow block


@dataclass(frozen=True)
class Count:
    """For one relation: how many derived triples are not facts, and how many triples hold."""

    derived: int
    total: int


class Answers(ABC):
    """The consequences of rules over a graph. Names go in and come out.

    `holds`, `tails` and `heads` include the facts; `triples` and `count` are the derived triples that are
    not facts. Inverse, identity and fresh relations never appear. A name that neither the graph nor the
    rules know raises `UnknownNameError`.

    Threads may share one object. Questions run beside each other; `add` and `remove` wait for those that run, and a
    question sees the facts before a change or after it. What is streamed (`triples`, `sorted_triples`, `batches`,
    `violations`) raises `RuntimeError` when facts change before the last triple is read.
    """

    shared: Shared
    """What threads that share the answers hold while they read or change them; each engine makes its own."""

    @property
    @abstractmethod
    def exactness(self) -> str:
        """What the answers are: exact, exact within m steps, an exact fixpoint without geometry, a sketch."""

    @property
    @abstractmethod
    def facts(self) -> KnowledgeGraph:
        """The graph as it is now, updates included."""

    @abstractmethod
    def holds(self, head: str, relation: str, tail: str) -> bool:
        """Does the triple follow (or stand in the graph)?"""

    @abstractmethod
    def tails(self, head: str, relation: str) -> Iterator[str]:
        """All f for which (head, relation, f) holds, in no particular order."""

    @abstractmethod
    def heads(self, relation: str, tail: str) -> Iterator[str]:
        """All e for which (e, relation, tail) holds, in no particular order."""

    @abstractmethod
    def triples(self) -> Iterator[Triple]:
        """The derived triples that are not facts, streamed, one relation after the other, otherwise in no order."""

    def sorted_triples(self) -> Iterator[Triple]:
        """The derived triples sorted by head, relation and tail; streamed where the engine can."""
        return iter(sorted(self.triples()))

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The derived triples as Arrow blocks of names, streamed."""
        triples = self.triples()
        while rows := list(islice(triples, _ROWS)):
            yield batch_of(rows)

    def to_arrow(self) -> pa.Table:
        """The derived triples as one Arrow table, which pandas and polars take as it is."""
        columns = [(column, pa.large_string()) for column in COLUMNS]
        return pa.Table.from_batches(self.batches(), schema=pa.schema(columns))

    def write(
        self,
        path: str | PathLike[str],
        *,
        engine: str = IN_MEMORY,
        memory: int | str | None = None,
        session: Any = None,
        master: str | None = None,
        partitions: int | None = None,
        plan: str | None = None,
    ) -> int:
        """Write the derived triples, whole or not at all; returns how many there are.

        A name that ends in a slash becomes a Parquet data set with a folder per relation, `.parquet` one file; any
        other ending is text, in order. `engine="duckdb"` and `engine="spark"` derive them outside of this process
        (docs/how-to/scale.md); a Spark `session` that is given is used, and not stopped.
        """
        if engine == IN_MEMORY:
            return write_blocks(path, self._blocks, ())
        options = Options(engine, memory, master, partitions, plan, session)
        with opened(self.deduction, self.facts, options, beside=path) as answers:
            return answers.write(path)

    def _blocks(self, in_order: bool) -> Iterator[pa.RecordBatch]:
        if not in_order:
            yield from self.batches()
            return
        triples = self.sorted_triples()
        while rows := list(islice(triples, _ROWS)):
            yield batch_of(rows)

    @property
    @abstractmethod
    def deduction(self) -> Deduction:
        """What the answers are derived by, for an engine outside of this process."""

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

    def explain(self, head: str, relation: str, tail: str) -> Proof | None:
        """The first of `proofs`, or None when the triple does not follow."""
        return next(iter(self.proofs(head, relation, tail)), None)

    @abstractmethod
    def why_not(self, head: str, relation: str, tail: str, *, most: int = 5) -> list[PartialDerivation]:
        """The nearest partial derivations of a triple that does not follow."""

    @abstractmethod
    def violations(self) -> Iterator[Violation]:
        """The pairs that break a disjointness constraint of the rules, with both proofs."""
