"""How likely the answers of a question are, if it has one that nobody knows yet: a logistic regression.

    log-odds = by_lead * log(1 + how far its score is above the next one's) + by_odds * (log-odds of its share)
               + by_rank * log(its rank) + a constant of the relation

The share is the softmax of the scores over the answers that are no facts. The regression is fitted to questions about
triples that nobody knows while it looks: validation triples where they are given, else facts that are held out. Test
triples, or what an editor will find, are unknown as well. So beside a validation triple as many others are taken to be
unknown as there are validation triples, and each answer that is one, but not the one asked about, counts twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from reshuffle.evaluation.logistic import logistic
from reshuffle.evaluation.reliability import AS_MANY_OTHERS, BEST, weights_of_answers
from reshuffle.kg.vocabulary import inverse_name
from reshuffle.rulelist.features import Questions, pieces_of
from reshuffle.rulelist.training_rows import both_ends_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reshuffle.kg import KnowledgeGraph
    from reshuffle.rulelist.rule_answers import RulesOnGraph

    Array = NDArray[np.float64]
    Ids = NDArray[np.integer[Any]]

_LEAST = 30
"""Questions: with fewer nothing is said."""
_AT_ONCE, _SCORES_AT_ONCE = 64, 1 << 25
"""Questions of a piece, of a graph that is not large; and their scores."""
_WIDEST = 1e3  # lead of a score; nothing scores that much more
_ALMOST_ALL = -1e-12  # log of a share
_DIGITS = 4


@dataclass(frozen=True)
class AnswerLikelihood:
    """Factors, and the constants of directed relations; relations without one have that of none."""

    by_lead: float
    by_odds: float
    by_rank: float
    constant: float
    constants: tuple[tuple[str, float], ...] = ()

    def probabilities(self, parts: Array, relation: str) -> Array:
        """Of the answers of a question about a directed relation, best first, by what `best_answers` says of them."""
        constant = dict(self.constants).get(relation, self.constant)
        odds = parts @ np.array([self.by_lead, self.by_odds, self.by_rank]) + constant
        return np.asarray(1 / (1 + np.exp(-odds)))


class Unknown(NamedTuple):
    """Triples that are true, and that nobody knows while a graph answers; by its ids, from both ends."""

    true: Questions
    """Facts of the graph may be among them."""
    asked: Questions
    times: float = 1.0
    """How many triples are taken to be unknown for each of these."""

    @classmethod
    def of(cls, triples: KnowledgeGraph, graph: KnowledgeGraph) -> Unknown:
        """Validation triples, those whose names the graph has."""
        entities = graph.entities.positions_of(triples.entities)
        relations = graph.relations.positions_of(triples.relations)[triples.relation_ids]
        heads, tails = entities[triples.heads], entities[triples.tails]
        named = (heads >= 0) & (relations >= 0) & (tails >= 0)
        there = Questions(heads, relations, tails).part(np.flatnonzero(named))
        both = both_ends_of(there, len(graph.relations))
        return cls(both, both, AS_MANY_OTHERS)


def best_answers(scores: Array, most: int) -> tuple[NDArray[np.int64], Array]:
    """The best answers of each question, and for each its lead, the log-odds of its share, and the log of its rank.

    Scores are -inf for what is not to be an answer.
    """
    order = _first(scores, most + 1)
    values = np.take_along_axis(scores, order, axis=1)
    highest = np.where(np.isfinite(values[:, :1]), values[:, :1], 0.0)
    with np.errstate(divide="ignore"):  # of a question without answers
        totals = highest + np.log(np.exp(scores - highest).sum(axis=1, keepdims=True))
    behind = np.column_stack([values[:, 1:], np.full(len(values), -np.inf)])
    best, values, behind = order[:, :most], values[:, :most], behind[:, :most]
    there = np.isfinite(values)
    values = np.where(there, values, 0.0)
    shares = np.minimum(np.where(there, values - totals, -_WIDEST), _ALMOST_ALL)
    leads = np.log1p(np.minimum(values - np.where(there, behind, 0.0), _WIDEST))
    ranks = np.broadcast_to(np.log1p(np.arange(values.shape[1])), values.shape)
    parts = np.stack([leads, shares - np.log(-np.expm1(shares)), ranks], axis=2)
    return np.where(there, best, -1), parts


def _first(scores: Array, most: int) -> NDArray[np.int64]:  # question place
    """The places of the highest scores, equal ones in their order; nothing else is sorted, for graphs are large."""
    count = scores.shape[1]
    if count <= most:
        return np.argsort(-scores, axis=1, kind="stable")
    found = np.empty((len(scores), most), dtype=np.int64)
    for row, out in zip(scores, found, strict=True):
        places = np.flatnonzero(row >= np.partition(row, count - most)[count - most])
        out[:] = places[np.argsort(-row[places], kind="stable")[:most]]
    return found


def questions_at_once(graph: KnowledgeGraph) -> int:
    """Of how many questions all scores are looked at together."""
    return max(1, min(_AT_ONCE, _SCORES_AT_ONCE // max(1, graph.num_entities)))


def fit_answers(
    state: RulesOnGraph, unknown: Unknown, *, most: int, seed: int = 0
) -> AnswerLikelihood | None:
    """How likely the answers of a list are on a graph that lacks some triples; None where too few are asked about."""
    asked, chance = unknown.asked, np.random.default_rng(seed)
    asked = asked.part(np.sort(chance.permutation(len(asked.anchors))[:most]))
    rows = np.array([state.row_of(code) for code in asked.relations.tolist()], dtype=np.int64)
    if len(asked.anchors) < _LEAST:
        return None
    pieces = pieces_of(len(asked.anchors), questions_at_once(state.graph))
    found = [_examples(state, asked.part(piece)) for piece in pieces]
    best, parts = (np.concatenate(column) for column in zip(*found, strict=True))
    own, true = (
        best == asked.answers[:, None],
        _are_among(unknown.true, asked, best, state.graph.num_entities),
    )
    weights = weights_of_answers(best >= 0, own, true, times=unknown.times)
    there = best >= 0
    columns = np.column_stack([parts[there], np.ones(int(there.sum()))])
    groups = np.broadcast_to(rows[:, None], best.shape)[there]
    start = np.array([0.0, 1.0, 0.0, 0.0])
    factors, constants = logistic(columns, true[there], start, weights=weights[there], groups=groups)
    names = [*state.model.relations, *map(inverse_name, state.model.relations)]
    by_lead, by_odds, by_rank, constant = (round(float(one), _DIGITS) for one in factors)
    own_constants = (
        (names[row], round(constant + float(constants[row]), _DIGITS)) for row in np.unique(rows).tolist()
    )
    return AnswerLikelihood(by_lead, by_odds, by_rank, constant, tuple(own_constants))


def _examples(state: RulesOnGraph, asked: Questions) -> tuple[NDArray[np.int64], Array]:
    """The best answers that are no facts, -1 where there are fewer, and what is said of them."""
    scores, _ = state.scored(asked._replace(answers=np.full_like(asked.answers, -1)))
    return best_answers(state.only_unknown(scores, asked), BEST)


def _are_among(
    true: Questions, asked: Questions, best: NDArray[np.int64], entities: int
) -> NDArray[np.bool_]:  # question answer
    """Which answers are true."""

    def keys(anchors: Ids, relations: Ids, answers: Ids) -> NDArray[np.int64]:
        return np.asarray((relations.astype(np.int64) * entities + anchors) * entities + answers)

    mine = keys(asked.anchors[:, None], asked.relations[:, None], best)
    about = true.part(
        np.flatnonzero(np.isin(true.anchors, asked.anchors))
    )  # few of all facts of a large graph
    return np.asarray(np.isin(mine, keys(*about)) & (best >= 0))
