"""Corrupted triples under the partial completeness assumption: a random entity in place of the head or the tail."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from reshuffle.model.kernels import runs


def random_others(
    entities: Tensor, num_negatives: int, *, num_entities: int, generator: torch.Generator
) -> Tensor:  # triple negative
    """Uniform over all entities but the true one: draw from one fewer and step over it."""
    drawn = torch.randint(
        max(num_entities - 1, 1), (len(entities), num_negatives), generator=generator, device=entities.device
    )
    return (drawn + (drawn >= entities[:, None])).clamp(max=num_entities - 1)


@dataclass(frozen=True)
class KnownTails:
    """The true tails of every (head, relation) of some triples, so that none of them counts as a corruption."""

    keys: Tensor  # triple: relation x entities + head, sorted
    tails: Tensor  # triple
    num_entities: int

    @classmethod
    def of(cls, triples: Tensor, *, num_entities: int) -> KnownTails:
        """From triples of ids [triple, (head relation tail)]."""
        keys, order = torch.sort(triples[:, 1] * num_entities + triples[:, 0], stable=True)
        return cls(keys, triples[order, 2].contiguous(), num_entities)

    def cleared(self, scores: Tensor, heads: Tensor, relations: Tensor) -> Tensor:
        """Scores [query, entity] with -infinity for every known tail of the query."""
        wanted = relations * self.num_entities + heads
        first = torch.searchsorted(self.keys, wanted)
        number = torch.searchsorted(self.keys, wanted, right=True) - first
        queries, places = runs(first, number)
        known = torch.zeros_like(scores, dtype=torch.bool)
        known[queries, self.tails[places]] = True
        return scores.masked_fill(known, -torch.inf)
