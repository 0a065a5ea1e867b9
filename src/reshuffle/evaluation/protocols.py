"""Ranking protocols by name.

"Hits@10 against 50 negatives" is four different numbers in the literature. Each protocol here defines how wrong
candidates are chosen, which true triples are filtered, and how ties count.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from reshuffle.errors import InputError, did_you_mean
from reshuffle.evaluation.metrics import summarised
from reshuffle.evaluation.negatives import Sampling

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reshuffle.evaluation.metrics import Metrics
    from reshuffle.evaluation.ranks import Ranks, TiePolicy

_EVERYTHING = ("facts", "valid", "queries")


@dataclass(frozen=True)
class RankingProtocol:
    """How wrong candidates are chosen, which true triples are filtered, and how ties are read.

    `sampling` None: all entities are candidates. `filters`: the parts of a split that count as true.

    `draws`: also estimate, from the full ranking, Hits@10 against that number of candidates.
    """

    name: str
    description: str
    sampling: Sampling | None = None
    filters: tuple[str, ...] = _EVERYTHING
    ties: TiePolicy = "realistic"
    draws: int | None = None

    def summary(self, ranks: Ranks) -> Metrics:
        """The metrics of ranks under this protocol's reading of ties."""
        return summarised(ranks, self.ties, draws=self.draws)


_LISTED = (
    RankingProtocol(
        "sampled-50",
        "50 wrong candidates without replacement, all true triples filtered (PyKEEN; Ott et al.)",
        sampling=Sampling(50),
    ),
    RankingProtocol(
        "sampled-50-official-code",
        "the same, but the validation triples are not filtered (the RESHUFFLE authors' code)",
        sampling=Sampling(50),
        filters=("facts", "queries"),
    ),
    RankingProtocol(
        "grail-49",
        "49 wrong candidates with replacement, no self-loops, only the facts filtered (GraIL)",
        sampling=Sampling(49, replacement=True, self_loops=False),
        filters=("facts",),
    ),
    RankingProtocol(
        "nbfnet-estimate",
        "Hits@10 against 49 draws, estimated from the full ranking; ties lose, only the facts filtered (NBFNet)",
        filters=("facts",),
        ties="pessimistic",
        draws=49,
    ),
    RankingProtocol("full", "all entities, all true triples filtered"),
    RankingProtocol(
        "full-facts",
        "all entities, only the facts of the graph filtered; ties lose (NBFNet and others after GraIL)",
        filters=("facts",),
        ties="pessimistic",
    ),
    RankingProtocol(
        "type-matched",
        "50 wrong candidates that have the relation on that side, others only to fill up",
        sampling=Sampling(50, typed=True),
    ),
)
PROTOCOLS: Mapping[str, RankingProtocol] = MappingProxyType({entry.name: entry for entry in _LISTED})


def protocol_of(name: str | RankingProtocol) -> RankingProtocol:
    """The protocol of that name.

    >>> protocol_of("grail-49").sampling
    Sampling(size=49, replacement=True, self_loops=False, typed=False)
    """
    if isinstance(name, RankingProtocol):
        return name
    if name not in PROTOCOLS:
        raise InputError(
            f"unknown protocol '{name}'{did_you_mean(name, PROTOCOLS)}", hint=f"one of {', '.join(PROTOCOLS)}"
        )
    return PROTOCOLS[name]
