"""Agreement between scorers, by brute force and on cases that can be counted by hand."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np
import pytest
from benchmarks.agreement import fidelity, shares_in_top
from hypothesis import given, settings
from hypothesis import strategies as st

from reshuffle.data.families import families
from reshuffle.errors import InputError
from reshuffle.evaluation import RuleBaseline, TypeBaseline, evaluate
from reshuffle.extraction import extract_rules
from reshuffle.kg import KnowledgeGraph, Vocabulary
from reshuffle.rulegraphs import constraints_for

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass
class Fixed:
    """Scores by a table: one row per anchor."""

    graph: KnowledgeGraph
    table: NDArray[np.float32]

    def scores(self, anchors, relations, *, side, candidates):  # noqa: ARG002 - the table says all
        rows = self.table[anchors]
        return rows if candidates is None else np.take_along_axis(rows, candidates, axis=1)


GRAPH = KnowledgeGraph([("a", "r", "b"), ("c", "s", "d")])


@given(st.lists(st.integers(0, 2), min_size=1, max_size=4), st.integers(1, 3))
def test_shares_are_averages_over_all_ways_to_break_ties(scores, top):
    expected = np.zeros(len(scores))
    orders = list(permutations(range(len(scores))))
    for order in orders:
        best = sorted(range(len(scores)), key=lambda place: (-scores[place], order[place]))[:top]
        expected[best] += 1 / len(orders)
    found = shares_in_top(np.array([scores], dtype=np.float32), top)[0]
    assert found == pytest.approx(expected)


def test_where_there_are_fewer_candidates_than_places_all_are_in() -> None:
    scores = np.array([[1, -np.inf, -np.inf], [1, 2, 3]], dtype=np.float32)
    assert shares_in_top(scores, 2).tolist() == [[1, 0, 0], [0, 1, 1]]


@given(st.lists(st.lists(st.integers(0, 3), min_size=4, max_size=4), min_size=8, max_size=8))
@settings(max_examples=60)
def test_agreement_by_brute_force(numbers):
    tables = np.array(numbers, dtype=np.float32).reshape(2, 4, 4)
    scorers = {name: Fixed(GRAPH, table) for name, table in zip("xy", tables, strict=True)}
    queries = [("a", "r", "c"), ("d", "s", "b")]
    found = fidelity(scorers, queries, protocol="full").agreements[0]
    expected = {1: [], 10: []}
    for head, relation, tail in queries:
        for anchor, answer, turned in ((head, tail, False), (tail, head, True)):
            known = {
                (t if not turned else h)
                for h, r, t in [*GRAPH, *queries]
                if r == relation and (t if turned else h) == anchor
            } - {answer}
            for top, values in expected.items():
                rows = []
                for scorer in scorers.values():
                    row = scorer.table[GRAPH.entities.ids([anchor])[0]].copy()
                    row[GRAPH.entities.ids(sorted(known))] = -np.inf
                    rows.append(shares_in_top(row[None], top)[0])
                places = min(top, 4 - len(known))
                values.append(np.minimum(*rows).sum() / places)
    assert (found.top1, found.top10) == pytest.approx((np.mean(expected[1]), np.mean(expected[10])))


def test_a_scorer_agrees_with_itself_and_not_with_its_opposite() -> None:
    rising = np.tile(np.arange(4, dtype=np.float32), (4, 1))
    scorers = {"up": Fixed(GRAPH, rising), "same": Fixed(GRAPH, rising * 2), "down": Fixed(GRAPH, -rising)}
    pairs = {
        (one.first, one.second): (one.top1, one.top10)
        for one in fidelity(scorers, [("a", "r", "c")], protocol="full").agreements
    }
    assert pairs["up", "same"] == (1.0, 1.0)
    assert pairs["up", "down"] == (0.0, 1.0)  # fewer than ten candidates are all in the top ten


def test_each_scorer_has_the_metrics_that_evaluate_gives() -> None:
    demo = families(0)
    facts, queries = demo.benchmark.test.facts, demo.benchmark.test.queries
    extracted = extract_rules(constraints_for(demo.rules), on=demo.benchmark.train.facts, max_length=2)
    scorers = {
        "all": extracted.on(facts),
        "one atom": RuleBaseline(extracted.top(20).to_rule_base()).on(facts),
        "types": TypeBaseline.fit(demo.benchmark.train.facts).on(facts),
    }
    found = fidelity(scorers, queries, known=demo.benchmark.test, seed=3)
    for name, scorer in scorers.items():
        report = evaluate(scorer, queries, known=demo.benchmark.test, seed=3, baseline=False)
        assert found.reports[name]["mrr"] == report["mrr"]
        assert found.reports[name]["hits@10"] == report["hits@10"]
    assert found.kept("mrr", "all", "types") == found.reports["types"]["mrr"] / found.reports["all"]["mrr"]
    assert [row["first"] for row in found.rows()] == ["all", "all", "one atom"]
    assert len(found.to_pandas()) == len(found.to_polars()) == found.to_arrow().num_rows == 3
    assert found.to_dict()["agreements"] == found.rows()


def test_it_prints_two_tables() -> None:
    rising = np.tile(np.arange(4, dtype=np.float32), (4, 1))
    scorers = {"up": Fixed(GRAPH, rising), "down": Fixed(GRAPH, -rising)}
    assert str(fidelity(scorers, [("a", "r", "d")], protocol="full")).splitlines() == [
        "scorer  hits@10    mrr",
        "up        1.000  0.625",
        "down      1.000  0.667",
        "",
        "agreement    top 1  top 10",
        "up and down  0.000   1.000",
    ]


def test_queries_that_one_cannot_answer_are_left_out_for_all() -> None:
    demo = families(0)
    train = demo.benchmark.train.facts
    some = KnowledgeGraph(triple for triple in train if triple.relation != "cousin")
    facts = demo.benchmark.test.facts
    scorers = {"types": TypeBaseline.fit(train).on(facts), "fewer": TypeBaseline.fit(some).on(facts)}
    queries = list(demo.benchmark.test.queries)
    cousins = sum(query.relation == "cousin" for query in queries)
    assert cousins > 0
    found = fidelity(scorers, queries, unknown="skip")
    assert found.skipped == cousins and found.reports["types"].queries == len(queries) - cousins
    assert f"left out: {cousins} triples that not all can answer" in str(found)


def test_scorers_whose_graphs_name_more_relations_are_compared_all_the_same() -> None:
    """A model's graph does: behind those of the facts it names all that the model knows."""
    columns = (GRAPH.heads, GRAPH.relation_ids, GRAPH.tails)

    def naming(*relations: str) -> Fixed:
        names = Vocabulary(relations, kind="relation")
        graph = KnowledgeGraph.from_ids(*columns, entities=GRAPH.entities, relations=names)
        return Fixed(graph, np.zeros((4, 4), dtype=np.float32))

    query = [("a", "r", "d")]
    found = fidelity({"one": naming("r", "s"), "p": naming("r", "s", "p"), "q": naming("r", "s", "q")}, query)
    assert len(found.agreements) == 3
    for other in (naming("s", "r"), naming("p", "r", "s")):
        with pytest.raises(InputError, match="scorers on different graphs cannot be compared"):
            fidelity({"one": naming("r", "s"), "other": other}, query)


def test_what_cannot_be_compared() -> None:
    one = Fixed(GRAPH, np.zeros((4, 4), dtype=np.float32))
    with pytest.raises(InputError, match="found 1 scorers to compare"):
        fidelity({"one": one}, [("a", "r", "c")])
    other = Fixed(KnowledgeGraph([("x", "r", "y")]), np.zeros((2, 2), dtype=np.float32))
    with pytest.raises(InputError, match="scorers on different graphs cannot be compared"):
        fidelity({"one": one, "other": other}, [("a", "r", "c")])
