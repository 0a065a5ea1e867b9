"""One layer: Z_f <- max(Z_f, max over the messages that f receives).

Each message is computed once per distinct (head, relation) and thrown away; the backward pass keeps only which message
won in each coordinate (ties go to the state itself, then to the first edge), so nothing of size edges x slots x
channels outlives the layer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from reshuffle.model.kernels import kernels_for

if TYPE_CHECKING:
    from reshuffle.model.messages import MessageGraph


def propagate(
    states: Tensor,
    matrices: Tensor,
    graph: MessageGraph,
    *,
    num_layers: int,
    edge_messages: Tensor | None = None,
) -> Tensor:  # entity slot channel
    """`num_layers` layers with the same matrices. `edge_messages` may hide edges (`MessageGraph.hiding`)."""
    edges = graph.edge_messages if edge_messages is None else edge_messages
    room = states.new_empty(
        graph.num_messages, *states.shape[1:]
    )  # for the messages of one layer after the other
    for _ in range(num_layers):
        states = _MaxLayer.apply(states, matrices, graph, edges, room)
    return states


class _MaxLayer(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, states: Tensor, matrices: Tensor, graph: MessageGraph, edges: Tensor, room: Tensor
    ) -> Tensor:
        kernels = kernels_for(states.device)
        received, winner = kernels.layer(matrices, graph, states, edges, room)
        ctx.save_for_backward(states, matrices, winner)
        ctx.graph = graph
        return received.view_as(states)  # type: ignore[no-any-return]

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor, None, None, None]:
        states, matrices, winner = ctx.saved_tensors
        to_matrices, to_states = kernels_for(states.device).segment_max_back(
            gradient.contiguous().flatten(1),
            winner,
            matrices,
            states,
            ctx.graph,
            wants_states=ctx.needs_input_grad[0],
        )
        return to_states, to_matrices, None, None, None
