"""Recipes: settings that belong together, by name.

`paper` is what the paper prints, unchanged; `best` is what was found on top of it (docs/explanation/accuracy.md says
what each ingredient brings). A recipe with a version is frozen: `best-0.1` is what `best` was in release 0.1, so that
its results can be had again.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

Recipe = Literal["best", "best-0.1", "paper"]

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
