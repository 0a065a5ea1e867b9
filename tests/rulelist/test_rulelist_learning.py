from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import fields, replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from rulelist_worlds import random_graph, random_model, random_rules, score, types

import reshuffle.rulelist.training_rows as training_rows_module
from reshuffle.errors import InputError
from reshuffle.evaluation.baselines.types import TypeBaseline
from reshuffle.kg import KnowledgeGraph, Triple, inverse_name
from reshuffle.rulelist import (
    RuleAnswers,
    RuleModel,
    RuleSettings,
    WeightedRule,
    learn_rules,
    load_rule_model,
    refit,
)
from reshuffle.rulelist.features import FeatureGraph
from reshuffle.rulelist.files.fit_checkpoints import FILE
from reshuffle.rulelist.fitting import Fit, FitSettings, Shape
from reshuffle.rulelist.programs import Program
from reshuffle.rulelist.rule_finding import find_rules, loops_of, measured
from reshuffle.rulelist.rule_model import Tables, prior_of
from reshuffle.rulelist.sampling.fact_samples import Budget
from reshuffle.rulelist.training_rows import Room, questions_of, training_rows
from reshuffle.rulelist.type_tables import RoleCounts, log_shares
from reshuffle.rules import IntersectionRule, PathRule, Quality, Rule, parse_rules
from reshuffle.rules.mining import mine

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from reshuffle.progress import Report

SHORT = RuleSettings().changed(steps=40, batch=64)


def families() -> KnowledgeGraph:
    """Grandparents of thirty families, some of them told; everyone knows themselves and somebody else by chance."""
    chance = np.random.default_rng(0)
    facts = []
    for number in range(30):
        facts += [(f"a{number}", "parent", f"b{number}"), (f"b{number}", "parent", f"c{number}")]
        facts += [(f"a{number}", "knows", f"c{chance.integers(30)}")]
        if number % 3:
            facts.append((f"a{number}", "grandparent", f"c{number}"))
    return KnowledgeGraph(facts)


def test_it_learns_a_rule_and_ranks_by_it() -> None:
    model = learn_rules(families(), settings=SHORT)
    first = next(one for one in model if one.rule.head == "grandparent")
    assert first.rule == PathRule(("parent", "parent"), "grandparent")
    assert first.rule.quality == Quality(30, 20, 0.5714)
    answers = RuleAnswers(model, families())
    assert all(answers.tails(f"a{n}", "grandparent", top=1) == [f"c{n}"] for n in range(0, 30, 3))
    elsewhere = RuleAnswers(
        model, KnowledgeGraph([("x", "parent", "y"), ("y", "parent", "z"), ("u", "knows", "v")])
    )
    assert elsewhere.tails("x", "grandparent", top=1) == ["z"]


def test_the_same_seed_gives_the_same_model() -> None:
    graph = random_graph(5, facts=40)
    assert learn_rules(graph, settings=SHORT) == learn_rules(graph, settings=SHORT)
    assert learn_rules(graph, settings=SHORT) != learn_rules(graph, settings=SHORT.changed(seed=1))


@pytest.mark.parametrize("seed", range(4))
def test_the_gradient_is_that_of_the_loss_and_the_loss_that_of_the_formula(seed: int) -> None:
    graph, model = random_graph(seed, facts=14, loops=False), random_model(seed)
    fit, rules = _fit(graph, model)
    shape = fit.shape
    values = np.zeros(shape.size)
    _, weights, counts, distances, types, *_ = shape.views(values)
    chance = np.random.default_rng(seed)
    for part in (weights, counts, distances, types):
        part[:] = chance.random(part.shape).round(4)
    batch = np.arange(len(fit.rows))
    with ThreadPoolExecutor(2) as pool:
        loss, gradient = fit._gradient(values, batch, pool)
        for place in chance.choice(np.arange(3, shape.size), 25, replace=False):
            moved = values.copy()
            moved[place] += 1e-5
            other, _ = fit._gradient(moved, batch, pool)
            moved[place] -= 2e-5
            before, _ = fit._gradient(moved, batch, pool)
            assert gradient[place] == pytest.approx((other - before) / 2e-5, abs=1e-5)
    tables = Tables(tuple(graph.relations), distances, types, np.exp(fit.log_shares) - 0.001)
    weighted = tuple(map(WeightedRule, rules, weights.tolist(), counts.tolist()))
    read = RuleModel(weighted, tables, loops_of(graph))
    assert loss == pytest.approx(_naive_loss(read, graph), rel=1e-6)


