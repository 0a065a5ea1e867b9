"""Questions that cannot have a link that is good enough are left out without a search for distances, and no others."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from rulelist_worlds import RELATIONS, random_graph, random_model

from reshuffle.kg import KnowledgeGraph, Vocabulary
from reshuffle.rulelist import RuleAnswers
from reshuffle.rulelist.kernels.link_sums import _fill_mass
from reshuffle.rulelist.kernels.rule_bounds import codes_around
from reshuffle.rulelist.links import link_bounds, rule_links
from reshuffle.rulelist.links.likelihood import Likelihood
from reshuffle.rulelist.links.link_bounds import LinkBounds
from reshuffle.rulelist.links.rule_links import LOWEST, LinkQuestions, Links, Wanted, best_links

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reshuffle.evaluation.scorer import Side
    from reshuffle.rulelist.features import FeatureGraph, Questions

EVERYTHING = tuple(range(len(RELATIONS)))
LIKELY = Likelihood(1.7, 0.4, 0.6, -2.0, (("r", -1.0), ("s^-1", 0.5)))
UPSIDE_DOWN = Likelihood(1.7, -0.4, 0.6, -2.0)
"""Who is close is less likely: what tables say at most is no bound then."""


@pytest.mark.parametrize("side", ["tail", "head"])
@pytest.mark.parametrize("likelihood", [None, LIKELY, UPSIDE_DOWN], ids=["plain", "likely", "upside down"])
@pytest.mark.parametrize("seed", range(6))
def test_no_question_with_a_link_is_left_out(seed: int, likelihood: Likelihood | None, side: str) -> None:
    state = RuleAnswers(replace(random_model(seed), likelihood=likelihood), random_graph(seed))._state
    asked = LinkQuestions(EVERYTHING, None, side)
    every = best_links(state, asked, Wanted())
    finding = rule_links._Finding(state, asked, Wanted(), Links.none())
    anchors = np.arange(state.graph.num_entities, dtype=np.int32)
    places, which = finding.questions_of(anchors)
    about = every.ids[:, 1 if side == "tail" else 2]
    best = np.array([
        every.values[(every.ids[:, 0] == relation) & (about == anchor)].max(initial=-np.inf)
        for anchor, relation in zip(places, which, strict=True)
    ])  # fmt: skip
    left_out = 0
    for floor in every.values:
        floors = np.full(len(state.model.tables.distances), floor)
        promising = finding._promising(anchors[places], which, floors)
        assert not (best >= floor)[~promising].any()
        left_out += int((~promising).sum())
    assert (left_out > 0) == (likelihood is not UPSIDE_DOWN)


def test_what_is_left_out_is_not_searched_for(monkeypatch: pytest.MonkeyPatch) -> None:
    state = RuleAnswers(replace(random_model(4), likelihood=LIKELY), random_graph(4))._state
    asked, kind = LinkQuestions(EVERYTHING, None, "tail"), type(state.features)
    wanted, searched, steps = (
        Wanted(least=float(best_links(state, asked, Wanted()).values[2])),
        [0],
        kind.steps,
    )

    def counted(features: FeatureGraph, questions: Questions) -> NDArray[np.uint8]:
        searched[-1] += len(questions.anchors)
        return steps(features, questions)

    monkeypatch.setattr(kind, "steps", counted)
    found = best_links(state, asked, wanted)
    monkeypatch.setattr(rule_links, "_SEARCHED", 1)  # and how many are searched for at a time changes nothing
    searched.append(0)
    one_by_one = best_links(state, asked, wanted)
    monkeypatch.setattr(LinkBounds, "hold", False)
    searched.append(0)
    without = best_links(state, asked, wanted)
    assert len(without) == 3
    for other in (found, one_by_one):
        assert (other.ids == without.ids).all() and (other.values == without.values).all()
    assert 0 < searched[0] == searched[1] < searched[2]


@pytest.mark.parametrize("side", ["tail", "head"])
def test_rules_add_no_more_than_edges_around_an_entity_tell(side: Side) -> None:
    """Of 20 worlds; some questions have no link by what their edges tell, and of some that is all that rules add."""
    without, exactly = 0, 0
    for seed in range(20):
        state = RuleAnswers(random_model(seed), random_graph(seed))._state
        anchors = np.arange(state.graph.num_entities, dtype=np.int32)
        everything = np.full(len(state.model.tables.distances), LOWEST)
        for relation in EVERYTHING:
            asked = LinkQuestions((relation,), None, side)
            finding = rule_links._Finding(state, asked, Wanted(by_plausibility=True), Links.none())
            questions = finding.questions_of(anchors)
            rows = np.full(2 * len(EVERYTHING), -1)
            rows[finding._directed] = 0
            most = state.link_reach.worth(anchors, rows, finding._bounds.order)
            for parts, _, places in finding.parts(anchors, *questions, everything):
                assert (parts[:, 0] <= most[places] + 1e-9).all()
                exactly += int(np.isclose(parts[:, 0], most[places]).sum())
            without += int((most[questions[0]] == -np.inf).sum())
    assert without and exactly


@pytest.mark.parametrize("words", [1, 2, 3])
def test_codes_may_share_a_bit(words: int) -> None:
    starts, codes = np.array([0, 3, 3, 5]), np.array([0, 1, 129, 63, 64], dtype=np.int32)
    found = codes_around((starts, codes, np.zeros(5, np.int32)), words)
    told = [{bit for bit in range(64 * words) if int(row[bit >> 6]) >> (bit & 63) & 1} for row in found]
    bits = 64 * words
    assert told == [{0, 1, 129 % bits}, set(), {63, 64 % bits}]


def test_entities_that_may_have_the_best_links_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rule_links, "BLOCK", 2)
    monkeypatch.setattr(rule_links, "_SMALL_BLOCKS", 2)
    monkeypatch.setattr(rule_links, "_BLOCKS", 2)
    state = RuleAnswers(replace(random_model(4), likelihood=LIKELY), random_graph(4))._state
    asked = LinkQuestions(EVERYTHING, None, "tail")
    finding = rule_links._Finding(state, asked, Wanted(top=1), Links.none())
    rows = np.concatenate([finding._rows, np.full(len(EVERYTHING), -1)])
    blocks = finding.blocks()
    worth = state.link_reach.worth(np.concatenate(blocks), rows, finding._bounds.order)
    assert [len(block) for block in blocks] == [2, 2, 3]
    assert (np.diff(worth) <= 0).all() and worth[0] > worth[-1]
    assert sorted(np.concatenate(blocks)) == sorted(np.concatenate(asked.blocks(state)))
    assert list(map(len, asked.blocks(state))) == [2, 2, 3]  # what is told of progress counts the same blocks


def test_what_is_out_of_reach_is_not_walked_from(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without walks nobody looks further at a question that is passed over."""
    state = RuleAnswers(replace(random_model(4), likelihood=LIKELY), random_graph(4))._state
    asked = LinkQuestions(EVERYTHING, None, "tail")
    every = best_links(state, asked, Wanted())
    walked, look = list[int](), link_bounds.promising_questions

    def counted(*arguments: Any) -> None:
        walked.append(int(arguments[-1].sum()))
        look(*arguments)

    monkeypatch.setattr(link_bounds, "promising_questions", counted)
    finding = rule_links._Finding(state, asked, Wanted(), Links.none())
    anchors = np.arange(state.graph.num_entities, dtype=np.int32)
    places, which = finding.questions_of(anchors)
    for floor in (every.values[0], every.values[0] + 100):
        floors = np.full(len(state.model.tables.distances), floor)
        finding._promising(anchors[places], which, floors)
    assert len(walked) == 1 and 0 < walked[0] < len(places)


