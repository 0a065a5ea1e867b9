"""The most plausible missing links: equal to ranking all pairs at once, whatever the batches."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from predicting_worlds import random_answers, random_graph

from limited_links import LIMITS, TYPES, within
from reshuffle.errors import InputError, UnknownNameError
from reshuffle.evaluation import TypeBaseline
from reshuffle.kg import KnowledgeGraph
from reshuffle.learning.estimator import Reshuffle
from reshuffle.model.answers import link_candidates
from reshuffle.model.answers import missing_links as missing
from reshuffle.model.answers.model_answers import ModelAnswers
from reshuffle.model.channels.query import HeadChannels
from reshuffle.model.scoring import Calibration
from reshuffle.rulegraphs import constraints_for
from reshuffle.rulelist.links.rule_links import Wanted
from reshuffle.rules import parse_rules

if TYPE_CHECKING:
    from reshuffle.model.answers.predictions import Prediction


def all_pairs(answers: ModelAnswers, relation: str | None) -> list[tuple[float, tuple[str, str, str]]]:
    """Slow and obvious: every head, every other tail, one question at a time."""
    graph, found = answers.graph, []
    reflexive = {name for head, name, tail in graph if head == tail}
    for head, name in product(graph.entities, answers.relations if relation is None else [relation]):
        rows = answers.predict(head=head, relation=name, top=1000, known="mark")
        rows = [row for row in rows if row.triple.tail != head or name in reflexive]
        whole = np.log(sum(np.exp(row.score) for row in rows))
        found += [(2 * row.score - whole, row.triple) for row in rows if not row.known]
    return sorted(found, key=lambda pair: -pair[0])


@given(st.integers(0, 10**6), st.sampled_from([None, "r"]), st.sampled_from([1, 20, 1000]))
@settings(max_examples=15)
def test_the_best_of_all_pairs(seed: int, relation: str | None, batch: int) -> None:
    answers = random_answers(seed)
    expected = all_pairs(answers, relation)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(missing, "_MOST_SCORES", batch)
        found = answers.missing(relation=relation, top=8)
    plausible = {triple: value for value, triple in expected}
    best = [value for value, _ in expected[:8]]
    assert [plausible[row.triple] for row in found] == pytest.approx(best, abs=1e-4)
    assert [row.plausibility for row in found] == pytest.approx(best, abs=1e-4)
    assert len({row.triple for row in found}) == 8
    assert all(row.triple not in answers.graph for row in found)
    first = answers.explain(*found[0].triple)
    assert first.judgement.score == pytest.approx(found[0].score, abs=1e-4)


@given(st.integers(0, 10**6), st.sampled_from(["head", "tail"]))
@settings(max_examples=15)
def test_links_of_one_entity_are_those_of_its_questions(seed: int, end: str) -> None:
    answers = random_answers(seed)
    entity, reflexive = next(iter(answers.graph.entities)), {r for h, r, t in answers.graph if h == t}
    found = answers.predict(**{end: entity}, top=1000)
    expected = {}
    for name in answers.relations:
        rows = answers.predict(**{end: entity}, relation=name, top=1000, known="mark")
        assert all(row.head != row.tail or name in reflexive for row in rows)
        whole = np.log(sum(np.exp(row.score) for row in rows))
        expected |= {row.triple: 2 * row.score - whole for row in rows if not row.known}
    assert {row.triple for row in found} <= set(expected)  # some questions have no answer, by the types
    for row in found:
        assert row.plausibility <= expected[row.triple] + 1e-4
        assert row.side == ("tail" if end == "head" else "head")
    assert [row.plausibility for row in found] == sorted((row.plausibility for row in found), reverse=True)


def test_one_entity_needs_one_end() -> None:
    answers = random_answers(1)
    with pytest.raises(InputError, match="found no end of the question"):
        answers.predict()
    with pytest.raises(InputError, match="found both ends of a link"):
        answers.missing(head="e0", tail="e1")
    with pytest.raises(InputError, match="known facts can be marked for one relation only"):
        answers.predict(head="e0", known="mark")


def test_models_without_evidence_and_relations_never_learned() -> None:
    answers = random_answers(2, initial="bits", evidence=())
    graph = answers.graph | KnowledgeGraph([("x", "likes", "e1")])
    found = answers.on(graph).missing(top=3)
    assert (
        len(found) == 3
        and [column.name for column in found.numbers[-2:]] == ["captured", "confidence"]
        and found[0].evidence == {}
    )
    assert all(row.triple.relation != "likes" for row in answers.on(graph).missing(top=1000))


def test_what_cannot_be_asked() -> None:
    answers = random_answers(2)
    with pytest.raises(UnknownNameError, match="unknown relation 'rr'; did you mean 'r'"):
        answers.missing(relation="rr")
    with pytest.raises(InputError, match="top = 0 asks for no prediction"):
        answers.missing(top=0)
    with pytest.raises(InputError, match=r"found top = 2\.5, expected a whole number"):
        answers.missing(top=2.5)


def test_progress_counts_questions() -> None:
    seen = []

    @contextmanager
    def progress(description, *, total=None, unit="it"):
        seen.append((description, total, unit))
        yield seen.append

    answers = random_answers(2)
    answers.missing(progress=progress)
    questions = answers.graph.num_entities * len(answers.relations)
    assert seen[0] == ("missing links", questions, " questions") and sum(seen[1:]) == questions


# --- who is asked -----------------------------------------------------------------------------------------------


def test_what_a_rule_captures_is_found_though_the_head_has_no_such_fact() -> None:
    rule = "parent(X, Y) & parent(Y, Z) -> grandparent(X, Z)"
    model = Reshuffle.from_constraints(constraints_for(parse_rules(rule)), num_layers=4, device="cpu")
    facts = [("ada", "parent", "bob"), ("bob", "parent", "eve")]
    for more in ([("x", "grandparent", "y")], []):
        found = model.on(KnowledgeGraph([*facts, *more])).missing(top=10)
        assert found[0].triple == ("ada", "grandparent", "eve") and found[0].captured


def typed(answers: ModelAnswers, training: KnowledgeGraph) -> ModelAnswers:
    """The same with the types of a training graph."""
    types = TypeBaseline.fit(training)
    return ModelAnswers(answers._model, answers.relations, answers.graph, training_types=types)


def test_heads_whose_roles_went_with_the_role_in_training() -> None:
    training = [("a", "r", "b"), ("a", "s", "b"), ("c", "r", "d"), ("e", "r", "f"), ("f", "r", "e")]
    graph = KnowledgeGraph([("drug", "r", "gene"), ("known", "s", "gene")])
    answers = typed(random_answers(3).on(graph), KnowledgeGraph(training))
    plain = {row.triple: row.plausibility for row in random_answers(3).on(graph).missing(relation="s")}
    found = {row.triple: row.plausibility for row in answers.missing(relation="s")}
    assert {triple[0] for triple in plain} == {"drug", "gene", "known"}
    # Of the four heads of r in training one is a head of s; no tail of r or s is one.
    assert {head for head, _, _ in found} == {"drug", "known"}
    for triple, value in found.items():
        less = np.log(1 / 4) if triple[0] == "drug" else 0
        assert value == pytest.approx(plain[triple] + less, abs=1e-5)


def test_relations_that_nothing_is_counted_about_are_asked_of_everyone() -> None:
    graph = KnowledgeGraph([("drug", "r", "gene"), ("drug", "r", "other")])
    answers = typed(random_answers(3).on(graph), KnowledgeGraph([("a", "r", "b"), ("c", "r", "a")]))
    assert {row.triple.head for row in answers.missing(relation="r")} == {"gene", "other"}
    assert {row.triple.head for row in answers.missing(relation="s")} == {"drug", "gene", "other"}


def test_no_link_to_the_head_itself_unless_the_relation_has_one() -> None:
    answers = random_answers(3)
    graph = KnowledgeGraph([("a", "r", "a"), ("a", "s", "b")])
    found = [row.triple for row in answers.on(graph).missing(top=100)]
    assert ("b", "r", "b") in found and ("b", "s", "b") not in found and ("a", "s", "a") not in found
    alone = answers.on(KnowledgeGraph([("a", "r", "a")]))
    assert len(alone.missing(top=100)) == 0


def test_the_questions_of_a_head_share_its_channel(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = random_answers(2)
    channels: list[int] = []
    whole = HeadChannels.states

    def counted(self, matrices, heads, *, hidden=None):
        channels.extend(heads.tolist())
        return whole(self, matrices, heads, hidden=hidden)

    monkeypatch.setattr(HeadChannels, "states", counted)
    answers.missing(top=3)
    assert sorted(channels) == list(range(answers.graph.num_entities))


@pytest.mark.parametrize("most", [1, 30])
def test_no_more_scores_are_held_than_allowed(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = random_answers(2)
    asked: list[int] = []
    whole = answers._on_graph.scores

    def counted(anchors, relations, *, side):
        asked.append(len(anchors) * answers.graph.num_entities)
        return whole(anchors, relations, side=side)

    monkeypatch.setattr(answers._on_graph, "scores", counted)
    monkeypatch.setattr(missing, "_MOST_SCORES", most)
    answers.missing(top=3)
    assert len(asked) > 1 and max(asked) <= max(most, answers.graph.num_entities)


def test_links_of_relations_with_and_without_injected_rules_share_a_table() -> None:
    facts = KnowledgeGraph(
        [("x", "a", "y"), ("y", "b", "z"), ("x", "c", "z"), ("z", "a", "u"), ("u", "b", "x")]
    )
    model = Reshuffle(num_slots=2, num_layers=1, epoch_steps=1, max_epochs=1, device="cpu")
    model.fit(facts, valid=[("x", "a", "y")], inject=parse_rules("a(X, Y) & b(Y, Z) -> c(X, Z)"))
    found = model.on(facts).missing(top=50)
    assert {row.injected is None for row in found} == {True, False}
    header, *lines = str(found).splitlines()
    column = header.split().index("injected")
    for row, line in zip(found, lines, strict=True):
        shown = line.split()[column]
        told = "-" if row.injected is None else "captured" if row.injected == 0 else f"{row.injected:.3f}"
        assert shown == told


def test_scores_that_are_no_numbers_are_refused() -> None:
    model = Reshuffle.from_constraints(constraints_for(parse_rules("p(X, Y) -> q(X, Y)")), device="cpu")
    model.model.matrices.logits.data.fill_(np.nan)
    with pytest.raises(InputError, match="NaN"):
        model.on([("a", "p", "b")]).missing()


def test_a_model_tells_which_facts_it_passes_over() -> None:
    model = Reshuffle.from_constraints(constraints_for(parse_rules("p(X, Y) -> q(X, Y)")), device="cpu")
    told: list[str] = []
    model.on([("a", "p", "b"), ("a", "z", "b")], notes=told.append)
    assert told == ["1 of 2 facts is skipped, of relations never seen in training: 'z' (1)"]


def test_spark_needs_a_model_that_other_processes_can_load() -> None:
    with pytest.raises(InputError, match="these answers are detached from their model"):
        random_answers(0).missing(engine="spark")


# --- limits -------------------------------------------------------------------------------------------------------


def limited(seed: int) -> ModelAnswers:
    """About a graph that says what some of its entities are."""
    named = KnowledgeGraph(
        [("abcdefg"[int(h[1])], r, "abcdefg"[int(t[1])]) for h, r, t in random_graph(seed) if h != "x"]
    )
    types = KnowledgeGraph([(one, "rdf:type", of) for one, of in TYPES.items()])
    return random_answers(seed).on(named | types)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("batch", [1, 1000])
def test_limits_leave_of_the_whole_list_what_is_within_them(
    seed: int, limits: dict[str, object], batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = limited(seed)
    named = {"type_relation": "rdf:type"} if {"head_types", "tail_types"} & set(limits) else {}
    for about in ({}, {"head": "a"}, {"tail": "c"}, {"relation": "s"}):
        every = list(answers.missing(top=None, **about))
        monkeypatch.setattr(missing, "_MOST_SCORES", batch)
        wanted = [row.triple for row in every if within(row.triple, answers.graph, limits)]
        found = answers.missing(top=None, **about, **limits, **named)
        assert [row.triple for row in found] == wanted
        assert [row.triple for row in answers.missing(top=2, **about, **limits, **named)] == wanted[:2]
        assert len(wanted) < len(every) or about


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("batch", [1, 20, 1000])
def test_so_many_of_each_relation(seed: int, batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = random_answers(seed)
    every = [row.triple for row in answers.missing(top=None)]
    monkeypatch.setattr(missing, "_MOST_SCORES", batch)
    for each in (1, 3):
        places = {name: [one for one in every if one.relation == name][:each] for name in answers.relations}
        wanted = [one for one in every if one in places[one.relation]]
        assert [row.triple for row in answers.missing(top=None, per_relation=each)] == wanted
        assert [row.triple for row in answers.missing(top=2 * each - 1, per_relation=each)] == wanted[:-1]


def test_first_answers_are_those_that_are_predicted() -> None:
    plain = random_answers(0)
    answers = ModelAnswers(plain._model, plain.relations, plain.graph, calibration=Calibration(2.0, 0.5))
    graph = answers.graph
    everyone = np.arange(graph.num_entities, dtype=np.int32)
    for relation, name in enumerate(graph.relations):
        for side, end in (("tail", "head"), ("head", "tail")):
            asked = everyone, np.full(len(everyone), relation, dtype=np.int32)
            scores = answers.scores(*asked, side=side, candidates=None)
            first, likely = answers.first_answers(*asked, scores, side=side)
            for anchor, best, stated in zip(graph.entities, first.tolist(), likely.tolist(), strict=True):
                (row,) = answers.predict(relation=name, **{end: anchor}, top=1)
                assert row.confidence == pytest.approx(stated, rel=1e-4)
                assert (
                    scores[graph.entities.id(anchor), graph.entities.id(getattr(row.triple, side))]
                    == (scores[graph.entities.id(anchor), best])
                )


def test_the_least_confidence() -> None:
    with pytest.raises(InputError, match="this model does not say how likely its links are"):
        random_answers(0).missing(min_probability=0.5)
    plain = random_answers(0)
    calibration = Calibration(2.0, 0.5)
    answers = ModelAnswers(plain._model, plain.relations, plain.graph, calibration=calibration)
    every = answers.missing(top=None)
    middle = sorted(row.confidence for row in every)[len(every) // 2]
    wanted = [row.triple for row in every if row.confidence >= middle]
    assert [row.triple for row in answers.missing(top=None, min_probability=middle)] == wanted
    assert 0 < len(wanted) < len(every)
    with pytest.raises(InputError, match="found the least probability 7"):
        answers.missing(min_probability=7)


# --- candidates ---------------------------------------------------------------------------------------------------


def chain(people: int) -> KnowledgeGraph:
    """Parents and grandparents, of whom every third is missing."""
    facts = [(f"p{n}", "parent", f"p{n + 1}") for n in range(people)]
    facts += [(f"p{n}", "grandparent", f"p{n + 2}") for n in range(people - 1) if n % 3]
    return KnowledgeGraph(facts)


SMALL = {"num_slots": 3, "num_layers": 2, "epoch_steps": 3, "max_epochs": 1, "device": "cpu"}


@pytest.fixture(scope="module")
def listed() -> Reshuffle:
    return Reshuffle(**SMALL).fit(chain(20))


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many links of the list as are asked for, on any graph."""
    for name, value in (("_WORTH", 0), ("_TIMES", 1), ("_LEAST", 1), ("_LEAST_PER_RELATION", 1)):
        monkeypatch.setattr(link_candidates, name, value)


