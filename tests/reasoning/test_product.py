"""Strongly connected components, against their definition."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reshuffle.reasoning.geometry.kernels.product import components, grouped

SIZE = 7
edge_lists = st.lists(st.tuples(st.integers(0, SIZE - 1), st.integers(0, SIZE - 1)), max_size=14)


@given(edge_lists)
def test_two_nodes_are_in_one_component_iff_each_reaches_the_other(edges):
    sources, targets = np.array(edges, dtype=np.int32).reshape(-1, 2).T
    found = components(*grouped(np.ascontiguousarray(sources), np.ascontiguousarray(targets), SIZE))
    reach = np.eye(SIZE, dtype=bool)
    for source, target in edges:
        reach[source, target] = True
    for _ in range(SIZE):
        reach |= reach @ reach
    for one in range(SIZE):
        for two in range(SIZE):
            assert (found[one] == found[two]) == (reach[one, two] and reach[two, one])
