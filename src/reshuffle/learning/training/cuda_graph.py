"""A training step as a CUDA graph: recorded once, then replayed for every batch of the same size.

With the paper's settings a step runs over a hundred small kernels, and launching them one by one is slow. A recording
launches them all at once. It holds addresses, not values: the batch is copied to where the recording
reads it, and parameters, Adam's moments and the generator's state stay where they are. Nothing may decide by a value
on the GPU, and every shape must be the same each time; `Objective.replayable` says whether that is so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor


class CapturedStep:
    """One recording."""

    def __init__(
        self, step: Callable[[Tensor], Tensor], batch: Tensor, *, generator: torch.Generator
    ) -> None:
        """`step` was run before on a batch of this size, so that kernels are compiled; here it is recorded, not run."""
        self._batch = batch.clone()
        self._graph = torch.cuda.CUDAGraph()
        self._graph.register_generator_state(generator)
        with torch.cuda.graph(self._graph):
            self._loss = step(self._batch)

    def __call__(self, batch: Tensor) -> Tensor:
        """The loss of a batch, after the step; its value lasts until the next call."""
        self._batch.copy_(batch)
        self._graph.replay()
        return self._loss
