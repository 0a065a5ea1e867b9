"""Each protocol against ten lines of sets and loops."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.parquet as pq
import pytest
from evaluation_worlds import TableScorer, random_split

from reshuffle.errors import InputError
from reshuffle.evaluation import PROTOCOLS, Negatives, RankingProtocol, Sampling, evaluate, protocol_of
from reshuffle.evaluation.negatives import ABSENT, Origin, draw_negatives
from reshuffle.evaluation.queries import KnownAnswers, Queries, known_answers
from reshuffle.kg import KnowledgeGraph

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from reshuffle.evaluation.scorer import Side
    from reshuffle.kg.splits import GraphSplit

FILTERED = {
    "sampled-50": ("facts", "valid", "queries"),
    "sampled-50-official-code": ("facts", "queries"),
    "grail-49": ("facts",),
    "nbfnet-estimate": ("facts",),
    "full": ("facts", "valid", "queries"),
    "full-facts": ("facts",),
    "type-matched": ("facts", "valid", "queries"),
}
SAMPLED = ["sampled-50", "sampled-50-official-code", "grail-49", "type-matched"]


def questions(split: GraphSplit) -> Iterator[tuple[Side, int, int, int]]:
    """(side, anchor, relation, true answer), heads first, as reports list them."""
    queries = split.queries
    yield from (("head", t, r, h) for h, r, t in zip(*ids_of(queries), strict=True))
    yield from (("tail", h, r, t) for h, r, t in zip(*ids_of(queries), strict=True))


def ids_of(graph: KnowledgeGraph) -> tuple[list[int], list[int], list[int]]:
    return graph.heads.tolist(), graph.relation_ids.tolist(), graph.tails.tolist()


def wrong_answers(
    split: GraphSplit, name: str, side: Side, anchor: int, relation: int, answer: int
) -> set[int]:
    true = {row for part in FILTERED[name] for row in zip(*ids_of(getattr(split, part)), strict=True)}
    return {
        other
        for other in range(split.facts.num_entities)
        if ((anchor, relation, other) if side == "tail" else (other, relation, anchor)) not in true
        and other != answer
    }


def negatives_of(split: GraphSplit, name: str, *, seed: int = 0) -> Negatives:
    protocol = protocol_of(name)
    queries = Queries(split.queries.heads, split.queries.relation_ids, split.queries.tails)
    known = known_answers(split, protocol.filters, split.facts, queries)
    assert protocol.sampling is not None
    return draw_negatives(split.facts, queries, known, protocol.sampling, seed=seed)


def candidates_of(split: GraphSplit, name: str, *, seed: int = 0) -> list[list[int]]:
    drawn = negatives_of(split, name, seed=seed)
    return [*drawn.candidates["head"].tolist(), *drawn.candidates["tail"].tolist()]


def test_every_protocol_is_tested_here() -> None:
    assert set(PROTOCOLS) == set(FILTERED)
    assert {name for name, protocol in PROTOCOLS.items() if protocol.sampling} == set(SAMPLED)


# --- full rankings ----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_full_ranks_all_wrong_answers(seed: int) -> None:
    split = random_split(seed)
    scorer = TableScorer(split.facts, seed)
    ranks = []
    for side, anchor, relation, answer in questions(split):
        row = scorer.table(side)[relation, anchor]
        wrong = row[list(wrong_answers(split, "full", side, anchor, relation, answer))]
        ranks.append(1 + (wrong > row[answer]).sum() + (wrong == row[answer]).sum() / 2)
    report = evaluate(scorer, split.queries, protocol="full", known=split)
    assert report.result.both.realistic.tolist() == ranks
    assert report["mrr"] == pytest.approx(np.mean(1 / np.array(ranks)))


@pytest.mark.parametrize("seed", range(5))
def test_full_facts_lets_ties_lose_and_filters_facts_only(seed: int) -> None:
    split = random_split(seed)
    scorer = TableScorer(split.facts, seed)
    ranks = []
    for side, anchor, relation, answer in questions(split):
        row = scorer.table(side)[relation, anchor]
        wrong = row[list(wrong_answers(split, "full-facts", side, anchor, relation, answer))]
        ranks.append(1 + int((wrong >= row[answer]).sum()))
    report = evaluate(scorer, split.queries, protocol="full-facts", known=split)
    assert report.result.both.pessimistic.tolist() == ranks
    assert report["mrr"] == pytest.approx(np.mean(1 / np.array(ranks)))
    assert report["mean_rank"] == pytest.approx(np.mean(ranks))


@pytest.mark.parametrize("seed", range(5))
def test_nbfnet_estimate_lets_ties_lose_and_filters_facts_only(seed: int) -> None:
    split = random_split(seed)
    scorer = TableScorer(split.facts, seed)
    values = []
    for side, anchor, relation, answer in questions(split):
        row = scorer.table(side)[relation, anchor]
        wrong = row[list(wrong_answers(split, "nbfnet-estimate", side, anchor, relation, answer))]
        rate = (wrong >= row[answer]).mean()
        values.append(sum(math.comb(49, i) * rate**i * (1 - rate) ** (49 - i) for i in range(10)))
    report = evaluate(scorer, split.queries, protocol="nbfnet-estimate", known=split)
    assert report["hits@10_50"] == pytest.approx(np.mean(values))


# --- sampled rankings -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SAMPLED)
@pytest.mark.parametrize("seed", range(3))
def test_sampled_ranks_are_among_the_drawn_candidates(name: str, seed: int) -> None:
    split = random_split(seed, entities=80, triples=500)
    scorer = TableScorer(split.facts, seed)
    drawn = iter(candidates_of(split, name, seed=seed))
    ranks = []
    for side, anchor, relation, answer in questions(split):
        row = scorer.table(side)[relation, anchor]
        wrong = row[next(drawn)]
        ranks.append(1 + (wrong > row[answer]).sum() + (wrong == row[answer]).sum() / 2)
    report = evaluate(scorer, split.queries, protocol=name, known=split, seed=seed)
    assert report.result.both.realistic.tolist() == ranks


@pytest.mark.parametrize("name", ["sampled-50", "sampled-50-official-code"])
@pytest.mark.parametrize("entities", [12, 80])
def test_sampled_50_draws_without_replacement_and_repeats_a_small_pool(name: str, entities: int) -> None:
    split = random_split(0, entities=entities, triples=6 * entities)
    for question, drawn in zip(questions(split), candidates_of(split, name), strict=True):
        pool = wrong_answers(split, name, *question)
        copies = math.ceil(50 / len(pool))
        counts = Counter(drawn)
        assert len(drawn) == 50
        assert set(counts) <= pool
        assert max(counts.values()) <= copies  # one copy: no candidate twice
        assert copies > 1 or len(counts) == 50


def test_the_official_code_may_draw_a_validation_triple_as_wrong() -> None:
    split = random_split(0)
    true = set(zip(*ids_of(split.valid), strict=True))
    rows = zip(questions(split), candidates_of(split, "sampled-50-official-code"), strict=True)
    drawn = {
        (anchor, relation, one) if side == "tail" else (one, relation, anchor)
        for (side, anchor, relation, _), candidates in rows
        for one in candidates
    }
    assert drawn & true


def test_grail_49_draws_with_replacement_and_no_self_loops() -> None:
    split = random_split(0, entities=80, triples=500)
    repeated = False
    for question, drawn in zip(questions(split), candidates_of(split, "grail-49"), strict=True):
        assert len(drawn) == 49
        assert set(drawn) <= wrong_answers(split, "grail-49", *question) - {question[1]}
        repeated |= len(set(drawn)) < len(drawn)
    assert repeated


def test_type_matched_takes_entities_with_the_relation_first() -> None:
    split = random_split(1, entities=80, triples=300)
    rows = [
        row for part in FILTERED["type-matched"] for row in zip(*ids_of(getattr(split, part)), strict=True)
    ]
    filled = False
    for question, drawn in zip(questions(split), candidates_of(split, "type-matched"), strict=True):
        side, _, relation, _ = question
        typed = {h if side == "head" else t for h, r, t in rows if r == relation}
        pool = wrong_answers(split, "type-matched", *question)
        assert set(drawn) <= pool
        assert len(set(drawn)) == 50
        assert len(set(drawn) & typed) == min(50, len(typed & pool))
        filled |= len(typed & pool) < 50
    assert filled


def test_type_matched_repeats_where_everyone_is_typed() -> None:
    graph = KnowledgeGraph([("a", "r", "a"), ("b", "r", "c"), ("c", "r", "b")])
    a, b, c = graph.entities.ids("abc").tolist()
    queries = Queries(*(np.array([number], dtype=np.int32) for number in (a, 0, a)))
    drawn = draw_negatives(graph, queries, KnownAnswers(graph), Sampling(5, typed=True), seed=0)
    assert sorted(Counter(drawn.candidates["head"][0].tolist()).items()) in (
        [(b, 2), (c, 3)],
        [(b, 3), (c, 2)],
    )


def few_entities(typed: int, untyped: int) -> tuple[KnowledgeGraph, Queries]:
    """A query for whose tail so many wrong entities have the relation, and so many, its head first, have not."""
    graph = KnowledgeGraph(
        [
            ("anchor", "r", "answer"),
            *((f"typed{number}", "r", f"typed{number}") for number in range(typed)),
            *(("anchor", "s", f"untyped{number}") for number in range(1, untyped)),
        ]
    )
    anchor, answer = graph.entities.ids(["anchor", "answer"]).tolist()
    query = (anchor, graph.relations.id("r"), answer)
    return graph, Queries(*(np.array([number], dtype=np.int32) for number in query))


@pytest.mark.parametrize(("typed", "untyped"), [(30, 1), (3, 4), (0, 7), (20, 29), (20, 30)])
def test_type_matched_repeats_the_whole_pool_where_it_is_too_small(typed: int, untyped: int) -> None:
    graph, queries = few_entities(typed, untyped)
    known, sampling = KnownAnswers(graph), Sampling(50, typed=True)
    wrong = set(range(graph.num_entities)) - set(queries.tails.tolist())
    for seed in range(5):
        drawn = draw_negatives(graph, queries, known, sampling, seed=seed).candidates["tail"][0]
        counts = Counter(drawn.tolist())
        assert len(drawn) == 50
        assert set(counts) == wrong
        assert max(counts.values()) <= math.ceil(50 / len(wrong))


def test_type_matched_draws_from_large_pools_as_it_always_did() -> None:
    loops = [(f"e{number}", "r", f"e{number}") for number in range(80)]
    asked = [*loops[:3], ("e0", "s", "e10"), *loops[3:60]]
    graph = KnowledgeGraph([*loops, *(("e0", "s", f"e{number}") for number in range(10, 80))])
    queries = Queries(
        graph.entities.ids(head for head, _, _ in asked),
        graph.relations.ids(relation for _, relation, _ in asked),
        graph.entities.ids(tail for _, _, tail in asked),
    )
    rng, true = np.random.default_rng(7), set(zip(*ids_of(graph), strict=True))
    drawn = draw_negatives(graph, queries, KnownAnswers(graph), Sampling(50, typed=True), seed=7)
    small = 0
    for side in ("head", "tail"):
        rows = zip(queries.anchors(side), queries.relations, drawn.candidates[side].tolist(), strict=True)
        for anchor, relation, candidates in rows:
            pairs = [(h, t) if side == "tail" else (t, h) for h, r, t in true if r == relation]
            typed = {end for _, end in pairs}
            wrong = set(range(80)) - {end for start, end in pairs if start == anchor}
            first = rng.permutation(sorted(wrong & typed))[:50].tolist()
            rest, lacking = sorted(wrong - typed), 50 - len(first)
            if lacking:
                copies = math.ceil(lacking / len(rest))
                places = rng.choice(copies * len(rest), lacking, replace=False) % len(rest)
                first += [rest[place] for place in places]
            if len(wrong) >= 50:
                assert candidates == first
            small += len(wrong) < 50
    assert small == 1


def test_every_candidate_is_drawn_equally_often() -> None:
    split = random_split(3, entities=40, triples=150)
    question = next(iter(questions(split)))
    pool = wrong_answers(split, "sampled-50", *question)
    sampling = RankingProtocol("ten", "ten candidates", sampling=Sampling(10)).sampling
    assert sampling is not None
    queries = Queries(split.queries.heads, split.queries.relation_ids, split.queries.tails)
    known = known_answers(split, FILTERED["sampled-50"], split.facts, queries)
    one = queries[np.arange(len(queries)) == 0]
    counts = Counter(
        candidate
        for seed in range(1000)
        for candidate in draw_negatives(split.facts, one, known, sampling, seed=seed).candidates["head"][0]
    )
    expected = 10_000 / len(pool)
    assert set(counts) == pool
    assert max(abs(count - expected) for count in counts.values()) < 5 * math.sqrt(expected)


def test_a_query_that_everyone_answers_has_rank_one() -> None:
    facts = KnowledgeGraph([("a", "r", "a"), ("a", "r", "b")])
    report = evaluate(TableScorer(facts), [("a", "r", "b")], known=facts, baseline=False)
    assert report.result.ranks["tail"].negatives.tolist() == [0]
    assert report.result.ranks["tail"].optimistic.tolist() == [1]


# --- seeds and files --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SAMPLED)
def test_negatives_are_a_function_of_the_seed(name: str) -> None:
    split = random_split(0, entities=80, triples=400)
    assert candidates_of(split, name, seed=1) == candidates_of(split, name, seed=1)
    assert candidates_of(split, name, seed=1) != candidates_of(split, name, seed=2)


def test_negatives_survive_a_file_and_other_ids(tmp_path: Path) -> None:
    split = random_split(0, entities=80, triples=400)
    file = tmp_path / "negatives.parquet"
    negatives_of(split, "sampled-50").save(file)
    renumbered = KnowledgeGraph(sorted(split.facts, reverse=True))
    again = Negatives.read(file, renumbered)
    assert list(renumbered.entities) != list(split.facts.entities)
    before = evaluate(TableScorer(split.facts), split.queries, known=split)
    replayed = evaluate(
        TableScorer(split.facts), split.queries, negatives=Negatives.read(file, split.facts), seed=9
    )
    assert replayed["mrr"] == before["mrr"]
    names = [set(split.facts.entities[row]) for row in negatives_of(split, "sampled-50").candidates["tail"]]
    assert [set(renumbered.entities[row]) for row in again.candidates["tail"]] == names


def test_protocol_and_seed_survive_a_file(tmp_path: Path) -> None:
    split = random_split(0, entities=80, triples=400)
    scorer = TableScorer(split.facts)
    first = evaluate(scorer, split.queries, protocol="type-matched", known=split, seed=3)
    assert first.negatives is not None
    first.negatives.save(tmp_path / "n.parquet")
    read = Negatives.read(tmp_path / "n.parquet", split.facts)
    again = evaluate(scorer, split.queries, protocol="type-matched", negatives=read)
    assert again.negatives is not None
    assert first.negatives.origin == read.origin == again.negatives.origin == Origin("type-matched", 3)
    assert again.seed == again.to_dict()["seed"] == 3
    assert "realistic ranks, seed 3, " in str(again)


def test_negatives_of_another_protocol_are_refused() -> None:
    split = random_split(0)
    scorer = TableScorer(split.facts)
    drawn = evaluate(scorer, split.queries, known=split).negatives
    with pytest.raises(
        InputError, match="drawn for the protocol 'sampled-50', and the one to evaluate by is"
    ):
        evaluate(scorer, split.queries, protocol="type-matched", negatives=drawn)


@pytest.mark.parametrize("name", ["sampled-50", "type-matched"])
def test_a_file_that_does_not_say_how_it_was_drawn_has_no_seed(name: str, tmp_path: Path) -> None:
    split = random_split(0)
    scorer = TableScorer(split.facts)
    drawn = evaluate(scorer, split.queries, known=split).negatives
    assert drawn is not None
    drawn.save(tmp_path / "new.parquet")
    table = pq.read_table(tmp_path / "new.parquet")
    pq.write_table(table.replace_schema_metadata(None), tmp_path / "old.parquet")
    read = Negatives.read(tmp_path / "old.parquet", split.facts)
    report = evaluate(scorer, split.queries, protocol=name, negatives=read, seed=1)
    assert read.origin is None
    assert report.seed is None
    assert report.to_dict()["seed"] is None
    assert "realistic ranks, candidates from a file, " in str(report)


def test_a_query_without_candidates_survives_a_file(tmp_path: Path) -> None:
    facts = KnowledgeGraph([("a", "r", "a"), ("a", "r", "b")])
    queries = Queries(*(np.array([number], dtype=np.int32) for number in (0, 0, 1)))
    drawn = draw_negatives(facts, queries, KnownAnswers(facts), Sampling(3), seed=0)
    assert (drawn.candidates["tail"] == ABSENT).all()
    drawn.save(tmp_path / "n.parquet")
    again = Negatives.read(tmp_path / "n.parquet", facts)
    assert again.candidates["head"].tolist() == drawn.candidates["head"].tolist()
    assert (again.candidates["tail"] == ABSENT).all()


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "odd.parquet").write_text("not Parquet")
    with pytest.raises(InputError) as caught:
        Negatives.read(tmp_path / "odd.parquet", KnowledgeGraph())
    assert "not a file of negatives: expected Parquet with head, relation, tail" in str(caught.value)


def test_a_file_whose_seed_is_no_number_is_refused(tmp_path: Path) -> None:
    split = random_split(0)
    drawn = evaluate(TableScorer(split.facts), split.queries, known=split).negatives
    assert drawn is not None
    drawn.save(tmp_path / "n.parquet")
    table = pq.read_table(tmp_path / "n.parquet")
    odd = {**table.schema.metadata, b"reshuffle.seed": b"three"}
    pq.write_table(table.replace_schema_metadata(odd), tmp_path / "odd.parquet")
    with pytest.raises(InputError, match="not a file of negatives"):
        Negatives.read(tmp_path / "odd.parquet", split.facts)


def test_a_file_that_is_missing_is_said_to_be(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        Negatives.read(tmp_path / "none.parquet", KnowledgeGraph())
    assert str(caught.value) == (
        f"{tmp_path / 'none.parquet'}: no such file\n"
        "  hint: check the path; Negatives.save (--save-negatives) writes one"
    )


def test_a_file_with_one_side_is_refused(tmp_path: Path) -> None:
    split = random_split(0)
    drawn = negatives_of(split, "sampled-50")
    drawn.save(tmp_path / "both.parquet")
    table = pq.read_table(tmp_path / "both.parquet")
    pq.write_table(table.slice(0, len(drawn.queries)), tmp_path / "heads.parquet")
    with pytest.raises(InputError, match="not a file of negatives"):
        Negatives.read(tmp_path / "heads.parquet", split.facts)


def test_negatives_follow_the_order_of_the_queries() -> None:
    split = random_split(0, entities=80, triples=400)
    drawn = negatives_of(split, "sampled-50")
    backwards = drawn.of(drawn.queries[slice(None, None, -1)])
    assert np.array_equal(backwards.candidates["tail"], drawn.candidates["tail"][::-1])


def test_negatives_of_other_queries_are_refused() -> None:
    split = random_split(0)
    drawn = negatives_of(split, "sampled-50")
    with pytest.raises(InputError, match="hold no candidates for 1 of 1 queries"):
        evaluate(TableScorer(split.facts), list(split.valid)[:1], negatives=drawn)


def test_negatives_are_refused_where_all_entities_are_ranked() -> None:
    split = random_split(0)
    drawn = negatives_of(split, "sampled-50")
    with pytest.raises(InputError, match="'full' ranks all entities, and negatives were given"):
        evaluate(TableScorer(split.facts), split.queries, protocol="full", negatives=drawn)


def test_negatives_of_another_graph_are_refused() -> None:
    split = random_split(0)
    drawn = negatives_of(random_split(0, entities=13), "sampled-50")
    with pytest.raises(InputError, match="drawn on a graph with other entities"):
        evaluate(TableScorer(split.facts), split.queries, negatives=drawn)


def test_an_unknown_protocol_is_named() -> None:
    with pytest.raises(InputError) as caught:
        protocol_of("sampled-5")
    assert str(caught.value).startswith("unknown protocol 'sampled-5'; did you mean 'sampled-50'")
    with pytest.raises(InputError, match="unknown protocol '3'"):
        protocol_of(3)
    assert "hint: one of sampled-50, sampled-50-official-code, grail-49, nbfnet-estimate" in str(caught.value)
