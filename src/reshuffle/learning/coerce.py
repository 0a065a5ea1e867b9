"""What a caller hands over to learn from; a slip is one clear error and not a missing attribute."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reshuffle.kg.coerce import as_graph
from reshuffle.kg.splits import GraphSplit, InductiveBenchmark, TransductiveBenchmark

if TYPE_CHECKING:
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.kg.coerce import Triples

_TO_TRAIN_ON = {InductiveBenchmark: "train", TransductiveBenchmark: "graph"}
_TO_STOP_BY = {GraphSplit: "valid", InductiveBenchmark: "train.valid", TransductiveBenchmark: "valid"}


def as_facts(given: Triples | GraphSplit) -> KnowledgeGraph | GraphSplit:
    """A graph, or one with held-out triples."""
    return given if isinstance(given, GraphSplit) else as_graph(given, parts=_TO_TRAIN_ON)


def as_valid(given: Triples | None) -> KnowledgeGraph | None:
    """Triples to stop by, where there are any."""
    return None if given is None else as_graph(given, parts=_TO_STOP_BY)
