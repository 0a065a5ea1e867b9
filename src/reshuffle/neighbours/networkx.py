"""Directed graphs of networkx: an edge is a triple, with its relation as key or as attribute."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reshuffle.errors import InputError
from reshuffle.kg import KnowledgeGraph
from reshuffle.neighbours.loading import check_has
from reshuffle.packages import package

if TYPE_CHECKING:
    from collections.abc import Iterator

_ATTRIBUTES = ("relation", "predicate", "type", "label")


def from_networkx(graph: Any, *, relation: str | None = None) -> KnowledgeGraph:
    """The triples of a directed graph; nodes go by their text.

    `relation` names the attribute of edges that holds it. Without it the attributes relation, predicate, type and label
    are looked for, and then, in a graph with several edges between two nodes, their keys.
    """
    check_has(
        graph,
        ("is_directed", "is_multigraph", "edges"),
        expected="a graph of networkx",
        hint="give a DiGraph or a MultiDiGraph; KnowledgeGraph(...) takes triples",
    )
    if not graph.is_directed():
        raise InputError(
            "found a graph without directions, expected a directed one: triples lead from head to tail",
            hint="graph.to_directed() gives both directions of every edge",
        )
    return KnowledgeGraph(
        _triples(graph, (relation,) if relation is not None else _ATTRIBUTES, relation is None)
    )


def _triples(graph: Any, attributes: tuple[str, ...], by_key: bool) -> Iterator[tuple[str, str, str]]:
    keyed = by_key and graph.is_multigraph()
    edges = (
        graph.edges(keys=True, data=True) if keyed else ((*e[:2], None, e[2]) for e in graph.edges(data=True))
    )
    for head, tail, key, data in edges:
        found = next((data[name] for name in attributes if name in data), key)
        if not isinstance(found, str):
            raise InputError(
                f"the edge from {head!r} to {tail!r} has no relation: found {found!r}",
                hint="from_networkx(graph, relation='...') names the attribute that holds it",
            )
        yield str(head), found, str(tail)


def to_networkx(graph: KnowledgeGraph) -> Any:
    """A `MultiDiGraph` with an edge per triple, whose key and attribute `relation` is the relation."""
    made = package("networkx").MultiDiGraph()
    made.add_nodes_from(graph.entities)
    made.add_edges_from((head, tail, relation, {"relation": relation}) for head, relation, tail in graph)
    return made
