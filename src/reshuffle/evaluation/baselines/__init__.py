"""Baselines: entity types, mined rules, and both combined. None is trained by gradient.

All have the same interface: fit on training facts, apply with `.on(graph)`, then rank like any model.
"""

from reshuffle.evaluation.baselines.combined import TieBroken
from reshuffle.evaluation.baselines.rules import RuleBaseline, RuleScorer
from reshuffle.evaluation.baselines.types import TypeBaseline, TypeScorer

__all__ = ["RuleBaseline", "RuleScorer", "TieBroken", "TypeBaseline", "TypeScorer"]
