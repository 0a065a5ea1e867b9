"""Recipes: settings that belong together, by name.

`paper` is what the paper prints, unchanged. `best` is what was found on top of it: docs/explanation/accuracy.md says
what each ingredient brings. Single settings can be changed on either.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, get_args

from reshuffle.errors import ReshuffleError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping

Recipe = Literal["best", "paper"]
RECIPES = get_args(Recipe)

_CHANGES: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "paper": MappingProxyType({}),
        # One setting for all data sets, chosen on training graphs (docs/explanation/accuracy.md). The last epoch is
        # kept: validation triples are about entities of the training graph, and would choose one too early.
        "best": MappingProxyType(
            {
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
        ),
    }
)


def recipe_changes(name: str) -> Mapping[str, Any]:
    """What a recipe sets; everything else is as the paper has it."""
    if name not in RECIPES:
        raise ReshuffleError(
            f"unknown recipe '{name}'{did_you_mean(name, RECIPES)}", hint=f"one of {', '.join(RECIPES)}"
        )
    return _CHANGES[name]