def _fit(graph: KnowledgeGraph, model: RuleModel) -> tuple[Fit, list[PathRule]]:
    rules = [one.rule for one in model.rules]
    count = len(graph.relations)
    program = Program.of(rules, list(graph.relations), loops=loops_of(graph))
    rows = training_rows(FeatureGraph(graph), program, room=Room(), seed=0)
    roles = RoleCounts.of(graph, np.arange(count), count)
    logs = log_shares(TypeBaseline.fit(graph).confidences)
    zeros = np.zeros(len(rules))
    return Fit(rows, roles, logs, zeros, zeros.astype(int), FitSettings(prior=0.0)), rules


def _naive_loss(model: RuleModel, graph: KnowledgeGraph) -> float:
    """Each fact is asked from both ends; only for the answer it is hidden from roles, for all from walks and steps."""
    losses = []
    facts = Counter(end for fact in graph for end in (fact.head, fact.tail))
    for fact in graph:
        left = set(graph) - {fact}
        if min(facts[fact.head], facts[fact.tail]) == 1:
            continue
        for side in ("head", "tail"):
            answer = fact.tail if side == "tail" else fact.head
            total, own = 0.0, 0.0
            for entity in graph.entities:
                triple = fact._replace(**{side: entity})
                if triple in left:
                    continue
                value = score(model, left, triple, side)
                if entity != answer:  # whose roles are as they are
                    value += _types(model, set(graph), triple, side) - _types(model, left, triple, side)
                total += np.exp(value)
                own = value if entity == answer else own
            losses.append(np.log(total) - own)
    return float(np.mean(losses))


def _types(model: RuleModel, facts: set[Triple], triple: Triple, side: str) -> float:
    directed = triple.relation if side == "tail" else inverse_name(triple.relation)
    return types(model, facts, directed, triple.tail if side == "tail" else triple.head)


def test_the_only_fact_of_somebody_is_no_question() -> None:
    graph = KnowledgeGraph([("a", "r", "b"), ("b", "r", "c"), ("c", "r", "a"), ("c", "r", "leaf")])
    asked = questions_of(graph)
    assert len(asked.anchors) == 6
    assert graph.entities.id("leaf") not in {*asked.anchors.tolist(), *asked.answers.tolist()}
    assert len(questions_of(KnowledgeGraph([("a", "r", "b")])).anchors) == 2


def test_a_window_stands_for_all_entities() -> None:
    """With a small window the loss is an estimate; its mean over seeds comes near the whole."""
    graph, model = random_graph(7, facts=60), random_model(7)
    rules = [one.rule for one in model.rules]
    program = Program.of(rules, list(graph.relations), loops=loops_of(graph))
    rows = training_rows(FeatureGraph(graph), program, room=Room(window=3), seed=0)
    sizes = np.diff(rows.starts)
    assert (sizes - rows.reached <= 3).all()
    stands = np.exp(rows.boosts) * (sizes - rows.reached)
    others = sizes - rows.reached > 0
    whole = training_rows(FeatureGraph(graph), program, room=Room(), seed=0)
    assert np.allclose((stands + rows.reached)[others], np.diff(whole.starts)[others])


def test_questions_are_drawn_where_there_is_no_room_for_all() -> None:
    graph, model = random_graph(7, facts=60), random_model(7)
    program = Program.of([one.rule for one in model.rules], list(graph.relations))
    many = KnowledgeGraph([(f"{h}{n}", r, f"{t}{n}") for n in range(40) for h, r, t in graph])
    some = training_rows(FeatureGraph(many), program, room=Room(candidates=800_000), seed=0)
    assert 1024 <= len(some) < len(questions_of(many).anchors)
    assert len(some.entities) < 900_000


def test_weights_are_kept_from_falling_below_zero() -> None:
    model = learn_rules(random_graph(8, facts=50), settings=SHORT)
    assert all(one.weight >= 0 and one.count_weight >= 0 for one in model)
    shape = Shape(3, 4)
    assert shape.size == sum(view.size for view in shape.views(np.zeros(shape.size)))


# --- finding ----------------------------------------------------------------------------------------------------------


def test_found_rules_are_measured_like_mined_ones() -> None:
    """Where no body mentions its head, and no walk goes to and fro, both count the same."""
    graph = families()
    found = {rule: rule.quality for rule in find_rules(graph, budget=Budget(longest=2)).rules}
    mined = mine(graph, max_length=2, min_confidence=0.01)
    rule = PathRule(("parent", "parent"), "grandparent")
    measures = mined.measures[rule]
    assert found[rule] == Quality(measures.predictions, measures.support, round(measures.confidence, 4))


