"""OBO Graphs as JSON: nodes, edges, and the few kinds of axioms that the format has keys for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from reshuffle.errors import InputError, Place
from reshuffle.kg.guards.limits import Depth
from reshuffle.rules.ontologies.axioms import (
    All,
    And,
    Axiom,
    EquivalentClasses,
    InverseProperties,
    Ontology,
    PropertyChain,
    PropertyDomain,
    PropertyRange,
    Some,
    SubClassOf,
    SubProperty,
)
from reshuffle.rules.rule import Unread

if TYPE_CHECKING:
    from collections.abc import Iterator

_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_NO_AXIOMS = frozenset(("id", "lbl", "meta", "nodes", "edges"))


def read(content: bytes, file: str) -> Ontology:
    """The ontology in a file of OBO Graph JSON."""
    Depth(Place(file)).look(content)
    try:
        graphs = json.loads(content)["graphs"]
        return _ontology(graphs, file)
    except json.JSONDecodeError as error:
        raise _malformed(error.msg, Place(file, error.lineno, error.colno)) from None
    except (KeyError, TypeError, AttributeError, UnicodeDecodeError) as error:
        raise _malformed(f"JSON of another kind ({type(error).__name__}: {error})", Place(file)) from None


def _malformed(found: str, place: Place) -> InputError:
    return InputError(
        f"found {found}, expected OBO Graph JSON",
        place=place,
        hint='an object {"graphs": [{"nodes": [...], "edges": [...]}]}, such as `robot convert` writes',
    )


def _ontology(graphs: list[dict[str, Any]], file: str) -> Ontology:
    axioms: dict[Axiom, None] = {}
    facts: dict[tuple[str, str, str], None] = {}
    kinds: dict[str, str] = {}
    labels: dict[str, str] = {}
    unread: dict[str, int] = {}
    for graph in graphs:
        for node in graph.get("nodes", ()):
            kinds[node["id"]] = node.get("type", "CLASS")
            if isinstance(node.get("lbl"), str):
                labels[node["id"]] = node["lbl"]
    for graph in graphs:
        for said in _said(graph, kinds):
            if isinstance(said, tuple):
                facts[said] = None
            else:
                axioms[said] = None
        for key in graph.keys() - _NO_AXIOMS - _READ.keys():
            if count := len(graph[key]):
                unread[key] = unread.get(key, 0) + count
    return Ontology(
        file,
        tuple(axioms),
        tuple(facts),
        tuple(Unread(key, count, f"{file}: {key}", "axiom") for key, count in sorted(unread.items())),
        labels,
        classes=frozenset(name for name, kind in kinds.items() if kind == "CLASS"),
        properties=frozenset(name for name, kind in kinds.items() if kind == "PROPERTY"),
        name=next((graph["id"] for graph in graphs if isinstance(graph.get("id"), str)), ""),
    )


def _said(graph: dict[str, Any], kinds: dict[str, str]) -> Iterator[Axiom | tuple[str, str, str]]:
    for edge in graph.get("edges", ()):
        yield _edge(edge["sub"], edge["pred"], edge["obj"], kinds)
    for key, read_one in _READ.items():
        for item in graph.get(key) or ():
            yield from read_one(item)


def _edge(sub: str, relation: str, other: str, kinds: dict[str, str]) -> Axiom | tuple[str, str, str]:
    """An edge says what the kinds of its ends let it say."""
    if relation in ("is_a", "subPropertyOf", "inverseOf"):
        if relation == "inverseOf":
            return InverseProperties(sub, other)
        return SubProperty(sub, other) if relation == "subPropertyOf" else SubClassOf(sub, other)
    if relation == "type":
        return sub, _TYPE, other
    if kinds.get(sub) == "INDIVIDUAL":
        return sub, relation, other
    return SubClassOf(sub, Some(relation, other))


def _definition(item: dict[str, Any]) -> Iterator[Axiom]:
    parts = [
        *item.get("genusIds", ()),
        *(Some(one["propertyId"], one["fillerId"]) for one in item.get("restrictions", ()) if one),
    ]
    yield EquivalentClasses((item["definedClassId"], And(tuple(parts)) if len(parts) > 1 else parts[0]))


def _same(item: dict[str, Any]) -> Iterator[Axiom]:
    yield EquivalentClasses(tuple(item["nodeIds"]))


def _ends(item: dict[str, Any]) -> Iterator[Axiom]:
    relation = item["predicateId"]
    yield from (PropertyDomain(relation, cls) for cls in item.get("domainClassIds", ()))
    yield from (PropertyRange(relation, cls) for cls in item.get("rangeClassIds", ()))
    for edge in item.get("allValuesFromEdges", ()):
        yield SubClassOf(edge["sub"], All(edge["pred"], edge["obj"]))


def _chain(item: dict[str, Any]) -> Iterator[Axiom]:
    yield PropertyChain(tuple(item["chainPredicateIds"]), item["predicateId"])


_READ = {
    "logicalDefinitionAxioms": _definition,
    "equivalentNodesSets": _same,
    "domainRangeAxioms": _ends,
    "propertyChainAxioms": _chain,
}
