"""Rules about particular entities on a graph: which of them answer a question, and what they add."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np

from reshuffle.rulelist.constants.properties import Properties
from reshuffle.rulelist.kernels.constant_walks import rules_of_questions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from reshuffle.kg import KnowledgeGraph
    from reshuffle.rulelist.constants.constant_rules import ConstantRules
    from reshuffle.rulelist.features import FeatureGraph, Questions

_ROOM = 1 << 18


@dataclass(frozen=True)
class Fired:
    """Sparse rows: question q has the entries `starts[q] : starts[q + 1]`."""

    starts: NDArray[np.int64]  # question + 1
    answers: NDArray[np.int32]  # entry
    rules: NDArray[np.int32]  # entry
    of_members: NDArray[np.bool_]  # entry: which of the two weights of its rule is meant

    @property
    def questions(self) -> NDArray[np.int64]:
        """The question of each entry."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))


@dataclass(frozen=True, eq=False)
class _OfGraph:
    """What depends on a graph alone."""

    graph: KnowledgeGraph
    properties: Properties


_SHARED: WeakValueDictionary[int, _OfGraph] = WeakValueDictionary()
"""By the ids of graphs. An entry keeps its graph alive, so that no other graph can get the same id."""


@dataclass(frozen=True)
class ConstantsOnGraph:
    """Finds the rules that answer questions about a graph; names that the graph lacks answer nothing."""

    rules: ConstantRules
    facts: FeatureGraph
    """The facts as they stand."""
    loops: NDArray[np.bool_]
    """For each directed relation of the graph: may an entity be its own answer?"""

    @cached_property
    def is_silent(self) -> bool:
        """Does no rule name something of the graph?"""
        return not len(self._keys[0][0])

    @cached_property
    def properties(self) -> Properties:
        """Those of the graph's entities."""
        return self._shared.properties

    @cached_property
    def _shared(self) -> _OfGraph:
        """What other rules on the same graph have, too, as long as there are some."""
        graph = self.facts.graph
        found = _SHARED.get(id(graph))
        if found is None:
            found = _SHARED[id(graph)] = _OfGraph(graph, Properties.of(self.facts))
        return found

    @cached_property
    def _keys(self) -> tuple[tuple[NDArray[Any], ...], tuple[NDArray[Any], ...]]:
        """The rules by their bodies and by their heads, as kernels take them."""
        graph, rules = self.facts.graph, self.rules
        count, number = graph.num_entities, 2 * self.facts.num_relations
        codes, entities = self._codes(), self._entities()
        bodies = codes[rules.bodies[:, 0]], entities[rules.bodies[:, 1]]  # -1 is the last one: any
        heads = codes[rules.heads[:, 0]], entities[rules.heads[:, 1]]
        is_any = rules.bodies[:, 1] < 0
        known = (bodies[0] >= 0) & (heads[0] >= 0) & (heads[1] >= 0) & ((bodies[1] >= 0) | is_any)
        places = np.flatnonzero(known)
        adding = rules.weights[places] > 0
        (body, end), (head, entity) = ([column[places] for column in pair] for pair in (bodies, heads))
        by_body = (body.astype(np.int64) * (count + 1) + end + 1) * number + head
        first = np.argsort(by_body, kind="stable")
        first = first[adding[first, 0]]
        by_head = head.astype(np.int64) * count + entity
        other = np.lexsort((end, body, by_head))
        other = other[
            adding[other, 1] & (end[other] >= 0)
        ]  # that somebody has any edge of a code tells members too little apart
        of_graph = self.properties.numbers_of(body, end, count)
        return (
            (by_body[first], entity[first], places[first]),
            (by_head[other], of_graph[other], places[other]),
        )

    def numbers(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The properties of the bodies and of the heads of the rules; -1 where nobody here has one."""
        codes, entities = self._codes(), self._entities()

        def numbered(pairs: NDArray[np.int32]) -> NDArray[np.int64]:
            code, end = codes[pairs[:, 0]], entities[pairs[:, 1]]
            found = self.properties.numbers_of(np.maximum(code, 0), end, self.facts.graph.num_entities)
            return np.where((code >= 0) & ((end >= 0) | (pairs[:, 1] < 0)), found, -1)

        return numbered(self.rules.bodies), numbered(self.rules.heads)

    def _codes(self) -> NDArray[np.int32]:
        """For each directed relation of the rules its code here, or -1."""
        graph = self.facts.graph
        found = (graph.relations.find(name) for name in self.rules.relations)
        codes = np.array([-1 if one is None else one for one in found], dtype=np.int32)
        return np.concatenate([codes, np.where(codes < 0, -1, codes + self.facts.num_relations)]).astype(
            np.int32
        )

    def _entities(self) -> NDArray[np.int32]:
        """For each entity of the rules its id here, or -1; behind them -1."""
        found = (self.facts.graph.entities.find(name) for name in self.rules.entities)
        return np.array([*(-1 if one is None else one for one in found), -1], dtype=np.int32)

    @cached_property
    def leading(self) -> NDArray[np.bool_]:  # directed relation, code
        """For each directed relation the codes that an entity has of which a rule may answer it."""
        number = 2 * self.facts.num_relations
        found = np.zeros((number, number), dtype=np.bool_)
        codes = self._codes()
        bodies, heads = codes[self.rules.bodies[:, 0]], codes[self.rules.heads[:, 0]]
        known = (bodies >= 0) & (heads >= 0)
        found[heads[known], bodies[known]] = True
        # An entity that a head names has an edge to each member.
        turned = (heads[known] + number // 2) % number
        found[turned, turned] = True
        return found

    def fired(self, questions: Questions) -> Iterator[tuple[slice, Fired]]:
        """The rules that answer questions, some questions at a time."""
        done, room = 0, _ROOM
        members = self.properties.starts, self.properties.members
        while done < len(questions.anchors):
            starts = np.zeros(len(questions.anchors) - done + 1, dtype=np.int64)
            answers, rules = (np.empty(room, dtype=np.int32) for _ in range(2))
            of_members = np.empty(room, dtype=np.bool_)
            columns = answers, rules, of_members
            after = rules_of_questions(
                tuple(questions), done, self.facts.edges, members, *self._keys, self.loops, starts, columns
            )
            if after == done:
                room *= 4
                continue
            starts = starts[: after - done + 1]
            end = starts[-1]
            yield slice(done, after), Fired(starts, answers[:end], rules[:end], of_members[:end])
            done = after

    def added(self, questions: Questions) -> Iterator[tuple[slice, Fired, NDArray[np.float64]]]:
        """For some questions at a time what is added: the entries, and their values."""
        for rows, fired in self.fired(questions):
            values = self.rules.weights[fired.rules, fired.of_members.astype(np.int64)]
            yield rows, fired, values

    def add_to(self, scores: NDArray[np.float64], questions: Questions) -> None:
        """Add what the rules say of all entities to scores [question, entity]."""
        for rows, fired, values in self.added(questions):
            np.add.at(scores, (fired.questions + rows.start, fired.answers), values)

    def of_answer(self, questions: Questions, answer: int) -> list[tuple[int, float]]:
        """The rules that add to an answer of one question, and by how much, in the order in which they are added."""
        found = []
        for _, fired, values in self.added(questions):
            here = np.flatnonzero((fired.answers == answer) & (values > 0))
            found += [(int(fired.rules[at]), float(values[at])) for at in here.tolist()]
        return found