@pytest.mark.parametrize("seed", range(6))
def test_finding_and_measuring_agree(seed: int) -> None:
    graph = random_graph(seed, facts=24, loops=False)
    found = find_rules(graph, budget=Budget(longest=3)).rules
    assert found
    bare = [replace(rule, quality=None) for rule in found]
    assert [rule.quality for rule in measured(bare, graph)] == [rule.quality for rule in found]


def joined_by(rule: Rule, facts: set[tuple[str, str, str]]) -> set[tuple[str, str]]:
    """The pairs that a body joins, by its definition."""
    steps = []
    for atom in rule.body:
        pairs = {(h, t) for h, r, t in facts if r == atom.removesuffix("^-1")}
        steps.append({(t, h) for h, t in pairs} if atom.endswith("^-1") else pairs)
    if isinstance(rule, IntersectionRule):
        return set.intersection(*steps)
    joined = steps[0]
    for step in steps[1:]:
        joined = {(a, d) for a, b in joined for c, d in step if b == c}
    return joined


@pytest.mark.parametrize("seed", range(20))
def test_rules_are_measured_as_their_definition_says(seed: int) -> None:
    """With facts from an entity to itself in some relations, and with bodies that mention their heads."""
    graph, rules = random_graph(seed, facts=30), random_rules(seed, number=20)
    facts = {(h, r, t) for h, r, t in graph}
    loops = {r for h, r, t in facts if h == t}
    for rule in measured(rules, graph):
        pairs = {(a, b) for a, b in joined_by(rule, facts) if a != b or rule.head in loops}
        right = [(h, t) for h, r, t in facts if r == rule.head]
        support = sum((h, t) in joined_by(rule, facts - {(h, rule.head, t)}) for h, t in right)
        alone = sum((h, t) in joined_by(rule, facts) for h, t in right) - support
        quality = rule.quality
        assert quality is not None
        assert (quality.support, quality.predictions) == (support, len(pairs) - alone), str(rule)


def test_bodies_of_walks_to_and_fro_are_not_listed() -> None:
    graph = KnowledgeGraph([(f"a{n}", r, f"b{n}") for n in range(5) for r in ("r", "s")])
    assert [str(rule) for rule in find_rules(graph, budget=Budget(longest=3)).rules] == [
        "s(X, Y) -> r(X, Y)",
        "r(X, Y) -> s(X, Y)",
    ]


def test_short_bodies_come_before_surer_long_ones() -> None:
    """Three atoms find all ten facts of `goal` and nothing else, two atoms find them among twenty."""
    facts = [(f"a{n}", "goal", f"d{n}") for n in range(10)]
    for n in range(10):
        facts += [(f"a{n}", "p", f"b{n}"), (f"b{n}", "q", f"c{n}"), (f"c{n}", "r", f"d{n}")]
        facts += [(f"a{n}", "s", f"e{n}"), (f"e{n}", "t", f"d{n}"), (f"e{n}", "t", f"f{n}")]
    found = find_rules(KnowledgeGraph(facts), budget=Budget(rules=1)).rules
    first = find_rules(KnowledgeGraph(facts), budget=Budget(rules=2)).rules
    assert [str(rule) for rule in found if rule.head == "goal"] == ["s(X, Y) & t(Y, Z) -> goal(X, Z)"]
    assert [rule.quality for rule in first if rule.head == "goal"] == [
        Quality(20, 10, 0.4),
        Quality(10, 10, 0.6667),
    ]


def test_relations_that_are_mostly_symmetric_are_read_both_ways() -> None:
    pairs = [(f"p{n}", f"q{n}") for n in range(16)]
    half = [(a, "half", b) for a, b in pairs[:15]] + [(b, "half", a) for a, b in pairs[:5]]
    less = [(a, "less", b) for a, b in pairs] + [(b, "less", a) for a, b in pairs[:4]]
    few = [(a, "few", b) for a, b in pairs[:9]] + [(b, "few", a) for a, b in pairs[:9]]
    model = learn_rules([*half, *less, *few], settings=SHORT)
    assert model.both_ways == {"half"}  # 10 of 20 facts have a reverse; 8 of 20 of `less`; `few` has 18 facts
    edited = replace(model, both_ways=frozenset({"few"}))
    assert refit(edited, [*half, *less, *few], settings=SHORT).both_ways == {"few"}