@pytest.mark.parametrize(
    "asked", [{"top": 5}, {"top": None, "per_relation": 3}, {"top": 4, "not_linked": True}]
)
def test_the_questions_of_the_best_links_of_the_list_are_asked(
    listed: Reshuffle, few: None, asked: dict[str, object]
) -> None:
    del few
    answers, told = listed.on(chain(30)), []
    of_list = replace(
        listed.listed, likelihood=None, constants=replace(listed.listed.constants, likelihood=None)
    )
    of_list = of_list.on(chain(30)).missing(**asked)
    questions, counts = {row.triple[:2] for row in of_list}, Counter(row.triple.relation for row in of_list)
    full = [name for name in answers.relations if counts[name] < asked.get("per_relation", 0)]
    limits = {name: value for name, value in asked.items() if name == "not_linked"}
    every = answers.missing(top=None, all_questions=True, notes=told.append, **limits)
    assert not told
    rows = [row for row in every if row.triple[:2] in questions or row.relation in full]
    best = [row for row in rows if row in firsts(rows, asked.get("per_relation"))][: asked["top"]]
    found = answers.missing(notes=told.append, **asked)
    assert [row.triple for row in found] == [row.triple for row in best]
    assert [row.plausibility for row in found] == pytest.approx([row.plausibility for row in best], abs=1e-5)
    assert len(questions) < len({row.triple[:2] for row in every})
    (note,) = told
    assert full or note.startswith(f"{len(questions)} of ")
    assert note.endswith(
        "to which the rules of the model have the best answers; --all-questions asks all of them"
    )


