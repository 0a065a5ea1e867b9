"""The graph as a collection, its set operations and its views by row."""

from __future__ import annotations

import operator
from collections import defaultdict

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from tests.strategies import fact_lists

from reshuffle.errors import InputError
from reshuffle.kg import CompletedGraph, KnowledgeGraph, Triple, Vocabulary
from reshuffle.kg.rows import sorted_distinct, with_inverses
from reshuffle.kg.vocabulary import base_relation, inverse_name, is_inverse, label_of


@given(fact_lists())
def test_it_is_the_set_of_its_triples(facts):
    kg = KnowledgeGraph(facts)
    assert len(kg) == len(set(facts))
    assert set(kg) == set(facts)
    assert kg == set(facts)
    assert all(fact in kg for fact in facts)
    assert all(isinstance(triple, Triple) for triple in kg)


@pytest.mark.parametrize(
    "stranger", [("a", "r", "z"), ("a", "q", "b"), ("a", "r"), "arb", (1, "r", "b"), None]
)
def test_strangers_are_not_in_it(stranger):
    assert stranger not in KnowledgeGraph([("a", "r", "b")])


@pytest.mark.parametrize("name", ["and_", "or_", "sub", "xor", "le", "lt", "ge", "gt", "eq", "ne"])
@given(left=fact_lists(entities=3, relations=2), right=fact_lists(entities=3, relations=2))
@settings(max_examples=60)
def test_set_operations_go_by_name(name, left, right):
    operation = getattr(operator, name)
    expected = operation(set(left), set(right))
    assert operation(KnowledgeGraph(left), KnowledgeGraph(right)) == expected
    assert operation(KnowledgeGraph(left), set(right)) == expected


@given(fact_lists(), fact_lists())
def test_disjointness(left, right):
    expected = set(left).isdisjoint(right)
    assert KnowledgeGraph(left).isdisjoint(KnowledgeGraph(right)) == expected
    assert KnowledgeGraph(left).isdisjoint(right) == expected


def test_set_operations_between_vocabularies_of_different_order():
    left = KnowledgeGraph([("a", "r", "b"), ("c", "s", "d")])
    right = KnowledgeGraph([("d", "s", "c"), ("c", "s", "d"), ("x", "t", "a")])
    assert left & right == {("c", "s", "d")}
    assert list((left | right).entities) == ["a", "b", "c", "d", "x"]
    assert (left - right).entities is left.entities
    assert left != right
    assert left != {1, 2}


def test_set_operations_where_no_single_key_fits(monkeypatch):
    monkeypatch.setattr("reshuffle.kg.rows._KEY_BITS", 3)
    left = KnowledgeGraph([("c", "s", "d"), ("a", "r", "b"), ("a", "r", "b"), ("a", "r", "a")])
    right = KnowledgeGraph([("d", "s", "c"), ("a", "r", "b")])
    assert len(left) == 3
    assert left & right == {("a", "r", "b")}
    assert left | right == {("a", "r", "a"), ("a", "r", "b"), ("c", "s", "d"), ("d", "s", "c")}


def test_sorting_where_no_single_key_fits():
    largest = 2**31 - 1
    columns = [
        np.array(column, dtype=np.int32) for column in ([largest, 0, largest], [5, 5, 5], [1, largest, 1])
    ]
    found = sorted_distinct(*columns)
    assert [column.tolist() for column in found] == [[0, largest], [5, 5], [largest, 1]]


def test_columns_are_sorted_by_relation_head_tail_and_fixed():
    kg = KnowledgeGraph([("b", "s", "a"), ("b", "r", "b"), ("b", "r", "a"), ("a", "s", "b")])
    rows = list(zip(kg.relation_ids, kg.heads, kg.tails, strict=True))
    assert rows == sorted(rows)
    with pytest.raises(ValueError, match="read-only"):
        kg.heads[0] = 1


def test_the_large_sort_gives_the_same(monkeypatch):
    random = np.random.default_rng(5)
    columns = [random.integers(0, size, 5000).astype(np.int32) for size in (300, 20, 300)]
    names = {
        "entities": Vocabulary(map(str, range(300)), kind="entity"),
        "relations": Vocabulary(map(str, range(20)), kind="relation"),
    }
    small = KnowledgeGraph.from_ids(*columns, **names)
    small.by_head, small.by_tail  # noqa: B018 - built now
    monkeypatch.setattr("reshuffle.kg.rows._LARGE", 1)
    large = KnowledgeGraph.from_ids(*columns, **names)
    for column in ("heads", "relation_ids", "tails"):
        assert np.array_equal(getattr(small, column), getattr(large, column))
    for view in ("by_head", "by_tail"):
        for part in ("starts", "relations", "neighbours"):
            assert np.array_equal(getattr(getattr(small, view), part), getattr(getattr(large, view), part))