def test_intersections_are_found_where_they_say_more_than_their_parts() -> None:
    facts = [(f"a{n}", r, f"b{n}") for n in range(9) for r in ("p", "q", "both")]
    facts += [(f"c{n}", "p", f"d{n}") for n in range(20)] + [(f"e{n}", "q", f"f{n}") for n in range(20)]
    found = find_rules(KnowledgeGraph(facts)).rules
    rule = next(rule for rule in found if isinstance(rule, IntersectionRule) and rule.head == "both")
    assert rule == IntersectionRule(("p", "q"), "both")
    assert rule.quality == Quality(9, 9, 0.6429)
    assert not [
        rule
        for rule in found
        if isinstance(rule, IntersectionRule) and rule.head == "p" and rule.body == ("q", "both")
    ]


def large_and_small() -> KnowledgeGraph:
    """400 facts that follow from a chain of three relations, and 12 facts that follow from a chain of two."""
    chain = [(f"a{n}", "p", f"b{n}") for n in range(400)] + [(f"b{n}", "q", f"c{n}") for n in range(400)]
    chain += [(f"c{n}", "s", f"d{n}") for n in range(400)] + [(f"a{n}", "large", f"d{n}") for n in range(400)]
    return KnowledgeGraph(chain + [(f"a{n}", "small", f"c{n}") for n in range(12)])


def test_a_small_budget_looks_at_some_facts_of_each_relation_and_at_small_relations_whole() -> None:
    graph, chains = large_and_small(), [PathRule(("p", "q", "s"), "large"), PathRule(("p", "q"), "small")]
    whole = find_rules(graph)
    assert [sample.share_of_all for sample in whole.samples.values()] == [1.0, 1.0, 1.0] and not whole.notes
    some = find_rules(graph, budget=Budget(listing=1))
    for sample in some.samples.values():
        looked = dict(zip(graph.relations, sample.looked_at.tolist(), strict=True))
        assert looked == {"p": 50, "q": 50, "s": 50, "large": 50, "small": 12}
    assert all(rule in some.rules for rule in chains)
    supports = {rule: rule.quality.support for rule in some.rules if rule in chains and rule.quality}
    assert supports == {chains[0]: 400, chains[1]: 12}  # scaled


def test_pairs_are_counted_from_some_who_have_the_first_edge() -> None:
    """Also where the budget is used up by the first ones, every body is measured by some of them."""
    graph = large_and_small()
    found = {rule: rule.quality for rule in find_rules(graph, budget=Budget(work=1)).rules}
    quality = found[PathRule(("p", "q"), "small")]
    assert quality is not None and quality.predictions is not None and 380 <= quality.predictions <= 400


def test_rules_are_found_for_the_relations_that_are_asked_for() -> None:
    whole = find_rules(large_and_small())
    asked = find_rules(large_and_small(), about={"small"})
    assert {rule.head for rule in whole.rules} > {"small"} == {rule.head for rule in asked.rules}
    assert list(asked.rules) == [rule for rule in whole.rules if rule.head == "small"]


def test_what_the_budget_leaves_out_is_told() -> None:
    told: list[str] = []
    learn_rules(large_and_small(), settings=SHORT.changed(listing=1, longest=2), notes=told.append)
    looked = (
        "searched on 13% of the facts: on up to 50 facts of 4 large relations, on all facts of 1 relation"
    )
    assert told[:2] == [f"rules of 1 atom were {looked}", f"rules of 2 atoms were {looked}"]


def test_one_relation_is_learned_alone() -> None:
    model = learn_rules(large_and_small(), settings=SHORT, relations=["small"])
    assert {one.rule.head for one in model.rules} == {"small"}
    answers = model.on(large_and_small())
    assert answers.predict(head="a0", relation="small", known="mark")[0].triple.tail == "c0"
    with pytest.raises(InputError, match="no fact has the relation 'smal'"):
        learn_rules(large_and_small(), settings=SHORT, relations=["smal"])
    with pytest.raises(InputError, match="found no relation to learn"):
        learn_rules(large_and_small(), settings=SHORT, relations=[])


