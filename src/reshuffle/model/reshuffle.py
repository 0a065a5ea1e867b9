"""The model: matrices, initial states, layers and score in one module. It owns no graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from reshuffle.model.initial import Kind, initial_states
from reshuffle.model.matrices import RelationMatrices, RowFunction
from reshuffle.model.propagation import propagate

if TYPE_CHECKING:
    from reshuffle.model.messages import MessageGraph


@dataclass(frozen=True)
class Architecture:
    """What decides the shape and the meaning of the parameters."""

    num_slots: int = 20  # the paper's l
    num_channels: int = 40  # the paper's k
    num_layers: int = 3  # the paper's m, #Layers in its table
    identity: bool = True  # the relation eq; False is the paper's RESHUFFLE_nL
    row_function: RowFunction = "softmax"  # "square" is the paper's RESHUFFLE²
    initial: Kind = "bits"
    probability: float = 0.5
    bias: bool = False  # the paper's c_r, one value per slot; it enters the score only
    symmetric: tuple[int, ...] = ()


class ReshuffleModel(nn.Module):
    """Relations are numbered r, r + R for the inverse, 2R for eq."""

    bias: Tensor | None

    def __init__(self, num_relations: int, architecture: Architecture, *, seed: int = 0) -> None:
        super().__init__()
        self.num_relations, self.architecture = num_relations, architecture
        self.matrices = RelationMatrices(
            num_relations,
            architecture.num_slots,
            identity=architecture.identity,
            row_function=architecture.row_function,
            symmetric=architecture.symmetric,
            generator=torch.Generator().manual_seed(seed),
        )
        if architecture.bias:
            self.bias = nn.Parameter(torch.zeros(2 * num_relations, architecture.num_slots))
        else:
            self.register_parameter("bias", None)

    @property
    def device(self) -> torch.device:
        """Where the parameters are."""
        return self.matrices.logits.device

    def states(
        self,
        graph: MessageGraph,
        matrices: Tensor,
        generator: torch.Generator,
        *,
        edge_messages: Tensor | None = None,
    ) -> Tensor:  # entity slot channel
        """Z^(m) of every entity of a graph, from a draw of Z^(0)."""
        shape = (graph.num_entities, self.architecture.num_slots, self.architecture.num_channels)
        drawn = initial_states(
            self.architecture.initial, shape, probability=self.architecture.probability, generator=generator
        )
        return propagate(
            drawn, matrices, graph, num_layers=self.architecture.num_layers, edge_messages=edge_messages
        )

    def bodies(self, matrices: Tensor, states: Tensor, heads: Tensor, relations: Tensor) -> Tensor:
        """B_r Z_e + c_r for each pair of a head and a relation."""
        bodies = torch.bmm(matrices[relations], states[heads])
        return bodies if self.bias is None else bodies + self.bias[relations][..., None]
