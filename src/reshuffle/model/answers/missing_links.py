"""The most plausible missing links of a whole graph, without ever holding the scores of all pairs.

Questions (h, r, ?), or (?, r, t) for links to one entity, are answered in batches, and only the best links so far are
kept. Links of different questions are compared by

    plausibility = score + log(share) + log(likely),

where the share is the softmax of the scores over the tails of the question, known ones included: a question that has
its answers already leaves little for new ones. `likely` says whether the question has an answer at all: 1 where h is
a head of r already, where injected rules capture a new answer, and where nothing is counted about r; else the best
confidence, by the counts of the training graph, that someone with a role of h is a head of r as well. Where it is 0
the question is left out. That loses nothing a learned rule captures: if the rule held for anyone in training, being
in the role of h in its body went with being a head of r.

Links (h, r, h) are proposed only where the graph has a fact of that form of the relation; elsewhere h is no tail.

Where there are many questions, a model with a rule list asks those alone to which its rules have the best answers
(`link_candidates`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from reshuffle.evaluation.link_limits import ALL_LINKS
from reshuffle.evaluation.questions import Question, anchor_of, learned_relation, other_side
from reshuffle.evaluation.ranks import refuse_nan
from reshuffle.model.answers.link_candidates import candidates
from reshuffle.model.answers.predictions import Prediction, ranked_links
from reshuffle.progress import SILENT, UNHEARD
from reshuffle.rulelist.links.rule_links import LinkQuestions
from reshuffle.text import counted
from reshuffle.work_shares import WHOLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from reshuffle.evaluation.link_limits import LinkLimits
    from reshuffle.evaluation.ranked_links import Predictions
    from reshuffle.evaluation.scorer import Side
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.model.answers.model_answers import ModelAnswers
    from reshuffle.model.answers.model_on_graph import ModelOnGraph
    from reshuffle.model.scoring import Calibration, Scores
    from reshuffle.progress import Notes, Progress
    from reshuffle.rulelist.links.rule_links import Wanted
    from reshuffle.work_shares import Shares

_MOST_SCORES = 1 << 21  # held at a time
NUMBERS = ("plausibility", "confidence", "constraint_score", "injected")
"""What a link has besides the evidence by kind."""


@dataclass(frozen=True)
class Links:
    """Links by id, and what their scores are made of; one row each."""

    ids: NDArray[np.int64]  # link (anchor relation answer)
    numbers: NDArray[np.float64]  # link (NUMBERS, then the evidence by kind)
    kinds: tuple[str, ...]
    """The names of the evidence."""

    def best(self, wanted: Wanted) -> Links:
        """The most plausible ones."""
        order = wanted.order(self.ids, self.numbers[:, 0], self.ids[:, 1])
        return replace(self, ids=self.ids[order], numbers=self.numbers[order])

    def and_also(self, other: Links) -> Links:
        """These and others."""
        ids, numbers = np.concatenate([self.ids, other.ids]), np.concatenate([self.numbers, other.numbers])
        return Links(ids, numbers, other.kinds)


@dataclass(frozen=True)
class LinkSearch:
    """Which links are asked for, by ids."""

    asked: LinkQuestions
    wanted: Wanted
    least: float = 0.0
    """The least confidence."""
    all_questions: bool = False
    """Are all questions asked, however many there are?"""


@dataclass(frozen=True)
class _Questions:
    """(h, r, ?) or (?, r, t) for some anchors and relations, and how likely each has an answer that is not known."""

    graph: KnowledgeGraph
    side: Side  # the end that is asked for
    asked: NDArray[np.int64]  # question (anchor relation)
    likely: NDArray[np.float32]  # question
    derived: NDArray[np.bool_]  # question: does an injected rule derive the relation?
    limits: LinkLimits = ALL_LINKS

    def __len__(self) -> int:
        return len(self.asked)

    def __getitem__(self, piece: slice) -> _Questions:
        return replace(self, asked=self.asked[piece], likely=self.likely[piece], derived=self.derived[piece])

    def pieces(self) -> list[_Questions]:
        """As many at a time as there is room for scores."""
        step = max(1, _MOST_SCORES // max(1, self.graph.num_entities))
        return [self[slice(start, start + step)] for start in range(0, len(self), step)]

    @cached_property
    def known(self) -> NDArray[np.bool_]:  # question entity
        """Which answers are facts."""
        return np.stack(
            [Question(anchor, number, self.side).known(self.graph) for anchor, number in self.asked]
        )

    @cached_property
    def no_answers(self) -> NDArray[np.bool_]:  # question entity
        """The anchor itself, unless the relation may lead there."""
        reflexive = np.unique(self.graph.relation_ids[self.graph.heads == self.graph.tails])
        mask = np.zeros((len(self), self.graph.num_entities), dtype=np.bool_)
        mask[np.arange(len(self)), self.asked[:, 0]] = ~np.isin(self.asked[:, 1], reflexive)
        return mask

    @property
    def closed(self) -> NDArray[np.bool_]:  # question entity
        """Which answers are not to be proposed."""
        return self.known | self.no_answers

    @property
    def left_out(self) -> NDArray[np.bool_]:  # question entity
        """Those, and what is outside the limits."""
        if self.limits == ALL_LINKS:
            return self.closed
        return self.closed | self.limits.left_out(self.graph, self.asked, self.side)

    def plausible(
        self, totals: NDArray[np.float32], rules: NDArray[np.float32] | None
    ) -> NDArray[np.float64]:  # question entity
        """What links are compared by; -inf for what is not to be proposed."""
        scores = np.where(self.no_answers, -np.inf, totals.astype(np.float64))
        # What learned rules capture by chance is no sign of an answer; what injected ones capture is.
        entailed = False if rules is None else ((rules == 0) & ~self.closed).any(axis=1) & self.derived
        likely = np.where(entailed, 1, self.likely)
        # The log of 0 is meant, and a question without tails has nothing to propose.
        with np.errstate(divide="ignore", invalid="ignore"):
            plausible = 2 * scores - _log_sums(scores) + np.log(likely)[:, None]
        return np.where(self.left_out, -np.inf, plausible)


def missing_links(
    answers: ModelAnswers,
    model: ModelOnGraph,
    search: LinkSearch,
    *,
    progress: Progress = SILENT,
    notes: Notes = UNHEARD,
    shares: Shares = WHOLE,
) -> Predictions[Prediction]:
    """The best links of a graph that are no facts, of one relation or of all, from or to one entity or all.

    `answers` is kept for those who ask a prediction for its reasons.
    """
    chosen = candidates(model, search, progress=progress)
    questions = questions_about(answers, model, search.asked, chosen, notes=notes)
    # What has no question has no columns to give: few questions are answered by every process.
    own = questions[shares.rows(len(questions))] if len(questions) >= shares.size else questions
    kept = best_links(model, own.pieces(), search, calibration=answers.calibration, progress=progress)
    if kept is not None and len(questions) >= shares.size > 1:
        joined = replace(kept, ids=shares.joined(kept.ids), numbers=shares.joined(kept.numbers))
        kept = joined.best(search.wanted)
    return predictions_of(answers, kept, questions.side)


def asked_ids(
    model: ModelOnGraph,
    *,
    relation: str | None,
    head: str | None,
    tail: str | None,
    limits: LinkLimits = ALL_LINKS,
) -> LinkQuestions:
    """What is asked about, by ids."""
    if relation is None:
        relations = tuple(np.flatnonzero(model.numbers >= 0).tolist())
    else:
        relations = (learned_relation(model.graph, model.relations, relation),)
    anchor, side = anchor_of(model.graph, head=head, tail=tail)
    return LinkQuestions(relations, None if anchor is None else (anchor,), side, limits)


def best_links(
    model: ModelOnGraph,
    pieces: Sequence[_Questions],
    search: LinkSearch,
    *,
    calibration: Calibration | None,
    progress: Progress = SILENT,
) -> Links | None:
    """The most plausible links of some pieces of questions; None where there is no question."""
    kept: Links | None = None
    with progress("missing links", total=sum(map(len, pieces)), unit=" questions") as report:
        for some in pieces:
            scores = model.scores(some.asked[:, 0], some.asked[:, 1], side=some.side)
            found = _best_of(scores, some, search, calibration)
            kept = found if kept is None else kept.and_also(found).best(search.wanted)
            report(len(some))
    return kept


def questions_about(
    answers: ModelAnswers,
    model: ModelOnGraph,
    about: LinkQuestions,
    chosen: Mapping[int, NDArray[np.int64]] | None = None,
    *,
    notes: Notes = UNHEARD,
) -> _Questions:
    """Questions grouped by entity, so that those of one entity share its channel.

    Of a relation in `chosen` they are about these entities alone; `notes` hears how many questions that leaves.
    """
    # Rules that were given need not have held in training, so who is captured by them is only known when asked.
    everyone = model.derived
    anchors, numbers, likely = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0, np.float32)]
    count = 0
    for relation, told in zip(about.relations, _likely(answers, about), strict=True):
        fits = about.limits.fitting(model.graph, relation, other_side(about.side))
        found = np.flatnonzero(((told > 0) | everyone[relation]) & fits)
        found = found if about.anchors is None else found[np.isin(found, about.anchors)]
        count += len(found)
        found = found if chosen is None or relation not in chosen else np.intersect1d(found, chosen[relation])
        anchors.append(found)
        numbers.append(np.full(len(found), relation))
        likely.append(told[found])
    asked = np.column_stack([np.concatenate(anchors), np.concatenate(numbers)])
    asked, chances = asked[order := np.argsort(asked[:, 0], kind="stable")], np.concatenate(likely)
    if len(asked) < count:
        notes(
            f"{len(asked):,} of {counted(count, 'question')} were asked, to which the rules of the model have the best "
            "answers; --all-questions asks all of them"
        )
    return _Questions(model.graph, about.side, asked, chances[order], everyone[asked[:, 1]], about.limits)


def _likely(
    answers: ModelAnswers, about: LinkQuestions
) -> Iterator[NDArray[np.float32]]:  # relation by relation: entity
    """How sure the roles of each entity make it that it is at the other end than the one that is asked for."""
    types = answers.training_types
    scorer = None if types is None else types.on(answers.graph)
    for relation in np.array(about.relations, np.int32):
        if scorer is None or not scorer.learned_relations[relation]:
            yield np.ones(answers.graph.num_entities, dtype=np.float32)
        else:
            asked = np.array([relation])
            yield scorer.scores(asked, asked, side=other_side(about.side), candidates=None)[0]


def _best_of(
    scores: Scores[NDArray[np.float32]],
    some: _Questions,
    search: LinkSearch,
    calibration: Calibration | None,
) -> Links:
    """The most plausible links of some questions."""
    totals, nothing = scores.summed(), np.full(scores.constraint.shape, np.nan)
    refuse_nan(totals)
    plausible = some.plausible(totals, scores.injected)
    sure = nothing if calibration is None else calibration.confidences(totals, some.known)
    if search.least > 0:
        plausible = np.where(sure >= search.least, plausible, -np.inf)
    rows, tails = _highest(plausible, search.wanted)
    rules = nothing
    if scores.injected is not None:
        rules = np.where(some.derived[:, None], scores.injected, np.nan)
    columns = [plausible, sure, scores.constraint, rules, *scores.evidence.values()]
    ids = np.column_stack([some.asked[rows], tails])
    numbers = np.stack([column[rows, tails] for column in columns], axis=1).astype(np.float64)
    return Links(ids, numbers, tuple(scores.evidence)).best(search.wanted)


def _log_sums(scores: NDArray[np.float64]) -> NDArray[np.float64]:  # question 1
    highest = scores.max(axis=1, keepdims=True)
    sums: NDArray[np.float64] = highest + np.log(np.exp(scores - highest).sum(axis=1, keepdims=True))
    return sums


def _highest(
    values: NDArray[np.float64], wanted: Wanted
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:  # places
    """Where the highest are that may be wanted, and all that equal the last: what is cut off must not depend on the
    batch.
    """
    floors = np.full((len(values), 1), -np.inf)
    if wanted.per_relation is not None:
        floors[:] = _last_of(values, wanted.per_relation)
    elif wanted.top is not None:
        floors[:] = _last_of(values.reshape(1, -1), wanted.top)
    rows, columns = np.nonzero((values >= floors) & np.isfinite(values))
    return rows, columns


def _last_of(values: NDArray[np.float64], number: int) -> NDArray[np.float64]:  # row 1
    """The least of so many highest of each row."""
    place = values.shape[1] - number
    if place <= 0:
        return np.full((len(values), 1), -np.inf)
    return np.partition(values, place, axis=1)[:, place, None]


def predictions_of(answers: ModelAnswers, links: Links | None, side: Side) -> Predictions[Prediction]:
    """The links by name; `answers` is kept for those who ask a prediction for its reasons."""
    if links is None:
        return ranked_links((), whole_graph=True)
    return ranked_links(tuple(_predictions(answers, links, side)), links.kinds, whole_graph=True)


def _predictions(answers: ModelAnswers, links: Links, side: Side) -> Iterator[Prediction]:
    for ids, row in zip(links.ids.tolist(), links.numbers.tolist(), strict=True):
        anchor, relation, answer = ids
        plausible, sure, constraint, rules, *evidence = row
        triple = Question(anchor, relation, side).triple(answers.graph, answer)
        parts: dict[str, Any] = dict(zip(links.kinds, evidence, strict=True))
        yield Prediction(
            triple,
            constraint,
            parts,
            None if np.isnan(sure) else sure,
            side=side,
            answers=answers,
            injected=None if np.isnan(rules) else rules,
            plausibility=plausible,
        )
