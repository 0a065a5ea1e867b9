"""Fitting how likely links are: facts, each judged without itself, among pairs that rules lead to and are no facts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reshuffle.evaluation.logistic import logistic
from reshuffle.kg.vocabulary import inverse_name
from reshuffle.progress import SILENT
from reshuffle.rulelist.constants.weighing import Trial
from reshuffle.rulelist.features import Questions, pieces_of
from reshuffle.rulelist.kernels.scoring_sums import hidden_type_values
from reshuffle.rulelist.links.answer_likelihood import Unknown, fit_answers, questions_at_once
from reshuffle.rulelist.links.likelihood import MISSING, Likelihood
from reshuffle.rulelist.links.rule_links import LinkQuestions, pairs_reached
from reshuffle.rulelist.rule_answers import RulesOnGraph
from reshuffle.rulelist.training_rows import from_both_ends, questions_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reshuffle.evaluation.scorer import Side
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.progress import Progress
    from reshuffle.rulelist.links.answer_likelihood import AnswerLikelihood
    from reshuffle.rulelist.rule_model import RuleModel

_SCORES = 1 << 28  # of all questions of a kind together
_FACTS, _OTHERS = 3_000, 20_000
"""Questions about facts, and for each end about pairs that are none: few of these have high scores."""
_PAIRS = 200_000
"""Pairs for each end that are no facts; of more, some are drawn, and count more."""
_ASKED = 1024  # entities that are asked about pairs that are no facts
_QUESTIONS, _VALIDATED = 3_000, 8_000
"""Questions whose answers are looked at: about facts that are held out, and about validation triples."""
_AT_ONCE = 64
_IN_HASTE = 0.25
"""The share of all of these where a list is to be there at a certain time."""
_LEAST = 30
"""Facts that rules find: with fewer nothing is said."""
_DIGITS = 4


class _Examples(NamedTuple):
    """What scores are made of, of which directed relation, and how much each counts."""

    parts: NDArray[np.float64]  # example (rules, tables, log share)
    rows: NDArray[np.int64]  # example
    weights: NDArray[np.float64]  # example


def fit_likelihood(
    model: RuleModel,
    graph: KnowledgeGraph,
    *,
    trial: Trial | None = None,
    valid: KnowledgeGraph | None = None,
    in_haste: bool = False,
    seed: int = 0,
    progress: Progress = SILENT,
) -> Likelihood | None:
    """How likely links are by a model, on the facts that it was learned from; None where rules find too few of them.

    With a trial, the facts are those that it holds out. How likely answers are is fitted to validation triples, without
    them to facts that are held out. Who is in haste asks about fewer.
    """
    state, chance = RulesOnGraph(model, graph), np.random.default_rng(seed)
    room = max(_AT_ONCE, _SCORES // max(1, state.graph.num_entities))
    share = _IN_HASTE if in_haste else 1
    with progress("calibrating", total=4, unit="parts") as report:
        facts = _facts(state.fresh(), chance, min(room, int(share * _FACTS)), trial)
        report(1)
        if len(facts.rows) < _LEAST:
            return None
        others = []
        for side in ("tail", "head"):
            others.append(_no_facts(state.fresh(), side, chance, min(room, _OTHERS), share))
            report(1)
        asked = int(share * (_QUESTIONS if valid is None else _VALIDATED))
        answers = _answers(state, trial, valid, min(room, asked), seed)
        report(1)
    return replace(_fitted(model, facts, others), answers=answers)


def _answers(
    state: RulesOnGraph, trial: Trial | None, valid: KnowledgeGraph | None, most: int, seed: int
) -> AnswerLikelihood | None:
    if valid is not None:
        return fit_answers(state, Unknown.of(valid, state.graph), most=most, seed=seed)
    held = trial or Trial.of(state.graph, most=most // 2, seed=seed)
    among = RulesOnGraph(replace(state.model, constants=held.rules), held.graph)
    return fit_answers(among, Unknown(from_both_ends(state.graph), held.asked), most=most, seed=seed)


def _fitted(model: RuleModel, facts: _Examples, others: list[_Examples]) -> Likelihood:
    parts, rows, weights = (np.concatenate(column) for column in zip(facts, *others, strict=True))
    labels = np.arange(len(rows)) < len(facts.rows)
    weights = weights / facts.weights[0]  # a fact is one example; what it counts against it is as it was
    parts[:, 0] = np.log1p(np.maximum(parts[:, 0], 0))  # sums less the tables may miss 0 by a rounding
    columns = np.column_stack([parts, np.ones(len(parts))])
    start = np.array([1.0, 1.0, 1.0, 0.0])
    factors, constants = logistic(columns, labels, start, weights=weights, groups=rows)
    if factors[2] < 0:  # a link with a larger share of its question is no less likely
        columns[:, 2], start[2] = 0.0, 0.0
        factors, constants = logistic(columns, labels, start, weights=weights, groups=rows)
    names = [*model.relations, *map(inverse_name, model.relations)]
    by_rules, by_tables, by_share, constant = (round(float(one), _DIGITS) for one in factors)
    own = [(names[row], round(constant + float(constants[row]), _DIGITS)) for row in np.unique(rows).tolist()]
    return Likelihood(by_rules, by_tables, by_share, constant, tuple(own))


def _facts(state: RulesOnGraph, chance: np.random.Generator, most: int, trial: Trial | None) -> _Examples:
    """Facts that rules find, each judged without itself."""
    every = questions_of(state.graph)
    asked, among = every, state
    if trial is not None:
        asked = trial.asked
        among = RulesOnGraph(replace(state.model, constants=trial.rules), trial.graph)
    chosen = asked.part(np.sort(chance.permutation(len(asked.anchors))[:most]))
    weight = MISSING * len(every.anchors) / max(1, len(chosen.anchors))
    pieces = pieces_of(len(chosen.anchors), questions_at_once(state.graph))
    found = [_judged(among, chosen.part(piece), hidden=trial is None) for piece in pieces]
    parts = np.concatenate([np.zeros((0, 3)), *(parts for parts, _ in found)])
    rows = np.concatenate([np.zeros(0, np.int64), *(rows for _, rows in found)])
    return _Examples(parts, rows, np.full(len(rows), weight))


def _judged(
    state: RulesOnGraph, asked: Questions, *, hidden: bool
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """What the scores of answers are made of; facts that the graph has are to be hidden, others are not there."""
    scores, walks = state.scored(asked)
    everyone = np.arange(len(asked.anchors))
    rows = np.array([state.row_of(one) for one in asked.relations.tolist()])
    tables = state.base_values(asked, rows)
    rules = scores[everyone, asked.answers] - tables
    if hidden:
        types = np.empty(len(rows))
        weights, roles, log_shares, _ = state.about_types
        hidden_type_values(asked.answers, rows, weights, roles, log_shares, types)
        types -= [state.types(int(row))[answer] for row, answer in zip(rows, asked.answers, strict=True)]
        scores[everyone, asked.answers] += types
        tables += types
    highest = scores.max(axis=1)
    totals = highest + np.log(np.exp(scores - highest[:, None]).sum(axis=1))
    own = scores[everyone, asked.answers]
    hits = walks.ends == np.repeat(asked.answers, np.diff(walks.starts))
    reached = np.unique(np.repeat(everyone, np.diff(walks.starts))[hits])
    parts = np.column_stack([rules, tables, own - totals])
    return parts[reached], rows[reached]


def _no_facts(
    state: RulesOnGraph, side: Side, chance: np.random.Generator, most: int, share: float
) -> _Examples:
    """Pairs that rules lead to and that are no facts, from questions about some entities.

    Those with many facts are asked about more often, and count less: most pairs with high scores are theirs.
    """
    asked = LinkQuestions(tuple(np.flatnonzero(state.numbers >= 0).tolist()), None, side)
    likely = _chances(np.diff(state.features.edges[0]), share * _ASKED)
    anchors = np.flatnonzero(chance.random(len(likely)) < likely).astype(np.int32)
    pieces = [anchors[piece] for piece in pieces_of(len(anchors), _AT_ONCE)]
    each = max(1, most // max(1, len(pieces)))
    found = [(some, *pairs_reached(state, asked, some, most=each, chance=chance)) for some in pieces]
    others = _Examples(
        np.concatenate([np.zeros((0, 3)), *(parts for _, parts, _, _, _ in found)]),
        np.concatenate([np.zeros(0, np.int64), *(rows for _, _, rows, _, _ in found)]),
        np.concatenate(
            [np.zeros(0), *(1 / (part * likely[some[about]]) for some, _, _, about, part in found)]
        ),
    )
    if (many := len(others.rows)) <= _PAIRS:
        return others
    drawn = np.sort(chance.choice(many, _PAIRS, replace=False))
    return _Examples(others.parts[drawn], others.rows[drawn], others.weights[drawn] * (many / _PAIRS))


def _chances(degrees: NDArray[np.int64], asked: float) -> NDArray[np.float64]:  # entity
    """With which chance each entity is asked about: in proportion to its facts, some in all."""
    chances = degrees / max(1, int(degrees.sum())) * asked
    for _ in range(3):  # what is above 1 goes to the others
        sure = chances >= 1
        rest = degrees * ~sure
        left = max(0.0, asked - float(sure.sum())) / max(1, int(rest.sum()))
        chances = np.where(sure, 1.0, np.minimum(1.0, degrees * left))
    return chances
