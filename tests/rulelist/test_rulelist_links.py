"""Missing links of a whole graph: those that asking every question and sorting all answers would give."""

from __future__ import annotations

import itertools
import math
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from rulelist_worlds import RELATIONS, as_read, random_graph, random_model, score, walks

from limited_links import LIMITS, TYPES, within
from reshuffle.errors import InputError, UnknownNameError
from reshuffle.kg import KnowledgeGraph, Triple, inverse_name
from reshuffle.rulelist import RuleAnswers, RuleModel, learn_rules
from reshuffle.rulelist.links import link_parts, rule_links
from reshuffle.rulelist.links.likelihood import Likelihood
from reshuffle.rulelist.links.rule_links import LinkQuestions, Links, Wanted, best_links
from reshuffle.rulelist.model_text import model_text, parse_rule_model

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from reshuffle.progress import Report

SEEDS = range(8)


def reached(model: RuleModel, facts: set[Triple], triple: Triple) -> bool:
    """Does some rule lead to it?"""
    if triple.head == triple.tail and model.loops is not None and triple.relation not in model.loops:
        return False
    rules = (one.rule for one in model.rules)
    forwards = (rule if rule.head in RELATIONS else rule.reversed() for rule in rules)
    there = as_read(model, facts)
    return any(
        rule.head == triple.relation and walks(there, rule, triple.head, triple.tail) for rule in forwards
    )


LIKELY = Likelihood(1.7, 0.4, 0.6, -2.0, (("r", -1.0), ("s^-1", 0.5)))


def exhaustive(model: RuleModel, graph: KnowledgeGraph, side: str = "tail") -> dict[Triple, float]:
    """Every new link that a rule leads to, with its plausibility; the best first."""
    facts, found = set(graph), {}
    for anchor, relation in itertools.product(graph.entities, RELATIONS):
        asked = [
            Triple(anchor, relation, other) if side == "tail" else Triple(other, relation, anchor)
            for other in graph.entities
        ]
        scores = {triple: score(model, facts, triple, side) for triple in asked}
        total = math.log(sum(map(math.exp, scores.values())))
        found |= {
            triple: likely(model, facts, triple, side, value, total)
            if model.likelihood
            else 2 * value - total
            for triple, value in scores.items()
            if triple not in facts and reached(model, facts, triple)
        }
    return dict(sorted(found.items(), key=lambda link: -link[1]))


def likely(
    model: RuleModel, facts: set[Triple], triple: Triple, side: str, value: float, total: float
) -> float:
    """The log-odds, word for word."""
    assert model.likelihood is not None
    tables = score(replace(model, rules=()), facts, triple, side)
    directed = triple.relation if side == "tail" else inverse_name(triple.relation)
    constant = dict(model.likelihood.constants).get(directed, model.likelihood.constant)
    by_rules = model.likelihood.by_rules * math.log(1 + value - tables)
    by_tables, by_share = model.likelihood.by_tables * tables, model.likelihood.by_share * (value - total)
    return by_rules + by_tables + by_share + constant


@pytest.mark.parametrize("seed", SEEDS)
def test_the_most_likely_links(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rule_links, "BLOCK", 3)
    monkeypatch.setattr(rule_links, "_ROOM", 1)
    graph, model = random_graph(seed), replace(random_model(seed), likelihood=LIKELY)
    answers = RuleAnswers(model, graph)
    first, second = graph.entities[0], graph.entities[1]
    for side, end in (("tail", {}), ("tail", {"head": first}), ("head", {"tail": second})):
        wanted = only(exhaustive(model, graph, side), **end)
        rows = answers.missing(top=6, **end)
        odds = [(row.triple, math.log(row.probability / (1 - row.probability))) for row in rows]
        assert_best(odds, wanted, 6)
        assert all(row.plausibility is None for row in rows)


@pytest.mark.parametrize("seed", SEEDS)
def test_one_question_prints_the_same_probability(seed: int) -> None:
    answers = RuleAnswers(replace(random_model(seed), likelihood=LIKELY), random_graph(seed))
    for side in ("head", "tail"):
        for row in answers.missing(**{side: answers.graph.entities[0]}, top=20):
            asked = answers.predict(
                relation=row.triple.relation, **{side: answers.graph.entities[0]}, top=100
            )
            (same_one,) = [one for one in asked if one.triple == row.triple]
            assert same_one.score == row.score
            assert same_one.probability == pytest.approx(row.probability, abs=1e-12)


