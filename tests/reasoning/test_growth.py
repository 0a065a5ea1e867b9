"""Memory that is made for one size and used at another: what once wrote out of bounds, and what refuses now."""

from __future__ import annotations

import numpy as np
import pytest

from reshuffle import KnowledgeGraph, Reasoner, parse_rules
from reshuffle.errors import BudgetError, InternalError
from reshuffle.reasoning.chase import ChaseAnswers
from reshuffle.reasoning.geometry import changing_graph
from reshuffle.reasoning.geometry.answers import GeometryAnswers
from reshuffle.reasoning.geometry.changing_graph import LiveGraph
from reshuffle.reasoning.geometry.kernels.product_search import Workspace
from reshuffle.reasoning.sketch.propagation import moves_of, propagate
from reshuffle.rulegraphs import constraints_for

COPY = parse_rules("r(X, Y) -> s(X, Y)")
ONE = KnowledgeGraph([("a", "r", "b")])


def test_facts_are_read_between_additions_of_new_entities():
    answers = Reasoner(COPY).on(ONE)
    for number in range(1_100):  # beyond the room that is made at first
        answers.add([(f"x{number}", "r", "b")])
        assert len(answers.facts) == number + 2
    assert answers.count() == 1_101


def test_proofs_by_paths_alone_may_need_larger_automata_than_answers():
    """t is r+ by the intersection, an automaton of two states; by paths alone it is 70 steps, and 71 states."""
    body = " & ".join(f"r(X{number}, X{number + 1})" for number in range(70))
    rules = parse_rules(
        f"{body} -> t(X0, X70)\nr(X,Y) -> x(X,Y)\nr(X,Y) & x(Y,Z) -> x(X,Z)\n"
        "r(X,Y) -> y(X,Y)\nr(X,Y) & y(Y,Z) -> y(X,Z)\nx(X,Y) & y(X,Y) -> t(X,Y)"
    )
    answers = Reasoner(rules).on([(f"e{number}", "r", f"e{number + 1}") for number in range(400)])
    for number in range(330):
        proof = answers.explain(f"e{number}", "t", f"e{number + 70}")
        assert proof is not None
        assert proof.size == 1


def test_answers_that_no_longer_fit_when_stored_are_searched_for():
    rules = parse_rules("r(X, Y) -> t(X, Y)\nt(X, Y) & r(Y, Z) -> t(X, Z)")
    answers = GeometryAnswers(constraints_for(rules), KnowledgeGraph([("e0", "r", "e1")]), memory=60_000)
    answers.materialise()
    with pytest.raises(BudgetError, match="storing the answers needs more than"):
        answers.add([(f"e{number}", "r", f"e{number + 1}") for number in range(1, 80)])
    assert len(answers.facts) == 80
    assert answers.counts()["t"].total == 80 * 81 // 2


# --- doors ----------------------------------------------------------------------------------------------------


def test_a_workspace_that_is_too_small_is_refused():
    expected = "a search over 9 entities with 2 words of marks each got room for 8 entities with 2"
    with pytest.raises(InternalError, match=f"internal error: {expected}\n  hint: please report it"):
        Workspace(8, 2).marks_for(9, 2, ticks=1)
    with pytest.raises(InternalError, match="room for 8 entities with 1"):
        Workspace(8, 1).marks_for(8, 2, ticks=1)


def test_rows_without_room_for_all_entities_are_refused():
    live = LiveGraph(ONE)
    live.entities.intern("c")
    with pytest.raises(InternalError, match="rows for 2 entities, and there are 3"):
        live._settle(ONE)


@pytest.mark.parametrize(
    ("entity", "used", "what"), [(5, 0, "the entities of a new edge"), (0, 10**6, "a new edge")]
)
def test_an_edge_without_room_is_refused(entity: int, used: int, what: str):
    with pytest.raises(IndexError, match=f"no room for {what}"):
        changing_graph.insert(LiveGraph(ONE).edges, entity, 6, 1, used)


def test_a_sketch_of_another_graph_is_refused():
    constraints, live = constraints_for(COPY), LiveGraph(ONE)
    moves = moves_of(constraints, live.relations)
    states = np.zeros((1, constraints.num_slots, 4), dtype=np.float32)
    with pytest.raises(InternalError, match="a sketch of 1 entities and 1 relations on a graph of 2 and 1"):
        propagate(live, moves, states)


def test_the_chase_refuses_numbers_beyond_its_arrays():
    store = ChaseAnswers(COPY, ONE)._store
    with pytest.raises(
        InternalError, match="has room for 2 relations and 2 entities, not for relation 0 and entity 64"
    ):
        store.ends(0, 64)
    with pytest.raises(InternalError, match="not for relation 9 and entity 1"):
        store.add(np.array([store.key(18, 0, 1)]))


def test_an_update_beyond_what_pairs_were_stored_for_is_refused():
    answers = GeometryAnswers(constraints_for(COPY), ONE)
    answers.materialise()
    assert answers._stored is not None
    with pytest.raises(InternalError, match="an update over 2 entities of relation 7"):
        answers._stored._memory(answers.live, Workspace(8, 1), (0, 7, 1))
