"""The model: matrices, initial states, layers and score in one module. It owns no graph."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from reshuffle.errors import ReshuffleError, did_you_mean
from reshuffle.model.channels.query import positive_weights
from reshuffle.model.channels.registry import CHANNELS
from reshuffle.model.evidence.registry import Evidence
from reshuffle.model.propagation import MessageGraph, products, propagate
from reshuffle.model.scoring import head_scores

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reshuffle.model.architecture import Architecture, RowFunction
    from reshuffle.model.injected import InjectedBlock


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


_LIGHT = -2.0  # softplus(-2) = 0.13: where slot weights start


class ReshuffleModel(nn.Module):
    """Relations are numbered r, r + R for the inverse, 2R for eq."""

    bias: Tensor | None
    slot_logits: Tensor | None
    path_matrices: RelationMatrices | None
    """What "paths" evidence sees, where it is not the matrices of the constraints: those of a model before it was
    hardened."""

    def __init__(
        self,
        num_relations: int,
        architecture: Architecture,
        *,
        seed: int = 0,
        symmetric: Sequence[int] = (),
        num_identities: int = 1,
        injected: InjectedBlock | None = None,
    ) -> None:
        """`symmetric`: those of `architecture.symmetric` by number. Rule graphs may have several identities."""
        super().__init__()
        self.injected = injected
        self.num_relations, self.architecture = num_relations, architecture
        self.num_identities = num_identities if architecture.identity else 0
        self.matrices = RelationMatrices(
            num_relations,
            architecture.num_slots,
            num_identities=self.num_identities,
            row_function=architecture.row_function,
            symmetric=symmetric,
            generator=torch.Generator().manual_seed(seed),
        )
        self.path_matrices = None
        if architecture.bias:
            self.bias = nn.Parameter(torch.zeros(2 * num_relations, architecture.num_slots))
        else:
            self.register_parameter("bias", None)
        if architecture.slot_weights:
            self.slot_logits = nn.Parameter(torch.full((2 * num_relations, architecture.num_slots), _LIGHT))
        else:
            self.register_parameter("slot_logits", None)
        self.evidence = (
            Evidence(
                num_relations,
                architecture.evidence,
                num_hops=architecture.num_hops,
                num_slots=architecture.num_slots,
                direct_facts=architecture.direct_facts,
            )
            if architecture.evidence
            else None
        )

    def keep_path_matrices(self) -> None:
        """Whatever becomes of the matrices, evidence that reads states goes on to see them as they are now."""
        if self.evidence is not None and self.evidence.reads_states:
            self.path_matrices = copy.deepcopy(self.matrices)

    def slot_weights(self) -> Tensor:  # relation slot
        """How much a slot counts in the score of a relation: strictly positive, so that 0 still means captured."""
        if self.slot_logits is None:
            raise ReshuffleError("this model has no slot weights", hint="train with slot_weights = true")
        return positive_weights(self.slot_logits)

    def states(
        self,
        graph: MessageGraph,
        matrices: Tensor,
        generator: torch.Generator,
        *,
        edge_messages: Tensor | None = None,
        draws: int = 1,
    ) -> Tensor:  # entity slot channel
        """Z^(m) of every entity of a graph, from a draw of Z^(0).

        Channels do not see each other, so that several draws side by side take one pass.
        """
        architecture, kind = self.architecture, CHANNELS[self.architecture.initial]
        shape = (graph.num_entities, architecture.num_slots, architecture.num_channels)
        drawn = [
            kind.initial_states(shape, probability=architecture.probability, generator=generator)
            for _ in range(draws)
        ]
        side_by_side = drawn[0] if draws == 1 else torch.cat(drawn, dim=2)
        return propagate(
            side_by_side, matrices, graph, num_layers=architecture.num_layers, edge_messages=edge_messages
        )

    def bodies(self, matrices: Tensor, states: Tensor, heads: Tensor, relations: Tensor) -> Tensor:
        """B_r Z_e + c_r for each pair of a head and a relation."""
        bodies = products(matrices, states, relations=relations, rows=heads)
        return bodies if self.bias is None else bodies + self.bias.index_select(0, relations)[..., None]

    def head_scores(
        self, matrices: Tensor, states: Tensor, candidates: Tensor, relations: Tensor, tails: Tensor
    ) -> Tensor:  # query candidate
        """Scores of candidates as heads; B_r Z_c + c_r is below Z_f iff B_r Z_c is below Z_f - c_r."""
        targets = states.index_select(0, tails)  # unlike indexing, its backward pass adds in a fixed order
        if self.bias is not None:
            targets = targets - self.bias.index_select(0, relations)[..., None]
        return head_scores(matrices, relations, states, candidates, targets)

    def body(self, matrices: Tensor, state: Tensor, relation: Tensor) -> Tensor:  # slot channel
        """B_r Z_e + c_r for one state [slot, channel]."""
        body = matrices[relation] @ state
        return body if self.bias is None else body + self.bias[relation][:, None]


def numbers_of(names: Sequence[str], relations: Sequence[str]) -> tuple[int, ...]:
    """The positions of the relations that the setting `symmetric` names."""
    for name in names:
        if name not in relations:
            near = did_you_mean(name, relations)
            raise ReshuffleError(f"setting 'symmetric' names an unknown relation '{name}'{near}")
    return tuple(relations.index(name) for name in names)
