"""Benchmarks as data: graphs with held-out triples."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from reshuffle.kg.benchmarks.layouts import inductive_files, transductive_files
from reshuffle.kg.graph import KnowledgeGraph
from reshuffle.kg.vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from numpy.typing import NDArray

    FilePath: TypeAlias = str | PathLike[str]

_NOTHING = KnowledgeGraph()


@dataclass(frozen=True)
class GraphSplit:
    """One graph with held-out triples.

    `facts` is what a model may look at; `valid` and `queries` are the triples that it should predict. All
    three go by the same entities and relations, so that ids agree.
    """

    facts: KnowledgeGraph
    valid: KnowledgeGraph
    queries: KnowledgeGraph

    @cached_property
    def triples(self) -> KnowledgeGraph:
        """Facts, validation triples and queries together: what a filtered ranking counts as true."""
        return merged_graph([self.facts, self.valid, self.queries])

    def __repr__(self) -> str:
        return (
            f"<GraphSplit: {len(self.facts):,} facts, {len(self.valid):,} valid, "
            f"{len(self.queries):,} queries, {self.facts.num_entities:,} entities>"
        )


@dataclass(frozen=True)
class InductiveBenchmark:
    """Learn on one graph, answer queries about another.

    `train` and `test` share their relations, so that relation ids agree. Entities are per graph: a name that
    occurs in both graphs is two entities.

    >>> bench = InductiveBenchmark.from_graphs(
    ...     "tiny",
    ...     train_facts=KnowledgeGraph([("ada", "bornIn", "london"), ("london", "cityIn", "uk")]),
    ...     train_valid=KnowledgeGraph([("ada", "citizenOf", "uk")]),
    ...     test_facts=KnowledgeGraph([("bob", "bornIn", "paris"), ("paris", "cityIn", "france")]),
    ...     test_queries=KnowledgeGraph([("bob", "citizenOf", "france")]),
    ... )
    >>> list(bench.test.facts.relations), list(bench.test.facts.entities)
    (['bornIn', 'cityIn', 'citizenOf'], ['bob', 'paris', 'france'])
    """

    name: str
    train: GraphSplit
    test: GraphSplit

    @classmethod
    def from_graphs(
        cls,
        name: str,
        *,
        train_facts: KnowledgeGraph,
        train_valid: KnowledgeGraph,
        test_facts: KnowledgeGraph,
        test_queries: KnowledgeGraph,
        test_valid: KnowledgeGraph = _NOTHING,
        train_queries: KnowledgeGraph = _NOTHING,
    ) -> InductiveBenchmark:
        """From graphs in memory; their vocabularies are aligned."""
        train = [train_facts, train_valid, train_queries]
        test = [test_facts, test_valid, test_queries]
        relations = _union([graph.relations for graph in (*train, *test)], kind="relation")
        return cls(name, aligned_split(train, relations), aligned_split(test, relations))

    @classmethod
    def from_files(
        cls,
        *,
        train_facts: FilePath,
        train_valid: FilePath,
        test_facts: FilePath,
        test_queries: FilePath,
        test_valid: FilePath | None = None,
        train_queries: FilePath | None = None,
        name: str | None = None,
    ) -> InductiveBenchmark:
        """From your own files, each of them in any format that `read_graph` reads.

        `train_facts`: the graph to learn from. `train_valid`: held-out triples of that graph, for early
        stopping and tuning. `test_facts`: the graph that is given at test time, about other entities.
        `test_queries`: the triples of that graph to predict. `test_valid`: more true triples of the test
        graph, which a filtered ranking must not count as wrong. `train_queries`: held-out test triples of
        the training graph; most experiments leave them alone.
        """
        return cls.from_graphs(
            name or Path(train_facts).parent.name,
            train_facts=read_file(train_facts),
            train_valid=read_file(train_valid),
            test_facts=read_file(test_facts),
            test_queries=read_file(test_queries),
            test_valid=read_file(test_valid),
            train_queries=read_file(train_queries),
        )

    @classmethod
    def from_directory(cls, path: FilePath, *, name: str | None = None) -> InductiveBenchmark:
        """From a directory in one of GraIL's two layouts; the test graph is the second line of each.

            X/train.txt             X/valid.txt             X/test.txt
            X_ind/train.txt         X_ind/valid.txt         X_ind/test.txt

            X/train.txt             X/valid.txt             X/test.txt
            X/inference/train.txt   X/inference/valid.txt   X/inference/test.txt

        `train` holds the facts and `test` the queries of a graph. The folder in X may also be called `ind`
        or `X_ind`, and files may end in .tsv, .csv, .nt, .ttl or .parquet, all but the last also in .gz.
        X/test.txt and the test graph's valid.txt may be missing.
        """
        return cls.from_files(**inductive_files(Path(path)), name=name or Path(path).resolve().name)


@dataclass(frozen=True)
class TransductiveBenchmark:
    """One graph; the queries are about entities that the facts know."""

    name: str
    graph: GraphSplit

    @property
    def facts(self) -> KnowledgeGraph:
        """What a model may look at."""
        return self.graph.facts

    @property
    def valid(self) -> KnowledgeGraph:
        """Held out for early stopping and tuning."""
        return self.graph.valid

    @property
    def queries(self) -> KnowledgeGraph:
        """Held out for the test."""
        return self.graph.queries

    @classmethod
    def from_graphs(
        cls,
        name: str,
        *,
        facts: KnowledgeGraph,
        queries: KnowledgeGraph,
        valid: KnowledgeGraph = _NOTHING,
    ) -> TransductiveBenchmark:
        """From graphs in memory; their vocabularies are aligned."""
        graphs = [facts, valid, queries]
        relations = _union([graph.relations for graph in graphs], kind="relation")
        return cls(name, aligned_split(graphs, relations))

    @classmethod
    def from_files(
        cls, *, facts: FilePath, queries: FilePath, valid: FilePath | None = None, name: str | None = None
    ) -> TransductiveBenchmark:
        """From your own files, each of them in any format that `read_graph` reads."""
        return cls.from_graphs(
            name or Path(facts).parent.name,
            facts=read_file(facts),
            queries=read_file(queries),
            valid=read_file(valid),
        )

    @classmethod
    def from_directory(cls, path: FilePath, *, name: str | None = None) -> TransductiveBenchmark:
        """From a directory with train.txt (the facts), test.txt (the queries) and perhaps valid.txt."""
        return cls.from_files(**transductive_files(Path(path)), name=name or Path(path).resolve().name)


Benchmark: TypeAlias = InductiveBenchmark | TransductiveBenchmark


def aligned_split(graphs: Sequence[KnowledgeGraph], relations: Vocabulary) -> GraphSplit:
    """Facts, validation triples and queries over one vocabulary; the entities of the facts come first."""
    entities = _union([graph.entities for graph in graphs], kind="entity")
    return GraphSplit(*(_with_vocabularies(graph, entities, relations) for graph in graphs))


def merged_graph(graphs: Sequence[KnowledgeGraph]) -> KnowledgeGraph:
    """The union of graphs over one vocabulary."""
    entities = _union([graph.entities for graph in graphs], kind="entity")
    relations = _union([graph.relations for graph in graphs], kind="relation")
    aligned = [_with_vocabularies(graph, entities, relations) for graph in graphs]
    return KnowledgeGraph.from_ids(
        np.concatenate([graph.heads for graph in aligned]),
        np.concatenate([graph.relation_ids for graph in aligned]),
        np.concatenate([graph.tails for graph in aligned]),
        entities=entities,
        relations=relations,
    )


def _union(vocabularies: Sequence[Vocabulary], *, kind: str) -> Vocabulary:
    """All names, in order of first appearance."""
    names = pa.chunked_array([vocabulary.to_arrow().cast(pa.large_string()) for vocabulary in vocabularies])
    return Vocabulary(pc.unique(names), kind=kind)


def _with_vocabularies(graph: KnowledgeGraph, entities: Vocabulary, relations: Vocabulary) -> KnowledgeGraph:
    entity_ids = _ids_in(graph.entities, entities)
    relation_ids = _ids_in(graph.relations, relations)
    return KnowledgeGraph.from_ids(
        entity_ids[graph.heads],
        relation_ids[graph.relation_ids],
        entity_ids[graph.tails],
        entities=entities,
        relations=relations,
    )


def _ids_in(vocabulary: Vocabulary, larger: Vocabulary) -> NDArray[np.int32]:
    """For each id of `vocabulary` the id of the same name in `larger`."""
    names = vocabulary.to_arrow().cast(pa.large_string())
    positions: NDArray[np.int32] = pc.index_in(names, value_set=larger.to_arrow()).to_numpy()
    return positions


def read_file(path: FilePath | None) -> KnowledgeGraph:
    """The triples of a file; none where there is no file."""
    if path is None:
        return _NOTHING
    data = Path(path).read_bytes()
    text = (gzip.decompress(data) if str(path).endswith(".gz") else data).decode()
    return KnowledgeGraph(
        tuple(line.split("\t"))  # type: ignore[misc]
        for line in text.splitlines()
        if line.strip()
    )
