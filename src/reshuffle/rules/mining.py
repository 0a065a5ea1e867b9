"""Closed path rules from a graph, with exact counts.

A body is a word of relations and inverses. Its *predictions* are the distinct pairs that it joins, its *support*
for a head relation those of them that the relation holds; variables may bind to the same entity, as everywhere
in this package. Every body up to a length is counted once, for all heads together, from the sparse product of
its prefix and its last atom; no more than one product per length is in memory at a time. Bodies with different
first atoms are independent, so processes can divide the first atoms among them.

    confidence           support / (predictions + 5)     AnyBURL's and PyClause's, wary of rare bodies
    standard confidence  support / predictions
    PCA confidence       support / predictions from entities that have the head relation at all (AMIE)
    head coverage        support / triples of the head relation
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa

from reshuffle.kg import CompletedGraph
from reshuffle.kg.vocabulary import base_relation, is_inverse
from reshuffle.progress import SILENT
from reshuffle.rules.mining_kernels import Pairs, composed, supports
from reshuffle.rules.rule import PathRule, Quality, RuleBase
from reshuffle.spark.graph_files import mapped_graph
from reshuffle.spark.spark_session import IN_MEMORY, spark_of
from reshuffle.spark.workers import workers_on

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from os import PathLike

    from numpy.typing import NDArray

    from reshuffle.kg import KnowledgeGraph
    from reshuffle.progress import Progress
    from reshuffle.spark.spark_session import Spark

Word: TypeAlias = tuple[tuple[int, ...], Pairs]  # a body, and the pairs that it joins

CAUTION = 5
"""Added to the predictions, so that a rule seen twice is not believed fully."""

MOST_JOINED = 20_000_000
"""A body with more paths than this is not counted, and told as skipped."""


_SKIPPED = b"skipped"  # in what a table says of itself
_NO_PAIRS = Pairs(np.zeros(0, dtype=np.int32), np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32))


@dataclass(frozen=True)
class Measures:
    """The counts of a rule, and the usual measures computed from them."""

    support: int
    predictions: int
    predictions_known: int
    """Predictions from entities that have the head relation at all."""
    head_size: int

    @property
    def confidence(self) -> float:
        """Support over predictions + 5, so that a rule seen twice is not believed fully."""
        return self.support / (self.predictions + CAUTION)

    @property
    def standard_confidence(self) -> float:
        """Support over predictions."""
        return self.support / max(1, self.predictions)

    @property
    def pca_confidence(self) -> float:
        """Support over the predictions for subjects that have the head relation (partial completeness assumption)."""
        return self.support / max(1, self.predictions_known)

    @property
    def head_coverage(self) -> float:
        """The share of the head relation's triples that the rule predicts."""
        return self.support / max(1, self.head_size)


@dataclass(frozen=True)
class Mined:
    """Rules by falling confidence, what was measured of each, and how many bodies were too large to count."""

    rules: RuleBase
    measures: dict[PathRule, Measures]
    skipped_bodies: int


def mine(  # noqa: PLR0913 - all but the graph are options by name
    graph: KnowledgeGraph,
    *,
    max_length: int = 2,
    min_support: int = 2,
    min_confidence: float = 0.0,
    most_joined: int = MOST_JOINED,
    progress: Progress = SILENT,
    engine: str = IN_MEMORY,
    session: Any = None,
    master: str | None = None,
    partitions: int | None = None,
    folder: str | PathLike[str] | None = None,
) -> Mined:
    """All closed path rules of the graph with enough support and confidence, by falling confidence.

    A body with more than `most_joined` paths is not counted; the result says how many there were. With `engine="spark"`
    workers of Spark share the first atoms of bodies (docs/how-to/scale.md), with the same result; a `session` that is
    given is used, and not stopped. `folder` is one that all workers see.

    >>> from reshuffle.kg import KnowledgeGraph
    >>> pairs = [("a", "b"), ("c", "d"), ("e", "f")]
    >>> kg = KnowledgeGraph([(x, "child", y) for x, y in pairs] + [(y, "parent", x) for x, y in pairs[:2]])
    >>> rule = mine(kg, max_length=1).rules.rules[0]
    >>> print(rule, rule.quality)
    parent(Y, X) -> child(X, Y) Quality(predictions=2, support=2, confidence=0.2857142857142857)
    """
    spark = spark_of(engine, session=session, master=master, partitions=partitions, folder=folder)
    limits = _Limits(max_length, min_support, min_confidence, most_joined)
    if spark is None:
        counting = _Counting(graph, most_joined)
        measures, skipped = dict(_mined_from(counting, slice(None), limits, progress)), counting.skipped
    else:
        measures, skipped = _mined_on_spark(graph, limits, spark, progress)
    ordered = sorted(measures, key=lambda rule: (-measures[rule].confidence, len(rule.body), str(rule)))
    rules = tuple(_with_quality(rule, measures[rule]) for rule in ordered)
    return Mined(RuleBase(rules), measures, skipped)