def test_a_model_is_there_in_time_and_says_what_is_missing() -> None:
    told: list[str] = []
    learn_rules(large_and_small(), settings=SHORT)  # kernels are compiled
    started = time.monotonic()
    model = learn_rules(
        large_and_small(), settings=SHORT.changed(steps=100_000), minutes=0.05, notes=told.append
    )
    assert (
        told[-1]
        == "with more time, rules are searched on more facts, and weights are fitted to more questions"
    )
    assert time.monotonic() - started < 6
    assert len(model.rules) and any(one.startswith("weights had time for ") for one in told)
    for minutes in (0, -1.0, float("inf"), True, "1"):
        with pytest.raises(InputError, match="minutes"):
            learn_rules(large_and_small(), minutes=minutes)  # type: ignore[arg-type]


def test_a_deadline_that_is_over_leaves_a_model() -> None:
    model = learn_rules(large_and_small(), settings=SHORT, minutes=1e-9)
    assert len(model.rules) and model.on(large_and_small()).predict(head="a0", relation="small")


def test_features_that_took_long_are_kept_until_the_model_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training_rows_module, "_WORTH_KEEPING", 0.0)
    monkeypatch.setattr(training_rows_module, "_FIRST", 256)
    whole = learn_rules(large_and_small(), settings=SHORT)
    halts = _Halting(after=1100)
    with pytest.raises(KeyboardInterrupt):
        learn_rules(large_and_small(), settings=SHORT, directory=tmp_path, progress=halts)
    kept = sorted(path.name for path in tmp_path.glob("features-*.npz"))
    assert kept == ["features-0.npz", "features-1.npz"]
    asked: list[int] = []
    model = learn_rules(
        large_and_small(), settings=SHORT, directory=tmp_path, resume=True, progress=_Halting(told=asked)
    )
    assert asked[0] == 256 + 512  # nothing is computed twice
    assert model == whole
    monkeypatch.setattr(training_rows_module, "_WORTH_KEEPING", 1e9)
    learn_rules(large_and_small(), settings=SHORT, directory=tmp_path)  # anew
    assert not list(tmp_path.glob("features-*.npz"))


class _Halting:
    """A progress that ends the features after so many questions, and keeps what it is told of them."""

    def __init__(self, *, after: int = 10**9, told: list[int] | None = None) -> None:
        self.after, self.told = after, [] if told is None else told

    @contextmanager
    def __call__(self, description: str, *, total: int | None = None, unit: str = "it") -> Iterator[Report]:
        del total, unit

        def report(done: int, /, note: str = "") -> None:
            del note
            if description == "features" and done:
                self.told.append(done)
                if sum(self.told) > self.after:
                    raise KeyboardInterrupt

        yield report


def test_each_setting_has_a_name_of_its_own() -> None:
    names = [one.name for part in (Budget, Room, FitSettings) for one in fields(part)]
    assert len(names) == len(set(names))


# --- rules from elsewhere ---------------------------------------------------------------------------------------------


def test_given_rules_take_part_and_stay() -> None:
    given = parse_rules("""
        parent(X, Y) & knows(Y, Z) -> grandparent(X, Z)
        10\t9\t0.6\tknows(X, Y) & parent(X, Z) -> nothing(Y, Z)
        parent(X, Y) & grandparent(X, Y) -> knows(X, Y)
    """.replace("        ", ""))  # fmt: skip
    model = learn_rules(families(), rules=given, settings=SHORT)
    by_rule = {one.rule: one for one in model}
    assert set(given.rules) <= by_rule.keys()
    assert by_rule[given.rules[1]].rule.quality == Quality(10, 9, 0.6)
    assert by_rule[given.rules[0]].rule.quality == Quality(0, 0, 0.0)
    assert len(model) > 3
    alone = learn_rules(families(), rules=given, mine=False, settings=SHORT)
    assert {one.rule for one in alone} == set(given.rules)


def test_a_given_intersection_is_not_mined_again_in_another_order() -> None:
    facts = [(f"x{n}", r, f"y{n}") for n in range(9) for r in ("a", "b", "both") if n < 5 or r == "ab"[n % 2]]
    mined = learn_rules(facts, settings=SHORT)
    (found,) = [one.rule for one in mined.rules if isinstance(one.rule, IntersectionRule)]
    given = IntersectionRule(found.body[::-1], found.head)
    model = learn_rules(facts, rules=[given], settings=SHORT)
    assert [one.rule for one in model.rules if isinstance(one.rule, IntersectionRule)] == [given]


