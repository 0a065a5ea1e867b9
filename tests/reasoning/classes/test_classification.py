"""Classification beside the naive completion: random ontologies, and those of the data sets."""

from __future__ import annotations

import random

import pytest

from datasets import shared_folder
from reasoning.classes.random_ontologies import CLASSES, ontology
from reshuffle.reasoning.classes.class_answers import ClassAnswers
from reshuffle.rules.ontologies.axioms import (
    Axiom,
    EquivalentProperties,
    Kind,
    Ontology,
    PropertyChain,
    PropertyIs,
    Some,
    SubClassOf,
    SubProperty,
)
from reshuffle.rules.ontologies.class_entailment import edges
from reshuffle.rules.ontologies.ontology_reading import read_ontology

IS_A = "is_a"


def answers(axioms: list[Axiom], **how: bool) -> ClassAnswers:
    return ClassAnswers(
        Ontology("random", tuple(axioms), classes=frozenset(CLASSES), is_a=IS_A), short=False, **how
    )


def differing(seed: int) -> tuple[set[tuple[str, ...]], set[tuple[str, ...]]]:
    axioms = ontology(random.Random(seed))
    found, expected = set(map(tuple, answers(axioms).sorted_triples())), edges(axioms, CLASSES, IS_A)
    return found - expected, expected - found


def test_classification_is_the_naive_completion() -> None:
    assert [seed for seed in range(300) if differing(seed) != (set(), set())] == []


@pytest.mark.slow
def test_classification_is_the_naive_completion_on_thousands() -> None:
    assert [seed for seed in range(1_000, 9_000) if differing(seed) != (set(), set())] == []


def test_reduced_edges_entail_the_others() -> None:
    """The closure of the reduced edges, as axioms beside those of properties, is what there was."""
    for seed in range(150):
        axioms = ontology(random.Random(seed))
        full = set(map(tuple, answers(axioms).sorted_triples()))
        reduced = set(map(tuple, answers(axioms, reduced=True).sorted_triples()))
        assert reduced <= full, seed
        assert _closure(reduced, axioms) >= full, seed


def _closure(found: set[tuple[str, ...]], axioms: list[Axiom]) -> set[tuple[str, ...]]:
    """What follows from edges as axioms of their own, with those about properties."""
    stated = [
        SubClassOf(head, tail if relation == IS_A else Some(relation, tail)) for head, relation, tail in found
    ]
    of_properties = [
        one for one in axioms if isinstance(one, SubProperty | PropertyChain | EquivalentProperties)
    ]
    of_properties += [one for one in axioms if isinstance(one, PropertyIs) and one.kind is Kind.TRANSITIVE]
    return set(edges([*stated, *of_properties], CLASSES, IS_A))


def test_what_relation_graph_published_of_the_nucleus_follows() -> None:
    """All rows but those about a class that the file does not have."""
    folder = shared_folder("ontologies")
    found = ClassAnswers(read_ontology(folder / "go-nucleus.owl"))
    rows = (folder / "go-nucleus-entailed.tsv").read_text().splitlines()[1:]
    published = {tuple(row.split("\t")) for row in rows}
    beside = {row for row in published if "OBI:0100026" in row}
    assert (len(published), len(beside)) == (5_694, 134)
    assert published - beside <= set(map(tuple, found.sorted_triples()))


def test_each_edge_has_a_proof_whose_axioms_entail_it() -> None:
    """Every axiom that a proof names is one of the ontology's, and the named ones alone entail the edge."""
    for seed in range(120):
        axioms = ontology(random.Random(seed))
        found = answers(axioms)
        by_text = {str(axiom): axiom for axiom in axioms}
        for triple in list(found.sorted_triples())[:40]:
            (proof,) = found.proofs(*triple)
            named = [by_text[str(step.rule)] for step in proof.steps() if str(step.rule) in by_text]
            assert tuple(triple) in edges(named, CLASSES, IS_A), (seed, triple)


def test_each_single_question_is_answered_as_all_are() -> None:
    for seed in range(60):
        found = answers(ontology(random.Random(seed)))
        every = set(map(tuple, found.sorted_triples()))
        empty = set(found.empty_classes)
        for relation in found.relations:
            for name in set(CLASSES) - empty:
                assert {(name, relation, tail) for tail in found.tails(name, relation)} == {
                    edge for edge in every if edge[:2] == (name, relation)
                }
                assert {(head, relation, name) for head in found.heads(relation, name)} == {
                    edge for edge in every if edge[1:] == (relation, name)
                }
                for tail in set(CLASSES) - empty:
                    itself = relation == IS_A and tail == name
                    assert found.holds(name, relation, tail) == (itself or (name, relation, tail) in every)
