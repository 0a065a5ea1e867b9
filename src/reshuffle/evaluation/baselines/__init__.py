"""What a model must beat: types alone, mined rules, and both together. Nothing is learned by gradient.

All are used alike: fitted on training facts, put `.on` a graph, ranked by the same path as any model.
"""

from reshuffle.evaluation.baselines.combined import TieBroken
from reshuffle.evaluation.baselines.rules import RuleBaseline, RuleScorer
from reshuffle.evaluation.baselines.types import TypeBaseline, TypeScorer

__all__ = ["RuleBaseline", "RuleScorer", "TieBroken", "TypeBaseline", "TypeScorer"]