def firsts(rows: list[Prediction], most: object) -> list[Prediction]:
    """The first ones of each relation."""
    if most is None:
        return rows
    return [
        row for name in ("parent", "grandparent") for row in [r for r in rows if r.relation == name][:most]
    ]


def test_all_questions_are_asked_where_they_are_few_or_nothing_says_how_many_links(
    listed: Reshuffle, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers, told = listed.on(chain(30)), []
    wanted = answers.missing(top=5, all_questions=True)
    assert answers.missing(top=5, notes=told.append) == wanted
    monkeypatch.setattr(link_candidates, "_WORTH", 0)
    assert len(answers.missing(top=None, notes=told.append)) > 1000
    random_answers(0).missing(top=5, notes=told.append)  # has no list
    assert not told
    monkeypatch.setattr(link_candidates, "_LEAST", 6)
    monkeypatch.setattr(link_candidates, "_TIMES", 1)
    answers.missing(top=1, notes=told.append)
    assert len(told) == 1
    assert answers.missing(top=1, all_questions=True, notes=told.append)[0] == wanted[0]
    assert len(told) == 1


def test_all_questions_are_asked_where_the_list_has_fewer_links_than_are_wanted(
    listed: Reshuffle, few: None
) -> None:
    del few
    facts, told = chain(30) | KnowledgeGraph([("x", "parent", "y")]), []
    answers = listed.on(facts)
    of_list = len(listed.listed.on(facts).missing(top=None))
    answers.missing(top=of_list, notes=told.append)
    assert len(told) == 1
    assert answers.missing(top=of_list + 1, notes=told.append) == answers.missing(
        top=of_list + 1, all_questions=True
    )
    assert len(told) == 1
    counts = Counter(row.triple.relation for row in listed.listed.on(facts).missing(top=None))
    most, fewest = max(counts.values()), min(counts[name] for name in answers.relations)
    assert fewest < most
    found, every = (
        [row.triple for row in answers.missing(top=None, per_relation=most, all_questions=each)]
        for each in (False, True)
    )
    full = [name for name in answers.relations if counts[name] < most]
    assert [one for one in found if one.relation in full] == [one for one in every if one.relation in full]


def test_what_injected_rules_capture_is_asked_about(few: None) -> None:
    del few
    facts = KnowledgeGraph([*chain(20), ("x", "aunt", "y"), ("y", "aunt", "z")])
    rules = parse_rules("aunt(X, Y) -> parent(Y, X)")
    model = Reshuffle(**SMALL).fit(facts, inject=rules)
    on_graph = model.on(facts).on_graph
    asked = missing.asked_ids(on_graph, relation=None, head=None, tail=None)
    chosen = link_candidates.candidates(on_graph, missing.LinkSearch(asked, Wanted(1)))
    assert chosen is not None
    assert {"y", "z"} <= set(facts.entities[chosen[facts.relations.id("parent")]])
    assert sum(map(len, chosen.values())) == 3
