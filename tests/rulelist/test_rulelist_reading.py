"""The order in which the rules of a model are read, and their measures on given facts."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
import pytest
from rulelist_worlds import random_graph, random_model

from reshuffle.data.families import RULES, families
from reshuffle.extraction.measure import measured as slowly_measured
from reshuffle.rulelist import RuleModel, RuleSettings, learn_rules
from reshuffle.rulelist.learner import measured_on
from reshuffle.rules import IntersectionRule, Rule, parse_rules

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reshuffle.progress import Report


def test_the_rules_that_made_the_families_are_read_first() -> None:
    """All 28 of them; the other two are `spouse & wife^-1 -> husband` and its like, which hold always, too."""
    known = families(2).benchmark.train.triples
    model = learn_rules(known, settings=RuleSettings().changed(longest=2, steps=20))
    read = [one.rule for one in model.rules[:30]]
    assert set(map(claim, RULES)) <= set(map(claim, read))


def claim(rule: Rule) -> tuple[str, str, tuple[str, ...]]:
    """What a rule says, in whichever order the atoms of an intersection are written."""
    meets = isinstance(rule, IntersectionRule)
    return type(rule).__name__, rule.head, tuple(sorted(rule.body)) if meets else rule.body


@pytest.mark.parametrize("seed", range(8))
def test_rules_are_measured_on_any_facts_and_answers_stay(seed: int) -> None:
    model, graph = random_model(seed), random_graph(seed + 50, facts=40, loops=False)
    again = measured_on(model, graph)
    assert {one.rule for one in again.rules} == {one.rule for one in model.rules}
    expected = slowly_measured([one.rule for one in model.rules], graph)
    for one in again.rules:
        assert one.rule.quality is not None and one.rule.quality.support == expected[one.rule].support
    asked = np.arange(graph.num_entities), np.zeros(graph.num_entities, dtype=np.int64)
    before, after = (found.on(graph).scores(*asked, side="tail", candidates=None) for found in (model, again))
    assert np.allclose(before, after)


def test_measuring_says_how_far_it_is() -> None:
    """It takes minutes on a hundred thousand facts."""
    stages: dict[str, list[int]] = {}

    @contextmanager
    def progress(description: str, *, total: int | None = None, unit: str = "it") -> Iterator[Report]:
        assert total is not None
        stages[description] = [0, total]

        def report(done: int, /, note: str = "") -> None:
            stages[description][0] += done

        yield report

    measured_on(random_model(1), random_graph(51, facts=40, loops=False), progress=progress)
    for stage in ("measuring rules", "counting pairs"):
        done, total = stages[stage]
        assert done == total > 0


def test_relations_that_the_facts_lack_give_no_support() -> None:
    model = RuleModel.from_rules(parse_rules("a(X, Y) -> r(X, Y)\nb(X, Y) -> r(X, Y)"))
    again = measured_on(model, [("e", "b", "f"), ("e", "r", "f"), ("g", "b", "h")])
    told = [
        (one.rule.body, one.rule.quality.support, one.rule.quality.predictions)
        for one in again.rules
        if one.rule.quality is not None
    ]
    assert sorted(told) == [(("a",), 0, 0), (("b",), 1, 2)]
    assert [one.weight for one in again.rules] == [one.weight for one in model.rules]
