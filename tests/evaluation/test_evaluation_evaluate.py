"""`evaluate` and its report: what it filters, what it refuses, what it prints."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest
from evaluation_worlds import TableScorer, random_split

import reshuffle
from reshuffle.errors import InputError
from reshuffle.evaluation import (
    Ranked,
    Ranks,
    Report,
    RuleBaseline,
    TypeBaseline,
    bootstrap_interval,
    evaluate,
    protocol_of,
    with_isolated,
)
from reshuffle.kg import KnowledgeGraph
from reshuffle.rules import PathRule, Quality, RuleBase

if TYPE_CHECKING:
    from reshuffle.evaluation import Side

FACTS = KnowledgeGraph(
    [
        ("ada", "bornIn", "uk"),
        ("bob", "bornIn", "italy"),
        ("eve", "livesIn", "italy"),
        ("bob", "livesIn", "uk"),
    ]
)
RULES = RuleBase((PathRule(("bornIn",), "livesIn", Quality(10, 8, 0.8)),))


def report_of(**options: object) -> Report:
    split = random_split(0)
    return evaluate(TableScorer(split.facts), split.queries, known=split, **options)  # type: ignore[arg-type]


def test_it_is_a_public_name() -> None:
    assert reshuffle.evaluate is evaluate


# --- the filter -------------------------------------------------------------------------------------


def test_by_default_facts_and_queries_are_filtered() -> None:
    scorer = RuleBaseline(RULES).on(FACTS)
    queries = [("bob", "livesIn", "italy")]
    ranks = evaluate(scorer, queries, protocol="full").result.ranks["tail"]
    assert ranks.negatives.tolist() == [FACTS.num_entities - 2]  # livesIn uk is a fact, italy the answer
    nothing = evaluate(scorer, queries, protocol="full", known=KnowledgeGraph()).result.ranks["tail"]
    assert nothing.negatives.tolist() == [FACTS.num_entities - 1]


def test_known_may_be_a_graph_several_or_a_split() -> None:
    split = random_split(0)
    scorer = TableScorer(split.facts)

    def mrr(known: object) -> float:
        return evaluate(scorer, split.queries, protocol="full", known=known)["mrr"]  # type: ignore[arg-type]

    whole = mrr(split)
    assert mrr([split.facts, split.valid, split.queries]) == whole
    assert mrr(split.triples) == whole
    assert mrr(None) == mrr([split.facts, split.queries]) != whole


def test_known_triples_about_others_filter_nothing() -> None:
    others = KnowledgeGraph([("zoe", "livesIn", "uk"), ("ada", "likes", "uk")])
    scorer = RuleBaseline(RULES).on(FACTS)
    report = evaluate(scorer, [("ada", "livesIn", "uk")], protocol="full", known=others)
    assert report.result.both.negatives.tolist() == [FACTS.num_entities - 1] * 2


def test_triples_are_no_graphs() -> None:
    with pytest.raises(InputError, match="found tuple among the known graphs, expected KnowledgeGraph"):
        report = random_split(0)
        evaluate(TableScorer(report.facts), report.queries, known=[("a", "r", "b")])  # type: ignore[list-item]


# --- bad input --------------------------------------------------------------------------------------


def test_empty_queries_are_refused() -> None:
    with pytest.raises(InputError, match="found no queries, expected at least one triple to predict"):
        evaluate(TableScorer(FACTS), [])


def test_relations_never_seen_are_named_and_counted() -> None:
    queries = [
        ("ada", "livesIn", "uk"),
        ("ada", "likes", "uk"),
        ("bob", "likes", "uk"),
        ("bob", "hates", "uk"),
    ]
    with pytest.raises(InputError) as caught:
        evaluate(TableScorer(FACTS), queries)
    assert str(caught.value) == (
        "3 of 4 queries use an unknown relation: 'likes' (2), 'hates' (1)\n"
        '  hint: unknown="skip" (--unknown skip) leaves them out and counts them'
    )
    report = evaluate(TableScorer(FACTS), queries, unknown="skip")
    assert (report.queries, report.skipped) == (1, {"unseen relation": 3})
    assert "left out: 3 triples (unseen relation)" in str(report)


def test_a_relation_that_only_the_test_graph_has_is_never_seen() -> None:
    train = KnowledgeGraph([("x", "bornIn", "y")])
    with pytest.raises(InputError, match=r"1 of 1 query uses an unknown relation: 'livesIn' \(1\)"):
        evaluate(TypeBaseline.fit(train).on(FACTS), [("ada", "livesIn", "uk")])


def test_what_is_unknown_in_two_ways_is_left_out_once() -> None:
    queries = [("ada", "livesIn", "uk"), ("zoe", "likes", "uk"), ("zoe", "livesIn", "uk")]
    report = evaluate(TableScorer(FACTS), queries, unknown="skip")
    assert report.skipped == {"unseen relation": 1, "missing entity": 1}


def test_many_unknown_names_are_cut_short() -> None:
    queries = [("ada", f"new{number}", "uk") for number in range(8)]
    with pytest.raises(InputError, match=r"\(1\) and 3 more"):
        evaluate(TableScorer(FACTS), queries)


def test_missing_entities_are_named() -> None:
    queries = [("zoe", "livesIn", "uk"), ("zoe", "livesIn", "mars"), ("ada", "livesIn", "uk")]
    with pytest.raises(InputError) as caught:
        evaluate(TableScorer(FACTS), queries)
    assert str(caught.value) == (
        "2 of 3 queries name an entity that the scorer's graph lacks: 'zoe' (2), 'mars' (1)\n"
        '  hint: unknown="isolate" (--unknown isolate) adds them without facts, unknown="skip" (--unknown skip) leaves '
        "such queries out"
    )
    with pytest.raises(InputError, match="1 of 2 queries names an entity that"):
        evaluate(TableScorer(FACTS), queries[1:])
    report = evaluate(TableScorer(FACTS), queries, unknown="skip")
    assert (report.queries, report.skipped) == (1, {"missing entity": 2})


def test_missing_entities_can_be_isolated() -> None:
    queries = [("zoe", "livesIn", "uk")]
    scorer = RuleBaseline(RULES).on(FACTS)
    report = evaluate(scorer, queries, protocol="full", unknown="isolate")
    assert report.result.both.negatives.tolist() == [FACTS.num_entities + 1 - 2, FACTS.num_entities + 1 - 1]
    by_hand = evaluate(RuleBaseline(RULES).on(with_isolated(FACTS, ["zoe"])), queries, protocol="full")
    assert report["mrr"] == by_hand["mrr"]
    nothing_missing = evaluate(scorer, [("ada", "livesIn", "uk")], unknown="isolate")
    assert nothing_missing.queries == 1


@pytest.mark.parametrize("protocol", ["sampled-50", "full"])
def test_nan_is_refused(protocol: str) -> None:
    class Diverged(TableScorer):
        def table(self, side: Side) -> np.ndarray:
            return np.full_like(super().table(side), np.nan)

    with pytest.raises(InputError, match="the scorer returned NaN for a candidate"):
        evaluate(Diverged(FACTS), [("ada", "livesIn", "uk")], protocol=protocol)


def test_a_scorer_that_cannot_move_says_so() -> None:
    with pytest.raises(InputError, match="TableScorer cannot be used on a graph with more entities"):
        evaluate(TableScorer(FACTS), [("zoe", "livesIn", "uk")], unknown="isolate")


def test_nothing_left_is_refused() -> None:
    with pytest.raises(InputError, match="the only query cannot be asked: its relation or entities are"):
        evaluate(TableScorer(FACTS), [("zoe", "livesIn", "uk")], unknown="skip")
    with pytest.raises(
        InputError, match="none of the 2 queries can be asked: their relations or entities are"
    ):
        evaluate(TableScorer(FACTS), [("zoe", "livesIn", "uk"), ("eve", "likes", "uk")], unknown="skip")


# --- the baseline beside it -------------------------------------------------------------------------


@dataclass(frozen=True)
class WithTypes(TableScorer):
    @property
    def type_baseline(self) -> TypeBaseline:
        return TypeBaseline.fit(KnowledgeGraph([("x", "livesIn", "y")]))


def test_the_baseline_is_the_scorers_own_or_fitted_on_its_graph() -> None:
    queries = [("ada", "livesIn", "uk")]

    def beside(**options: object) -> object:
        report = evaluate(TableScorer(FACTS), queries, protocol="full", **options)  # type: ignore[arg-type]
        return report.baseline and report.baseline.both.realistic.tolist()

    own = TypeBaseline.fit(FACTS)
    other = WithTypes(FACTS).type_baseline
    brought = evaluate(WithTypes(FACTS), queries, protocol="full").baseline
    assert beside() == beside(baseline=own)
    assert brought is not None
    assert brought.both.realistic.tolist() == beside(baseline=other) != beside()
    assert beside(baseline=False) is None


def test_the_baseline_ranks_the_same_candidates() -> None:
    report = report_of()
    alone = random_split(0)
    scorer = TypeBaseline.fit(alone.facts).on(alone.facts)
    again = evaluate(scorer, alone.queries, known=alone)
    assert report.baseline is not None
    assert report.baseline.metrics == again.metrics


# --- the report -------------------------------------------------------------------------------------


def test_sides_average_to_the_whole() -> None:
    report = report_of()
    sides = report.result.sides
    for name, value in report.metrics.values.items():
        assert value == pytest.approx((sides["head"][name] + sides["tail"][name]) / 2)
    assert report.metrics.queries == 2 * report.queries == 2 * len(random_split(0).queries)
    assert sides["head"] != sides["tail"]


def test_the_same_seed_gives_the_same_report() -> None:
    split = random_split(0, entities=80, triples=400)
    first, again, other = (
        evaluate(TableScorer(split.facts), split.queries, known=split, seed=seed)["mrr"] for seed in (1, 1, 2)
    )
    assert first == again != other


def test_a_report_is_data() -> None:
    report = report_of()
    data = json.loads(json.dumps(report.to_dict()))
    assert data["protocol"] == "sampled-50"
    assert data["metrics"]["hits@10"] == report["hits@10"]
    assert data["tie_rate"] == report.metrics.tie_rate > 0
    assert data["sides"]["head"]["mrr"] == report.result.sides["head"]["mrr"]
    assert data["type_baseline"]["metrics"]["mrr"] == report.baseline.metrics["mrr"]  # type: ignore[union-attr]
    assert data["seconds"] > 0
    assert report_of(baseline=False).to_dict()["type_baseline"] is None


def test_a_report_goes_out_as_a_table() -> None:
    report = report_of()
    rows = report.rows()
    assert [(row["scorer"], row["side"]) for row in rows] == [
        (scorer, side) for scorer in ("TableScorer", "type baseline") for side in ("both", "head", "tail")
    ]
    assert report.to_arrow().to_pylist() == rows
    assert report.to_pandas().to_dict("records") == rows
    assert report.to_polars().to_dicts() == rows


def test_a_report_prints_as_a_table() -> None:
    lines = str(report_of()).splitlines()
    assert lines[0].startswith("sampled-50: 50 wrong candidates without replacement")
    assert "realistic ranks, seed 0" in lines[1]
    assert lines[3].split() == ["scorer", "side", *report_of().metrics.values, "tie_rate"]
    assert lines[7].startswith("type baseline  both")
    assert len({len(line) for line in lines[3:]}) == 1


def test_an_interval_holds_the_mean_and_shrinks_with_confidence() -> None:
    result = report_of().result
    wide, narrow = result.interval("mrr"), result.interval("mrr", level=0.5)
    assert wide[0] < narrow[0] < result.metrics["mrr"] < narrow[1] < wide[1]


def test_the_two_queries_of_a_triple_are_drawn_together() -> None:
    ranks = Ranks(np.arange(1, 31), np.arange(1, 31), np.full(30, 50))
    paired = Ranked("same on both sides", protocol_of("full"), {"head": ranks, "tail": ranks})
    assert paired.interval("mrr") == bootstrap_interval(1 / ranks.realistic)


def test_progress_counts_every_query() -> None:
    counted: list[int] = []

    @contextmanager
    def progress(description: str, *, total: int | None = None, unit: str = "it"):  # type: ignore[no-untyped-def]
        counted.append(0)
        yield lambda done: counted.__setitem__(-1, counted[-1] + done)
        assert counted[-1] == total

    report = report_of(progress=progress)
    assert counted == [2 * report.queries] * 2  # the scorer, then the baseline


@dataclass
class Watched:
    """Everyone scores 0; how much was asked for at once is kept."""

    graph: KnowledgeGraph
    largest: int = 0

    def scores(self, anchors: np.ndarray, *_: object, **_options: object) -> np.ndarray:
        scores = np.zeros((len(anchors), self.graph.num_entities), dtype=np.float32)
        self.largest = max(self.largest, scores.size)
        return scores


def test_scores_are_asked_for_in_small_batches() -> None:
    split = random_split(0, entities=1000, triples=3000)
    scorer = Watched(split.facts)
    report = evaluate(scorer, split.queries, protocol="full", baseline=False)  # type: ignore[arg-type]
    assert 0 < scorer.largest <= 1 << 18 < report.queries * 1000


def test_a_report_says_how_many_queries_are_facts() -> None:
    scorer = RuleBaseline(RULES).on(FACTS)
    asked = [("bob", "livesIn", "uk"), ("bob", "livesIn", "italy")]
    report = evaluate(scorer, asked, protocol="full")
    assert report.queries_among_facts == report.to_dict()["queries_among_facts"] == 1
    told = "1 of 2 queries is a fact of the graph: it is ranked with itself in it"
    assert report.remarks() == (told,) and str(report).splitlines()[-1] == told
    both = evaluate(scorer, FACTS, unknown="skip", protocol="full")
    assert both.remarks() == (
        f"{both.queries} of {both.queries} queries are facts of the graph: they are ranked with themselves in it",
    )
    none = evaluate(scorer, asked[1:], protocol="full")
    assert none.remarks() == () and none.to_dict()["queries_among_facts"] == 0


def test_a_report_says_where_known_graphs_lack_the_queries() -> None:
    """Who lists known graphs may forget the queries, and gets other numbers than PyKEEN's without a word."""
    scorer = RuleBaseline(RULES).on(FACTS)
    asked = KnowledgeGraph([("bob", "livesIn", "italy"), ("ada", "livesIn", "italy")])
    assert evaluate(scorer, asked, protocol="full", known=FACTS).remarks() == (
        "2 of 2 queries are not among the known triples: give them in `known`, too, or they count as wrong answers of "
        "other queries",
    )
    for known in (None, [FACTS, asked], FACTS | asked):
        assert evaluate(scorer, asked, protocol="full", known=known).remarks() == ()
    assert evaluate(scorer, asked, protocol="full-facts", known=FACTS).remarks() == ()
