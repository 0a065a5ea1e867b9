"""Reasoning over knowledge graphs with rules you can trust.

Names are loaded when first used, so that `import reshuffle` and `reshuffle --help` start at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reshuffle.data.load import load_benchmark
    from reshuffle.errors import NotExpressibleError, ReshuffleError
    from reshuffle.evaluation import evaluate
    from reshuffle.extraction import extract_rules
    from reshuffle.kg import KnowledgeGraph, read_graph
    from reshuffle.kg.splits import InductiveBenchmark
    from reshuffle.learning.estimator import Reshuffle
    from reshuffle.reasoning import Reasoner
    from reshuffle.rulelist import RuleModel, learn_rules
    from reshuffle.rules import RuleBase, parse_rules, read_rules
    from reshuffle.theories import load

__version__ = "0.2.0"

_HOME = {
    "InductiveBenchmark": "reshuffle.kg.splits",
    "KnowledgeGraph": "reshuffle.kg",
    "NotExpressibleError": "reshuffle.errors",
    "Reasoner": "reshuffle.reasoning",
    "Reshuffle": "reshuffle.learning.estimator",
    "ReshuffleError": "reshuffle.errors",
    "RuleBase": "reshuffle.rules",
    "RuleModel": "reshuffle.rulelist",
    "evaluate": "reshuffle.evaluation",
    "extract_rules": "reshuffle.extraction",
    "learn_rules": "reshuffle.rulelist",
    "load": "reshuffle.theories",
    "load_benchmark": "reshuffle.data.load",
    "parse_rules": "reshuffle.rules",
    "read_graph": "reshuffle.kg",
    "read_rules": "reshuffle.rules",
}

__all__ = [
    "InductiveBenchmark",
    "KnowledgeGraph",
    "NotExpressibleError",
    "Reasoner",
    "Reshuffle",
    "ReshuffleError",
    "RuleBase",
    "RuleModel",
    "__version__",
    "evaluate",
    "extract_rules",
    "learn_rules",
    "load",
    "load_benchmark",
    "parse_rules",
    "read_graph",
    "read_rules",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'reshuffle' has no attribute '{name}'")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