def test_no_limit_leaves_nothing_out() -> None:
    state = RuleAnswers(random_model(1), random_graph(1))._state
    finding = rule_links._Finding(state, LinkQuestions(EVERYTHING, None, "tail"), Wanted(), Links.none())
    anchors = np.arange(state.graph.num_entities, dtype=np.int32)
    places, which = finding.questions_of(anchors)
    floors = np.full(len(state.model.tables.distances), LOWEST)
    assert finding._promising(anchors[places], which, floors).all()


def test_threads_that_fill_the_same_row_write_the_same_numbers() -> None:
    """One that is done reads a row that another one still fills: it must not meet numbers of another kind."""
    chance, count = np.random.default_rng(0), 20_000  # so that there is time to look
    ends = (chance.integers(0, count, 2 * count).astype(np.int32) for _ in range(2))
    relations = chance.integers(0, len(RELATIONS), 2 * count).astype(np.int32)
    heads, tails = ends
    names = Vocabulary([f"e{number}" for number in range(count)], kind="entity")
    of_relations = Vocabulary(RELATIONS, kind="relation")
    graph = KnowledgeGraph.from_ids(heads, relations, tails, entities=names, relations=of_relations)
    tables, own = RuleAnswers(random_model(2), graph)._state.link_tables, np.empty(count)
    peak = _fill_mass(0, tables, own)
    right, over, strange = own.copy(), threading.Event(), list[int]()

    def look() -> None:
        while not over.is_set():
            strange.append(int((own != right).sum()))

    watcher = threading.Thread(target=look)
    watcher.start()
    for _ in range(300):
        assert _fill_mass(0, tables, own) == peak
    over.set()
    watcher.join()
    assert len(strange) > 1 and not any(strange)
