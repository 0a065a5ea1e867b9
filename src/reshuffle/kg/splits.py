"""Benchmarks: graphs with held-out triples."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from reshuffle.kg.graph import KnowledgeGraph, read_graph
from reshuffle.kg.io.layouts import has_second_graph, has_training_file, inductive_files, transductive_files

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from reshuffle.kg.vocabulary import Vocabulary

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
        return self.facts | self.valid | self.queries

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
        relations = _union([graph.relations for graph in (*train, *test)])
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
        the training graph; most experiments leave them alone. All but facts and `test_queries` may be empty.
        """
        return cls.from_graphs(
            name or Path(train_facts).parent.name,
            train_facts=read_graph(train_facts),
            train_valid=_read_if_any(train_valid),
            test_facts=read_graph(test_facts),
            test_queries=read_graph(test_queries),
            test_valid=_read_if_any(test_valid),
            train_queries=_read_if_any(train_queries),
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
        relations = _union([graph.relations for graph in graphs])
        return cls(name, aligned_split(graphs, relations))

    @classmethod
    def from_files(
        cls, *, facts: FilePath, queries: FilePath, valid: FilePath | None = None, name: str | None = None
    ) -> TransductiveBenchmark:
        """From your own files, each of them in any format that `read_graph` reads; `valid` may be empty."""
        return cls.from_graphs(
            name or Path(facts).parent.name,
            facts=read_graph(facts),
            queries=read_graph(queries),
            valid=_read_if_any(valid),
        )

    @classmethod
    def from_directory(cls, path: FilePath, *, name: str | None = None) -> TransductiveBenchmark:
        """From a directory with train.txt (the facts), test.txt (the queries) and perhaps valid.txt."""
        return cls.from_files(**transductive_files(Path(path)), name=name or Path(path).resolve().name)


Benchmark: TypeAlias = InductiveBenchmark | TransductiveBenchmark


def benchmark_in(directory: FilePath) -> Benchmark | None:
    """The benchmark in a directory: inductive where a second graph lies in it or beside it, else transductive.

    None where the directory has no training file: then it is a folder of facts.
    """
    folder = Path(directory)
    if not has_training_file(folder):
        return None
    kind = InductiveBenchmark if has_second_graph(folder) else TransductiveBenchmark
    return kind.from_directory(folder)


def aligned_split(graphs: Sequence[KnowledgeGraph], relations: Vocabulary) -> GraphSplit:
    """Facts, validation triples and queries over one vocabulary; the entities of the facts come first."""
    entities = _union([graph.entities for graph in graphs])
    return GraphSplit(*(_with_vocabularies(graph, entities, relations) for graph in graphs))


def _union(vocabularies: Sequence[Vocabulary]) -> Vocabulary:
    """All names, in order of first appearance."""
    return reduce(lambda names, more: names.extended_by(more)[0], vocabularies)


def _with_vocabularies(graph: KnowledgeGraph, entities: Vocabulary, relations: Vocabulary) -> KnowledgeGraph:
    entity_ids = entities.positions_of(graph.entities)
    relation_ids = relations.positions_of(graph.relations)
    return KnowledgeGraph.from_ids(
        entity_ids[graph.heads],
        relation_ids[graph.relation_ids],
        entity_ids[graph.tails],
        entities=entities,
        relations=relations,
    )


def _read_if_any(path: FilePath | None) -> KnowledgeGraph:
    """For triples that an experiment can do without: no file and an empty one are the same."""
    return _NOTHING if path is None else read_graph(path, may_be_empty=True)
