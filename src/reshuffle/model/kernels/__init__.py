"""Kernels that torch lacks, for the CPU (numba) and for the GPU (Triton).

Both modules have the same functions. Two are about products of matrices [relation, slot, slot] and states
[row, slot, channel]:

- `products(matrices, relations, states, rows)`: B_r Z_e;
- `products_back(gradient, ..., to_states=)`: its backward pass.

One is a whole layer: `layer(matrices, graph, states, edges, room)`, new states and per coordinate which message won.

The others see row-major tensors [row, column], column = slot x channel:

- `segment_max(messages, states, starts, edges)`: new states, and per coordinate which message won;
- `segment_max_back(gradient, winner, matrices, states, graph, wants_states=)`: its backward pass and that of the
  messages' products;
- `norms(bodies, states, candidates)`: ||ReLU(x_q - z_c)||_2 for given candidates of each query;
- `pulls(bodies, states, candidates, weights)`: its backward pass;
- `product_pulls(...)`: that and `products_back`, where the states are products;
- `all_norms(bodies, states)`: the same against all rows.

The GPU compares corrupted heads in a way of its own (`gpu_heads.py`). The CPU counts walks (`cpu_walks.py`) and what
states miss in training (`cpu_misses.py`) in loops of its own, where torch's operations would wait for memory.

`propagation.kernels_for` says which of the two modules serves a device.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

MUCH_WORK = 1 << 23  # numbers to go through; below, threads would wait for each other longer than they work
MOST_SLOTS = 64  # of a tile on a GPU; larger matrices would not fit where a program keeps its own


def fit_a_gpu(states: Tensor) -> bool:
    """Are the states [row, slot, channel] on a GPU, with few enough slots for its own way to compare heads?"""
    return states.device.type == "cuda" and states.shape[1] <= MOST_SLOTS
