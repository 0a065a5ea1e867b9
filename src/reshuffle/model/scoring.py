"""s(e, r, f) = -||ReLU(B_r Z_e - Z_f)||_2, for one triple or for many corruptions of it.

What is compared is the body x = B_r Z_e with the target z = Z_f. With N negatives per triple the differences are N
times the size of the states; they are never stored, but made again for the backward pass.

`Scores` says what the scores of queries are made of, and `Calibration` makes confidences of them: how likely a
candidate is the answer, if the question has one that is not known yet.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import torch
from torch import Tensor

from reshuffle.model.kernels import fit_a_gpu
from reshuffle.model.propagation import kernels_for

if TYPE_CHECKING:
    from numpy.typing import NDArray

Array = TypeVar("Array", Tensor, "NDArray[np.float32]")

RULE_LIST = "rules"
"""The part of a score that a rule list adds."""

_NUMBERS = 1 << 23  # of the bodies of corrupted heads at a time
_KEPT_NUMBERS = 1 << 27  # of theirs that wait for the backward pass: half a gigabyte


@dataclass(frozen=True)
class Scores(Generic[Array]):
    """What scores are made of, each part [query, candidate]: tensors while they are computed, arrays in answers."""

    constraint: Array
    evidence: dict[str, Array]  # by the part's name
    injected: Array | None = None  # what the injected rules add; 0 throughout where none derives the relation

    @property
    def total(self) -> Array:
        """The sum, by which candidates are ranked: the constraints, all evidence, and the injected rules."""
        learned = self.constraint + sum(self.evidence.values())
        return learned if self.injected is None else learned + self.injected

    def summed(self: Scores[NDArray[np.float32]]) -> NDArray[np.float32]:
        """The same sum, part after part: it rounds otherwise, and confidences were always made of these numbers."""
        parts = [self.constraint, *self.evidence.values()]
        if self.injected is not None:
            parts.append(self.injected)
        total: NDArray[np.float32] = np.sum(parts, axis=0)
        return total

    def beside(self: Scores[Tensor], part: str, values: Tensor) -> Scores[Tensor]:
        """The same with one part more."""
        return replace(self, evidence={**self.evidence, part: values})

    def of(self: Scores[Tensor], candidates: Tensor) -> Scores[Tensor]:
        """The scores of some entities [query, candidate] only."""
        return Scores(
            self.constraint.gather(1, candidates),
            {part: values.gather(1, candidates) for part, values in self.evidence.items()},
            None if self.injected is None else self.injected.gather(1, candidates),
        )


def pair_scores(bodies: Tensor, targets: Tensor) -> Tensor:
    """Scores of pairs [..., slot, channel] in plain torch: 0 iff captured."""
    differences = torch.relu(bodies - targets).flatten(-2)
    squared = differences.square().sum(-1)
    # Squares of tiny differences underflow, and a triple that is missed by little is still missed. Besides, the square
    # root has no gradient at 0, and a captured triple is there and should stay there.
    tiny = squared < torch.finfo(squared.dtype).tiny
    return -torch.where(tiny, differences.amax(-1), torch.sqrt(torch.where(tiny, 1.0, squared)))


def tail_scores(bodies: Tensor, states: Tensor, candidates: Tensor) -> Tensor:  # query candidate
    """Scores of each body against the states of its candidates."""
    scores: Tensor = _TailScores.apply(bodies.flatten(1), states.flatten(1), candidates)
    return scores


def all_tail_scores(bodies: Tensor, states: Tensor) -> Tensor:  # query entity
    """Scores of each body against every entity; for evaluation, without gradient."""
    norms: Tensor = kernels_for(bodies.device).all_norms(bodies.flatten(1), states.flatten(1))
    return -norms


def head_scores(
    matrices: Tensor, relations: Tensor, states: Tensor, candidates: Tensor, targets: Tensor
) -> Tensor:  # query candidate
    """Scores of the candidates as heads: B_r Z_c against the target of each query."""
    way = _HeadScoresOnGpu if fit_a_gpu(states) else _HeadScores
    scores: Tensor = way.apply(matrices, relations, states, candidates, targets)
    return scores


class _TailScores(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, bodies: Tensor, states: Tensor, candidates: Tensor) -> Tensor:
        norms: Tensor = kernels_for(bodies.device).norms(bodies, states, candidates)
        ctx.save_for_backward(bodies, states, candidates, norms)
        return -norms

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None]:
        bodies, states, candidates, norms = ctx.saved_tensors
        weights = _over(gradient, norms)
        of_bodies, of_states = kernels_for(bodies.device).pulls(bodies, states, candidates, weights)
        return -of_bodies, of_states, None


class _HeadScores(torch.autograd.Function):
    """Queries of one relation share their bodies, which are made for some queries at a time.

    They are compared the other way round than tails are: ReLU(x - z) = ReLU((-z) - (-x)), and -x is the product with
    -B_r. Bodies wait for the backward pass where they are few, and are made again where they are many.
    """

    @staticmethod
    def forward(
        ctx: Any, matrices: Tensor, relations: Tensor, states: Tensor, candidates: Tensor, targets: Tensor
    ) -> Tensor:
        negated, turned = -matrices, -targets.flatten(1)
        norms = torch.empty(candidates.shape, device=states.device)
        ctx.chunks = _chunks(relations, candidates, states)
        kept = sum(len(chunk.rows) for chunk in ctx.chunks) * states[0].numel() <= _KEPT_NUMBERS
        ctx.bodies = []
        for chunk in ctx.chunks:
            bodies = chunk.bodies(negated, states)
            norms[chunk.queries] = kernels_for(states.device).norms(
                turned[chunk.queries], bodies.flatten(1), chunk.places
            )
            ctx.bodies.append(bodies if kept else None)
        ctx.save_for_backward(negated, states, turned, norms)
        return -norms

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, Tensor, None, Tensor]:
        negated, states, turned, norms = ctx.saved_tensors
        kernels, weights = kernels_for(states.device), _over(gradient, norms)
        to_matrices, to_states = torch.zeros_like(negated), torch.zeros_like(states)
        to_targets = torch.empty_like(turned)
        for chunk, kept in zip(ctx.chunks, ctx.bodies, strict=True):
            bodies = chunk.bodies(negated, states) if kept is None else kept
            to_targets[chunk.queries], found = kernels.product_pulls(
                turned[chunk.queries],
                bodies.flatten(1),
                chunk.places,
                weights[chunk.queries],
                negated,
                chunk.relations,
                states,
                chunk.rows,
                to_states=to_states,
            )
            to_matrices -= found
        return to_matrices, None, to_states, None, to_targets.view(-1, *states.shape[1:])


class _HeadScoresOnGpu(torch.autograd.Function):
    """Nothing is shared between queries: finding out what could be takes a GPU longer than it saves."""

    @staticmethod
    def forward(
        ctx: Any, matrices: Tensor, relations: Tensor, states: Tensor, candidates: Tensor, targets: Tensor
    ) -> Tensor:
        from reshuffle.model.kernels.gpu_heads import head_norms  # noqa: PLC0415 - Triton exists only beside GPUs

        targets = targets.contiguous()
        norms = head_norms(matrices, relations, states, candidates, targets)
        ctx.save_for_backward(matrices, relations, states, candidates, targets, norms)
        return -norms

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, Tensor, None, Tensor]:
        from reshuffle.model.kernels.gpu_heads import head_pulls  # noqa: PLC0415

        matrices, relations, states, candidates, targets, norms = ctx.saved_tensors
        to_matrices, to_states, to_targets = head_pulls(
            matrices, relations, states, candidates, targets, -_over(gradient, norms)
        )
        return to_matrices, None, to_states, None, -to_targets


@dataclass(frozen=True)
class _Chunk:
    """Some queries, the distinct (relation, row) among their candidates, and which of them each query has."""

    queries: Tensor
    relations: Tensor  # distinct pair
    rows: Tensor  # distinct pair, sorted
    places: Tensor  # query candidate

    def bodies(self, matrices: Tensor, states: Tensor) -> Tensor:  # distinct pair, slot, channel
        found: Tensor = kernels_for(states.device).products(matrices, self.relations, states, self.rows)
        return found


def _chunks(relations: Tensor, candidates: Tensor, states: Tensor) -> list[_Chunk]:
    """Queries of one relation together, few enough at a time that their bodies nearly fit the cache of a CPU."""
    per_query = max(1, candidates.shape[1] * states[0].numel())
    count, chunks = int(relations.max()) + 1 if len(relations) else 1, []
    for queries in torch.argsort(relations, stable=True).split(max(1, _NUMBERS // per_query)):
        keys = candidates[queries] * count + relations[queries, None]
        pairs, places = torch.unique(keys, return_inverse=True)
        chunks.append(_Chunk(queries, pairs % count, pairs // count, places))
    return chunks


def _over(gradient: Tensor, norms: Tensor) -> Tensor:
    """gradient / norm, and 0 where the norm is 0."""
    return torch.where(norms > 0, gradient / norms.clamp(min=torch.finfo(norms.dtype).tiny), 0.0)


_LEAST = 1e-12


@dataclass(frozen=True)
class Calibration:
    """confidence = sigmoid(slope x + intercept), where x is the log-odds of a candidate's share of the question.

    The share is the softmax of the scores over the candidates that are not known to be true.
    """

    slope: float
    intercept: float

    def confidences(
        self, scores: NDArray[np.floating[Any]], known: NDArray[np.bool_]
    ) -> NDArray[np.float64]:  # query candidate
        """Of every candidate of each question; those that are known have none (nan)."""
        return 1 / (1 + np.exp(-(self.slope * log_odds(scores, known) + self.intercept)))


def log_odds(
    scores: NDArray[np.floating[Any]], known: NDArray[np.bool_]
) -> NDArray[np.float64]:  # query candidate
    """log p / (1 - p) of the shares p among the candidates that are not known; nan for those that are."""
    unknown = np.where(known, -np.inf, scores.astype(np.float64))
    highest = unknown.max(axis=-1, keepdims=True, initial=-np.finfo(np.float64).max)
    parts = np.exp(unknown - highest)
    total = parts.sum(axis=-1, keepdims=True)
    odds = np.log(np.maximum(parts, _LEAST)) - np.log(np.maximum(total - parts, _LEAST))
    return np.where(known, np.nan, odds)
