"""Rules that a user gives a model: a block of 0/1 matrices of their own, beside the learned ones.

Captured is a conjunction over slots, so a learned row in the same matrix could break a given rule. The two blocks are
scored apart, and a triple is captured when either of them captures it.

The frozen block captures exactly what the rules entail. Its constraints name the (start, exit) slots that decide each
relation, and a channel belongs to one query and one such pair: 1 in slot `start` of the head alone. All values are 0
or 1, so a layer is a step of a search over the nodes (entity, slot), and layers are added until nothing changes: no
number of layers can cut a derivation short. For (?, r, t) the search runs backwards, from slot `exit` of t.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from reshuffle.constraints import UNCONSTRAINED
from reshuffle.errors import ReshuffleError
from reshuffle.kg import inverse_name
from reshuffle.kg.rows import Rows, starts_of
from reshuffle.kg.vocabulary import base_relation
from reshuffle.model.propagation import runs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from reshuffle.constraints import OrderingConstraints

_START = 4.0  # the weight that a relation's rules start with; where nothing is learned about it, it stays
_LEVEL = math.log(math.expm1(_START))  # softplus of it is the start
_LIGHTEST = 1e-4
_MOST_NODES = 1 << 27  # (channel, entity, slot) that are searched at a time


@dataclass(frozen=True)
class Steps:
    """Where the search goes from each node entity * slots + slot, and which triple allows it."""

    starts: Tensor  # node + 1
    targets: Tensor  # step
    triples: Tensor  # step: position of the triple; the number of triples for identities, which nothing hides

    @classmethod
    def build(
        cls,
        sources: NDArray[np.int64],
        targets: NDArray[np.int64],
        triples: NDArray[np.int64],
        *,
        num_nodes: int,
        device: torch.device,
    ) -> Steps:
        """From the steps in any order."""
        by_source = Rows.positions(sources, num_rows=num_nodes)
        columns = (by_source.starts, targets[by_source.values], triples[by_source.values])
        return cls(*(torch.from_numpy(column.astype(np.int64)).to(device) for column in columns))

    def reached(self, nodes: Tensor, gone: Tensor | None) -> Tensor:  # channel node
        """All nodes that are reached from the one of each channel; `gone` says which triples are not there."""
        width = len(self.starts) - 1
        seen = torch.zeros(len(nodes) * width, dtype=torch.bool, device=nodes.device)
        front = torch.arange(len(nodes), device=nodes.device) * width + nodes
        while len(front):
            seen[front] = True
            following = self._after(front, width, gone)
            front = torch.unique(following[~seen[following]])
        return seen.view(len(nodes), width)

    def _after(self, front: Tensor, width: int, gone: Tensor | None) -> Tensor:
        node = front % width
        owners, places = runs(self.starts[node], self.starts[node + 1] - self.starts[node])
        following = (front - node)[owners] + self.targets[places]
        return following if gone is None else following[~gone[self.triples[places]]]


@dataclass(frozen=True)
class InjectedGraph:
    """A graph as the frozen block sees it."""

    num_entities: int
    num_triples: int
    forwards: Steps
    backwards: Steps

    def gone(self, hidden: Tensor | None) -> Tensor | None:
        """Which triples are hidden, given their positions."""
        if hidden is None:
            return None
        gone = torch.zeros(self.num_triples + 1, dtype=torch.bool, device=hidden.device)
        gone[hidden] = True
        return gone


class InjectedBlock(nn.Module):
    """The constraints of injected rules, and how much they count for each relation that is asked for (r, then r^-1)."""

    pair_starts: Tensor  # relation + 1: where its (start, exit) pairs begin
    pairs: Tensor  # pair (start exit)

    def __init__(self, constraints: OrderingConstraints, relations: Sequence[str]) -> None:
        """`relations` are the model's, inverses not among them."""
        super().__init__()
        if constraints.rules is None:
            raise ReshuffleError(
                "constraints without their rules cannot be injected", hint="compile the rules"
            )
        self.constraints, self.relations = constraints, tuple(relations)
        self.derived = frozenset(base_relation(rule.head) for rule in constraints.rules)
        decisive = [
            constraints.decisive_slots(relation) if relation in self.derived else () for relation in relations
        ]
        starts = starts_of([len(pairs) for pairs in decisive])
        pairs = np.array([pair for pairs in decisive for pair in pairs], dtype=np.int64).reshape(-1, 2)
        self.register_buffer("pair_starts", torch.from_numpy(starts), persistent=False)
        self.register_buffer("pairs", torch.from_numpy(pairs), persistent=False)
        self.logits = nn.Parameter(torch.full((2 * len(self.relations),), _LEVEL))

    def weights(self) -> Tensor:  # relation
        """Strictly positive, so that 0 still means captured."""
        return softplus(self.logits) + _LIGHTEST

    def penalty(self, examples: Tensor | None = None) -> Tensor:
        """How far the weights have moved: few facts should not talk a model out of the rules that it was given.

        With the number of examples [relation], many facts may.
        """
        squares = (self.logits - _LEVEL).square()
        return (squares if examples is None else squares / (1 + examples)).sum()

    def speaks_of(self, relation: int) -> bool:
        """Does some rule derive the relation, or the one whose inverse it is?"""
        return self.relations[relation % len(self.relations)] in self.derived

    def parts(
        self, heads: Tensor, relations: Tensor, graph: InjectedGraph, *, hidden: Tensor | None = None
    ) -> Tensor:  # query entity
        """What the block adds to the score of every entity as the tail of each query: 0 where captured."""
        scores = self.scores(heads, relations, graph, hidden=hidden)
        return self.weights().index_select(0, relations)[:, None] * scores

    @torch.no_grad()
    def scores(
        self, heads: Tensor, relations: Tensor, graph: InjectedGraph, *, hidden: Tensor | None = None
    ) -> Tensor:  # query entity
        """Minus the number of deciding slots that nothing arrives in; 0 throughout where no rule derives r."""
        base, backwards = relations % len(self.relations), relations >= len(self.relations)
        query, pair = runs(self.pair_starts[base], self.pair_starts[base + 1] - self.pair_starts[base])
        gone = graph.gone(hidden)
        scores = torch.zeros(len(heads), graph.num_entities, device=heads.device)
        directions = (
            (graph.forwards, self.pairs, ~backwards),
            (graph.backwards, self.pairs.flip(1), backwards),
        )
        for steps, pairs, asked in directions:
            chosen = asked[query].nonzero().flatten()
            if not len(chosen):
                continue
            for some in chosen.split(max(1, _MOST_NODES // max(1, len(steps.starts)))):
                arrived = self._arrived(steps, heads[query[some]], pairs[pair[some]], gone)
                scores.index_add_(0, query[some], arrived.float() - 1)
        return scores

    def _arrived(
        self, steps: Steps, entities: Tensor, pairs: Tensor, gone: Tensor | None
    ) -> Tensor:  # channel entity
        slots, (begin, end) = self.constraints.num_slots, pairs.unbind(1)
        seen: Tensor = steps.reached(entities * slots + begin, gone).unflatten(1, (-1, slots))
        return seen.gather(2, end[:, None, None].expand(-1, seen.shape[1], 1)).squeeze(2)

    def graph_of(
        self, triples: NDArray[np.int64], *, num_entities: int, device: torch.device
    ) -> InjectedGraph:
        """A graph as the block needs it, from triples of ids."""
        sources, targets, owners = (
            np.concatenate(column) for column in zip(*self._steps(triples, num_entities), strict=True)
        )
        num_nodes = num_entities * self.constraints.num_slots
        return InjectedGraph(
            num_entities,
            len(triples),
            Steps.build(sources, targets, owners, num_nodes=num_nodes, device=device),
            Steps.build(targets, sources, owners, num_nodes=num_nodes, device=device),
        )

    def _steps(
        self, triples: NDArray[np.int64], num_entities: int
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
        """Z_f[i] gets Z_e[sources[r, i]]: for each fact, its inverse where the constraints have it, and identities."""
        nothing = np.zeros(0, dtype=np.int64)
        yield nothing, nothing, nothing
        constraints, (heads, numbers, tails) = self.constraints, triples.reshape(-1, 3).T
        for number, relation in enumerate(self.relations):
            rows = np.flatnonzero(numbers == number)
            if relation in constraints.relation_ids:
                yield self._moves(relation, heads[rows], tails[rows], rows)
            if inverse_name(relation) in constraints.relation_ids:
                yield self._moves(inverse_name(relation), tails[rows], heads[rows], rows)
        everyone = np.arange(num_entities)
        for identity in sorted(constraints.identities):
            yield self._moves(identity, everyone, everyone, np.full(num_entities, len(triples)))

    def _moves(
        self, relation: str, heads: NDArray[np.int64], tails: NDArray[np.int64], owners: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        sources = self.constraints.source_of(relation)
        exits = np.flatnonzero(sources != UNCONSTRAINED)
        slots = self.constraints.num_slots
        return (
            (heads[:, None] * slots + sources[exits]).ravel().astype(np.int64),
            (tails[:, None] * slots + exits).ravel().astype(np.int64),
            np.repeat(owners, len(exits)).astype(np.int64),
        )
