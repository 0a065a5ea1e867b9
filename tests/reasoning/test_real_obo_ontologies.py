"""OBO ontologies that people wrote, without definitions: edges between classes are what SPARQL property paths find."""

from __future__ import annotations

import gzip
from collections import defaultdict
from typing import TYPE_CHECKING

import pyoxigraph as ox
import pytest
from tests.datasets import shared_folder

import reshuffle as rs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAMESPACE = "urn:x:"


def stanzas(path: Path) -> Iterator[tuple[str, dict[str, list[str]]]]:
    """The stanzas of an OBO file as they stand: their kind, and the values of each tag without remarks."""
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    for block in text.decode("utf-8").split("\n\n"):
        kind, *lines = [line for line in block.strip().split("\n") if line] or [""]
        tags: dict[str, list[str]] = defaultdict(list)
        for line in lines:
            tag, _, value = line.partition(": ")
            tags[tag].append(value.split(" {")[0].split(" ! ")[0].strip())
        if "true" not in tags["is_obsolete"]:
            yield kind, tags


def iri(name: str) -> ox.NamedNode:
    return ox.NamedNode(NAMESPACE + "".join(f"{ord(letter):x}." for letter in name))


def direct_edges(path: Path) -> tuple[ox.Store, dict[str, str], set[str]]:
    """The direct edges as RDF, the names of classes by IRI, and the relations without any axiom."""
    store, names, said, used = ox.Store(), {}, set(), set()
    for kind, tags in stanzas(path):
        (name,) = tags["id"] or [""]
        if kind == "[Typedef]":
            about = {
                "is_transitive",
                "transitive_over",
                "holds_over_chain",
                "is_a",
                "is_reflexive",
                "domain",
                "range",
            }
            about |= {"equivalent_to_chain", "inverse_of", "equivalent_to", "intersection_of", "is_symmetric"}
            about |= {"is_class_level", "is_metadata_tag"}  # of classes as a whole, or notes: no edges
            if about & tags.keys():
                said |= {name, *tags["is_a"], *tags["inverse_of"], *tags["equivalent_to"]}
        if kind != "[Term]":
            continue
        edges = [("is_a", above) for above in tags["is_a"]]
        edges += [tuple(value.split()[:2]) for value in tags["relationship"]]  # type: ignore[misc]
        for relation, above in edges:
            names |= {iri(one).value: one for one in (name, above)}
            used.add(relation)
            store.add(ox.Quad(iri(name), iri(relation), iri(above)))
    return store, names, used - said - {"is_a"}


@pytest.mark.parametrize("file", ["pato.obo", "hp.obo.gz", "fbbt-fly_anatomy.obo"])
def test_edges_are_those_of_property_paths(file: str) -> None:
    path = shared_folder("ontologies") / file
    store, names, plain = direct_edges(path)
    classes = rs.load(path).on([]).entailed
    held: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for head, relation, tail in [*classes.facts, *classes.triples()]:
        held[relation].add((head, tail))
    is_a = iri("is_a")
    asked = {"is_a": f"{is_a}+", **{name: f"{is_a}*/{iri(name)}/{is_a}*" for name in plain}}
    compared = 0
    for relation, walk in asked.items():
        found = store.query(f"SELECT DISTINCT ?x ?y WHERE {{ ?x {walk} ?y }}")
        wanted = {(names[x.value], names[y.value]) for x, y in found}  # type: ignore[union-attr]
        assert held[relation] == wanted, relation
        compared += len(wanted)
    assert compared > 10_000