@dataclass(frozen=True)
class _Limits:
    max_length: int
    min_support: int
    min_confidence: float
    most_joined: int


def _mined_from(
    counting: _Counting, share: slice, limits: _Limits, progress: Progress = SILENT
) -> Iterator[tuple[PathRule, Measures]]:
    """The rules whose bodies begin with a share of the atoms, atom after atom."""
    firsts = range(counting.num_codes)[share]
    with progress("mining rules", total=len(firsts), unit="first atoms") as report:
        for code in firsts:
            for rule, measured in counting.rules_from(code, limits.max_length):
                if measured.support >= limits.min_support and measured.confidence >= limits.min_confidence:
                    yield rule, measured
            report(1)


def _mined_on_spark(
    graph: KnowledgeGraph, limits: _Limits, spark: Spark, progress: Progress
) -> tuple[dict[PathRule, Measures], int]:
    """The rules that tasks find, each from its share of the first atoms, in the order of one machine."""
    with workers_on(graph, spark, progress=progress) as workers:
        tables = workers.tables(partial(_mined_by_task, str(workers.folder), limits), shown="mining rules")
        rows = [row for table in tables for row in table.to_pylist()]
    completed = CompletedGraph(graph, num_identities=0)
    places = {completed.relation_name(code): code for code in range(completed.num_relations)}
    rows.sort(key=lambda row: places[row["body"][0]])  # rules of one first atom stay as they are
    measures = {PathRule(tuple(row["body"]), row["head"]): Measures(*row["counts"]) for row in rows}
    return measures, sum(int(table.schema.metadata[_SKIPPED]) for table in tables)


def _mined_by_task(folder: str, limits: _Limits, share: slice) -> pa.Table:
    """A task: the rules of its share, and how many bodies were too large."""
    counting = _counting_of(folder, limits.most_joined)
    before = counting.skipped
    found = [
        {"body": rule.body, "head": rule.head, "counts": astuple(measured)}
        for rule, measured in _mined_from(counting, share, limits)
    ]
    names, counts = pa.large_string(), pa.list_(pa.int64())
    schema = pa.schema([("body", pa.list_(names)), ("head", names), ("counts", counts)])
    skipped = str(counting.skipped - before)
    return pa.Table.from_pylist(found, schema=schema.with_metadata({_SKIPPED: skipped}))


@lru_cache(maxsize=1)
def _counting_of(folder: str, most_joined: int) -> _Counting:
    """The graph of a folder, made ready once in each process."""
    return _Counting(mapped_graph(folder), most_joined)


def measure(
    graph: KnowledgeGraph,
    rules: Iterable[PathRule],
    *,
    most_joined: int = MOST_JOINED,
    progress: Progress = SILENT,
) -> dict[PathRule, Measures]:
    """The measures of given rules on a graph; rules whose bodies have more than `most_joined` paths are left out.

    Relations that the graph lacks hold for no pair. A rule about an inverse is measured as its reversal.
    """
    counting = _Counting(graph, most_joined)
    by_body: dict[tuple[str, ...], list[PathRule]] = {}
    for rule in dict.fromkeys(rules):
        read = rule.reversed() if is_inverse(rule.head) else rule
        by_body.setdefault(read.body, []).append(rule)
    measures: dict[PathRule, Measures] = {}
    with progress("measuring rules", total=len(by_body), unit="bodies") as report:
        for body, pairs in counting.pairs_of(sorted(by_body)):
            measures.update(counting.measures_of(pairs, by_body[body]))
            report(1)
    return measures