@given(fact_lists())
def test_edges_and_rows_against_brute_force(facts):
    kg = KnowledgeGraph(facts)
    for relation, name in enumerate(kg.relations):
        heads, tails = kg.edges(relation)
        pairs = zip(kg.entities[heads], kg.entities[tails], strict=True)
        assert sorted(pairs) == sorted({(head, tail) for head, r, tail in facts if r == name})
        for entity in range(kg.num_entities):
            here = kg.entities[entity]
            out = kg.by_head.of(entity, relation)
            into = kg.by_tail.of(entity, relation)
            assert sorted(kg.entities[out]) == sorted({t for h, r, t in facts if (h, r) == (here, name)})
            assert sorted(kg.entities[into]) == sorted({h for h, r, t in facts if (r, t) == (name, here)})
            assert list(out) == sorted(out)


@given(fact_lists())
def test_completed_rows_against_brute_force(facts):
    kg = KnowledgeGraph(facts)
    completed = CompletedGraph(kg)
    expected = defaultdict(list)
    for head, relation, tail in completed:
        if relation != "eq":
            expected[head].append((relation, tail))
    rows = completed.by_head
    for entity, name in enumerate(kg.entities):
        row = slice(rows.starts[entity], rows.starts[entity + 1])
        found = [
            (completed.relation_name(relation), kg.entities[int(neighbour)])
            for relation, neighbour in zip(rows.relations[row], rows.neighbours[row], strict=True)
        ]
        assert sorted(found) == sorted(expected[name])
        ids = list(zip(rows.relations[row], rows.neighbours[row], strict=True))
        assert ids == sorted(ids)


@given(fact_lists())
def test_completed_edges_are_the_named_ones(facts):
    completed = CompletedGraph(KnowledgeGraph(facts), num_identities=2)
    entities = completed.graph.entities
    found = [
        (head, completed.relation_name(relation), tail)
        for relation in range(completed.num_relations)
        for head, tail in zip(*(entities[ends] for ends in completed.edges(relation)), strict=True)
    ]
    assert len(completed) == len(found)
    assert sorted(found) == sorted(completed)


def test_names_must_be_text():
    with pytest.raises(InputError) as caught:
        KnowledgeGraph([("a", "r", 5.5)])
    assert str(caught.value) == (
        "found 5.5 (float) as the name of an entity, expected text\n"
        "  hint: names are Python strings that can be written as UTF-8; convert numbers with str(...)"
    )
    with pytest.raises(InputError, match="as the name of a relation, expected text"):
        KnowledgeGraph([("a", "\ud800", "b")])


def test_a_list_is_no_name():
    with pytest.raises(InputError, match="found a name that is no text: unhashable type: 'list'"):
        KnowledgeGraph([("a", "r", ["b"])])


@pytest.mark.parametrize("odd", [None, float("nan"), pd.NA])
def test_a_missing_name_is_no_name(odd):
    with pytest.raises(InputError) as caught:
        KnowledgeGraph([("a", "r", odd), ("b", "r", "c")])
    assert str(caught.value).startswith(
        f"found {odd!r} ({type(odd).__name__}) as the name of an entity, expected text\n  hint: "
    )


@pytest.mark.parametrize(("triple", "kind"), [(("a", "r", ""), "an entity"), (("a", "", "b"), "a relation")])
def test_an_empty_name_is_no_name(triple, kind):
    with pytest.raises(InputError) as caught:
        KnowledgeGraph([triple])
    assert str(caught.value) == (
        f"found an empty text as the name of {kind}, expected at least one character\n"
        "  hint: write the name, or leave its triples out"
    )


def test_it_prints_its_size():
    assert repr(KnowledgeGraph([("a", "r", "b")])) == "<KnowledgeGraph: 1 triple, 2 entities, 1 relation>"


@pytest.mark.parametrize("wrong", [("a", "b"), ("a", "b", "c", "d"), "abc"])
def test_what_is_no_triple_is_named(wrong):
    with pytest.raises(InputError) as caught:
        KnowledgeGraph([wrong])
    assert str(caught.value) == (
        f"found {wrong!r}, expected a triple of names: (head, relation, tail)\n"
        "  hint: give an iterable of such triples; read_graph(path) reads a file"
    )


def test_a_graph_whose_relations_are_named_like_inverses_is_not_completed():
    weird = KnowledgeGraph([("a", "follows^-1", "b")])
    assert len(weird) == 1
    with pytest.raises(
        InputError, match=r"it stands for the inverse of 'follows'\n  hint: write such triples"
    ):
        CompletedGraph(weird)


def test_inverses_by_name_by_id_and_by_label() -> None:
    assert (inverse_name("r"), is_inverse("r^-1"), base_relation("r^-1"), base_relation("r")) == (
        "r^-1",
        True,
        "r",
        "r",
    )
    triples = np.array([[0, 1, 2], [3, 0, 0]])
    assert with_inverses(triples, 5).tolist() == [[0, 1, 2], [3, 0, 0], [2, 6, 0], [0, 5, 3]]
    assert with_inverses(triples[:0], 5).shape == (0, 3)
    assert (label_of(3, backwards=False), label_of(3, backwards=True)) == (6, 7)
