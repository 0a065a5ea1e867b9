"""Searches that share a pass find what a slow search of its own finds for each pair."""

from __future__ import annotations

from collections import deque

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reshuffle.kg.rows import Rows
from reshuffle.kg.searching.steps import Edges, steps_between, steps_to_everyone

ENTITIES = 20
pairs = st.lists(st.tuples(st.integers(0, ENTITIES - 1), st.integers(0, ENTITIES - 1)), max_size=60)


def edges_of(rows: list[tuple[int, int]], *, entities: int = ENTITIES) -> Edges:
    both = np.array([*rows, *((b, a) for a, b in rows)], dtype=np.int32).reshape(-1, 2)
    grouped = Rows.grouped(both[:, 0], both[:, 1], num_rows=entities)
    return Edges(grouped.starts, grouped.values)


def searched(rows: list[tuple[int, int]], source: int, blocked: int, most: int) -> list[int]:
    """The slow and obvious way: breadth first, from one entity."""
    there = {(a, b) for pair in rows for a, b in (pair, pair[::-1])} - {(source, blocked), (blocked, source)}
    steps, waiting = {source: 0}, deque([source])
    while waiting:
        here = waiting.popleft()
        for a, b in there:
            if a == here and b not in steps:
                steps[b] = steps[here] + 1
                waiting.append(b)
    return [min(steps.get(entity, most + 1), most + 1) for entity in range(ENTITIES)]


@given(
    rows=pairs,
    searches=st.lists(
        st.tuples(st.integers(0, ENTITIES - 1), st.integers(-1, ENTITIES - 1)), min_size=1, max_size=150
    ),
    most=st.integers(1, 7),
    asked=st.lists(st.integers(0, ENTITIES - 1), max_size=12),
)
def test_steps_are_those_of_one_search_after_the_other(
    rows: list[tuple[int, int]], searches: list[tuple[int, int]], most: int, asked: list[int]
) -> None:
    edges = edges_of(rows)
    sources, blocked = np.array(searches, dtype=np.int32).T
    expected = [searched(rows, *search, most) for search in searches]
    assert steps_to_everyone(edges, sources, blocked, most=most).tolist() == expected
    sizes = np.arange(len(searches)) % (len(asked) + 1)  # some questions ask for nobody
    entities = np.concatenate([np.array(asked[:size], dtype=np.int32) for size in sizes])
    bounds = np.concatenate([[0], np.cumsum(sizes)])
    found = steps_between(edges, sources, blocked, bounds, entities, most=most)
    told = [expected[q][e] for q, size in enumerate(sizes) for e in asked[:size]]
    assert found.tolist() == told


def test_more_searches_than_fit_into_one_pass() -> None:
    chance, count = np.random.default_rng(0), 600
    rows = [tuple(row) for row in chance.integers(0, ENTITIES, (25, 2)).tolist()]
    sources = chance.integers(0, ENTITIES, count).astype(np.int32)
    blocked = chance.integers(-1, ENTITIES, count).astype(np.int32)
    edges = edges_of(rows)
    assert len(np.unique(np.stack([sources, blocked]), axis=1).T) > 1 and edges.at_once < count
    expected = [searched(rows, int(a), int(b), 5) for a, b in zip(sources, blocked, strict=True)]
    assert steps_to_everyone(edges, sources, blocked, most=5).tolist() == expected
    everyone = np.tile(np.arange(ENTITIES, dtype=np.int32), count)
    bounds = np.arange(count + 1) * ENTITIES
    found = steps_between(edges, sources, blocked, bounds, everyone, most=5)
    assert found.reshape(count, -1).tolist() == expected


def test_many_searches_over_a_graph_with_hubs_and_chains() -> None:
    """Both ways to take a step are walked, and the last one, for a search may end before others."""
    chance, count = np.random.default_rng(1), 3_000
    hubs = np.stack([chance.integers(0, 5, 4_000), chance.integers(0, 1_500, 4_000)], axis=1)
    others = np.stack([np.arange(1_500, count - 1), np.arange(1_501, count)], axis=1)
    rows = [tuple(row) for row in np.concatenate([hubs, others]).tolist()]
    edges = edges_of(rows, entities=count)
    sources = chance.integers(0, count, 200).astype(np.int32)
    nobody = np.full(200, -1, dtype=np.int32)
    together = steps_to_everyone(edges, sources, nobody, most=6)
    alone = [steps_to_everyone(edges, sources[[q]], nobody[[q]], most=6)[0] for q in range(200)]
    assert np.array_equal(together, alone)
    assert set(np.unique(together)) == {0, 1, 2, 3, 4, 5, 6, 7}
    some = chance.integers(0, count, (200, 40)).astype(np.int32)
    found = steps_between(edges, sources, nobody, np.arange(201) * 40, some.reshape(-1), most=6)
    assert np.array_equal(found.reshape(200, 40), np.take_along_axis(together, some, axis=1))
