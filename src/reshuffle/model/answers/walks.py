"""The walks by which a head reaches a tail, and how much of what is met at the tail each brings.

In the channel of head h, slot i of t holds z_i, and relation r asks for b_i with weight w_i. What is met is
sum_i w_i min(b_i, z_i). A walk r1;...;rn from h to t brings the vector v = B_rn ... B_r1 1 <= z by itself, and gets

    support = sum_i w_i min(1, b_i / z_i) v_i,

its part of what is met. That is linear in v, so walks can be searched from the tail backwards: g = w min(1, b / z) is
pulled through the matrices of the steps, and g · Z_e bounds all walks that come through e, where Z_e are the states
of the layers that are left. A fixed number of the best beginnings is kept per step, so the time is bounded, too.

Models with other channels than the head's compare slot by slot where a value started: there a walk with the product
M = B_rn ... B_r1 gets sum_ij w_i min(B_r, M)_ij, and the walks are those that the search above has found. So it is done
from an entity to itself as well, where the channel of the head has everything from the start.

A walk that takes an edge and at once goes back over it says little to a reader. So the search goes without such returns
first, and once more with them where that leaves out most of what is met in some slot.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reshuffle.model.evidence.evidence_graph import steps_from
from reshuffle.model.kernels import walks as kernel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import torch
    from numpy.typing import NDArray

    from reshuffle.model.evidence.evidence_graph import EvidenceGraph

    Numbers = NDArray[np.int64]
    Values = NDArray[np.float32]

_KEPT = 64  # beginnings per step
_POOL = 8  # times as many walks are looked at where the search is not by what they get
_FIRST = 16  # walks are looked at where it is, and some return
_LITTLE = 1 / 200  # of all that is met: no walk returns for a slot that is worth less


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


class _Search(NamedTuple):
    """What is looked for: ways from a head, the better the more they bring to slots that `pull` says the worth of."""

    head: int
    layers: Values  # layer entity slot
    pull: Values  # slot
    hidden: int
    most: int
    by_slot: bool

    @property
    def room(self) -> int:
        """How many beginnings are kept."""
        return max(_KEPT, self.most * (_POOL if self.by_slot else 1))

    def enough(self, *, returning: bool) -> int:
        """How many walks are looked at, where the search is by what they get."""
        return max(_FIRST, self.most) if returning else self.most


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

    def between(self, head: int, tail: int, asked: Asked, *, most: int, hidden: int = -1) -> Walks:
        """Up to `most` walks that bring the most, no two along the same edges, as if one triple were not there."""
        begun = np.ones(len(asked.bodies), dtype=np.float32)
        layers = self._layers(head, begun, self._left(tail), hidden)
        reached, bodies = layers[-1, tail], np.maximum(asked.bodies, 0)
        share = np.divide(bodies, reached, out=np.zeros_like(reached), where=reached > 0)
        pull = (asked.weights * np.minimum(1, share)).astype(np.float32)
        search = _Search(head, layers, pull, hidden, most, by_slot=asked.matrix is not None)
        if asked.matrix is not None:
            return self._entrywise(search, tail, asked.matrix, asked.weights[:, None])
        wanted = pull * reached
        graded, _ = self._graded(search, tail, begun, wanted, lambda brought: pull * brought)
        asked_for = float((asked.weights * bodies).sum())
        return Walks(self._best(graded, most), float(wanted.sum()), asked_for)

    def _entrywise(self, search: _Search, tail: int, matrix: Values, weights: Values) -> Walks:
        def worth(brought: Values) -> Values:
            return weights * np.minimum(matrix, brought)

        own, wanted = np.eye(len(matrix), dtype=np.float32), weights * matrix
        graded, met = self._graded(search, tail, own, wanted, worth)
        if search.head == tail:  # who stays there brings what it has
            met = np.maximum(met, worth(own))
        return Walks(self._best(graded, search.most), float(met.sum()), float(wanted.sum()))

    def follows(self, head: int, tail: int, asked: Values) -> bool:
        """Does every value that `asked` [slot of the tail, slot of the head] names arrive, exactly?

        Each slot of the head has a channel of its own, so that nothing is confused. That is B_r <= Z_t in the channels
        of h; a score of 0 there, B_r Z_h <= Z_t, also asks for what comes back to h in the last layers and would need
        further ones to go on to t. A relation that asks for nothing entails nothing: it would hold for all pairs.
        """
        left = self._left(tail)
        slots = np.flatnonzero((asked > 0).any(axis=0))
        hardest_first = slots[np.argsort(-asked[:, slots].max(axis=0), kind="stable")]
        own = np.eye(len(asked), dtype=np.float32)
        return bool(len(slots)) and all(
            (asked[:, slot] <= self._layers(head, own[slot], left)[-1, tail]).all() for slot in hardest_first
        )

    def _left(self, tail: int) -> Numbers:  # entity
        return steps_from(tail, self._starts, self._tails, self._num_layers)

    def _layers(
        self, head: int, begun: Values, left: Numbers, hidden: int = -1
    ) -> Values:  # layer entity slot
        layers: Values = kernel.layers_between(
            head,
            begun,
            left,
            self._starts,
            self._relations,
            self._tails,
            self._edges,
            self._matrices,
            self._num_identities,
            self._num_layers,
            hidden,
        )
        return layers

    def _graded(
        self,
        search: _Search,
        tail: int,
        begun: Values,
        wanted: Values,
        worth: Callable[[Values], Values],
    ) -> tuple[list[tuple[_Trail, float]], Values]:
        """The walks and what each gets, and the most that is got in each slot."""
        needed = np.maximum(wanted / 2, _LITTLE * wanted.sum())
        graded, met = [], np.zeros_like(wanted)
        for returning in (False, True):
            if returning and not (wanted - met > needed).any():
                break
            for trail in self._trails(search, tail, returning=returning):
                got = worth(
                    reduce(lambda brought, label: self._matrices[label] @ brought, trail.labels, begun)
                )
                if not returning or (got - met > needed).any():
                    graded.append((trail, float(got.sum())))
                    met = np.maximum(met, got)
        return graded, met

    def _best(self, trails: list[tuple[_Trail, float]], most: int) -> tuple[Walk, ...]:
        """Without those that differ in identities alone."""
        best: dict[tuple[tuple[int, ...], tuple[int, ...]], float] = {}
        for trail, support in trails:
            steps = list(self._steps(trail))
            relations = tuple(label for _, label, _ in steps)
            passed = (*(start for start, _, _ in steps), trail.entities[-1])
            best[relations, passed] = max(support, best.get((relations, passed), 0.0))
        ordered = sorted(best.items(), key=lambda item: (-item[1], len(item[0][0]), item[0]))
        return tuple(Walk(*key, support) for key, support in ordered if key[0] and support > 0)[:most]

    def _trails(self, search: _Search, tail: int, *, returning: bool) -> list[_Trail]:
        """Step by step backwards, the best first, but those that return last.

        Coming back to the head brings nothing where its slots are alike.
        """
        entities, pulls, trails = np.array([tail]), search.pull[None], [_Trail((), (tail,))]
        done: list[tuple[float, _Trail]] = []
        enough = None if search.by_slot else search.enough(returning=returning)
        for layer in reversed(search.layers[:-1]):
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
                search.hidden,
            )
            back = self._ways_back(trails)[parents]
            allowed = returning | (found != back[:, 0]) | (labels != back[:, 1])
            for place in np.flatnonzero((found == search.head) & allowed):
                support = float((pulls[parents[place]] @ self._matrices[labels[place]]).sum())
                done.append((-support, _longer(trails[parents[place]], labels[place], search.head)))
            least = -sorted(done)[enough - 1][0] if enough and len(done) >= enough else 0.0
            kept = np.flatnonzero(allowed & (bounds > least) & ((found != search.head) | search.by_slot))
            kept = kept[np.argsort(-bounds[kept], kind="stable")[: search.room]]
            if not len(kept):
                break
            trails = [_longer(trails[parents[place]], labels[place], found[place]) for place in kept]
            pulls = np.einsum("ki,kij->kj", pulls[parents[kept]], self._matrices[labels[kept]])
            entities = found[kept]
        return sorted((trail for _, trail in sorted(done)[:enough]), key=self._returns)

    def _ways_back(self, trails: list[_Trail]) -> Numbers:  # trail (entity label)
        """For each trail the step that would undo its first one, identities left aside; -1 where it has none."""
        steps = [next(self._steps(trail), (-1, -1, -1)) for trail in trails]
        return np.array([(end, self._turned_label(label)) for _, label, end in steps])

    def _returns(self, trail: _Trail) -> bool:
        """Is some step undone by the next, identities left aside?"""
        steps = itertools.pairwise(self._steps(trail))
        return any((end, self._turned_label(label), start) == after for (start, label, end), after in steps)

    def _steps(self, trail: _Trail) -> Iterator[tuple[int, int, int]]:
        """Start, label and end of each, without identities."""
        identities = len(self._matrices) - self._num_identities
        steps = zip(trail.entities, trail.labels, trail.entities[1:], strict=False)
        return (step for step in steps if step[1] < identities)

    def _turned_label(self, label: int) -> int:
        """Of the inverse; -1 of none."""
        count = (len(self._matrices) - self._num_identities) // 2
        return label if label < 0 else (label + count) % (2 * count)


def _longer(trail: _Trail, label: int, entity: int) -> _Trail:
    """One step more at the front."""
    return _Trail((int(label), *trail.labels), (int(entity), *trail.entities))
