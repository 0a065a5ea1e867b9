"""Load a benchmark by name: from its files, with counts and checksums verified, or generate `families`."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

import numpy as np

from reshuffle.data.cards import SPLITS, card_of, file_cards
from reshuffle.data.downloading import check_content, download
from reshuffle.data.families import NAME, families, families_card
from reshuffle.data.finding import cache_directory, find_files, not_found
from reshuffle.errors import InputError, Place, UnknownNameError
from reshuffle.kg.graph import read_graph
from reshuffle.kg.splits import (
    InductiveBenchmark,
    TransductiveBenchmark,
)
from reshuffle.progress import SILENT

if TYPE_CHECKING:
    from pathlib import Path

    from reshuffle.data.cards import DataCard, FileCard, GraphCard
    from reshuffle.data.finding import FoundFiles
    from reshuffle.kg.graph import KnowledgeGraph
    from reshuffle.kg.splits import Benchmark, GraphSplit
    from reshuffle.progress import Progress


def benchmark_names() -> tuple[str, ...]:
    """The names of all benchmarks; nothing is read or generated for them but the cards."""
    return (*file_cards(), NAME)


def data_card(name: str) -> DataCard:
    """The card of a benchmark; an unknown name raises with the nearest ones.

    `families` is generated for its card, which counts the data itself.
    """
    if name not in benchmark_names():
        raise UnknownNameError("data set", name, benchmark_names())
    return families_card() if name == NAME else file_cards()[name]


def data_cards() -> dict[str, DataCard]:
    """The card of every named benchmark."""
    return {name: data_card(name) for name in benchmark_names()}


def inductive_names() -> list[str]:
    """The names of the inductive benchmarks, those of the paper's tables."""
    return [name for name, card in file_cards().items() if card.kind == "inductive"]


def load_benchmark(name: str, *, progress: Progress = SILENT) -> Benchmark:
    """A benchmark by name; its files are found or downloaded, and checked.

    >>> load_benchmark("families").test
    <GraphSplit: ... facts, ... valid, ... queries, ... entities>
    >>> load_benchmark("famlies")
    Traceback (most recent call last):
      ...
    reshuffle.errors.UnknownNameError: unknown data set 'famlies'; did you mean 'families' or 'family'?
    """
    if name == NAME:
        return families().benchmark
    return load_card(data_card(name), progress=progress)


def load_from_files(name: str, *, progress: Progress = SILENT) -> Benchmark:
    """The benchmark of that name; where its files are nowhere, they are downloaded into the cache."""
    return load_card(card_of(name, file_cards()), progress=progress)


def load_card(card: DataCard, *, progress: Progress = SILENT) -> Benchmark:
    """The benchmark that a card describes."""
    found = find_files(card) or _downloaded(card, progress)
    splits = {
        f"{role}_{split}": reduce(or_, [_checked(file, found.paths[file]) for file in graph.files[split]])
        for role, graph in card.graphs.items()
        for split in SPLITS
    }
    if card.kind == "inductive":
        inductive = InductiveBenchmark.from_graphs(card.name, **splits)
        check_graph(card, "train", inductive.train, found.directory)
        check_graph(card, "test", inductive.test, found.directory)
        return inductive
    transductive = TransductiveBenchmark.from_graphs(
        card.name, **{name.removeprefix("graph_"): graph for name, graph in splits.items()}
    )
    check_graph(card, "graph", transductive.graph, found.directory)
    return transductive


def _downloaded(card: DataCard, progress: Progress) -> FoundFiles:
    try:
        download(card, cache_directory(), progress=progress)
    except OSError as error:
        raise not_found(card, f"{card.url} cannot be reached ({error})") from error
    found = find_files(card)
    if found is None:  # only if someone takes them away meanwhile
        raise not_found(card, "what was downloaded is gone again")
    return found


def _checked(file: FileCard, path: Path) -> KnowledgeGraph:
    graph = read_graph(path)
    if len(graph) != file.triples:
        raise InputError(
            f"expected {file.triples:,} triples, found {len(graph):,}",
            place=Place(str(path)),
            hint="put the published file here, or read your own data with from_directory or from_files",
        )
    check_content(path, file, source=str(path))
    return graph


def check_graph(card: DataCard, role: str, split: GraphSplit, directory: Path) -> None:
    """Raise unless a graph has as many relations, entities and triples as its card says."""
    expected: GraphCard = card.graphs[role]
    everything = split.triples
    found = {
        "relations": len(np.unique(everything.relation_ids)),
        "entities": len(np.unique([everything.heads, everything.tails])),
        "triples": len(everything),
    }
    for what, count in found.items():
        if count != getattr(expected, what):
            which = "graph" if role == "graph" else f"{role} graph"
            raise InputError(
                f"the {which} of '{card.name}' should have {getattr(expected, what):,} {what}, "
                f"found {count:,}",
                place=Place(str(directory)),
                hint="put the published files here",
            )
