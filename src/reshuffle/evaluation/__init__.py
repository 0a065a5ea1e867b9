"""Evaluation: ranking the true answer of a query among wrong ones, by named protocols.

A triple (e, r, f) asks two questions, (e, r, ?) and (?, r, f). A *scorer* gives each candidate a number, and the
rank of the true answer is one more than the number of wrong candidates above it, with ties read in three ways
(`ranks`). Hits@k is the share of ranks up to k, MRR the mean of 1 / rank (`metrics`). The protocol defines
the wrong candidates (`protocols`): known true triples are filtered, and all others are used, or a sample that
depends on the seed (`negatives`).

One path (`ranking`) serves models, reasoners and baselines, so that a difference between two rows of a table is
a difference between two scorers. Every report has the share of ties and the type baseline: on most of these
benchmarks, entity types alone answer most questions against random candidates.
"""

from reshuffle.evaluation.baselines import RuleBaseline, RuleScorer, TieBroken, TypeBaseline, TypeScorer
from reshuffle.evaluation.metrics import Metrics, bootstrap_interval
from reshuffle.evaluation.negatives import Negatives, Sampling
from reshuffle.evaluation.protocols import PROTOCOLS, RankingProtocol, protocol_of
from reshuffle.evaluation.queries import with_isolated
from reshuffle.evaluation.ranking import evaluate
from reshuffle.evaluation.ranks import Ranks
from reshuffle.evaluation.report import Ranked, Report
from reshuffle.evaluation.scorer import Scorer, Side

__all__ = [
    "PROTOCOLS",
    "Metrics",
    "Negatives",
    "Ranked",
    "RankingProtocol",
    "Ranks",
    "Report",
    "RuleBaseline",
    "RuleScorer",
    "Sampling",
    "Scorer",
    "Side",
    "TieBroken",
    "TypeBaseline",
    "TypeScorer",
    "bootstrap_interval",
    "evaluate",
    "protocol_of",
    "with_isolated",
]
