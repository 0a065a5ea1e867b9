"""All ways in which a body can be true: tables with a column for each variable, joined atom by atom."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from reshuffle.errors import InputError
from reshuffle.kg import CompletedGraph

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from reshuffle.kg import KnowledgeGraph
    from reshuffle.kg.rows import Adjacency

Atom: TypeAlias = tuple[int, int, int]
"""A directed relation and two arguments: a variable's number, or ~e for the entity e."""


@dataclass(frozen=True)
class Matches:
    """A row for each way; `columns` has the entities of each variable."""

    columns: dict[int, NDArray[np.int64]]
    count: int

    def known(self, term: int) -> bool:
        """Is the argument an entity, or a variable with a column?"""
        return term < 0 or term in self.columns

    def values(self, term: int) -> NDArray[np.int64]:
        """What the argument is in each row."""
        return np.full(self.count, ~term) if term < 0 else self.columns[term]

    def at(self, rows: NDArray[np.int64] | NDArray[np.bool_]) -> dict[int, NDArray[np.int64]]:
        """The columns at some rows."""
        return {variable: column[rows] for variable, column in self.columns.items()}


_MOST_WAYS = 1 << 27
"""Rows of one table; a gigabyte for each variable."""

ANY_WAY = Matches({}, 1)
"""The one way in which a body without atoms is true."""


def check_ways(count: int) -> None:
    """Refuse a table that would not fit into the memory."""
    if count > _MOST_WAYS:
        raise InputError(
            f"the body of a rule is true in {count:,} ways, expected {_MOST_WAYS:,} at most",
            hint="leave out rules with several open atoms over relations with hubs",
        )


def slices(first: NDArray[np.int64], end: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The numbers of several ranges one after the other, and the range that each is of.

    >>> [part.tolist() for part in slices(np.array([4, 9]), np.array([6, 10]))]
    [[0, 0, 1], [4, 5, 9]]
    """
    counts = end - first
    check_ways(int(counts.sum()))
    rows = np.repeat(np.arange(len(first)), counts)
    before = np.cumsum(counts) - counts
    return rows, np.arange(len(rows)) - before[rows] + first[rows]


class StoredFacts:
    """The facts in both directions, as joins and walks read them."""

    def __init__(self, graph: KnowledgeGraph) -> None:
        self.graph = graph
        self.adjacency: Adjacency = CompletedGraph(graph, num_identities=0).by_head
        self.num_relations = len(graph.relations)

    def inverse(self, relation: int) -> int:
        """The directed relation that runs the other way."""
        return relation + (self.num_relations if relation < self.num_relations else -self.num_relations)

    @cached_property
    def _keys(self) -> NDArray[np.int64]:  # edge, sorted
        starts = self.adjacency.starts
        heads = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        return heads * (2 * self.num_relations) + self.adjacency.relations

    @cached_property
    def _first_facts(self) -> NDArray[np.int64]:  # relation + 1
        return np.searchsorted(self.graph.relation_ids, np.arange(self.num_relations + 1, dtype=np.int32))

    def steps(
        self, entities: NDArray[np.int64], relation: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """All steps from the entities over a relation: from which of them, and where to."""
        wanted = entities * (2 * self.num_relations) + relation
        first, end = (np.searchsorted(self._keys, wanted, side) for side in ("left", "right"))
        rows, edges = slices(first, end)
        return rows, self.adjacency.neighbours[edges].astype(np.int64)

    def pairs(self, relation: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Both ends of all facts of a directed relation."""
        forwards = relation < self.num_relations
        base = relation if forwards else relation - self.num_relations
        rows = slice(*self._first_facts[base : base + 2])
        heads, tails = (ends[rows].astype(np.int64) for ends in (self.graph.heads, self.graph.tails))
        return (heads, tails) if forwards else (tails, heads)


def matches(
    facts: StoredFacts, atoms: Sequence[Atom], given: Matches = ANY_WAY, *, distinct: bool
) -> Matches:
    """All ways in which the atoms are true where some variables are given.

    With `distinct`, different variables stand for different entities.
    """
    left, found = list(atoms), given
    while left and found.count:
        atom = next((one for one in left if found.known(one[1]) or found.known(one[2])), left[0])
        left.remove(atom)
        found = _joined(facts, atom, found, distinct=distinct)
    return found


def _joined(facts: StoredFacts, atom: Atom, before: Matches, *, distinct: bool) -> Matches:
    relation, start, end = atom
    if not before.known(start) and before.known(end):
        relation, start, end = facts.inverse(relation), end, start
    if before.known(start):
        rows, ends = facts.steps(before.values(start), relation)
        found = Matches(before.at(rows), len(rows))
    else:
        starts, ends = facts.pairs(relation)
        check_ways(before.count * len(starts))
        rows, facts_of = np.divmod(np.arange(before.count * len(starts)), max(len(starts), 1))
        ends = ends[facts_of]
        found, ends = _bound(Matches(before.at(rows), len(rows)), start, starts[facts_of], ends, distinct)
    return _bound(found, end, ends, ends, distinct)[0]


def _bound(
    found: Matches, term: int, values: NDArray[np.int64], beside: NDArray[np.int64], distinct: bool
) -> tuple[Matches, NDArray[np.int64]]:
    """The rows where the argument can be these values, and what stands beside these rows."""
    if found.known(term):
        kept = found.values(term) == values
    else:
        kept = np.ones(found.count, dtype=np.bool_)
        for column in found.columns.values() if distinct else ():
            kept &= column != values
        found = Matches({**found.columns, term: values}, found.count)
    return Matches(found.at(kept), int(kept.sum())), beside[kept]
