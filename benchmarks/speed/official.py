"""A training step as the official code goes about it, in plain PyTorch: the yardstick of `training.py`.

Written from a description of it, not from the code: a message is materialised for every edge and layer, positives and
negatives each see a draw and a full message pass of their own, and the 100 negatives of a triple are independent
triples whose matrices and states are gathered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import Tensor

    from reshuffle.learning.training.trainer import Trainer


class PlainTraining:
    """Takes parameters, triples and settings from a `Trainer`, and nothing of how it computes."""

    def __init__(self, trainer: Trainer, kind: torch.dtype = torch.float32) -> None:
        self.kind = kind  # of numbers in matrices and states
        self.logits = trainer.model.matrices.logits.detach().clone().requires_grad_()
        self.architecture, self.settings = trainer.model.architecture, trainer.settings
        self.num_entities = trainer.data.num_entities
        self.examples = trainer.examples
        everyone = torch.arange(self.num_entities, device=trainer.device)
        loops = torch.stack(
            [everyone, torch.full_like(everyone, 2 * trainer.data.num_relations), everyone], dim=1
        )
        self.heads, self.relations, self.tails = torch.cat([trainer.examples, loops]).T.contiguous()
        self.generator = trainer.generator
        self.optimizer = torch.optim.Adam([self.logits], lr=self.settings.learning_rate)

    def step(self, batch: Tensor) -> Tensor:
        """One batch: scores of positives, scores of negatives, margin ranking loss, Adam."""
        self.optimizer.zero_grad(set_to_none=True)
        positives = self.examples[batch]
        negatives = self._corrupted(positives)
        good = self._scores(*positives.T)
        bad = self._scores(*negatives.flatten(0, 1).T).view(len(batch), -1)
        loss = torch.relu(bad - good[:, None] + self.settings.margin).mean()
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def _corrupted(self, triples: Tensor) -> Tensor:  # triple negative (head relation tail)
        """Each triple 100 times, with a random entity as head in one half of the batch and as tail in the other."""
        negatives = triples[:, None].repeat(1, self.settings.num_negatives, 1)
        half = len(triples) // 2
        shape, device = negatives.shape[:2], triples.device
        others = torch.randint(self.num_entities, shape, generator=self.generator, device=device)
        negatives[:half, :, 0], negatives[half:, :, 2] = others[:half], others[half:]
        return negatives

    def _scores(self, heads: Tensor, relations: Tensor, tails: Tensor) -> Tensor:
        matrices = torch.softmax(self.logits, dim=-1)[..., :-1].to(self.kind)
        states = self._states(matrices)
        bodies = torch.bmm(matrices[relations], states[heads])
        scores: Tensor = -torch.relu(bodies - states[tails]).flatten(1).float().norm(dim=1)
        return scores

    def _states(self, matrices: Tensor) -> Tensor:  # entity slot channel
        shape = (self.num_entities, self.architecture.num_slots, self.architecture.num_channels)
        device = self.logits.device
        states = (torch.randn(shape, generator=self.generator, device=device) > 0.5).to(self.kind)
        for _ in range(self.architecture.num_layers):
            messages = torch.bmm(matrices[self.relations], states[self.heads])  # edge slot channel
            places = self.tails[:, None, None].expand_as(messages)
            states = states.scatter_reduce(0, places, messages, reduce="amax", include_self=True)
        return states
