"""Which links a search is about: those whose ends are of some types, whose ends their relation has in the facts
already, or between two entities that no fact joins.

Types are what the facts say by one relation, such as `rdf:type`. Nothing is derived: who is of a subclass is of a
class only where a fact says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from reshuffle.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from reshuffle.evaluation.scorer import Side
    from reshuffle.kg import KnowledgeGraph

_TYPE_RELATIONS = ("type", "instance_of", "instance of", "instanceof", "p31", "isa", "is_a", "has_type")


@dataclass(frozen=True)
class LinkLimits:
    """By the ids of a graph; all links, where nothing is said."""

    typed_by: int = -1
    """The relation that says what something is."""
    head_types: tuple[int, ...] = ()
    tail_types: tuple[int, ...] = ()
    seen_ends: bool = False
    """Only heads and tails of a relation that are ones in a fact."""
    not_linked: bool = False
    """Only pairs that no fact joins, in either direction."""

    @classmethod
    def of(
        cls,
        graph: KnowledgeGraph,
        *,
        head_types: Iterable[str] = (),
        tail_types: Iterable[str] = (),
        type_relation: str | None = None,
        seen_ends: bool = False,
        not_linked: bool = False,
    ) -> LinkLimits:
        """By name; each end is of one of its types."""
        asked = [(name,) if isinstance(name, str) else tuple(name) for name in (head_types, tail_types)]
        if not any(asked):
            return cls(seen_ends=seen_ends, not_linked=not_linked)
        typed_by = _typing_relation(graph, type_relation)
        heads, tails = (tuple(sorted(_type_ids(graph, typed_by, names))) for names in asked)
        return cls(typed_by, heads, tails, seen_ends, not_linked)

    def typed(self, graph: KnowledgeGraph, end: Side) -> NDArray[np.bool_] | None:  # entity
        """Who is of a type that is asked for at an end; None where everyone will do."""
        types = self.head_types if end == "head" else self.tail_types
        return members(graph, self.typed_by, types) if types else None

    def fitting(self, graph: KnowledgeGraph, relation: int, end: Side) -> NDArray[np.bool_]:  # entity
        """Who may be at an end of the links of a relation."""
        typed = self.typed(graph, end)
        found = np.ones(graph.num_entities, np.bool_) if typed is None else typed
        if self.seen_ends:
            heads, tails = graph.edges(relation)
            seen = np.zeros(graph.num_entities, np.bool_)
            seen[heads if end == "head" else tails] = True
            found &= seen
        return found

    def left_out(
        self, graph: KnowledgeGraph, asked: NDArray[np.int64], side: Side
    ) -> NDArray[np.bool_]:  # question entity
        """Which answers to questions (anchor, relation) are not asked for."""
        relations, which = np.unique(asked[:, 1], return_inverse=True)
        none = np.zeros((0, graph.num_entities), np.bool_)
        outside = np.array([~self.fitting(graph, one, side) for one in relations.tolist()] or none)[which]
        if self.not_linked:
            for row, anchor in zip(outside, asked[:, 0].tolist(), strict=True):
                for facts in (graph.by_head, graph.by_tail):
                    row[facts.neighbours[facts.starts[anchor] : facts.starts[anchor + 1]]] = True
        return outside


ALL_LINKS = LinkLimits()


def _typing_relation(graph: KnowledgeGraph, name: str | None) -> int:
    if name is not None:
        return graph.relations.id(name)
    if (found := type_relation(graph)) is None:
        raise InputError(
            "no relation of these facts is known to say what something is",
            hint="name the one that does, with --type-relation R or type_relation=...; rdf:type, instance_of, P31 and "
            "is_a are known",
        )
    return found


def _type_ids(graph: KnowledgeGraph, relation: int, names: Iterable[str]) -> set[int]:
    types = set(np.unique(graph.edges(relation)[1]).tolist())
    found = set()
    for name in names:
        number = graph.entities.find(name)
        if number is None or number not in types:
            raise UnknownNameError("type", name, graph.entities[np.array(sorted(types), np.int64)])
        found.add(number)
    return found


def type_relation(graph: KnowledgeGraph) -> int | None:
    """The relation that says what something is, by its name: `rdf:type`, `instance_of`, P31."""
    for number, name in enumerate(graph.relations):
        if name.replace("#", "/").rsplit("/", maxsplit=1)[-1].lower() in _TYPE_RELATIONS:
            return number
    return None


def members(graph: KnowledgeGraph, relation: int, types: Iterable[int]) -> NDArray[np.bool_]:  # entity
    """Who is of one of some types, by the relation that says so."""
    found = np.zeros(graph.num_entities, np.bool_)
    heads, tails = graph.edges(relation)
    found[heads[np.isin(tails, list(types))]] = True
    return found
