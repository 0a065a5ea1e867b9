"""The baselines against their definitions, and against what was published of them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from benchmarks.baselines import PUBLISHED
from evaluation_worlds import TableScorer, random_split

from datasets import benchmark
from reshuffle.errors import InputError
from reshuffle.evaluation import RuleBaseline, TieBroken, TypeBaseline, evaluate
from reshuffle.kg import KnowledgeGraph, Vocabulary
from reshuffle.rules import PathRule, Quality, RuleBase

if TYPE_CHECKING:
    from reshuffle.evaluation.scorer import Scorer, Side
    from reshuffle.kg.splits import InductiveBenchmark

SIDES: tuple[Side, Side] = ("head", "tail")


def every_pair(graph: KnowledgeGraph) -> tuple[np.ndarray, np.ndarray]:
    """All (anchor, relation) queries."""
    anchors, relations = np.divmod(
        np.arange(graph.num_entities * len(graph.relations), dtype=np.int32), np.int32(len(graph.relations))
    )
    return anchors, relations


def random_rules(seed: int) -> RuleBase:
    rng = np.random.default_rng(seed)
    atoms = ["r", "s", "t", "r^-1", "s^-1", "t^-1"]
    return RuleBase(
        tuple(
            PathRule(
                tuple(atoms[rng.integers(6)] for _ in range(rng.integers(1, 4))),
                ["r", "s", "t"][rng.integers(3)],
                Quality(10, 5, float(rng.integers(1, 10)) / 10),
            )
            for _ in range(12)
        )
    )


def scorers(seed: int) -> dict[str, Scorer]:
    train, test = random_split(seed).facts, random_split(seed + 100).facts
    types_only = TypeBaseline.fit(train).on(test)
    rules = RuleBaseline(random_rules(seed)).on(test)
    return {
        "types": types_only,
        "rules": rules,
        "both": TieBroken(rules, types_only),
        "table": TableScorer(test),
    }


# --- the contract of all scorers --------------------------------------------------------------------


@pytest.mark.parametrize("name", ["types", "rules", "both", "table"])
@pytest.mark.parametrize("side", SIDES)
def test_scores_do_not_depend_on_the_other_queries(name: str, side: Side) -> None:
    scorer = scorers(0)[name]
    anchors, relations = every_pair(scorer.graph)
    together = scorer.scores(anchors, relations, side=side, candidates=None)
    order = np.random.default_rng(0).permutation(len(anchors))
    shuffled = scorer.scores(anchors[order], relations[order], side=side, candidates=None)
    assert together.shape == (len(anchors), scorer.graph.num_entities)
    assert together.dtype == np.float32
    assert np.array_equal(together[order], shuffled)


@pytest.mark.parametrize("name", ["types", "rules", "both", "table"])
@pytest.mark.parametrize("side", SIDES)
def test_candidates_are_ordered_as_among_all_entities(name: str, side: Side) -> None:
    scorer = scorers(1)[name]
    anchors, relations = every_pair(scorer.graph)
    candidates = np.random.default_rng(0).integers(0, scorer.graph.num_entities, (len(anchors), 7), np.int32)
    among_all = np.take_along_axis(
        scorer.scores(anchors, relations, side=side, candidates=None), candidates, axis=1
    )
    scores = scorer.scores(anchors, relations, side=side, candidates=candidates)
    signs = [np.sign(rows[:, :, None] - rows[:, None, :]) for rows in (among_all, scores)]
    assert np.array_equal(*signs)


# --- types ------------------------------------------------------------------------------------------


def roles(graph: KnowledgeGraph) -> dict[tuple[str, str], set[str]]:
    held: dict[tuple[str, str], set[str]] = {}
    for head, relation, tail in graph:
        held.setdefault(("head", relation), set()).add(head)
        held.setdefault(("tail", relation), set()).add(tail)
    return held


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("side", SIDES)
def test_a_candidate_scores_the_best_rule_about_what_it_is(seed: int, side: Side) -> None:
    train, test = random_split(seed, triples=20).facts, random_split(seed + 50, triples=20).facts
    scorer = TypeBaseline.fit(train).on(test)
    learned, given = roles(train), roles(test)
    anchors, relations = every_pair(test)
    scores = scorer.scores(anchors, relations, side=side, candidates=None)
    for row, relation in zip(scores, test.relations[relations], strict=True):
        wanted = learned.get((side, relation), set())
        for entity, score in zip(test.entities, row, strict=True):
            best = max(
                (
                    len(wanted & holders) / len(holders)
                    for role, holders in learned.items()
                    if entity in given.get(role, ())
                ),
                default=0.0,
            )
            assert score == pytest.approx(best)


def test_relations_go_by_name_and_unseen_ones_score_nothing() -> None:
    train = KnowledgeGraph([("a", "r", "b"), ("a", "s", "c")])
    test = KnowledgeGraph([("x", "new", "y"), ("x", "s", "z"), ("y", "r", "z")])
    scorer = TypeBaseline.fit(train).on(test)
    anchor = np.zeros(2, dtype=np.int32)
    scores = scorer.scores(anchor, test.relations.ids(["new", "r"]), side="head", candidates=None)
    x, y, z = test.entities.ids("xyz")
    assert scores[0].tolist() == [0, 0, 0]
    assert scores[1, [x, y, z]].tolist() == [1, 1, 0]  # heads of s are heads of r in training
    assert scorer.learned_relations.tolist() == [name != "new" for name in test.relations]


def test_a_relation_without_training_facts_is_not_learned() -> None:
    graph = KnowledgeGraph([("a", "r", "b"), ("a", "s", "b")])
    only_r = KnowledgeGraph.from_ids(
        *(np.array([number], dtype=np.int32) for number in (0, graph.relations.id("r"), 1)),
        entities=graph.entities,
        relations=graph.relations,
    )
    scorer = TypeBaseline.fit(only_r).on(graph)
    assert scorer.learned_relations[graph.relations.ids(["r", "s"])].tolist() == [True, False]


def test_counting_in_blocks_counts_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    train = random_split(0, entities=30, triples=200).facts
    whole = TypeBaseline.fit(train).confidences
    monkeypatch.setattr("reshuffle.kg.roles._PAIRS_AT_ONCE", 40)
    assert np.array_equal(TypeBaseline.fit(train).confidences, whole)


# --- rules ------------------------------------------------------------------------------------------


def reached(graph: KnowledgeGraph, start: str, body: tuple[str, ...]) -> set[str]:
    here = {start}
    for atom in body:
        name = atom.removesuffix("^-1")
        edges = {(t, h) if atom != name else (h, t) for h, r, t in graph if r == name}
        here = {end for begin, end in edges if begin in here}
    return here


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("side", SIDES)
def test_rules_add_up_by_noisy_or(seed: int, side: Side) -> None:
    facts, rules = random_split(seed, triples=120).facts, random_rules(seed)
    scorer = RuleBaseline(rules, self_loops=True).on(facts)
    anchors, relations = every_pair(facts)
    scores = scorer.scores(anchors, relations, side=side, candidates=None)
    believed = 0
    for row, anchor, relation in zip(
        scores, facts.entities[anchors], facts.relations[relations], strict=True
    ):
        doubt = dict.fromkeys(facts.entities, 1.0)
        for rule in rules.path_rules:
            if rule.head == relation:
                body = rule.body if side == "tail" else rule.reversed().body
                for entity in reached(facts, anchor, body):
                    assert rule.quality is not None
                    doubt[entity] *= 1 - (rule.quality.confidence or 0.0)
        believed += sum(value < 1 for value in doubt.values())
        assert np.exp(-row) == pytest.approx(list(doubt.values()), rel=1e-4)
    assert believed > 100


def test_a_path_back_to_the_start_is_no_evidence() -> None:
    facts = KnowledgeGraph([("a", "r", "b"), ("c", "r", "b")])
    rules = RuleBase((PathRule(("r", "r^-1"), "same", Quality(4, 2, 0.5)),))
    both = KnowledgeGraph([*facts, ("b", "same", "b")])
    start, same = both.entities.ids("a"), both.relations.ids(["same"])
    scored = {
        loops: RuleBaseline(rules, self_loops=loops)
        .on(both)
        .scores(start, same, side="tail", candidates=None)
        for loops in (True, False)
    }
    names = list(both.entities)
    evidence = pytest.approx(math.log(2))
    assert dict(zip(names, scored[True][0], strict=True)) == {"a": evidence, "b": 0, "c": evidence}
    assert dict(zip(names, scored[False][0], strict=True)) == {"a": 0, "b": 0, "c": evidence}


@pytest.mark.parametrize("side", SIDES)
def test_a_rule_and_its_reversal_count_once(side: Side) -> None:
    facts = random_split(0, triples=120).facts
    rule, longer = (PathRule(body, "r", Quality(4, 2, 0.5)) for body in (("s",), ("s", "t")))
    weaker = PathRule(("s^-1",), "r^-1", Quality(4, 1, 0.25))
    once, twice = (
        RuleBaseline(RuleBase(rules)).on(facts).scores(*every_pair(facts), side=side, candidates=None)
        for rules in ((rule, longer), (rule, weaker, longer))
    )
    assert once.any()
    assert np.array_equal(once, twice)


def test_a_rule_without_confidence_is_named() -> None:
    rules = RuleBase((PathRule(("bornIn",), "livesIn"),))
    facts = KnowledgeGraph([("ada", "bornIn", "uk"), ("bob", "livesIn", "uk")])
    with pytest.raises(InputError, match=r"found a rule without a confidence: bornIn\(X, Y\) -> livesIn"):
        evaluate(RuleBaseline(rules).on(facts), [("ada", "livesIn", "uk")])


def test_mined_rules_answer_what_they_were_mined_for() -> None:
    people = range(30)
    born = [(f"p{n}", "bornIn", f"c{n % 7}") for n in people]
    lives = [(f"p{n}", "livesIn", f"c{n % 7}") for n in people]
    scorer = RuleBaseline.fit(KnowledgeGraph(born + lives), max_length=1).on(
        KnowledgeGraph(born + lives[:20])
    )
    report = evaluate(scorer, lives[20:], protocol="full")
    assert report.result.sides["tail"]["hits@1"] == 1.0


# --- both -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("side", SIDES)
def test_ties_are_broken_and_nothing_else_changes(side: Side) -> None:
    graph = random_split(0).facts
    first, second = TableScorer(graph, 1), TableScorer(graph, 2)
    anchors, relations = every_pair(graph)
    parts = [s.scores(anchors, relations, side=side, candidates=None) for s in (first, second)]
    scores = TieBroken(first, second).scores(anchors, relations, side=side, candidates=None)
    for row, one, two in zip(scores, *parts, strict=True):
        pairs = list(zip(one, two, strict=True))
        for left in range(len(row)):
            assert [row[left] < other for other in row] == [pairs[left] < pair for pair in pairs]


def test_scorers_on_different_graphs_are_not_combined() -> None:
    with pytest.raises(InputError, match="two scorers on different graphs cannot be combined"):
        TieBroken(TableScorer(random_split(0).facts), TableScorer(random_split(0, entities=13).facts))


def test_a_scorer_whose_graph_names_more_relations_is_combined_all_the_same() -> None:
    """A model's graph does: behind those of the facts it names all that the model knows."""
    facts = KnowledgeGraph([("a", "r", "b"), ("c", "s", "d")])

    def naming(*relations: str) -> TableScorer:
        columns = (facts.heads, facts.relation_ids, facts.tails)
        names = Vocabulary(relations, kind="relation")
        return TableScorer(KnowledgeGraph.from_ids(*columns, entities=facts.entities, relations=names), 1)

    plain = TableScorer(facts, 2)
    for both in ((naming("r", "s", "t"), plain), (plain, naming("r", "s", "t"))):
        assert list(TieBroken(*both).graph.relations) == ["r", "s"]
    for other in (naming("s", "r", "t"), naming("r", "x", "t")):
        with pytest.raises(InputError, match="two scorers on different graphs cannot be combined"):
            TieBroken(other, plain)


# --- published --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_type_baseline_meets_its_published_columns(name: str) -> None:
    bench: InductiveBenchmark = benchmark(name)  # type: ignore[assignment]
    scorer = TypeBaseline.fit(bench.train.facts).on(bench.test.facts)
    sampled = [
        evaluate(scorer, bench.test.queries, known=bench.test, seed=seed, baseline=False)["hits@10"]
        for seed in range(1, 11)
    ]
    full = evaluate(scorer, bench.test.queries, known=bench.test, protocol="full", baseline=False)
    hits, mrr = PUBLISHED[name]
    assert np.mean(sampled) == pytest.approx(hits, abs=0.005)
    assert full["mrr"] == pytest.approx(mrr, abs=0.0006)
