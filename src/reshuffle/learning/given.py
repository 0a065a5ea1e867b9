"""What a caller hands over to learn from; a slip is one clear error and not a missing attribute."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reshuffle.kg.benchmarks.splits import GraphSplit, InductiveBenchmark, TransductiveBenchmark
from reshuffle.kg.given import Triples, as_graph, refuse_others

if TYPE_CHECKING:
    from reshuffle.kg import KnowledgeGraph

__all__ = ["Triples", "as_facts", "as_graph", "as_valid"]

_TO_TRAIN_ON = {InductiveBenchmark: "train", TransductiveBenchmark: "graph"}
_TO_STOP_BY = {GraphSplit: "valid", InductiveBenchmark: "train.valid", TransductiveBenchmark: "valid"}


def as_facts(given: Triples | GraphSplit) -> KnowledgeGraph | GraphSplit:
    """A graph, or one with held-out triples."""
    refuse_others(given, _TO_TRAIN_ON)
    return given if isinstance(given, GraphSplit) else as_graph(given)


def as_valid(given: Triples | None) -> KnowledgeGraph | None:
    """Triples to stop by, where there are any."""
    if given is None:
        return None
    refuse_others(given, _TO_STOP_BY)
    return as_graph(given)
