"""The walks by which a head reaches a tail, and how much of what is met at the tail each brings.

In the channel of head h, slot i of t holds z_i, and relation r asks for b_i with weight w_i. What is met is
sum_i w_i min(b_i, z_i). A walk r1;...;rn from h to t brings the vector v = B_rn ... B_r1 1 <= z by itself, and gets

    support = sum_i w_i min(1, b_i / z_i) v_i,

its part of what is met. That is linear in v, so walks can be searched from the tail backwards: g = w min(1, b / z) is
pulled through the matrices of the steps, and g · Z_e bounds all walks that come through e, where Z_e are the states
of the layers that are left. A fixed number of the best beginnings is kept per step, so the time is bounded, too.

Models with other channels than the head's compare slot by slot where a value started: there a walk with the product
M = B_rn ... B_r1 gets sum_ij w_i min(B_r, M)_ij, and the walks are those that the search above has found.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reshuffle.model.kernels import walks as kernel

if TYPE_CHECKING:
    from collections.abc import Iterator

    import torch
    from numpy.typing import NDArray

    from reshuffle.model.evidence import EvidenceGraph

    Numbers = NDArray[np.int64]
    Values = NDArray[np.float32]

_KEPT = 64  # beginnings per step
_POOL = 8  # times as many walks are looked at where the search is not by what they get


@dataclass(frozen=True)
class Walk:
    """From the head to the tail: relations as the model numbers them, without identities, and who is passed."""

    relations: tuple[int, ...]
    entities: tuple[int, ...]  # one more
    support: float


class _Trail(NamedTuple):
    """An end of a walk: every step, identities too, and who is passed."""

    labels: tuple[int, ...]
    entities: tuple[int, ...]


@dataclass(frozen=True)
class Walks:
    """The walks of one question, best first, and what is met of what is asked."""

    found: tuple[Walk, ...]
    met: float
    asked: float


@dataclass(frozen=True)
class Asked:
    """What a relation asks of its tails, and how much each slot counts."""

    bodies: Values  # slot
    weights: Values  # slot
    matrix: Values | None = None  # slot slot: B_r, where it matters in which slot of the head a value started


class WalkGraph:
    """A graph and matrices as plain arrays on the CPU."""

    def __init__(
        self, graph: EvidenceGraph, matrices: torch.Tensor, *, num_layers: int, num_identities: int
    ) -> None:
        arrays = (graph.starts, graph.relations, graph.tails, graph.edges, matrices)
        self._starts, self._relations, self._tails, self._edges, self._matrices = (
            np.ascontiguousarray(array.cpu().numpy()) for array in arrays
        )
        self._turned = np.ascontiguousarray(self._matrices.transpose(0, 2, 1))
        self._num_layers, self._num_identities = num_layers, num_identities

    def steps(self, start: int, most: int) -> Numbers:  # entity
        """In how many steps everyone is reached; most + 1 where it takes more."""
        return kernel.steps_from(start, self._starts, self._tails, most)

    def between(self, head: int, tail: int, asked: Asked, *, most: int, hidden: int | None = None) -> Walks:
        """Up to `most` walks that bring the most, no two along the same edges, as if one triple were not there."""
        gone = -1 if hidden is None else hidden
        left = kernel.steps_from(tail, self._starts, self._tails, self._num_layers)
        layers = kernel.layers_between(
            head,
            left,
            self._starts,
            self._relations,
            self._tails,
            self._edges,
            self._matrices,
            self._num_identities,
            self._num_layers,
            gone,
        )
        bodies = np.maximum(asked.bodies, 0)
        reached = layers[-1, tail]
        share = np.divide(bodies, reached, out=np.zeros_like(reached), where=reached > 0)
        pull = (asked.weights * np.minimum(1, share)).astype(np.float32)
        pool = most if asked.matrix is None else _POOL * most
        by_slot = asked.matrix is not None
        searched = self._search(head, tail, layers, pull, gone, pool, by_slot=by_slot)
        trails = sorted(searched, key=lambda found: (-found[1], found[0]))
        if asked.matrix is None:
            met = float((asked.weights * np.minimum(bodies, reached)).sum())
            return Walks(self._best(trails, most), met, float((asked.weights * bodies).sum()))
        return self._entrywise(trails, asked.matrix, asked.weights, most)

    def _best(self, trails: list[tuple[_Trail, float]], most: int) -> tuple[Walk, ...]:
        """Without those that differ in identities alone."""
        best: dict[tuple[tuple[int, ...], tuple[int, ...]], float] = {}
        for trail, support in trails:
            real = [label < len(self._matrices) - self._num_identities for label in trail.labels]
            relations = tuple(label for label, is_real in zip(trail.labels, real, strict=True) if is_real)
            passed = tuple(
                entity for entity, is_real in zip(trail.entities, [*real, True], strict=True) if is_real
            )
            best[relations, passed] = max(support, best.get((relations, passed), 0.0))
        ordered = sorted(best.items(), key=lambda item: (-item[1], len(item[0][0]), item[0]))
        return tuple(Walk(*key, support) for key, support in ordered if key[0] and support > 0)[:most]

    def _entrywise(
        self, trails: list[tuple[_Trail, float]], matrix: Values, weights: Values, most: int
    ) -> Walks:
        met, graded = np.zeros_like(matrix), []
        for trail, _ in trails:
            product = self._matrices[trail.labels[0]]
            for label in trail.labels[1:]:
                product = self._matrices[label] @ product
            both = np.minimum(matrix, product)
            met = np.maximum(met, both)
            graded.append((trail, float((weights[:, None] * both).sum())))
        asked = float((weights[:, None] * matrix).sum())
        return Walks(self._best(graded, most), float((weights[:, None] * met).sum()), asked)

    def _search(
        self, head: int, tail: int, layers: Values, pull: Values, hidden: int, most: int, *, by_slot: bool
    ) -> Iterator[tuple[_Trail, float]]:
        """Step by step backwards. Coming back to the head brings nothing where all its slots are alike."""
        if head == tail and not by_slot:
            return
        entities, pulls, trails = np.array([tail]), pull[None], [_Trail((), (tail,))]
        done: list[float] = []
        for layer in reversed(layers[:-1]):
            parents, labels, found, bounds = kernel.steps_back(
                entities,
                pulls,
                layer,
                self._starts,
                self._relations,
                self._tails,
                self._edges,
                self._turned,
                self._num_identities,
                hidden,
            )
            for place in np.flatnonzero(found == head):
                support = float((pulls[parents[place]] @ self._matrices[labels[place]]).sum())
                done.append(support)
                yield _longer(trails[parents[place]], labels[place], head), support
            enough = len(done) >= most and not by_slot
            least = sorted(done, reverse=True)[most - 1] if enough else 0.0
            kept = np.flatnonzero((bounds > least) & ((found != head) | by_slot))
            kept = kept[np.argsort(-bounds[kept], kind="stable")[: max(_KEPT, most)]]
            if not len(kept):
                return
            trails = [_longer(trails[parents[place]], labels[place], found[place]) for place in kept]
            pulls = np.einsum("ki,kij->kj", pulls[parents[kept]], self._matrices[labels[kept]])
            entities = found[kept]


def _longer(trail: _Trail, label: int, entity: int) -> _Trail:
    """One step more at the front."""
    return _Trail((int(label), *trail.labels), (int(entity), *trail.entities))
