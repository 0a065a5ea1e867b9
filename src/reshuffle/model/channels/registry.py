"""All kinds of channels, by the values of the setting `initial`."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, get_args

from reshuffle.errors import ReshuffleError, did_you_mean
from reshuffle.model.architecture import InitialKind
from reshuffle.model.channels.private import Private
from reshuffle.model.channels.query import PerQuery
from reshuffle.model.channels.random import BITS, OFFICIAL_BITS, SHARED_BITS, Continuous

if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch
    from torch import Tensor

    from reshuffle.model.channels.interface import ChannelKind

Kind = InitialKind
KINDS = get_args(Kind)

CHANNELS: Mapping[str, ChannelKind] = MappingProxyType(
    {
        "bits": BITS,
        "official": OFFICIAL_BITS,
        "continuous": Continuous(),
        "shared": SHARED_BITS,
        "private": Private(),
        "head": PerQuery(),
    }
)


def channel_kind(name: str) -> ChannelKind:
    """The kind of that name; names that are checked already are looked up in `CHANNELS`."""
    if name not in CHANNELS:
        raise ReshuffleError(f"unknown kind of initial states '{name}'{did_you_mean(name, KINDS)}")
    return CHANNELS[name]


def initial_states(
    kind: str, shape: tuple[int, int, int], *, probability: float = 0.5, generator: torch.Generator
) -> Tensor:  # entity slot channel
    """A draw of Z^(0) of a kind, made on the generator's device."""
    return channel_kind(kind).initial_states(shape, probability=probability, generator=generator)
