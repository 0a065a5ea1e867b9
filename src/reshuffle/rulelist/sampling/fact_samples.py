"""Which facts the search for rules looks at, and from where it counts the pairs of bodies.

Every relation gets its turn. Of a relation with few facts all are looked at, of one with many a sample, as large as the
budget allows: the number of facts is the same for all large relations. So no length of bodies is left out on a dense
graph, and no small relation goes without rules because a large one used up the budget.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from reshuffle.rulelist.features import Questions
from reshuffle.text import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reshuffle.deadlines import Deadline
    from reshuffle.rulelist.features import FeatureGraph

_REACH_PER_SECOND, _LARGEST_REACH = 10, 4_000
_SHORT = 2  # atoms of a body
_STEPS_PER_SECOND = 25_000_000
"""Of one core: a careful guess, so that a search with a deadline plans no more than it can do."""


@dataclass(frozen=True)
class Budget:
    """How much work finding may do, counted in steps of walks, and how many rules it may keep.

    `listing` is for each length of bodies, `work` for counting the pairs that all bodies join.
    """

    work: int = 100_000_000
    listing: int = 100_000_000
    longest: int = 3
    rules: int = 300
    """For each relation: bodies of up to two atoms before longer ones, then the most confident ones."""
    listed: int = 3_000
    """For each relation, by support, before confidences are counted."""
    long_listed: int = 600
    """The same for bodies of three atoms and more."""
    fewest_facts: int = 50
    """The number of facts of each relation that are looked at in any case."""
    long_reach: int = 40
    """The number of others that the long bodies of a relation lead to from one entity; the most confident are kept."""
    most_of_a_fact: int = 100_000
    """Steps of walks: of a fact between two hubs some walks are drawn."""
    min_support: int = 2
    min_confidence: float = 0.01

    def within(self, deadline: Deadline, cores: int) -> Budget:
        """The budget of a search with a deadline: what the cores do in that time, be it more or less."""
        if not deadline.is_set:
            return self
        steps = int(deadline.seconds_left * cores * _STEPS_PER_SECOND / self.longest)
        reach = int(
            deadline.seconds_left * _REACH_PER_SECOND
        )  # it makes features and fit as slow as it is large
        return replace(
            self,
            listing=max(1, steps // 2),
            work=max(1, steps // 2 * self.longest // 4),
            long_reach=min(max(self.long_reach, reach), _LARGEST_REACH),
        )


@dataclass(frozen=True)
class Sample:
    """For each relation the facts that are looked at, by their rows in the graph."""

    facts: tuple[NDArray[np.int64], ...]
    sizes: NDArray[np.int64]
    """How many facts each relation has."""

    def share(self, relation: int) -> float:
        """The share of a relation's facts."""
        return len(self.facts[relation]) / max(1, int(self.sizes[relation]))

    @cached_property
    def looked_at(self) -> NDArray[np.int64]:
        """How many facts of each relation are looked at."""
        return np.array([len(own) for own in self.facts], dtype=np.int64)

    @property
    def share_of_all(self) -> float:
        """The share of all facts."""
        return float(self.looked_at.sum() / max(1, self.sizes.sum()))

    def until(self, relation: int) -> Sample:
        """The same, as if the relations from this one on had not been looked at."""
        nothing = np.zeros(0, dtype=np.int64)
        return Sample((*self.facts[:relation], *(nothing for _ in self.facts[relation:])), self.sizes)

    def told(self, length: int) -> str | None:
        """What was looked at, in words; None where it was everything."""
        cut = int((self.looked_at < self.sizes).sum())
        if not cut:
            return None
        whole = int((self.sizes > 0).sum()) - cut
        all_of = f", on all facts of {counted(whole, 'relation')}" if whole else ""
        share, most = _percent(self.share_of_all), int(self.looked_at.max())
        return (
            f"rules of {counted(length, 'atom')} were searched on {share} of the facts: on up to "
            f"{counted(most, 'fact')} of {counted(cut, 'large relation')}{all_of}"
        )


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.01 else "less than 1%"


