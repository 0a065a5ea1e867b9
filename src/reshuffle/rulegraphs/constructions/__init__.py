"""Rule graphs for the classes that have one: each file is one construction, its steps numbered."""

from reshuffle.rulegraphs.constructions.bounded import bounded_graph
from reshuffle.rulegraphs.constructions.intersection import intersection_graph
from reshuffle.rulegraphs.constructions.regular import regular_graph

__all__ = ["bounded_graph", "intersection_graph", "regular_graph"]