def test_a_model_that_was_learned_says_how_likely_its_links_are() -> None:
    """Of pairs whose rule is right as often as not it says so; it knows that most other pairs are no links."""
    chance = np.random.default_rng(0)
    facts = []
    for place in range(400):
        facts += [(f"p{place}", "bornIn", f"c{place % 20}"), (f"c{place % 20}", "cityIn", f"u{place % 5}")]
        if chance.random() < 0.6:
            facts.append((f"p{place}", "citizenOf", f"u{place % 5}"))
    model = learn_rules(facts)
    assert model.likelihood is not None
    rows = model.on(facts).missing(relation="citizenOf", top=100)
    sure = [row.probability for row in rows if row.sum]
    # 60 % are facts. If one fact in ten is missing, 0.06 of 0.46 pairs that are no facts are true.
    assert 0.05 < np.mean(sure) < 0.3
    assert parse_rule_model(model_text(model)) == model
    refitted = (
        replace(model.without_constants(), likelihood=None).on(facts).missing(relation="citizenOf", top=100)
    )
    assert all(row.probability is None and row.plausibility is not None for row in refitted)


def assert_best(found: list[tuple[Triple, float]], wanted: dict[Triple, float], top: int) -> None:
    """Links are the best ones, with their values; of equal ones any may be the last."""
    assert [value for _, value in found] == pytest.approx(
        sorted(wanted.values(), reverse=True)[:top], abs=1e-9
    )
    assert len({triple for triple, _ in found}) == len(found)
    for triple, value in found:
        assert value == pytest.approx(wanted[triple], abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("block", [1, 2, 3, 5, 8, 64])
def test_the_best_links_are_those_of_asking_everything(
    seed: int, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rule_links, "BLOCK", block)
    monkeypatch.setattr(rule_links, "_ROOM", 1)
    graph, model = random_graph(seed, facts=12 + seed), random_model(seed)
    wanted = exhaustive(model, graph)
    assert len(wanted) > 5
    for top in (1, 4, len(wanted), 1000):
        rows = RuleAnswers(model, graph).missing(top=top)
        assert_best([(row.triple, row.plausibility) for row in rows], wanted, top)


@pytest.mark.parametrize("seed", SEEDS)
def test_links_of_one_relation_and_about_one_entity(seed: int) -> None:
    graph, model = random_graph(seed), random_model(seed)
    answers, to, about = RuleAnswers(model, graph), exhaustive(model, graph, "head"), exhaustive(model, graph)
    rows = answers.missing(relation="r", top=5)
    assert_best([(row.triple, row.plausibility) for row in rows], only(about, relation="r"), 5)
    for entity in graph.entities:
        rows = answers.missing(head=entity, top=4)
        assert_best([(row.triple, row.plausibility) for row in rows], only(about, head=entity), 4)
        rows = answers.missing(tail=entity, top=4)
        assert_best([(row.triple, row.plausibility) for row in rows], only(to, tail=entity), 4)


def only(links: dict[Triple, float], **ends: str) -> dict[Triple, float]:
    return {
        triple: value
        for triple, value in links.items()
        if all(getattr(triple, name) == wanted for name, wanted in ends.items())
    }


@pytest.mark.parametrize("seed", SEEDS)
def test_scores_are_those_that_one_question_prints(seed: int) -> None:
    answers = RuleAnswers(random_model(seed), random_graph(seed))
    for row in answers.missing(top=20):
        head, relation, _ = row.triple
        asked = {one.triple: one for one in answers.predict(head=head, relation=relation, top=100)}
        assert asked[row.triple].score == row.score


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("per_relation", [1, 2, 3])
def test_so_many_of_each_relation(seed: int, per_relation: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rule_links, "BLOCK", 2)
    monkeypatch.setattr(rule_links, "_ROOM", 1)
    graph, model = random_graph(seed), random_model(seed)
    state = RuleAnswers(model, graph)._state
    asked = LinkQuestions(tuple(range(len(graph.relations))), None, "tail")
    every = best_links(state, asked, Wanted())
    links = best_links(state, asked, Wanted(per_relation=per_relation))
    for relation in range(len(graph.relations)):
        mine, all_of_it = (one.part(one.ids[:, 0] == relation) for one in (links, every))
        assert same(mine, all_of_it.part(np.arange(len(all_of_it)) < per_relation))
    least = float(np.median(every.values))
    good = best_links(state, asked, Wanted(least=least))
    assert same(good, every.part(every.values >= least)) and 0 < len(good) < len(every)


def same(one: Links, other: Links) -> bool:
    return np.array_equal(one.ids, other.ids) and np.array_equal(one.values, other.values)


class Interrupting:
    """A progress that interrupts after so many reports, and counts them."""

    def __init__(self, after: int | None = None) -> None:
        self.after, self.reports, self.total = after, 0, 0

    @contextmanager
    def __call__(self, description: str, *, total: int | None = None, unit: str = "it") -> Iterator[Report]:
        assert (description, unit) == ("missing links", " entities")
        self.total = total or 0

        def report(done: int, /, note: str = "") -> None:
            self.reports += done
            if self.after is not None and self.reports > self.after:
                raise KeyboardInterrupt

        yield report


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("after", range(1, 8, 2))
@pytest.mark.parametrize("block", [1, 2])
def test_a_search_that_was_cut_off_goes_on(
    seed: int, after: int, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rule_links, "BLOCK", block)
    monkeypatch.setattr(link_parts, "_EVERY", 0.0)
    answers, told = RuleAnswers(random_model(seed), random_graph(seed)), []
    counting = Interrupting()
    whole = answers.missing(top=7, progress=counting)
    count = counting.total
    options = {"top": 7, "beside": tmp_path / "out.csv", "notes": told.append}
    with pytest.raises(InputError, match="no unfinished search"):
        answers.missing(**options, resume=True)
    if after < block or after + 2 * block > count:
        return
    with pytest.raises(KeyboardInterrupt):
        answers.missing(**options, progress=Interrupting(after))
    assert "the same command continues from here" in told[-1]
    part = answers.missing(**options, part=True, progress=Interrupting(0))
    assert not part.complete and told[-1].startswith("stopped after ")
    again = Interrupting()
    found = answers.missing(**options, resume=True, progress=again)
    assert found == whole and found.complete
    assert 0 < again.reports == again.total < count - after + 2 * block
    assert not list(tmp_path.iterdir())


def test_an_unfinished_search_is_no_start_for_another_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rule_links, "BLOCK", 1)
    monkeypatch.setattr(link_parts, "_EVERY", 0.0)
    answers, told = RuleAnswers(random_model(1), random_graph(1)), []
    options = {"beside": tmp_path / "out.csv", "notes": told.append}
    with pytest.raises(KeyboardInterrupt):
        answers.missing(top=7, **options, progress=Interrupting(3))
    assert answers.missing(top=6, **options) == answers.missing(top=6)
    assert any("starting anew" in note for note in told)


