"""A graph with its inverse triples and identity self-loops, as in the paper, without copying names.

Both are arithmetic on relation ids, see `inverses` (several identities: see docs/paper_map.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from reshuffle.kg.rows import Adjacency, Triple
from reshuffle.kg.vocabulary import identity_name, inverse_name, refuse_inverse_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from reshuffle.kg.graph import KnowledgeGraph


@dataclass(frozen=True)
class CompletedGraph:
    """A graph seen with its inverse triples and with `num_identities` self-loops per entity.

    >>> from reshuffle.kg import KnowledgeGraph
    >>> kg = KnowledgeGraph([("ada", "bornIn", "london")])
    >>> for triple in CompletedGraph(kg): print(*triple)
    ada bornIn london
    london bornIn^-1 ada
    ada eq ada
    london eq london
    """

    graph: KnowledgeGraph
    num_identities: int = 1

    def __post_init__(self) -> None:
        refuse_inverse_names(self.graph.relations)

    def __len__(self) -> int:
        return 2 * len(self.graph) + self.num_identities * self.graph.num_entities

    def __iter__(self) -> Iterator[Triple]:
        yield from self.graph
        for head, relation, tail in self.graph:
            yield Triple(tail, inverse_name(relation), head)
        for index in range(self.num_identities):
            for entity in self.graph.entities:
                yield Triple(entity, identity_name(index), entity)

    @property
    def num_relations(self) -> int:
        """Relations, their inverses and the identities."""
        return 2 * len(self.graph.relations) + self.num_identities

    def relation_name(self, relation: int) -> str:
        """The name of an id, made on demand."""
        base = len(self.graph.relations)
        if relation < base:
            return self.graph.relations[relation]
        if relation < 2 * base:
            return inverse_name(self.graph.relations[relation - base])
        return identity_name(relation - 2 * base)

    def edges(self, relation: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Heads and tails of one relation of the completed graph; not copied."""
        base = len(self.graph.relations)
        if relation < base:
            return self.graph.edges(relation)
        if relation < 2 * base:
            heads, tails = self.graph.edges(relation - base)
            return tails, heads
        everyone = np.arange(self.graph.num_entities, dtype=np.int32)
        return everyone, everyone

    @cached_property
    def by_head(self) -> Adjacency:
        """Out-edges of every entity over relations and inverses; identities are left to the reader."""
        base = np.int32(len(self.graph.relations))
        out, into = self.graph.by_head, self.graph.by_tail
        starts = out.starts + into.starts
        # Each row is its out-edges followed by its in-edges with ids shifted by R: still sorted by relation.
        place_out = np.arange(len(out.relations)) + np.repeat(into.starts[:-1], np.diff(out.starts))
        place_in = np.arange(len(into.relations)) + np.repeat(out.starts[1:], np.diff(into.starts))
        relations = np.empty(2 * len(out.relations), dtype=np.int32)
        neighbours = np.empty_like(relations)
        relations[place_out], relations[place_in] = out.relations, into.relations + base
        neighbours[place_out], neighbours[place_in] = out.neighbours, into.neighbours
        return Adjacency(starts, relations, neighbours)
