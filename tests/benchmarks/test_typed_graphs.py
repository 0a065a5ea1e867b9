"""Generated graphs are the same again, as large as was asked for, and have in them what they say was planted."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.typed_graphs import Shape, TypedGraph, typed_graph

from reshuffle.rules import PathRule, read_rules
from reshuffle.rules.mining import measure


@pytest.fixture(scope="module")
def made() -> TypedGraph:
    return typed_graph(Shape(20_000, seed=3))


def test_a_seed_makes_the_same_graph_again(made: TypedGraph) -> None:
    again = typed_graph(Shape(20_000, seed=3))
    assert again.graph == made.graph and again.planted == made.planted
    assert typed_graph(Shape(20_000, seed=4)).graph != made.graph


def test_it_has_about_so_many_facts_and_hubs(made: TypedGraph) -> None:
    assert 17_000 < len(made.graph) < 23_000
    ends = np.concatenate([made.graph.heads, made.graph.tails])
    degrees = np.sort(np.bincount(ends, minlength=made.graph.num_entities))
    assert degrees[-10:].min() > 20 * np.median(degrees)


def test_planted_rules_hold_as_often_as_it_says(made: TypedGraph) -> None:
    found = measure(made.graph, [one.rule for one in made.planted])
    assert {len(one.rule.body) for one in made.planted if one.is_well_supported} == {1, 2, 3}
    for one in made.planted:
        measured = found[PathRule(one.rule.body, one.rule.head)]
        assert measured.predictions == one.pairs
        assert one.support <= measured.support <= one.support * 1.2 + 5  # noise may agree with the rule


def test_who_finds_half_of_the_rules_is_told_so(made: TypedGraph, tmp_path: object) -> None:
    asked = [one for one in made.planted if one.is_well_supported]
    there, missing = made.found([one.rule for one in asked[::2]])
    assert there == asked[::2] and missing == asked[1::2]
    made.write(f"{tmp_path}/made")
    read = read_rules(f"{tmp_path}/made/planted.rules").rules
    assert made.found(read) == (asked, [])
