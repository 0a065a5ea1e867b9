from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from rulelist_worlds import PEOPLE, RELATIONS, random_graph, random_model, random_rules, score, walks

from reshuffle.errors import InputError, UnknownNameError
from reshuffle.evaluation import Scorer, evaluate
from reshuffle.kg import KnowledgeGraph
from reshuffle.rulelist import RuleAnswers, RuleModel, WeightedRule
from reshuffle.rulelist.sums import printed_parts
from reshuffle.rules import PathRule, Quality, RuleBase, parse_rules
from reshuffle.rules.entailment import closure

SIDES = ("head", "tail")


def everything(graph: KnowledgeGraph) -> list[tuple[str, str, str]]:
    return list(itertools.product(graph.entities, RELATIONS, graph.entities))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("side", SIDES)
def test_scores_follow_the_formula(seed: int, side: str) -> None:
    graph, model = random_graph(seed), random_model(seed)
    answers = RuleAnswers(model, graph)
    for triple in everything(graph):
        assert answers.judge(*triple, side=side).score == pytest.approx(
            score(model, set(graph), triple, side), abs=1e-9
        )


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("side", SIDES)
def test_the_score_is_the_sum_of_its_parts_to_the_bit(seed: int, side: str) -> None:
    graph, model = random_graph(seed), random_model(seed)
    answers = RuleAnswers(model, graph)
    on_graph = answers._state
    everyone = np.arange(graph.num_entities)
    for number, relation in enumerate(answers.graph.relations):
        (rows,) = on_graph.scores(everyone, np.full(len(everyone), number), side)
        for anchor, answer in itertools.product(everyone.tolist(), everyone.tolist()):
            head, tail = (anchor, answer) if side == "tail" else (answer, anchor)
            told = answers.judge(graph.entities[head], relation, graph.entities[tail], side=side)
            assert told.score == rows[anchor, answer]
            assert sum(part.value for part in told.parts) == pytest.approx(told.score, abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_printed_parts_add_up_to_the_printed_score(seed: int) -> None:
    graph, model = random_graph(seed), random_model(seed)
    answers = RuleAnswers(model, graph)
    for triple in everything(graph):
        lines = str(answers.explain(*triple)).splitlines()
        total = round(float(lines[0].rpartition("score ")[2].split()[0]) * 1000)
        parts = [round(float(line.split()[0]) * 1000) for line in lines[1:] if line.lstrip()[0] in "+-"]
        assert sum(parts) == total


def test_parts_that_lose_most_by_rounding_are_rounded_the_other_way() -> None:
    assert printed_parts(0.0012, [0.0004, 0.0004, 0.0004]) == ["+0.001", "+0.000", "+0.000"]
    assert printed_parts(-0.0012, [-0.0004, -0.0004, -0.0004]) == ["-0.001", "+0.000", "+0.000"]


@pytest.mark.parametrize("seed", range(6))
def test_striking_a_rule_out_removes_exactly_its_part(seed: int) -> None:
    graph, model = random_graph(seed), random_model(seed)
    answers = RuleAnswers(model, graph)
    for place, one in enumerate(model.rules):
        struck = RuleAnswers(model.without(place), graph)
        assert model.without(one.rule) == model.without(place)
        for triple in everything(graph):
            before, after = answers.judge(*triple), struck.judge(*triple)
            parts = {part.rule.rule: part.value for part in before.parts if part.rule is not None}
            assert before.score - after.score == pytest.approx(parts.pop(one.rule, 0.0), abs=1e-12)
            assert {part.rule.rule: part.value for part in after.parts if part.rule is not None} == parts


@pytest.mark.parametrize("seed", range(8))
def test_the_part_of_the_rules_never_falls_when_facts_are_added(seed: int) -> None:
    graph, model = random_graph(seed), random_model(seed)
    fewer = KnowledgeGraph.from_ids(
        graph.heads[::2],
        graph.relation_ids[::2],
        graph.tails[::2],
        entities=graph.entities,
        relations=graph.relations,
    )
    less, more = RuleAnswers(model, fewer), RuleAnswers(model, graph)
    for triple in everything(graph):
        assert more.judge(*triple).rule_score >= less.judge(*triple).rule_score - 1e-12


@pytest.mark.parametrize("seed", range(6))
def test_add_and_remove_equal_a_fresh_model(seed: int) -> None:
    graph, other, model = random_graph(seed), random_graph(seed + 50), random_model(seed)
    more = [("new", "r", "a"), ("a", "s", "newer"), *other]
    answers = RuleAnswers(model, graph)
    answers.add(more)
    fresh = RuleAnswers(model, KnowledgeGraph([*graph, *more]))
    _same(answers, fresh)
    answers.remove(more)
    _same(answers, RuleAnswers(model, KnowledgeGraph.from_ids(
        graph.heads, graph.relation_ids, graph.tails, entities=graph.entities, relations=graph.relations,
    ) - KnowledgeGraph(more)))  # fmt: skip


def _same(answers: RuleAnswers, fresh: RuleAnswers) -> None:
    assert set(answers.graph.entities) == set(fresh.graph.entities)
    assert set(answers.graph) == set(fresh.graph)
    for triple in everything(fresh.graph):
        assert answers.judge(*triple).score == fresh.judge(*triple).score


@pytest.mark.parametrize("seed", range(10))
def test_certain_rules_without_tables_rank_what_one_application_yields_first(seed: int) -> None:
    graph = random_graph(seed)
    certain = [
        PathRule(r.body, r.head, Quality(confidence=1.0))
        for r in random_rules(seed)
        if isinstance(r, PathRule)
    ]
    answers = RuleAnswers(RuleModel.from_rules(certain), graph)
    for relation in RELATIONS:
        yields = {
            (h, t): any(
                rule.head == relation and _applies(rule, graph, h, t) for rule in certain
            )
            for h, t in itertools.product(graph.entities, graph.entities)
        }  # fmt: skip
        for head in graph.entities:
            scores = {tail: answers.judge(head, relation, tail).score for tail in graph.entities}
            right = [scores[tail] for tail in graph.entities if yields[head, tail]]
            wrong = [scores[tail] for tail in graph.entities if not yields[head, tail]]
            assert min(right, default=np.inf) > max(wrong, default=-np.inf)


def _applies(rule: PathRule, graph: KnowledgeGraph, head: str, tail: str) -> bool:
    return walks(set(graph), rule, head, tail) > 0


def test_predict_and_explain_agree() -> None:
    for seed in range(4):
        graph, model = random_graph(seed), random_model(seed)
        answers = RuleAnswers(model, graph)
        for relation, end in itertools.product(RELATIONS, graph.entities):
            for side, given in (("tail", {"head": end}), ("head", {"tail": end})):
                found = answers.predict(relation=relation, **given, top=20, known="mark")
                itself = relation in model.loops or (end, relation, end) in graph
                assert len(found) == graph.num_entities - (not itself)
                assert [row.score for row in found] == sorted((row.score for row in found), reverse=True)
                for row in found:
                    told = answers.explain(*row.triple, side=side)
                    assert told.score == row.score
                    assert bool(told) == bool(row.reasons())
                    assert row.known == (row.triple in graph)


def test_known_answers_are_left_out_unless_asked_for() -> None:
    graph = KnowledgeGraph(
        [("ada", "bornIn", "london"), ("london", "cityIn", "uk"), ("bob", "citizenOf", "uk")]
    )
    model = RuleModel.from_rules(parse_rules("bornIn(X, Y) & cityIn(Y, Z) -> citizenOf(X, Z)"))
    answers = RuleAnswers(model, graph)
    assert answers.tails("ada", "citizenOf", top=1) == ["uk"]
    assert "uk" not in answers.tails("bob", "citizenOf")
    assert answers.heads("citizenOf", "uk", top=1) == ["ada"]
    assert str(answers.explain("ada", "citizenOf", "uk")) == (
        "citizenOf(ada, uk): score 2.303\n"
        "    +2.303  bornIn(X, Y) & cityIn(Y, Z) -> citizenOf(X, Z)  (1 walk)\n"
        "              bornIn(ada, london), cityIn(london, uk)"
    )
    nothing = answers.explain("bob", "citizenOf", "london")
    assert not nothing
    assert str(nothing) == "citizenOf(bob, london): score 0.000\n  no rule leads to it"


def test_proofs_are_facts_that_follow_the_body() -> None:
    for seed in range(6):
        graph, model = random_graph(seed), random_model(seed)
        answers = RuleAnswers(model, graph)
        for triple in everything(graph):
            for part in answers.explain(*triple, most=4).parts:
                if part.rule is not None:
                    assert len(part.proofs) == min(4, part.walks)
                    assert len(set(part.proofs)) == len(part.proofs)
                    for walk in part.proofs:
                        assert all(fact in graph for fact in walk)
                        assert [fact.relation for fact in walk] == [
                            n.removesuffix("^-1") for n in part.rule.rule.body
                        ]


def test_facts_read_both_ways_stay_what_they_are() -> None:
    graph = KnowledgeGraph([("ann", "meets", "bob"), ("ann", "livesIn", "rome")])
    rules = parse_rules("meets(X, Y) & livesIn(Y, Z) -> livesIn(X, Z)\nmeets(Y, X) -> meets(X, Y)")
    one_way = RuleModel.from_rules(rules)
    model = replace(one_way, both_ways=frozenset({"meets"}))
    assert not one_way.on(graph).explain("bob", "livesIn", "rome")
    answers = model.on(graph)
    assert str(answers.explain("bob", "livesIn", "rome")) == (
        "livesIn(bob, rome): score 2.303\n"
        "    +2.303  meets(X, Y) & livesIn(Y, Z) -> livesIn(X, Z)  (1 walk)\n"
        "              meets(ann, bob), livesIn(ann, rome)"
    )
    assert answers.tails("bob", "meets", top=1) == ["ann"]  # the reverse is no fact
    assert len(answers.graph) == 2
    answers.add([("cleo", "meets", "bob"), ("bob", "livesIn", "oslo")])
    assert answers.tails("cleo", "livesIn", top=1) == ["oslo"]
    assert str(model).endswith("facts of meets are read in both directions")


def test_it_is_a_scorer() -> None:
    graph, model = random_graph(1), random_model(1)
    answers = RuleAnswers(model, graph)
    assert isinstance(answers, Scorer)
    anchors, relations = np.array([0, 1], dtype=np.int32), np.array([0, 0], dtype=np.int32)
    candidates = np.array([[1, 2], [2, 0]], dtype=np.int32)
    whole = answers.scores(anchors, relations, side="tail", candidates=None)
    some = answers.scores(anchors, relations, side="tail", candidates=candidates)
    assert np.array_equal(some, np.take_along_axis(whole, candidates, axis=1))
    report = evaluate(answers, list(graph)[:3], protocol="full")
    assert 0 < report["mrr"] <= 1


def test_threads_may_ask_while_facts_come_and_go() -> None:
    graph, model = random_graph(2), random_model(2)
    answers = RuleAnswers(model, graph)
    more = [("a", "r", "h"), ("new", "s", "b")]
    there = RuleAnswers(model, graph | KnowledgeGraph(more))
    triples = everything(graph)
    before = {t: answers.judge(*t).score for t in triples}
    after = {t: there.judge(*t).score for t in triples}

    def ask(triple: tuple[str, str, str]) -> bool:
        return answers.judge(*triple).score in (before[triple], after[triple])

    with ThreadPoolExecutor(4) as pool:
        tasks = [pool.submit(ask, triple) for triple in triples]
        for _ in range(5):
            answers.add(more)
            answers.remove([t for t in more if t not in graph])
        assert all(task.result() for task in tasks)


def test_unknown_names_are_told() -> None:
    answers = RuleAnswers(random_model(0), random_graph(0))
    with pytest.raises(UnknownNameError, match="unknown entity 'nobody'"):
        answers.predict(relation="r", head="nobody")
    with pytest.raises(UnknownNameError, match="unknown relation 'q'"):
        answers.explain("a", "q", "b")
    with pytest.raises(InputError, match="asks for no prediction"):
        answers.predict(relation="r", head=PEOPLE[0], top=0)


def test_facts_of_unknown_relations_are_told() -> None:
    told: list[str] = []
    answers = RuleAnswers(
        random_model(0), KnowledgeGraph([("a", "r", "b"), ("a", "strange", "b")]), notes=told.append
    )
    assert len(told) == 1
    assert "strange" in told[0]
    assert answers.learned_relations.tolist()[:2] == [True, False]


def test_weights_are_not_negative() -> None:
    with pytest.raises(InputError, match="weights are numbers from 0"):
        WeightedRule(PathRule(("r",), "s"), -1.0)


def test_struck_rules_must_be_there() -> None:
    with pytest.raises(InputError, match="the model has no rule"):
        random_model(0).without(PathRule(("nothing",), "r"))


def test_what_follows_by_one_rule_is_what_entailment_says() -> None:
    """The slow meaning of rules, which shares no code, agrees on what one rule alone yields from facts."""
    graph = random_graph(4, loops=False)
    rule = PathRule(("r", "s"), "t")
    answers = RuleAnswers(RuleModel.from_rules([rule]), graph)
    follows = closure(RuleBase((rule,)), set(graph))
    for head, tail in itertools.product(graph.entities, graph.entities):
        supported = bool(answers.explain(head, "t", tail)) or (head, "t", tail) in graph
        assert ((head, "t", tail) in follows) == supported