def test_refitting_keeps_the_choice_of_rules() -> None:
    model = learn_rules(families(), settings=SHORT)
    chosen = model.without(0).with_rules(parse_rules("knows(X, Y) -> grandparent(X, Y)"))
    again = refit(chosen, families(), settings=SHORT)
    assert [one.rule for one in again] == [one.rule for one in chosen]
    assert again.tables != chosen.tables or [o.weight for o in again] != [o.weight for o in chosen]
    assert all(one.rule.quality.predictions is not None for one in again)


def test_the_prior_is_noisy_or_with_a_cap() -> None:
    assert prior_of(Quality(confidence=0.5)) == pytest.approx(np.log(2))
    assert prior_of(Quality(confidence=1.0)) == pytest.approx(-np.log(0.001))
    assert prior_of(None) == pytest.approx(-np.log(0.1))


# --- going on, and settings -------------------------------------------------------------------------------------------


class _CutError(Exception):
    pass


def test_a_run_that_was_cut_off_goes_on_as_if_nothing_had_happened(tmp_path: Path) -> None:
    settings = SHORT.changed(steps=120)
    whole = learn_rules(families(), settings=settings)
    done = []

    def cut(description: str, *, total: int | None = None, unit: str = "it"):
        def report(number: int, /, note: str = "") -> None:
            if description == "fitting" and number == 1:
                done.append(number)
                if len(done) == 70:
                    raise _CutError

        return nullcontext(report)

    with pytest.raises(_CutError):
        learn_rules(families(), settings=settings, directory=tmp_path, progress=cut)
    assert (tmp_path / FILE).exists()
    seen = []

    def count(description: str, *, total: int | None = None, unit: str = "it"):
        return nullcontext(lambda number, **_: seen.append((description, number)))

    assert (
        learn_rules(families(), settings=settings, directory=tmp_path, resume=True, progress=count) == whole
    )
    assert ("fitting", 50) in seen
    with pytest.raises(InputError, match="made with other facts, rules or settings"):
        learn_rules(families(), settings=settings.changed(seed=3), directory=tmp_path, resume=True)
    (tmp_path / FILE).write_bytes(b"PK")
    with pytest.raises(InputError, match="this checkpoint is damaged"):
        learn_rules(families(), settings=settings, directory=tmp_path, resume=True)


def test_settings_go_by_their_names() -> None:
    settings = RuleSettings().changed(longest=2, prior=3, seed=4)
    assert (settings.finding.longest, settings.fit.prior, settings.seed) == (2, 3.0, 4)
    with pytest.raises(InputError, match="there is no setting 'longestt'; did you mean 'longest'"):
        RuleSettings().changed(longestt=2)
    for wrong in ("two", -1, True, 1.5):
        with pytest.raises(InputError, match="expected a whole number of at least 0"):
            RuleSettings().changed(longest=wrong)


def test_without_facts_there_is_nothing_to_learn() -> None:
    with pytest.raises(InputError, match="found no facts"):
        learn_rules([])


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="cores cannot be taken away here")
def test_the_number_of_cores_changes_nothing(tmp_path: Path) -> None:
    """One core, in a process of its own, gives the model of all of them, to the bit."""
    facts = [tuple(triple) for triple in random_graph(5, facts=60)]
    model = learn_rules(facts, settings=SHORT)
    code = (
        "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
        "from reshuffle.rulelist import RuleSettings, learn_rules, save_rule_model\n"
        f"model = learn_rules({facts!r}, settings=RuleSettings().changed(steps=40, batch=64))\n"
        f"save_rule_model(model, {str(tmp_path)!r})"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert load_rule_model(tmp_path) == model


def test_all_of_it_runs_where_torch_cannot_be_imported(tmp_path: Path) -> None:
    script = """
import sys
sys.modules["torch"] = None
from reshuffle.rulelist import *
facts = [(f"{a}{n}", r, f"{b}{n}") for n in range(8) for a, r, b in (("a", "p", "b"), ("b", "p", "c"), ("a", "g", "c"))]
model = learn_rules(facts, settings=RuleSettings().changed(steps=20))
save_rule_model(model, sys.argv[1])
answers = load_rule_model(sys.argv[1]).on([("x", "p", "y"), ("y", "p", "z")])
assert answers.tails("x", "g", top=1) == ["z"], answers.predict(head="x", relation="g")
assert answers.explain("x", "g", "z")
answers.add([("z", "p", "w")])
refit(model, facts, settings=RuleSettings().changed(steps=5))
assert not [name for name in sys.modules if name.startswith("torch.")]
print("done")
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout == "done\n", done.stderr
