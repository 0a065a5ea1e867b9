"""Find the walks from a head to a tail, and how much of the score each contributes.

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
import torch

from reshuffle.compiled import compiled
from reshuffle.model.channels.private import private_scores
from reshuffle.model.channels.query import positive_weights

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from reshuffle.model.propagation import ModelGraph
    from reshuffle.model.reshuffle import ReshuffleModel

    Numbers = NDArray[np.int64]
    Values = NDArray[np.float32]

_SUMS = {"reassoc", "contract", "nsz", "arcp"}  # sums in any order; NaN and infinity stay what they are
_KEPT = 64  # beginnings per step
_POOL = 8  # times as many walks are looked at where the search is not by what they get
_FIRST = 16  # walks are looked at where it is, and some return
_LITTLE = 1 / 200  # of all that is met: no walk returns for a slot that is worth less


@dataclass(frozen=True)
class Walk:
    """From the head to the tail: relations as the model numbers them, without identities, and the entities passed."""

    relations: tuple[int, ...]
    entities: tuple[int, ...]  # one more
    support: float


class _Trail(NamedTuple):
    """An end of a walk: every step, identities too, and the entities passed."""

    labels: tuple[int, ...]
    entities: tuple[int, ...]


@dataclass(frozen=True)
class Walks:
    """The walks of one question, best first, and what is met of what is asked."""

    found: tuple[Walk, ...]
    met: float
    asked: float

    @property
    def share_met(self) -> float:
        """The share of what is asked for that is met."""
        return self.met / self.asked if self.asked else 0.0


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
class _Asked:
    """What a relation asks of its tails, and how much each slot counts."""

    bodies: Values  # slot
    weights: Values  # slot
    matrix: Values | None = None  # slot slot: B_r, where it matters in which slot of the head a value started


class _Edges(NamedTuple):
    """The edges by head, each in both directions: those that arrive at an entity are those that leave it, turned."""

    starts: Numbers  # entity + 1
    relations: Numbers  # place
    tails: Numbers  # place
    numbers: Numbers  # place: the edge's number; a fact and its inverse are `half` apart


class WalkGraph:
    """A model on a graph as plain arrays on the CPU; with `by_slot` it matters in which slot a value began."""

    def __init__(self, graph: ModelGraph, matrices: torch.Tensor, *, by_slot: bool) -> None:
        facts = graph.facts
        arrays = (facts.starts, facts.relations, facts.tails, facts.edges)
        self._graph = _Edges(*(np.ascontiguousarray(array.cpu().numpy()) for array in arrays))
        self._device_matrices, self._tensors, self._by_slot = matrices, graph, by_slot
        self._matrices: Values = np.ascontiguousarray(matrices.cpu().numpy())
        self._turned = np.ascontiguousarray(self._matrices.transpose(0, 2, 1))
        self._num_layers = graph.model.architecture.num_layers
        self._num_identities = graph.model.num_identities
        self.hard = bool(((self._matrices == 0) | (self._matrices == 1)).all())
        """Are all matrices hard, so that nothing is met by halves?"""

    def between(self, ends: tuple[int, int], relation: int, *, backwards: bool, most: int) -> Walks:
        """The best walks between the ends of a triple, as if it were no fact; backwards they start at the tail."""
        same = (self._tensors.triples == np.array((ends[0], relation, ends[1]))).all(axis=1)
        hidden = int(same.argmax()) if same.any() else -1
        # Hard matrices meet a slot or do not, and at the head itself its channel has all slots from the start.
        by_slot = self._by_slot or self.hard or ends[0] == ends[1]
        number = relation + self._tensors.model.num_relations if backwards else relation
        start, end = ends[::-1] if backwards else ends
        asked = _asked(self._tensors.model, self._device_matrices[number], number, by_slot=by_slot)
        return self._between(start, end, asked, most=most, hidden=hidden)

    def follows(self, ends: tuple[int, int], relation: int, *, backwards: bool) -> bool:
        """Do the constraints entail the triple in as many steps as there are layers, whichever channels score it?

        Of hard matrices that is all. With soft ones several walks may share in one slot, and what each brings cannot be
        added up; there the private channels of the head have to capture the triple, too.
        """
        model = self._tensors.model
        number = relation + model.num_relations if backwards else relation
        start, end = ends[::-1] if backwards else ends
        matrix = self._device_matrices[number]
        asked = matrix if model.bias is None else matrix + model.bias[number].detach()[:, None]
        arrives = self._arrives(start, end, asked.cpu().numpy())
        return arrives and (self.hard or self._captured_privately(start, number, end))

    def _captured_privately(self, start: int, number: int, end: int) -> bool:
        head, relation, tail = torch.tensor([[start], [number], [end]], device=self._device_matrices.device)
        return bool(private_scores(self._tensors, self._device_matrices, head, relation, tail[None]) == 0)

    def _between(self, head: int, tail: int, asked: _Asked, *, most: int, hidden: int) -> Walks:
        """Up to `most` walks that bring the most, no two along the same edges, as if `hidden` were no fact."""
        begun = np.ones(len(asked.bodies), dtype=np.float32)
        layers = self._layers(
            head, begun, _steps_from(tail, self._graph.starts, self._graph.tails, self._num_layers), hidden
        )
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

    def _arrives(self, head: int, tail: int, asked: Values) -> bool:
        """Does every value that `asked` [slot of the tail, slot of the head] names arrive, exactly?

        Each slot of the head has a channel of its own, so that nothing is confused. That is B_r <= Z_t in the channels
        of h; a score of 0 there, B_r Z_h <= Z_t, also asks for what comes back to h in the last layers and would need
        further ones to go on to t. A relation that asks for nothing entails nothing: it would hold for all pairs.
        """
        left = _steps_from(tail, self._graph.starts, self._graph.tails, self._num_layers)
        slots = np.flatnonzero((asked > 0).any(axis=0))
        hardest_first = slots[np.argsort(-asked[:, slots].max(axis=0), kind="stable")]
        own = np.eye(len(asked), dtype=np.float32)
        return bool(len(slots)) and all(
            (asked[:, slot] <= self._layers(head, own[slot], left)[-1, tail]).all() for slot in hardest_first
        )

    def _layers(
        self, head: int, begun: Values, left: Numbers, hidden: int = -1
    ) -> Values:  # layer entity slot
        layers: Values = _layers_between(
            head, begun, left, self._graph, self._matrices, self._num_identities, self._num_layers, hidden
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
            parents, labels, found, bounds = _steps_back(
                entities, pulls, layer, self._graph, self._turned, self._num_identities, search.hidden
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


@torch.no_grad()
def _asked(model: ReshuffleModel, matrix: torch.Tensor, relation: int, *, by_slot: bool) -> _Asked:
    """What a relation with this matrix asks for."""
    bodies, weights = matrix.sum(1), matrix.new_ones(len(matrix))
    if model.bias is not None:
        bodies = bodies + model.bias[relation]
    if model.slot_logits is not None:
        weights = positive_weights(model.slot_logits)[relation]
    bodies, weights, matrix = (tensor.cpu() for tensor in (bodies, weights, matrix))
    return _Asked(bodies.numpy(), weights.numpy(), matrix.numpy() if by_slot else None)


@compiled
def _steps_from(start: int, starts: Numbers, tails: Numbers, most: int) -> Numbers:  # entity
    """In how many steps everyone is reached; most + 1 where it takes more.

    Invariant: the queue holds entities in the order of their steps, each at most once.
    Cost: linear in the edges that leave entities less than `most` steps away.
    """
    found = np.full(len(starts) - 1, most + 1, np.int64)
    queue = np.empty(len(starts) - 1, np.int64)
    queue[0], found[start], first, last = start, 0, 0, 1
    while first < last:
        here = queue[first]
        first += 1
        if found[here] == most:
            break
        for place in range(starts[here], starts[here + 1]):
            if found[tails[place]] > found[here] + 1:
                found[tails[place]] = found[here] + 1
                queue[last] = tails[place]
                last += 1
    return found


@compiled(fastmath=_SUMS)
def _layers_between(  # noqa: PLR0913, PLR0917 - arrays in, arrays out
    head: int,
    begun: Values,
    left: Numbers,
    graph: _Edges,
    matrices: Values,
    num_identities: int,
    num_layers: int,
    hidden: int,
) -> Values:  # layer entity slot
    """Z^(0), ..., Z^(m) in one channel of a head, where it can still matter: `left` is the way to the tail.

    `begun` [slot] is what the head has before the first layer; `hidden` is an edge of the first half to pass over.

    Invariant: after layer l, `changed` are the entities whose states differ from layer l - 1; no other message is sent.
    Cost: per layer the edges of changed entities, times slots^2; so the first layers cost next to nothing.
    """
    starts, relations, tails, edges = graph
    num_entities, num_slots = len(starts) - 1, matrices.shape[1]
    half = len(edges) // 2
    layers = np.zeros((num_layers + 1, num_entities, num_slots), np.float32)
    layers[0, head] = begun
    changed = np.zeros(num_entities, np.bool_)
    changed[head] = True
    message = np.empty(num_slots, np.float32)
    for layer in range(num_layers):
        old, new = layers[layer], layers[layer + 1]
        new[:] = old
        changing = np.zeros(num_entities, np.bool_)
        for entity in range(num_entities):
            if not changed[entity]:
                continue
            made = -1
            for place in range(starts[entity], starts[entity + 1]):
                tail = tails[place]
                if left[tail] > num_layers - layer - 1 or (hidden >= 0 and edges[place] % half == hidden):
                    continue
                if relations[place] != made:
                    made = relations[place]
                    _apply(matrices[made], old[entity], message)
                changing[tail] |= _raise(new[tail], message)
            for identity in range(num_identities):
                _apply(matrices[len(matrices) - num_identities + identity], old[entity], message)
                changing[entity] |= _raise(new[entity], message)
        changed = changing
    return layers


@compiled(fastmath=_SUMS)
def _apply(matrix: Values, vector: Values, result: Values) -> None:
    """result = matrix x vector. Cost: slots^2; nothing is allocated."""
    for row in range(len(result)):
        total = np.float32(0)
        for column in range(len(vector)):
            total += matrix[row, column] * vector[column]
        result[row] = total


@compiled
def _raise(state: Values, message: Values) -> bool:
    """state = max(state, message), and whether that changed something. Cost: slots."""
    higher = False
    for slot in range(len(state)):
        if message[slot] > state[slot]:
            state[slot] = message[slot]
            higher = True
    return higher


@compiled(fastmath=_SUMS)
def _steps_back(
    entities: Numbers,
    pulls: Values,
    reached: Values,
    graph: _Edges,
    turned: Values,
    num_identities: int,
    hidden: int,
) -> tuple[Numbers, Numbers, Numbers, Values]:
    """One step back from each entity: which of them, the relation walked, who is there, and the most it may bring.

    `pulls` [entity, slot] says what a unit in each slot of an entity is worth in the end; `reached` [entity, slot] is
    what could have arrived there; `turned` are the matrices, transposed.

    Invariant: a bound is never less than what any walk through that step brings; steps of bound 0 are left out.
    Cost: the edges of the entities, times slots, and slots^2 for each relation among the edges of an entity.
    """
    starts, relations, tails, edges = graph
    half = len(edges) // 2
    num_relations = (len(turned) - num_identities) // 2
    room = len(entities) * num_identities
    for entity in entities:
        room += starts[entity + 1] - starts[entity]
    parents, labels = np.empty(room, np.int64), np.empty(room, np.int64)
    found, bounds = np.empty(room, np.int64), np.empty(room, np.float32)
    pull = np.empty(pulls.shape[1], np.float32)
    number = 0
    for parent in range(len(entities)):
        entity, made = entities[parent], -1
        for place in range(starts[entity], starts[entity + 1]):
            if hidden >= 0 and edges[place] % half == hidden:
                continue
            label = relations[place]
            if label != made:
                made = label
                label_back = label + num_relations if label < num_relations else label - num_relations
                _apply(turned[label_back], pulls[parent], pull)
            bound = _product(pull, reached[tails[place]])
            if bound > 0:
                parents[number], labels[number] = parent, label_back
                found[number], bounds[number] = tails[place], bound
                number += 1
        for identity in range(2 * num_relations, len(turned)):
            _apply(turned[identity], pulls[parent], pull)
            bound = _product(pull, reached[entity])
            if bound > 0:
                parents[number], labels[number] = parent, identity
                found[number], bounds[number] = entity, bound
                number += 1
    return parents[:number], labels[:number], found[:number], bounds[:number]


@compiled(fastmath=_SUMS)
def _product(one: Values, other: Values) -> np.float32:
    """The scalar product. Cost: slots."""
    total = np.float32(0)
    for place in range(len(one)):
        total += one[place] * other[place]
    return total
