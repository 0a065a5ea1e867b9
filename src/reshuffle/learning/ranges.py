"""Which values a setting may have, so that a slip is told before anything is computed."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import TYPE_CHECKING

from reshuffle.errors import ReshuffleError

if TYPE_CHECKING:
    from collections.abc import Mapping

LEAST: Mapping[str, int] = MappingProxyType(
    {
        "num_slots": 0,  # constraints of no rules have none; training asks for one
        "num_channels": 1,
        "num_layers": 0,
        "probability": 0,
        "margin": 0,
        "num_negatives": 1,
        "batch_size": 1,
        "max_epochs": 0,
        "look_every": 1,
        "patience": 1,
        "relative_delta": 0,
        "num_hops": 0,
        "drop_facts": 0,
        "epoch_steps": 0,
        "max_gradient": 0,
        "evidence_decay": 0,
        "seed": 0,
    }
)
MOST: Mapping[str, int] = MappingProxyType({"probability": 1, "drop_facts": 1, "seed": 2**63 - 1})
POSITIVE = frozenset({"learning_rate"})


def check_range(name: str, value: object) -> None:
    """Refuse a number that makes no sense; NaN, which compares with nothing, is one."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return
    if not math.isfinite(value):
        raise _refused(name, value, "a finite number")
    if name in POSITIVE and value <= 0:
        raise _refused(name, value, "more than 0")
    if value < LEAST.get(name, value):
        raise _refused(name, value, f"at least {LEAST[name]}")
    if value > MOST.get(name, value):
        raise _refused(name, value, f"at most {MOST[name]}")


def check_trainable(num_slots: int) -> None:
    """Without slots there is nothing to learn."""
    if num_slots < 1:
        raise _refused("num_slots", num_slots, "at least 1 to train")


def _refused(name: str, value: float, wanted: str) -> ReshuffleError:
    return ReshuffleError(f"setting '{name}' is {value!r}; it must be {wanted}")
