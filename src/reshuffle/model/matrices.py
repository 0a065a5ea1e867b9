"""The relation matrices B_r, as parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reshuffle.model.architecture import RowFunction


class RelationMatrices(nn.Module):
    """B_r for every relation, its inverse, and the identities: R, then R inverses, then eq.

    Row i of B_r is the first l entries of softmax(b_i1, ..., b_i,l+1); the squared variant (RESHUFFLE²) squares the
    logits instead, which allows arbitrary non-negative entries. Relations in `symmetric` share one matrix with their
    inverse.
    """

    owner: Tensor  # relation -> the one whose matrix it uses

    def __init__(
        self,
        num_relations: int,
        num_slots: int,
        *,
        num_identities: int = 1,
        row_function: RowFunction = "softmax",
        symmetric: Sequence[int] = (),
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.num_relations, self.num_slots = num_relations, num_slots
        self.row_function = row_function
        count = 2 * num_relations + num_identities
        # The paper does not say how the logits start; the official code draws them from a standard normal.
        self.logits = nn.Parameter(torch.randn(count, num_slots, num_slots + 1, generator=generator))
        owner = torch.arange(count)
        owner[[num_relations + relation for relation in symmetric]] = torch.tensor(
            list(symmetric), dtype=torch.long
        )
        self.register_buffer("owner", owner, persistent=False)
        self.tied = bool(symmetric)

    def forward(self) -> Tensor:  # relation slot slot
        """All matrices."""
        logits = self.shared_logits()
        rows = torch.softmax(logits, dim=-1) if self.row_function == "softmax" else logits.square()
        return rows[..., :-1].contiguous()

    def shared_logits(self) -> Tensor:  # relation slot slot+1
        """The logits of every relation, those of its twin where two share one matrix."""
        return self.logits.index_select(0, self.owner) if self.tied else self.logits