@pytest.mark.parametrize("seed", SEEDS)
def test_links_that_have_more_reasons_than_popularity(seed: int) -> None:
    answers = RuleAnswers(random_model(seed), random_graph(seed))
    every = answers.missing(top=1000)
    wanted = [row for row in every if row.sum.rule_score > row.score - row.sum.rule_score]
    assert list(answers.missing(top=1000, reasons_only=True)) == wanted
    assert wanted


def test_the_least_probability() -> None:
    graph, model = random_graph(2), random_model(2)
    with pytest.raises(InputError, match="does not say how likely"):
        RuleAnswers(model, graph).missing(min_probability=0.5)
    answers = RuleAnswers(replace(model, likelihood=LIKELY), graph)
    every = answers.missing(top=None, min_probability=0.0)
    least = every[len(every) // 2].probability
    found = answers.missing(top=None, min_probability=least - 1e-9)
    assert list(found) == [row for row in every if row.probability >= least] and len(found) < len(every)
    for wrong in (-0.1, 1.0, 7.0):
        with pytest.raises(InputError, match="least probability"):
            answers.missing(min_probability=wrong)


@pytest.mark.parametrize("seed", SEEDS)
def test_links_from_some_heads_and_where_rules_lead_from(seed: int) -> None:
    graph, model = random_graph(seed), random_model(seed)
    answers, every = RuleAnswers(model, graph), exhaustive(model, graph)
    heads = graph.entities[1], graph.entities[3]
    found = [(row.triple, row.plausibility) for row in answers.missing(heads=heads, top=50)]
    assert_best(found, {one: value for one, value in every.items() if one.head in heads}, 50)
    rule = next(one.rule for one in model.rules if one.rule.head in RELATIONS)
    alone, there = RuleModel.from_rules([rule]), as_read(model, set(graph))
    alone = replace(alone, loops=model.loops)
    led = {
        head
        for head, tail in itertools.product(graph.entities, graph.entities)
        if reached(replace(alone, both_ways=model.both_ways), set(graph), Triple(head, rule.head, tail))
    }
    names, number = answers.led_from([rule], most=2)
    assert number == len(led) and set(names) <= led and len(names) == min(2, len(led)) and there


# --- limits -----------------------------------------------------------------------------------------------------------


def typed_graph(seed: int, *, name: str = "http://ns#type") -> KnowledgeGraph:
    return random_graph(seed, facts=14) | KnowledgeGraph([(one, name, of) for one, of in TYPES.items()])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("limits", LIMITS)
def test_limits_leave_of_the_whole_list_what_is_within_them(
    seed: int, limits: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rule_links, "BLOCK", 2)
    monkeypatch.setattr(rule_links, "_ROOM", 1)
    graph = typed_graph(seed)
    answers = RuleAnswers(replace(random_model(seed), likelihood=LIKELY), graph)
    for about in ({}, {"head": "a"}, {"tail": "c"}, {"relation": "s"}, {"heads": ["a", "d"]}):
        every = answers.missing(top=None, **about)
        wanted = [row for row in every if within(row.triple, graph, limits)]
        assert list(answers.missing(top=None, **about, **limits)) == wanted
        assert list(answers.missing(top=2, **about, **limits)) == wanted[:2]
    every = [row for row in answers.missing(top=None) if within(row.triple, graph, limits)]
    firsts = {row.triple.relation: row for row in reversed(every)}
    assert set(answers.missing(per_relation=1, top=None, **limits)) == set(firsts.values())


def test_limits_leave_something_and_leave_something_out() -> None:
    """So that the test above tells one limit from another."""
    for limits in LIMITS:
        every, left = [], []
        for seed in SEEDS:
            graph = typed_graph(seed)
            rows = RuleAnswers(random_model(seed), graph).missing(top=None)
            every += rows
            left += [row for row in rows if within(row.triple, graph, limits)]
        assert 5 <= len(left) < len(every) - 5


def test_who_says_what_something_is() -> None:
    graph, model = typed_graph(0, name="kind"), random_model(0)
    answers = RuleAnswers(model, graph)
    with pytest.raises(
        InputError, match="no relation of these facts is known to say what something is"
    ) as error:
        answers.missing(head_types=["one"])
    assert "--type-relation R" in str(error.value)
    there = RuleAnswers(model, typed_graph(0)).missing(head_types=["one"])
    named = answers.missing(head_types=["one"], type_relation="kind")
    assert [row.triple for row in named] == [row.triple for row in there]
    with pytest.raises(UnknownNameError, match="unknown relation 'kinds'; did you mean 'kind'"):
        answers.missing(head_types=["one"], type_relation="kinds")
    with pytest.raises(UnknownNameError, match="unknown type 'ones'; did you mean 'one'"):
        answers.missing(head_types=["ones"], type_relation="kind")
    with pytest.raises(UnknownNameError, match="unknown type 'a'"):
        answers.missing(tail_types="a", type_relation="kind")


def test_a_search_within_other_limits_starts_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rule_links, "BLOCK", 1)
    monkeypatch.setattr(link_parts, "_EVERY", 0.0)
    answers, told = RuleAnswers(random_model(1), typed_graph(1)), []
    options = {"top": 7, "beside": tmp_path / "out.csv", "notes": told.append}
    for limits in (
        {"not_linked": True},
        {"head_types": ["one"]},
        {"tail_types": ["two"]},
        {"seen_ends": True},
    ):
        with pytest.raises(KeyboardInterrupt):
            answers.missing(**options, progress=Interrupting(1))
        with pytest.raises(InputError, match="no unfinished search"):
            answers.missing(**options, **limits, resume=True)
        with pytest.raises(KeyboardInterrupt):
            answers.missing(**options, progress=Interrupting(1))
        assert answers.missing(**options, **limits) == answers.missing(top=7, **limits)


@pytest.mark.parametrize("seed", SEEDS)
def test_links_may_be_compared_by_plausibility_where_they_have_a_probability(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rule_links, "BLOCK", 1)
    graph, model = random_graph(seed), random_model(seed)
    plain, likely = (RuleAnswers(one, graph)._state for one in (model, replace(model, likelihood=LIKELY)))
    asked = LinkQuestions(tuple(range(len(graph.relations))), None, "tail")
    for top in (1, 4, None):
        wanted = best_links(plain, asked, Wanted(top))
        assert same(best_links(likely, asked, Wanted(top, by_plausibility=True)), wanted)
