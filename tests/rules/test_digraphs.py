"""Searches in directed graphs beside their definitions."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reshuffle.rules.digraphs import alike, leads_to, reachable

NODES = st.integers(0, 7)
EDGES = st.lists(st.tuples(NODES, st.sampled_from("ab"), NODES), max_size=16)


def following(edges: list[tuple[int, str, int]], *, backwards: bool = False) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for source, _, target in edges:
        found.setdefault(target if backwards else source, []).append(source if backwards else target)
    return found


@given(EDGES, NODES, NODES)
def test_leads_to_is_a_path_of_at_least_one_edge(
    edges: list[tuple[int, str, int]], start: int, goal: int
) -> None:
    ahead, behind = following(edges), following(edges, backwards=True)
    expected = goal in reachable(ahead.get(start, ()), ahead)
    assert leads_to(start, goal, ahead, behind) == expected


@given(EDGES, st.lists(st.integers(0, 2), min_size=8, max_size=8))
def test_alike_is_the_coarsest_refinement(edges: list[tuple[int, str, int]], block: list[int]) -> None:
    """Beside rounds over all nodes, as the definition says."""
    neighbours = [[(label, target) for source, label, target in edges if source == node] for node in range(8)]
    expected = list(block)
    for _ in range(9):
        signatures: dict[object, int] = {}
        expected = [
            signatures.setdefault(
                (expected[node], frozenset((label, expected[other]) for label, other in neighbours[node])),
                len(signatures),
            )
            for node in range(8)
        ]
    found = alike(block, neighbours)
    assert [[a == b for b in found] for a in found] == [[a == b for b in expected] for a in expected]
