"""The RDF-based conformance suite of OWL 2: no case is missed in silence."""

from __future__ import annotations

import pytest
from tests.datasets import shared_folder
from tests.reasoning.rdf_based_suite import Case, cases, verdict

PASSED = {"owl2rl": 138, "rdfs": 47}
"""All others are about literals, or name what is not read."""


def suite(part: str) -> list[Case]:
    return cases(shared_folder(f"owltests/rdfbased/{part}"))


@pytest.mark.parametrize("part", ["owl2rl", "rdfs"])
def test_cases_about_entities_and_axioms_pass_or_are_refused_by_name(part: str) -> None:
    found = {case.name: verdict(case) for case in suite(part) if "-dat-" not in case.name}
    assert not [name for name, said in found.items() if said.name == "missed"]
    of_entities = [
        name for name, said in found.items() if said.name == "refused" and not said.is_about_literals
    ]
    assert of_entities == [
        name
        for name in (
            "rdfbased-xtr-reflection-listentries",  # a chain that begins with a blank node
        )
        if part == "owl2rl"
    ]


@pytest.mark.slow
@pytest.mark.parametrize("part", ["owl2rl", "rdfs"])
def test_all_cases_pass_or_are_refused_by_name(part: str) -> None:
    found = [verdict(case).name for case in suite(part)]
    assert (found.count("missed"), found.count("passed")) == (0, PASSED[part])
