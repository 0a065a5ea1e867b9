"""The numbers of the three WordNet workloads, on the real data."""

from __future__ import annotations

import pytest

from datasets import data_folder
from reshuffle import Reasoner, parse_rules
from reshuffle.kg import read_graph

W1 = "_hypernym(X,Y) & _hypernym(Y,Z) -> _hypernym(X,Z)"
W2 = """
_hypernym(X,Y) & _hypernym(Y,Z) -> _hypernym(X,Z)
_instance_hypernym(X,Y) & _hypernym(Y,Z) -> _instance_hypernym(X,Z)
_has_part(X,Y) & _has_part(Y,Z) -> _has_part(X,Z)
_hypernym(X,Y) & _has_part(Y,Z) -> _has_part(X,Z)
_hypernym(X,Y) & _synset_domain_topic_of(Y,Z) -> _synset_domain_topic_of(X,Z)
_derivationally_related_form(X,Y) -> _derivationally_related_form(Y,X)
_verb_group(X,Y) -> _verb_group(Y,X)
_similar_to(X,Y) -> _similar_to(Y,X)
_also_see(X,Y) -> _also_see(Y,X)
_hypernym(X,Y) -> isa(X,Y)
_instance_hypernym(X,Y) -> isa(X,Y)
_derivationally_related_form(X,Y) & _hypernym(X,Y) -> both(X,Y)
_derivationally_related_form(X,Y) & _hypernym(Y,Z) -> drel(X,Z)
_verb_group(X,Y) & _derivationally_related_form(Y,Z) -> drel(X,Z)
"""
W3 = """
_derivationally_related_form(X,Y) -> _derivationally_related_form(Y,X)
_derivationally_related_form(X,Y) & _derivationally_related_form(Y,Z) -> _derivationally_related_form(X,Z)
"""


@pytest.fixture(scope="module")
def graph():
    return read_graph(data_folder("WN18RR") / "train.txt")


def total(answers, rules: str) -> int:
    counts = answers.counts()
    return sum(
        counts[relation].total for relation in {r.removesuffix("^-1") for r in parse_rules(rules).relations}
    )


@pytest.mark.parametrize(("rules", "expected"), [(W1, 192_554), (W2, 1_522_654), (W3, 38_643_029)])
def test_expected_number_of_facts(graph, rules, expected):
    assert total(Reasoner(parse_rules(rules)).on(graph), rules) == expected


def test_little_memory_gives_the_same_number(graph):
    """Too little to write the product out, so the searches walk the graph itself."""
    assert total(Reasoner(parse_rules(W1), memory="2MB").on(graph), W1) == 192_554


def test_updates_of_the_stored_answers(graph):
    answers = Reasoner(parse_rules(W2)).on(graph)
    answers.materialise()
    new = list(read_graph(data_folder("WN18RR") / "valid.txt"))[:300]
    for triple in new:
        answers.add([triple])
    assert answers.counts() == Reasoner(parse_rules(W2)).on(answers.facts).counts()
    for triple in new:
        answers.remove([triple])
    assert total(answers, W2) == 1_522_654
