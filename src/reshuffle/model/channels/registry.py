"""Initial states Z^(0): what a channel means is decided here and nowhere else.

The theory asks for independent, non-negative coordinates with at least two possible values. On the CPU values are drawn
one after the other, so that the draw of an entity does not depend on how many come after it (see `updating.py`).

| kind | a coordinate is | in the paper |
| --- | --- | --- |
| bits | 1 with probability q, else 0 | q = 1/2 |
| official | 1 where a standard normal exceeds 1/2, so q = 0.31 | what the official code does |
| continuous | uniform in [0, 1): all values differ | allowed by its conditions |
| shared | one random bit pattern for all entities: a channel then tells types, not entities | not in the paper |
| private | 1 at one (entity, slot) per channel, 0 elsewhere: nothing can be confused | not in the paper |
| head | 1 in all slots of the query's head, 0 elsewhere: one channel per query (`reaching.py`) | not in the paper |
"""

from __future__ import annotations

import math
from typing import Literal, get_args

import torch
from torch import Tensor

from reshuffle.errors import ReshuffleError, did_you_mean

Kind = Literal["bits", "official", "continuous", "shared", "private", "head"]
KINDS = get_args(Kind)

_OFFICIAL_PROBABILITY = 0.5 * math.erfc(0.5 / math.sqrt(2))  # P(normal > 1/2) = 0.3085


def initial_states(
    kind: Kind,
    shape: tuple[int, int, int],
    *,
    probability: float = 0.5,
    generator: torch.Generator,
    owners: Tensor | None = None,
) -> Tensor:  # entity slot channel
    """Z^(0), made on the generator's device.

    `owners` [channel, (entity, slot)] says whose the private channels are; by default they are drawn, each at most
    once, and channels beyond the last (entity, slot) stay 0.
    """
    if kind not in KINDS:
        raise ReshuffleError(f"unknown kind of initial states '{kind}'{did_you_mean(kind, KINDS)}")
    if kind == "head":
        raise ReshuffleError(
            "with initial = 'head' there are no states before a question: every query has a channel of its own\n"
            "  hint: ask for scores, or for the states of given heads; or choose another kind, such as 'bits'"
        )
    if kind == "private":
        return _private(shape, generator, owners)
    entities, slots, channels = shape
    rows = 1 if kind == "shared" else entities
    values = torch.rand(rows, slots, channels, generator=generator, device=generator.device)
    if kind == "continuous":
        return values
    bits = (values < (_OFFICIAL_PROBABILITY if kind == "official" else probability)).float()
    return bits.expand(entities, -1, -1).contiguous() if kind == "shared" else bits


def _private(shape: tuple[int, int, int], generator: torch.Generator, owners: Tensor | None) -> Tensor:
    entities, slots, channels = shape
    if owners is None:
        drawn = torch.randperm(entities * slots, generator=generator, device=generator.device)[:channels]
        owners = torch.stack([drawn // max(slots, 1), drawn % max(slots, 1)], dim=1)
    states = torch.zeros(shape, device=generator.device)
    states[owners[:, 0], owners[:, 1], torch.arange(len(owners), device=generator.device)] = 1.0
    return states
