"""The interface of the DuckDB and Spark engines: program, options, answers, outputs."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reshuffle.errors import InputError, did_you_mean
from reshuffle.kg.io.files import Format, format_of, written_whole
from reshuffle.kg.io.writing import write_batches
from reshuffle.reasoning.scaling.data_sets import (
    check_folders,
    is_data_set,
    parquet_writer,
    write_data_set,
)
from reshuffle.reasoning.sharing import parsed_bytes
from reshuffle.reasoning.violations import Violation
from reshuffle.rules.rule import SAME
from reshuffle.spark.spark_session import Spark

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pyarrow as pa

    from reshuffle.constraints import OrderingConstraints
    from reshuffle.kg import Triple
    from reshuffle.reasoning.proofs import Proof
    from reshuffle.rules import RuleBase
    from reshuffle.rules.rule import Constraint

ENGINES = ("duckdb", "spark")
PLANS = ("split", "tables")
_MOST_VIOLATIONS = 100  # of a constraint that are looked for


@dataclass(frozen=True)
class Deduction:
    """What is derived by: constraints, rules, or both.

    The rules take over where automata would be larger than the node budget.
    """

    constraints: OrderingConstraints | None
    rules: RuleBase | None
    node_budget: int | None = None


@dataclass(frozen=True)
class Options:
    """How to derive: the engine, its memory, and for Spark its master, session, partitions and plan."""

    engine: str
    memory: int | str | None = None
    master: str | None = None
    partitions: int | None = None
    plan: str | None = None
    session: Any = None

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise InputError(
                f"unknown engine '{self.engine}'{did_you_mean(self.engine, ENGINES)}",
                hint="the engines that write are memory, duckdb and spark",
            )
        for name in ("master", "partitions", "plan", "session"):
            if self.engine != "spark" and getattr(self, name) is not None:
                raise InputError(f"{name} is for Spark", hint="leave it out, or take the engine spark")
        if self.plan is not None and self.plan not in PLANS:
            raise InputError(
                f"unknown plan '{self.plan}'{did_you_mean(self.plan, PLANS)}",
                hint="split: shares of the sources, if the graph fits into a worker; tables: joins, round by round",
            )
        self.spark  # noqa: B018 - refuses what it cannot take

    @property
    def bytes(self) -> int | None:
        """The memory as a number of bytes."""
        return None if self.memory is None else parsed_bytes(str(self.memory))

    @property
    def spark(self) -> Spark:
        """What of them is for Spark."""
        return Spark(self.session, self.master, self.partitions, self.bytes)


class EngineAnswers(ABC):
    """What follows from rules and facts, by another engine. Inverse, identity and fresh relations never appear."""

    relations: list[str]
    """The relations of facts and rules."""

    @abstractmethod
    def counts(self) -> dict[str, tuple[int, int]]:
        """Per relation, how many triples are derived and how many hold."""

    @property
    @abstractmethod
    def num_facts(self) -> int:
        """The number of facts."""

    @abstractmethod
    def batches(self, *, in_order: bool = False, with_facts: bool = False) -> Iterator[pa.RecordBatch]:
        """The derived triples as blocks of names, and the facts where these are asked for, each triple once.

        In order of head, relation and tail where that is asked for.
        """

    @abstractmethod
    def behind(self, head: str, relation: str, tail: str) -> list[tuple[str, str, str]] | None:
        """Facts from which the triple follows, not more than one derivation needs; None where it does not follow."""

    @abstractmethod
    def forbidden_pairs(self, most: int) -> Iterator[tuple[Constraint, Triple, Triple]]:
        """Up to `most` pairs of triples for each disjointness, of relations or classes, that they break."""

    def violations(self, proof: Callable[[Triple], Proof]) -> Iterator[Violation]:
        """The pairs that break a disjointness, some of each; `proof` proves a triple that holds."""
        for constraint, first, second in self.forbidden_pairs(_MOST_VIOLATIONS):
            proofs = [proof(triple) for triple in (first, second) if triple.relation != SAME]
            yield Violation(constraint, proofs[0], proofs[-1])

    def write(self, path: str | os.PathLike[str], *, with_facts: bool = False) -> int:
        """Write the derived triples, among the facts where these are asked for; returns how many are derived.

        The output is there whole or not at all. A name that ends in a slash becomes a data set with a folder per
        relation, `.parquet` one file; both are in no order. Any other ending is written in order.
        """
        written = write_blocks(
            path,
            lambda in_order: self.batches(in_order=in_order, with_facts=with_facts),
            self.relations,
        )
        return written - self.num_facts if with_facts else written


def write_blocks(
    path: str | os.PathLike[str],
    blocks: Callable[[bool], Iterable[pa.RecordBatch]],
    relations: Iterable[str],
) -> int:
    """Write blocks of named triples as the name asks for; `blocks(True)` gives them in order."""
    written = 0

    def tallied(in_order: bool) -> Iterator[pa.RecordBatch]:
        nonlocal written
        for batch in blocks(in_order):
            yield batch
            written += len(batch)

    if is_data_set(path):
        check_folders(relations, os.fspath(path))
        write_data_set(tallied(False), path)
    elif format_of(path) is Format.PARQUET:
        with written_whole(path) as aside, parquet_writer(aside) as writer:
            for batch in tallied(False):
                writer.write_batch(batch)
    else:
        write_batches(tallied(True), path)
    return written
