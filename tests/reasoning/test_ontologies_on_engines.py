"""What engines outside of this process get of ontologies and facts, tried with the chase in their place."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from tests.reasoning.naive_ontology import HEADER, random_facts, random_ontology

from reshuffle import Reasoner, read_rules
from reshuffle.errors import InputError
from reshuffle.kg import KnowledgeGraph, read_graph
from reshuffle.reasoning.scaling.deduction import on_relations
from reshuffle.reasoning.scaling.ontology_rules import OverFacts, for_engine
from reshuffle.reasoning.scaling.parquet_facts import ParquetFacts
from reshuffle.rules.class_axioms import SAME_AS, TYPE
from reshuffle.rules.ontologies.tautologies import SUB_CLASS

if TYPE_CHECKING:
    from pathlib import Path

    from reshuffle.kg import Triple
    from reshuffle.reasoning import Answers

EX = "http://example.org/"
AXIOMS = """
e:mother a owl:FunctionalProperty . e:C rdfs:subClassOf e:D . e:D rdfs:subClassOf e:E . e:Star owl:oneOf ( e:ada ) .
"""
FACTS = """
e:ada e:mother e:m1 , e:m2 . e:m1 e:likes e:tea . e:D rdfs:subClassOf e:F . e:likes a owl:SymmetricProperty .
e:bob a e:C ; owl:sameAs e:bob .
"""
AT_ONCE = """
e:Person rdfs:subClassOf [ a owl:Restriction ; owl:onProperty e:mother ; owl:maxCardinality 1 ] .
e:kind rdfs:subPropertyOf rdfs:subClassOf .
"""


def graphs(tmp_path: Path, axioms: str, facts: str) -> tuple[Reasoner, KnowledgeGraph]:
    (tmp_path / "axioms.ttl").write_text(HEADER + axioms)
    (tmp_path / "facts.ttl").write_text(HEADER + facts)
    return Reasoner(read_rules(tmp_path / "axioms.ttl"), engine="chase"), read_graph(tmp_path / "facts.ttl")


def listed(answers: Answers) -> set[Triple]:
    """What an engine lists: it hides that a name is the same as itself."""
    return {
        triple for triple in answers.triples() if triple.relation != SAME_AS or triple.head != triple.tail
    }


def stored_in(tmp_path: Path, facts: KnowledgeGraph) -> list[ParquetFacts]:
    facts.write(tmp_path / "facts.parquet")
    (tmp_path / "parts").mkdir(exist_ok=True)
    for number, triple in enumerate(facts):
        KnowledgeGraph([triple]).write(tmp_path / "parts" / f"{number}.parquet")
    return [ParquetFacts.at(tmp_path / name) for name in ("facts.parquet", "parts")]


def test_facts_bring_axioms_and_equality_of_their_relations(tmp_path: Path) -> None:
    reasoner, facts = graphs(tmp_path, AXIOMS, FACTS)
    expected = set(reasoner.on(facts).triples())
    assert {(f"{EX}tea", f"{EX}likes", f"{EX}m2"), (f"{EX}bob", TYPE, f"{EX}F")} <= expected
    for given in (facts, *stored_in(tmp_path, facts)):
        over = for_engine(reasoner, given)
        assert listed(over.reasoner.over(facts)) == expected
        assert over.left_out == ()
        proof = over.proving.on(KnowledgeGraph()).proofs(f"{EX}C", SUB_CLASS, f"{EX}F")[0]
        assert {step.triple.tail for step in proof.steps()} >= {f"{EX}D", f"{EX}F"}  # not a fact


def test_the_answers_themselves_are_derived_by_an_engine(tmp_path: Path) -> None:
    reasoner, facts = graphs(tmp_path, AXIOMS, FACTS)
    answers = reasoner.on(facts)
    deduction = answers.deduction
    assert deduction.rules is not None
    on_engine = reasoner.chased(deduction.rules, answers.facts_to_derive_from)
    assert listed(on_engine) == set(answers.triples())


def test_what_an_engine_leaves_out_is_told(tmp_path: Path) -> None:
    reasoner, facts = graphs(tmp_path, AT_ONCE, FACTS)
    left_out = for_engine(reasoner, facts).left_out
    assert [(one.what, one.count) for one in left_out] == [
        ("rules with conditions on a path between two variables", 1),
        ("rules that conclude axioms", 1),
    ]


def test_rules_that_are_no_ontology_stay(tmp_path: Path) -> None:
    (tmp_path / "my.rules").write_text("a(X, Y) -> b(X, Y)")
    reasoner = Reasoner(read_rules(tmp_path / "my.rules"))
    assert for_engine(reasoner, KnowledgeGraph([("x", "a", "y")])) == OverFacts(reasoner, reasoner)


def test_constraints_on_relations_that_nobody_uses_are_left_out(tmp_path: Path) -> None:
    """Nothing may be of `owl:Nothing`, also where nothing has a type."""
    reasoner, facts = graphs(tmp_path, "e:mother a owl:FunctionalProperty .", "e:ada e:mother e:m1 .")
    deducing = on_relations(reasoner.deduction, list(facts.relations))
    assert deducing.disjoint_ends == ()
    assert deducing.equality == SAME_AS


@pytest.mark.parametrize("seed", range(20))
def test_random_ontologies(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    (tmp_path / "axioms.ttl").write_text(random_ontology(chance))
    (tmp_path / "facts.ttl").write_text(random_facts(chance))
    try:
        reasoner = Reasoner(read_rules(tmp_path / "axioms.ttl"), engine="chase")
    except InputError:  # nothing but tautologies
        return
    both = read_graph(tmp_path / "facts.ttl") | read_graph(tmp_path / "axioms.ttl")
    assert listed(for_engine(reasoner, both).reasoner.over(both)) == set(reasoner.on(both).triples())
