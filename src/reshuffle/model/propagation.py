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
    for _ in range(num_layers):
        states = _MaxLayer.apply(states, matrices, graph, edges)
    return states


class _MaxLayer(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, states: Tensor, matrices: Tensor, graph: MessageGraph, edges: Tensor) -> Tensor:
        kernels = kernels_for(states.device)
        messages = kernels.products(matrices, graph.relations, states, graph.heads)
        received, winner = kernels.segment_max(messages.flatten(1), states.flatten(1), graph.starts, edges)
        ctx.save_for_backward(states, matrices, winner)
        ctx.graph = graph
        return received.view_as(states)  # type: ignore[no-any-return]

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor, None, None]:
        states, matrices, winner = ctx.saved_tensors
        graph: MessageGraph = ctx.graph
        kernels = kernels_for(states.device)
        to_messages, to_states = kernels.spread(gradient.contiguous().flatten(1), winner, graph.num_messages)
        to_states = to_states.view_as(states) if ctx.needs_input_grad[0] else None
        to_matrices = kernels.products_back(
            to_messages.view(-1, *states.shape[1:]),
            matrices,
            graph.relations,
            states,
            graph.heads,
            to_states=to_states,
        )
        return to_states, to_matrices, None, None
