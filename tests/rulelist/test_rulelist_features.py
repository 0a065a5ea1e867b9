from __future__ import annotations

import time

import numpy as np
import pytest
from rulelist_worlds import random_graph, random_rules, steps, walks

from reshuffle.kg import KnowledgeGraph, inverse_name
from reshuffle.reasoning.sharing import usable_cores
from reshuffle.rulelist.features import FeatureGraph, Questions, in_order
from reshuffle.rulelist.programs import Program
from reshuffle.rules import PathRule


def asked(graph: KnowledgeGraph) -> Questions:
    """Every fact from both ends, with the fact hidden."""
    inverse = graph.relation_ids + np.int32(len(graph.relations))
    return Questions(
        np.concatenate([graph.heads, graph.tails]),
        np.concatenate([graph.relation_ids, inverse]),
        np.concatenate([graph.tails, graph.heads]),
    )


@pytest.mark.parametrize("seed", range(12))
def test_walks_are_counted_without_the_fact_that_is_asked_for(seed: int) -> None:
    graph, rules = random_graph(seed), random_rules(seed)
    program = Program.of(rules, list(graph.relations))
    questions = asked(graph)
    rows = FeatureGraph(graph).walks(program, questions)
    names = [*graph.relations, *map(inverse_name, graph.relations)]
    for query in range(len(questions.anchors)):
        anchor, directed, answer = (int(column[query]) for column in questions)
        known = set(graph)
        fact = graph.entities[anchor], names[directed], graph.entities[answer]
        known -= {fact if directed < len(graph.relations) else (fact[2], inverse_name(fact[1]), fact[0])}
        piece = slice(rows.starts[query], rows.starts[query + 1])
        found = {
            (int(rule), graph.entities[int(end)]): count
            for rule, end, count in zip(rows.rules[piece], rows.ends[piece], rows.counts[piece], strict=True)
        }
        expected = {}
        for number, rule in enumerate(rules):
            for one in (rule, rule.reversed()):
                if one.head == names[directed]:
                    for entity in graph.entities:
                        if count := walks(known, one, fact[0], entity):
                            expected[number, entity] = float(count)
        assert found == expected


@pytest.mark.parametrize("seed", range(8))
def test_steps_are_counted_without_the_fact_that_is_asked_for(seed: int) -> None:
    graph = random_graph(seed, facts=10)
    questions = asked(graph)
    found = FeatureGraph(graph).steps(questions)
    for query, fact in enumerate(graph):
        left = set(graph) - {fact}
        told = [steps(left, fact.head, entity) for entity in graph.entities]
        assert found[query].tolist() == told


def test_other_facts_between_the_same_two_are_not_hidden() -> None:
    graph = KnowledgeGraph([("a", "r", "b"), ("a", "s", "b")])
    questions = asked(graph)
    assert FeatureGraph(graph).steps(questions)[0, graph.entities.id("b")] == 1


def test_walks_back_to_the_anchor_are_no_answers_unless_the_relation_has_loops() -> None:
    graph = KnowledgeGraph([("a", "r", "b"), ("b", "r", "a"), ("a", "s", "c")])
    rules = [PathRule(("r", "r"), "s")]
    question = Questions(*(np.array([value], dtype=np.int32) for value in (graph.entities.id("a"), 1, -1)))
    for loops, number in ((None, 1), ({"r"}, 0), ({"s"}, 1)):
        program = Program.of(rules, ["r", "s"], loops=loops)
        assert len(FeatureGraph(graph).walks(program, question).rules) == number


def test_pieces_give_what_one_call_gives() -> None:
    graph, rules = random_graph(3, facts=40), random_rules(3)
    features, program = FeatureGraph(graph), Program.of(rules, list(graph.relations))
    questions = asked(graph)
    many = Questions(*(np.tile(column, 20) for column in questions))
    whole = features.walks(program, many)
    everything = list(features.counts_in_pieces(program, many, len(rules)))
    assert len(everything) > 1
    assert [piece.start for piece, _ in everything] == sorted(piece.start for piece, _ in everything)
    assert sum(found for _, found in everything).tolist() == np.bincount(whole.rules).tolist()


@pytest.mark.parametrize("hidden", [True, False])
@pytest.mark.parametrize("seed", range(12))
def test_rules_that_lead_to_an_answer_are_those_whose_walks_end_there(seed: int, hidden: bool) -> None:
    graph, rules = random_graph(seed, facts=30), random_rules(seed, number=20)
    features, program = FeatureGraph(graph), Program.of(rules, list(graph.relations))
    forth = Questions(graph.heads, graph.relation_ids, graph.tails)
    back = Questions(graph.tails, graph.relation_ids + np.int32(len(graph.relations)), graph.heads)
    asked = Questions(*(np.concatenate(columns) for columns in zip(forth, back, strict=True)))
    answers = asked.answers
    if not hidden:
        asked = asked._replace(answers=np.full_like(answers, -1))
    walks = features.walks(program, asked)
    expected = walks.rules[walks.ends == np.repeat(answers, np.diff(walks.starts))]
    found = sum(counts for _, counts in features.found_in_pieces(program, asked, answers, len(rules)))
    assert expected.size
    assert found.tolist() == np.bincount(expected, minlength=len(rules)).tolist()


def test_results_come_in_order_and_who_stops_computes_no_more() -> None:
    started: list[int] = []

    def task(piece: int) -> int:
        started.append(piece)
        time.sleep(0.002 * (piece % 3))
        return piece

    assert list(in_order(task, range(20))) == list(range(20))
    started.clear()
    assert next(in_order(task, range(1000))) == 0
    assert len(started) <= 2 * usable_cores() + 1


def test_a_body_that_reaches_too_many_is_left_out_for_that_anchor() -> None:
    graph = KnowledgeGraph([("a", "r", name) for name in "bcd"] + [("b", "r", "c"), ("a", "s", "b")])
    program = Program.of([PathRule(("r",), "s")], list(graph.relations))
    anchors = graph.entities.ids(["a", "b"])
    relation = graph.relations.id("s")
    questions = Questions(anchors, np.full(2, relation, np.int32), np.full(2, -1, np.int32))
    rows = FeatureGraph(graph).walks(program, questions, most_reached=2)
    assert np.diff(rows.starts).tolist() == [0, 1]
