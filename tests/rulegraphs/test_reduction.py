"""Reductions keep what the root edges accept, never add nodes, and keep (R2)."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from reshuffle.rulegraphs import Edge, RuleGraph, build
from reshuffle.rulegraphs.constructions.bounded import _BoundedReader
from reshuffle.rulegraphs.constructions.regular import Draft, _drafted
from reshuffle.rulegraphs.reduction import FREE, Edges, Roots, reduced
from reshuffle.rules import RuleBase, parse_rules
from strategies import regular_bases, rule_bases

W2 = parse_rules(
    """
    hyp(X, Y) & hyp(Y, Z) -> hyp(X, Z)
    inst(X, Y) & hyp(Y, Z) -> inst(X, Z)
    part(X, Y) & part(Y, Z) -> part(X, Z)
    hyp(X, Y) & part(Y, Z) -> part(X, Z)
    hyp(X, Y) & topic(Y, Z) -> topic(X, Z)
    drf(X, Y) -> drf(Y, X)
    vg(X, Y) -> vg(Y, X)
    sim(X, Y) -> sim(Y, X)
    also(X, Y) -> also(Y, X)
    hyp(X, Y) -> isa(X, Y)
    inst(X, Y) -> isa(X, Y)
    drf(X, Y) & hyp(X, Y) -> both(X, Y)
    drf(X, Y) & hyp(Y, Z) -> drel(X, Z)
    vg(X, Y) & drf(Y, Z) -> drel(X, Z)
    """
)


def words_of(
    num_nodes: int, edges: Edges, roots: Roots, *, length: int = 4
) -> dict[str, list[set[tuple[str, ...]]]]:
    """Per relation the words of each of its root edges."""
    graph = RuleGraph(num_nodes, tuple(Edge(*edge) for edge in edges), frozenset({FREE}))
    return {
        relation: [set(graph.words(source, target, max_length=length)) for source, target in clauses]
        for relation, clauses in roots.items()
    }


@st.composite
def drafts(draw: st.DrawFn) -> tuple[int, Edges, Roots]:
    """Any graph with (R2), free moves anywhere, and some of its edges as roots, also from different sources."""
    nodes = draw(st.integers(2, 7))
    edges: Edges = []
    for label in ("a", "b", "c"):
        for target in range(nodes):
            source = draw(st.integers(-nodes, nodes - 1))  # every other node has none
            if source >= 0:
                edges.append((source, label, target))
    node = st.integers(0, nodes - 1)
    for source, target in draw(st.lists(st.tuples(node, node), max_size=6)):
        if source != target and (source, FREE, target) not in edges:
            edges.append((source, FREE, target))
    roots = {}
    for number, edge in enumerate(draw(st.lists(st.sampled_from(edges), max_size=4)) if edges else []):
        source, label, target = edge
        if label != FREE:
            roots[f"root{number}"] = ((source, target),)
    return nodes, edges, roots


def assert_kept(num_nodes: int, edges: Edges, roots: Roots, *, length: int = 4) -> None:
    smaller, fewer, moved = reduced(num_nodes, edges, roots)
    assert smaller <= num_nodes
    assert words_of(smaller, fewer, moved, length=length) == words_of(num_nodes, edges, roots, length=length)
    arrivals = Counter((label, target) for _, label, target in fewer if label != FREE)
    assert max(arrivals.values(), default=1) == 1
    for relation, clauses in moved.items():  # a root is still an edge, not only a pair of nodes
        ((source, target),) = clauses
        ((before, end),) = roots[relation]
        labels = {label for start, label, stop in edges if (start, stop) == (before, end)}
        assert any((source, label, target) in fewer for label in labels - {FREE})


@given(drafts())
@settings(max_examples=600)
def test_any_graph_keeps_its_root_languages(draft: tuple[int, Edges, Roots]) -> None:
    assert_kept(*draft)


@given(regular_bases(), st.booleans())
@settings(max_examples=100)
def test_regular_drafts_keep_their_root_languages(base: RuleBase, reuse: bool) -> None:
    draft = _drafted(base, node_budget=1000, reuse=reuse)
    assert_kept(draft.num_nodes, list(draft.edges), draft.roots)


@given(rule_bases(most_relations=3, most_rules=3), st.integers(0, 2))
@settings(max_examples=100)
def test_bounded_drafts_keep_their_root_languages(base: RuleBase, bound: int) -> None:
    draft = Draft()
    reader = _BoundedReader(base, draft, bound)
    start = draft.node()
    for symbol in reader.grammar.labels:
        draft.roots[symbol] = (reader.root_edge(start, symbol),)
    reader.expand()
    assert_kept(draft.num_nodes, list(draft.edges), draft.roots, length=3)


def test_a_root_end_moves_at_most_once_in_a_pass() -> None:
    """Node 2 may move to 4, and 4 to 5; both together would let `a` into the root of r1."""
    edges = [(0, "r1", 2), (1, "r2", 3), (2, FREE, 4), (3, FREE, 4), (4, FREE, 5), (0, "a", 5)]
    edges += [(5, "b", 6), (0, "t", 6), (1, "u", 6)]
    roots = {"r1": ((0, 2),), "r2": ((1, 3),), "t": ((0, 6),), "u": ((1, 6),)}
    num_nodes, fewer, moved = reduced(7, edges, roots)
    assert words_of(num_nodes, fewer, moved)["r1"] == [{("r1",)}]


def test_edges_that_no_root_uses_are_dropped() -> None:
    edges = [(0, "a", 1), (1, "b", 2), (3, "a", 0)]
    assert reduced(4, edges, {"a": ((0, 1),)}) == (2, [(0, "a", 1)], {"a": ((0, 1),)})


def test_each_step_by_itself() -> None:
    same_past = [(0, "a", 1), (0, "a", 2), (1, "b", 3), (2, "c", 3), (0, "r", 3)]
    assert reduced(4, same_past, {"r": ((0, 3),)})[0] == 3
    free_entry = [(0, "r", 1), (0, "a", 2), (2, FREE, 3), (3, "b", 1)]
    assert reduced(4, free_entry, {"r": ((0, 1),)})[0] == 3
    free_exit = [(0, "r", 1), (0, "a", 2), (2, FREE, 1)]
    assert reduced(3, free_exit, {"r": ((0, 1),)})[0] == 2
    several_exits = [(0, "r", 1), (0, "s", 2), (0, "a", 3), (3, FREE, 1), (3, FREE, 2)]
    assert reduced(4, several_exits, {"r": ((0, 1),), "s": ((0, 2),)})[0] == 3
    same_future = [(0, "r", 1), (0, "a", 2), (0, "b", 3), (2, "c", 1), (3, "c", 1)]
    assert reduced(4, same_future[:-1], {"r": ((0, 1),)})[0] == 3
    r2_forbids = [(0, "r", 1), (2, FREE, 1), (0, "a", 3), (3, "r", 2)]
    assert reduced(4, r2_forbids, {"r": ((0, 1),)})[0] == 4  # a second r-edge into node 1


def test_sizes_of_the_workloads() -> None:
    """l decides the cost of everything downstream, so a change that grows these should be noticed."""
    w2 = build(W2)
    assert w2.num_nodes <= 33
    assert w2.unreduced_nodes is not None
    assert w2.num_nodes < w2.unreduced_nodes
    w3 = build(parse_rules("drf(X, Y) -> drf(Y, X)\ndrf(X, Y) & drf(Y, Z) -> drf(X, Z)"))
    assert (w3.num_nodes, len(w3.edges)) == (2, 3)
    w1 = build(parse_rules("hyp(X, Y) & hyp(Y, Z) -> hyp(X, Z)"))
    assert (w1.num_nodes, len(w1.edges)) == (2, 2)
