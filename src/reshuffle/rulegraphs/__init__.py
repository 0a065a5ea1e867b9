"""Rules as geometry: rule graphs, their conditions, their constructions, and the matrices they become."""

from reshuffle.rulegraphs.build import build, constraints_for
from reshuffle.rulegraphs.graph import Edge, RuleGraph, compiled, decompiled

__all__ = ["Edge", "RuleGraph", "build", "compiled", "constraints_for", "decompiled"]
