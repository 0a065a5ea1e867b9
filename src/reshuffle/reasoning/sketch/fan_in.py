"""The number of initial values that arrive at each entity: the p of the channel bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from reshuffle.reasoning.geometry.kernels import product_search as kernel
from reshuffle.reasoning.geometry.kernels.product_search import Workspace
from reshuffle.reasoning.geometry.relation_automata import SlotGraph, machine_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reshuffle.reasoning.geometry.answers import GeometryAnswers

_TRIES = 20  # draws per wanted triple: where nearly everything follows there may be few that do not


@dataclass(frozen=True)
class Sample:
    """Triples of ids that do not follow, each with the number of values that arrive at a slot it fails in."""

    triples: list[tuple[int, str, int]]
    fan_in: NDArray[np.float64]


def sample_of(
    answers: GeometryAnswers, relations: list[str], starts: NDArray[np.int32], *, size: int, seed: int
) -> Sample:
    """Triples that do not follow, with uniform heads, relations and tails; those that follow are drawn again."""
    random = np.random.default_rng(seed)
    derivable = [relation for relation in relations if relation in answers.derivable]
    count = answers.num_entities
    triples: list[tuple[int, str, int]] = []
    fan_in: list[int] = []
    if not derivable or not count:
        return Sample([], np.empty(0))
    counter = FanIn(answers, starts)
    for _ in range(_TRIES * size):
        if len(triples) == size:
            break
        head, tail = (int(entity) for entity in random.integers(count, size=2))
        relation = derivable[int(random.integers(len(derivable)))]
        if not answers.holds_ids(head, relation, tail):
            triples.append((head, relation, tail))
            fan_in.append(counter.at(relation, tail))
    return Sample(triples, np.array(fan_in, dtype=np.float64))


class FanIn:
    """Counts the (entity, start slot) values that reach the exit of a relation at an entity."""

    def __init__(self, answers: GeometryAnswers, starts: NDArray[np.int32]) -> None:
        self._live, self._constraints = answers.live, answers.constraints
        self._slots = SlotGraph(self._constraints, self._live.labels)
        self._starts = starts
        self._workspace = Workspace(len(self._live.entities), (self._constraints.num_slots + 63) // 64)
        self._known: dict[tuple[int, int], int] = {}

    def at(self, relation: str, entity: int) -> int:
        """How many values arrive, the least over the slots that decide the relation: one slot that fails is enough."""
        return min(self._arriving(entity, leave) for _, leave in self._constraints.decisive_slots(relation))

    def _arriving(self, entity: int, leave: int) -> int:
        if (entity, leave) not in self._known:
            self._known[entity, leave] = self._searched(entity, leave)
        return self._known[entity, leave]

    def _searched(self, entity: int, leave: int) -> int:
        whole = self._slots.without_identities(0, leave)
        machine = machine_of((whole,), {"": (0,)}, self._live.labels)
        clauses = machine.clauses[""]
        scratch, tick = self._workspace.marks_for(len(self._live.entities), machine.most_words, ticks=1)
        queue = kernel.room_for(clauses)
        filled = kernel.seed(machine.backwards, clauses, 0, scratch, tick, queue, entity)
        nodes, filled, _, _ = kernel.flood(
            self._live.edges,
            machine.backwards,
            0,
            clauses.words[0],
            scratch,
            tick,
            queue,
            filled,
            kernel.ANYWHERE,
            np.empty(0, dtype=np.int64),
        )
        return int(np.isin(nodes[:filled] & kernel.STATE_MASK, self._starts).sum())