def _with_quality(rule: PathRule, measured: Measures) -> PathRule:
    quality = Quality(measured.predictions, measured.support, measured.confidence)
    return PathRule(rule.body, rule.head, quality)


class _Counting:
    """Counts bodies in the order of their words; the pairs of a prefix are kept only while it is continued."""

    def __init__(self, graph: KnowledgeGraph, most_joined: int) -> None:
        completed = CompletedGraph(graph, num_identities=0)
        self.num_codes = completed.num_relations
        self.skipped = 0
        self._graph, self._most_joined = graph, most_joined
        self._names = [completed.relation_name(code) for code in range(self.num_codes)]
        self._rows = [_rows_of(*completed.edges(code)) for code in range(self.num_codes)]
        self._sizes = np.bincount(graph.relation_ids, minlength=len(graph.relations))
        self._place = np.full(graph.num_entities, -1, dtype=np.int32)

    def rules_from(self, first: int, max_length: int) -> Iterator[tuple[PathRule, Measures]]:
        """The rules of all bodies that begin with one atom."""
        start: Word = ((first,), self._rows[first])
        open_prefixes = [iter([start])]
        while open_prefixes:
            word = next(open_prefixes[-1], None)
            if word is None:
                open_prefixes.pop()
                continue
            yield from self._rules_of(*word)
            if len(word[0]) < max_length:
                open_prefixes.append(self._continuations(*word))

    def pairs_of(self, bodies: Iterable[tuple[str, ...]]) -> Iterator[tuple[tuple[str, ...], Pairs]]:
        """The pairs of sorted bodies, without those that are too large; shared prefixes are joined once."""
        codes = {name: code for code, name in enumerate(self._names)}
        walked: list[tuple[str, Pairs | None]] = []
        for body in bodies:
            shared = 0
            while shared < min(len(walked), len(body)) and walked[shared][0] == body[shared]:
                shared += 1
            del walked[shared:]
            for name in body[shared:]:
                atom = self._rows[codes[name]] if name in codes else _NO_PAIRS
                walked.append((name, self._longer(walked[-1][1], atom) if walked else atom))
            pairs = walked[-1][1]
            if pairs is not None:
                yield body, pairs

    def _longer(self, pairs: Pairs | None, atom: Pairs) -> Pairs | None:
        if pairs is None:
            return None
        size, joined = composed(pairs, atom, self._place, self._most_joined)
        return joined if size <= self._most_joined else None

    def measures_of(self, pairs: Pairs, rules: Iterable[PathRule]) -> dict[PathRule, Measures]:
        """The measures of rules that have the same body, whose pairs are given."""
        out, places = self._graph.by_head, {name: place for place, name in enumerate(self._graph.relations)}
        support, known = supports(pairs, out.starts, out.relations, out.neighbours, len(self._sizes))
        found = {}
        for rule in rules:
            head = places.get(base_relation(rule.head))
            counts = (0, 0, 0) if head is None else (support[head], known[head], self._sizes[head])
            right, from_known, size = (int(count) for count in counts)
            found[rule] = Measures(right, len(pairs.ends), from_known, size)
        return found

    def _continuations(self, body: tuple[int, ...], pairs: Pairs) -> Iterator[Word]:
        for code, rows in enumerate(self._rows):
            size, joined = composed(pairs, rows, self._place, self._most_joined)
            self.skipped += size > self._most_joined
            if len(joined.ends):
                yield (*body, code), joined

    def _rules_of(self, body: tuple[int, ...], pairs: Pairs) -> Iterator[tuple[PathRule, Measures]]:
        out = self._graph.by_head
        support, known = supports(pairs, out.starts, out.relations, out.neighbours, len(self._sizes))
        names = tuple(self._names[code] for code in body)
        for head in np.flatnonzero(support).tolist():
            rule = PathRule(names, self._names[head])
            if not rule.is_tautology:
                size = int(self._sizes[head])
                yield rule, Measures(int(support[head]), len(pairs.ends), int(known[head]), size)


def _rows_of(heads: NDArray[np.int32], tails: NDArray[np.int32]) -> Pairs:
    order = np.lexsort((tails, heads))
    starts, firsts = np.unique(heads[order], return_index=True)
    return Pairs(starts.astype(np.int32), np.append(firsts, len(heads)).astype(np.int64), tails[order])
