"""Rules as geometry: rule graphs, their conditions, their constructions, and the matrices they become."""

from reshuffle.rulegraphs.build import build, compiled, constraints_for, decompiled
from reshuffle.rulegraphs.graph import Edge, RuleGraph

__all__ = ["Edge", "RuleGraph", "build", "compiled", "constraints_for", "decompiled"]
