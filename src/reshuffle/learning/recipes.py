"""Recipes: settings that belong together, by name.

`paper` has the settings of the paper, unchanged; `best` has the most accurate ones known
(docs/explanation/accuracy.md). A recipe with a version is frozen: `best-0.1` is `best` of release 0.1, so its results
can be reproduced.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

Recipe = Literal["best", "best-0.1", "paper"]

SEARCHED: Mapping[str, tuple[float, ...]] = MappingProxyType(
    {
        "num_layers": (3, 4, 5),
        "num_slots": (20, 25, 30),
        "num_channels": (40, 60, 80),
        "margin": (0.5, 1.0, 2.0),
        "learning_rate": (0.005, 0.01),
    }
)
"""The ranges of the paper's hyperparameter search (its appendix); docs/how-to/train.md searches them."""

# One setting for all data sets, chosen on training graphs (docs/explanation/accuracy.md). The last epoch is kept:
# validation triples are about entities of the training graph, and would choose one too early.
_BEST_0_1: dict[str, Any] = {
    "initial": "head",
    "num_slots": 32,
    "num_layers": 6,
    "identity": False,
    "slot_weights": True,
    "evidence": ("unary", "proximity", "paths", "negative"),
    "direct_facts": "both",
    "hide_targets": True,
    "loss": "softmax",
    "batch_size": 64,
    "learning_rate": 0.01,
    "schedule": "linear",
    "max_gradient": 1.0,
    "evidence_decay": 50.0,
    "evidence_prior": "examples",
    "epoch_steps": 100,
    "max_epochs": 16,
    "look_every": 16,
    "select_by": "mrr",
    "relative_delta": 0.0,
}
# Chosen on cut training graphs of five families (docs/decisions/0004-choosing.md).
_BEST: dict[str, Any] = {
    **_BEST_0_1,
    "num_slots": 16,
    "num_layers": 4,
    "evidence": ("unary", "proximity", "ways", "negative", "far"),
    "num_hops": 9,
    "rules_weight": 0.7,
    "lone_facts": False,
    "drop_facts": 0.3,
    "learning_rate": 0.02,
    "max_epochs": 8,
    "look_every": 8,
}

RECIPES: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "best": MappingProxyType(_BEST),
        "best-0.1": MappingProxyType(_BEST_0_1),
        "paper": MappingProxyType({}),
    }
)
"""What each recipe changes in the defaults of `Settings`, which are the paper's."""
