"""RuleGraph: paths, words and identities."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from reshuffle.rulegraphs import Edge, RuleGraph
from reshuffle.rulegraphs.build import labels_of
from strategies import rule_graphs

LOOP = RuleGraph(
    3, (Edge(0, "a", 1), Edge(1, "eq", 2), Edge(2, "b", 1), Edge(2, "eq1", 0)), frozenset({"eq", "eq1"})
)


def paths_by_hand(graph: RuleGraph, source: int, target: int, longest: int) -> set[tuple[str, ...]]:
    """Every path with at most `longest` labels, identities dropped, by walking edge by edge."""
    found, seen = set(), {(source, ())}
    waiting = [(source, ())]
    while waiting:
        node, word = waiting.pop()
        if node == target:
            found.add(word)
        for start, label, end in graph.edges:
            if start == node:
                longer = word if label in graph.identities else (*word, label)
                if len(longer) <= longest and (end, longer) not in seen:
                    seen.add((end, longer))
                    waiting.append((end, longer))
    return found


@given(rule_graphs(), st.data())
@settings(max_examples=150)
def test_words_are_the_types_of_all_paths(graph: RuleGraph, data: st.DataObject) -> None:
    node = st.integers(0, graph.num_nodes - 1)
    source, target = data.draw(node), data.draw(node)
    expected = paths_by_hand(graph, source, target, 3)
    words = list(graph.words(source, target, max_length=3))
    assert set(words) == expected
    assert len(words) == len(expected)
    assert [len(word) for word in words] == sorted(len(word) for word in words)
    for length in range(3):
        for word in itertools.product(("r1", "r2", "r3"), repeat=length):
            assert graph.has_path(source, word, target) == (word in expected)


def test_identities_are_free() -> None:
    assert LOOP.identity_closure == (frozenset({0}), frozenset({0, 1, 2}), frozenset({0, 2}))
    assert LOOP.ends(0, ("a",)) == {0, 1, 2}
    assert list(LOOP.words(0, 1, max_length=2)) == [("a",), ("a", "a"), ("a", "b")]
    assert labels_of(LOOP) == ("a", "b", "eq", "eq1")


def test_long_words_cost_no_more_than_those_that_arrive() -> None:
    """Twenty loops beside the target: 20 ** 12 words that lead nowhere are never made."""
    loops = [Edge(0, f"l{n}", 1) for n in range(20)] + [Edge(1, f"k{n}", 1) for n in range(20)]
    graph = RuleGraph(3, (*loops, Edge(0, "r", 2)))
    assert list(graph.words(0, 2, max_length=12)) == [("r",)]


def test_str() -> None:
    assert str(LOOP) == "rule graph with 3 nodes and 4 edges"
