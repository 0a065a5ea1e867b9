"""LUBM and Brick with a building: what follows for their individuals is what `reasonable` finds, and a little more.

The triples were compared one by one with those of reasonable 0.4.4, without types in owl:Thing. For Brick they are the
same. For LUBM there are 39 employees more: research assistants work for some research group by an axiom.
"""

from __future__ import annotations

from collections import Counter

import pytest
from tests.datasets import shared_folder

import reshuffle as rs

TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
UNIVERSITY = "http://swat.cse.lehigh.edu/onto/univ-bench.owl#"


def about_individuals(ontology: str, data: str, names: str) -> set[tuple[str, str, str]]:
    """All that holds for entities whose names begin so, and that has a name at both ends."""
    folder = shared_folder("ontologies")
    answers = rs.load(folder / ontology).on(rs.read_graph(folder / data, literals_suffice=True))
    holds = {*map(tuple, answers.entailed.facts), *map(tuple, answers.triples())}
    return {one for one in holds if one[0].startswith(names) and one[2].startswith("http")}


def test_the_individuals_of_a_university() -> None:
    found = about_individuals("univ-bench.owl", "University0_0.owl", "http://www.")
    types = Counter(tail.removeprefix(UNIVERSITY) for _, relation, tail in found if relation == TYPE)
    assert len(found) == 9_042
    assert (types["Student"], types["Employee"], types["Chair"]) == (678, 80, 1)


@pytest.mark.slow
def test_the_points_of_a_building() -> None:
    assert len(about_individuals("Brick.n3", "brick-VM3A.ttl", "http://buildsys.org/")) == 48_165
