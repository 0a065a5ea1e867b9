"""What a caller hands over, made a graph; a slip is one clear error and not a missing attribute."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from typing import TYPE_CHECKING, TypeAlias

from reshuffle.errors import InputError
from reshuffle.kg import KnowledgeGraph
from reshuffle.kg.benchmarks.splits import GraphSplit, InductiveBenchmark, TransductiveBenchmark

if TYPE_CHECKING:
    from collections.abc import Mapping

    Triples: TypeAlias = KnowledgeGraph | Iterable[tuple[str, str, str]]

_TO_ANSWER_ON = {GraphSplit: "facts", InductiveBenchmark: "test.facts", TransductiveBenchmark: "facts"}
_TO_TRAIN_ON = {InductiveBenchmark: "train", TransductiveBenchmark: "graph"}
_TO_STOP_BY = {GraphSplit: "valid", InductiveBenchmark: "train.valid", TransductiveBenchmark: "valid"}


def as_graph(given: Triples) -> KnowledgeGraph:
    """A graph, of whatever `KnowledgeGraph(...)` takes.

    >>> len(as_graph([("ada", "bornIn", "london")]))
    1
    """
    _refuse(given, _TO_ANSWER_ON)
    return given if isinstance(given, KnowledgeGraph) else KnowledgeGraph(given)


def as_facts(given: Triples | GraphSplit) -> KnowledgeGraph | GraphSplit:
    """A graph, or one with held-out triples."""
    _refuse(given, _TO_TRAIN_ON)
    return given if isinstance(given, GraphSplit) else as_graph(given)


def as_valid(given: Triples | None) -> KnowledgeGraph | None:
    """Triples to stop by, where there are any."""
    if given is None:
        return None
    _refuse(given, _TO_STOP_BY)
    return as_graph(given)


def _refuse(given: object, parts: Mapping[type, str]) -> None:
    for kind, part in parts.items():
        if isinstance(given, kind):
            raise InputError(f"found {kind.__name__}, expected a graph", hint=f"give its .{part}")
    if isinstance(given, str | PathLike) or not isinstance(given, Iterable | GraphSplit):
        raise InputError(
            f"found {given!r}, expected a graph or triples of names: (head, relation, tail)",
            hint="reshuffle.kg.read_graph(path) reads a file",
        )