def drawn(
    features: FeatureGraph,
    length: int,
    budget: Budget,
    chance: np.random.Generator,
    asked: NDArray[np.bool_],
) -> Sample:
    """As many facts of each relation that is asked for as the budget allows for bodies of that length."""
    graph = features.graph
    every = np.bincount(graph.relation_ids, minlength=len(graph.relations)).astype(np.int64)
    sizes = np.where(asked, every, 0)
    costs = np.bincount(graph.relation_ids, _costs(features, length, budget), minlength=len(sizes))
    most = _most(costs / np.maximum(1, every), sizes, budget)
    order = np.argsort(graph.relation_ids, kind="stable")
    rows = np.split(order, np.cumsum(every)[:-1]) if len(sizes) else []
    rows = [own if wanted else own[:0] for own, wanted in zip(rows, asked, strict=True)]
    facts = (own if len(own) <= most else np.sort(chance.permutation(own)[:most]) for own in rows)
    return Sample(tuple(facts), sizes)


def _costs(features: FeatureGraph, length: int, budget: Budget) -> NDArray[np.float64]:  # fact
    """How many steps listing the walks of each fact takes at most (`kernels.closed_paths`)."""
    graph, degrees = features.graph, np.diff(features.edges[0]).astype(np.float64)
    walks = np.ones(len(degrees))
    for _ in range(length - 2):
        walks = _longer(features, walks)
    sides = [(graph.heads, graph.tails), (graph.tails, graph.heads)]
    turned = degrees[graph.tails] < degrees[graph.heads]
    start, end = (np.where(turned, there, here) for here, there in zip(*sides, strict=True))
    if length == 1:
        return np.ones(len(start))
    cost: NDArray[np.float64] = (
        8.0 * degrees[start]
    )  # of two atoms: a search for each edge of the shorter row
    if length > _SHORT:
        cost = np.minimum(walks[start] * degrees[end], _longer(features, walks)[start])
    limited: NDArray[np.float64] = np.minimum(cost, budget.most_of_a_fact)
    return limited


def _longer(features: FeatureGraph, walks: NDArray[np.float64]) -> NDArray[np.float64]:  # entity
    """The number of walks that are one step longer."""
    graph = features.graph
    ends = np.concatenate([graph.tails, graph.heads])
    starts = np.concatenate([graph.heads, graph.tails])
    return np.bincount(starts, weights=walks[ends], minlength=graph.num_entities).astype(np.float64)


def _most(cost: NDArray[np.float64], sizes: NDArray[np.int64], budget: Budget) -> int:
    """The largest number of facts of each relation that costs no more than the budget."""
    low, high = min(budget.fewest_facts, int(sizes.max(initial=0))), int(sizes.max(initial=0))
    while low < high:
        middle = (low + high + 1) // 2
        if float((np.minimum(sizes, middle) * cost).sum()) <= budget.listing:
            low = middle
        else:
            high = middle - 1
    return low


def starts_by_code(
    features: FeatureGraph, codes: NDArray[np.int32], chance: np.random.Generator
) -> Questions:
    """Everyone who has an edge of a code, for each of the codes: first a few of each, drawn by chance, then more.

    Who counts until the budget is used up has seen about as many of each code.
    """
    anchors, asked = starts_of_codes(features)
    wanted = np.isin(asked, codes)
    anchors, asked = anchors[wanted], asked[wanted]
    order = chance.permutation(len(anchors))
    order = order[np.argsort(asked[order], kind="stable")]
    sizes = np.bincount(asked, minlength=int(asked.max(initial=0)) + 1)
    begins = np.cumsum(sizes) - sizes
    rank = np.arange(len(order)) - begins[asked[order]]
    order = order[np.argsort(rank, kind="stable")]
    return Questions(anchors[order], asked[order].astype(np.int32), np.full(len(order), -1, dtype=np.int32))


def starts_of_codes(features: FeatureGraph) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Every entity with each code that it has an edge of."""
    starts, codes, _ = features.edges
    entities = np.repeat(np.arange(len(starts) - 1, dtype=np.int32), np.diff(starts))
    first = np.ones(len(entities), dtype=np.bool_)
    first[1:] = (entities[1:] != entities[:-1]) | (codes[1:] != codes[:-1])
    return entities[first], codes[first]
