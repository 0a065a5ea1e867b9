"""Random ontologies of OWL 2 RL beside the tables of the specification."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyoxigraph")

from tests.reasoning import random_rl
from tests.reasoning.owl_rl_tables import FALSE, closed, triples_of

from reshuffle import Reasoner, read_graph, read_rules
from reshuffle.rules.ontologies.schema import RELATIONS

if TYPE_CHECKING:
    from pathlib import Path

TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
SAME_AS = "http://www.w3.org/2002/07/owl#sameAs"
OF_ENTITIES = {TYPE, SAME_AS, *(f"{random_rl.EX}{name[1:]}" for name in random_rl.PROPERTIES)}


def compare(folder: Path, seed: int) -> None:
    """What follows for entities, that the closure of axioms has all of the tables', and the clashes."""
    chance = Random(seed)
    axioms, given = random_rl.ontology(chance), random_rl.facts(chance)
    (folder / "axioms.ttl").write_text(axioms)
    (folder / "facts.ttl").write_text(given)
    expected = closed(triples_of(axioms) | triples_of(given))
    answers = Reasoner(read_rules(folder / "axioms.ttl")).on(read_graph(folder / "facts.ttl"))
    found = {*answers.triples(), *answers.facts}
    assert shown(found, OF_ENTITIES) == shown(expected, OF_ENTITIES), (seed, axioms, given)
    assert shown(found, RELATIONS) <= shown(expected, RELATIONS), (seed, axioms)
    missing = {triple for triple in shown(expected, RELATIONS) if not answers.holds(*triple)}
    assert not missing, (seed, axioms)
    assert (next(answers.violations(), None) is not None) == (FALSE in expected), (seed, axioms, given)


def shown(triples: set, relations: set[str]) -> set:
    """The triples of some relations, but for blank nodes, words of OWL, and what a name is to itself."""
    return {
        (head, relation, tail)
        for head, relation, tail in triples
        if relation in relations
        and head.startswith(random_rl.EX)
        and tail.startswith(random_rl.EX)
        and (relation not in {SAME_AS, *RELATIONS} or head != tail)
    }


@pytest.mark.parametrize("seed", range(150))
def test_random_ontologies_say_what_the_tables_say(tmp_path: Path, seed: int) -> None:
    compare(tmp_path, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1_000, 5_000))
def test_many_random_ontologies_say_what_the_tables_say(tmp_path: Path, seed: int) -> None:
    compare(tmp_path, seed)
