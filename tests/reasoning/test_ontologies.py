"""Ontologies in files, beside the tables of RDFS and OWL 2 RL."""

from __future__ import annotations

import random
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reasoning.naive_ontology import EX, HEADER, TYPE, derived, random_facts, random_ontology

from reshuffle import Reasoner, read_rules
from reshuffle.errors import InputError, NotExpressibleError
from reshuffle.kg import KnowledgeGraph, read_graph
from reshuffle.kg.rows import LITERAL
from reshuffle.rules.ontologies.schema import RELATIONS

if TYPE_CHECKING:
    from pathlib import Path

    from reshuffle.kg import Triple
    from reshuffle.reasoning import Answers

# Only axioms name e:A, to which the domain of e:isA leads.
AXIOMS_ALONE_NAME = "rdf:type rdfs:subPropertyOf e:isA . e:isA rdfs:domain e:Typed . e:p rdfs:domain e:A ."
FACTS = f"{HEADER}e:a e:p e:b ."


def of_entities(answers: Answers) -> set[Triple]:
    """What is derived, but for what axioms say of each other."""
    return {triple for triple in answers.triples() if triple.relation not in RELATIONS}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ontologies")


def files(folder: Path, ontology: str, facts: str) -> tuple[Path, Path]:
    (folder / "ontology.ttl").write_text(ontology)
    (folder / "facts.ttl").write_text(facts)
    return folder / "ontology.ttl", folder / "facts.ttl"


@pytest.mark.parametrize("engine", ["auto", "chase"])
def test_entities_that_axioms_alone_name_get_their_types(tmp_path: Path, engine: str) -> None:
    ontology = HEADER + AXIOMS_ALONE_NAME
    rules, facts = files(tmp_path, ontology, FACTS)
    answers = Reasoner(read_rules(rules), engine=engine).on(read_graph(facts))
    assert set(answers.tails(f"{EX}a", TYPE)) == {f"{EX}A", f"{EX}Typed"}
    assert of_entities(answers) == derived(ontology, FACTS)
    assert "~" not in str([*answers.triples(), *answers.facts, answers.counts()])
    assert set(answers.facts.entities) == {f"{EX}a", f"{EX}b"}


def test_subjects_of_literals_get_their_types(tmp_path: Path) -> None:
    """Only literals name e:x, to which the domain of e:back leads: e:A is a kind, since e:x is an instance of it."""
    ontology = f"{HEADER}{AXIOMS_ALONE_NAME} e:back owl:inverseOf e:isA ; rdfs:domain e:Kind ."
    rules, facts = files(tmp_path, ontology, f'{HEADER}e:x e:p "text" .')
    base = read_rules(rules)
    at_once = Reasoner(base, engine="chase").on(read_graph(facts, literals_suffice=True))
    later = Reasoner(base, engine="chase").on(KnowledgeGraph([]))
    later.add(KnowledgeGraph().with_literals(KnowledgeGraph([(f"{EX}x", f"{EX}p", LITERAL)])))
    for answers in (at_once, later):
        assert set(answers.tails(f"{EX}x", TYPE)) == {f"{EX}A", f"{EX}Typed"}
        assert set(answers.tails(f"{EX}A", TYPE)) == {f"{EX}Kind", f"{EX}Typed"}


@given(st.integers(0, 2**32))
@settings(max_examples=150, deadline=None)
def test_random_ontologies_entail_what_the_tables_say(folder: Path, seed: int) -> None:
    chance = random.Random(seed)
    ontology, facts = random_ontology(chance), random_facts(chance)
    expected = derived(ontology, facts)
    rules, graph = files(folder, ontology, facts)
    try:
        base = read_rules(rules)
    except InputError:  # nothing but tautologies
        assert expected == set()
        return
    assert {one.what for one in base.unread} <= {"owl:equivalentClass axioms with owl:oneOf, in part"}
    for engine in ("chase", "geometry"):
        with suppress(NotExpressibleError):
            answers = Reasoner(base, engine=engine).on(read_graph(graph))
            assert of_entities(answers) == expected, engine
