"""Questions (h, r, ?) and (?, r, t) to a model on a graph: answers in order, and the reasons for one of them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from reshuffle.errors import InputError, UnknownNameError, did_you_mean, near_names
from reshuffle.evaluation.unknown import passed_over
from reshuffle.kg import Triple, inverse_name
from reshuffle.model.answers.explanations import Explanation, Remark, reason_of
from reshuffle.model.answers.predictions import Prediction, Predictions, best_places, check_top
from reshuffle.model.judgement import Judgement
from reshuffle.reasoning.proofs import spelled
from reshuffle.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from reshuffle.evaluation.scorer import Side
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.model.answers.explanations import Reason
    from reshuffle.model.answers.model_answers import ModelAnswers
    from reshuffle.model.answers.predictions import Known

    Values = NDArray[np.floating[Any]]

_FEW = 3  # facts that a remark names, and relations that a note has other names for


@dataclass(frozen=True)
class Question:
    """Who is asked about, by id; `side` is the end that is asked for."""

    anchor: int
    relation: int
    side: Side

    def known(self, graph: KnowledgeGraph) -> NDArray[np.bool_]:  # entity
        """Which answers are facts."""
        edges = graph.by_head if self.side == "tail" else graph.by_tail
        mask = np.zeros(graph.num_entities, dtype=np.bool_)
        mask[edges.of(self.anchor, self.relation)] = True
        return mask

    def triple(self, graph: KnowledgeGraph, answer: int) -> Triple:
        """By name."""
        head, tail = (self.anchor, answer) if self.side == "tail" else (answer, self.anchor)
        return Triple(graph.entities[head], graph.relations[self.relation], graph.entities[tail])


@dataclass(frozen=True)
class Scored:
    """What the score of every entity as the answer to one question is made of."""

    constraint: Values  # entity
    evidence: dict[str, Values]  # entity, by kind
    injected: Values | None = None  # entity; NaN where no injected rule derives the relation

    @property
    def total(self) -> Values:
        """What is ranked by."""
        rules = () if self.injected is None else (np.nan_to_num(self.injected),)
        total: Values = np.sum([self.constraint, *self.evidence.values(), *rules], axis=0)
        return total

    def judged(self, triple: Triple, answer: int) -> Judgement:
        """The parts of one answer."""
        return Judgement(
            triple,
            float(self.constraint[answer]),
            {kind: float(values[answer]) for kind, values in self.evidence.items()},
            None if self.injected is None else told(self.injected[answer]),
        )


def told(injected: np.floating[Any]) -> float | None:
    """What injected rules say, if they say something."""
    return None if np.isnan(injected) else float(injected)


def question_of(
    answers: ModelAnswers, relation: str, *, head: str | None = None, tail: str | None = None
) -> Question:
    """By name; exactly one end must be given."""
    if (head is None) == (tail is None):
        raise InputError(
            "found both ends of the question" if head is not None else "found no end of the question",
            hint="give head=... to ask for tails, or tail=... to ask for heads",
        )
    number = learned_relation(answers, relation)
    if head is not None:
        return Question(answers.graph.entities.id(head), number, "tail")
    return Question(answers.graph.entities.id(str(tail)), number, "head")


def learned_relation(answers: ModelAnswers, relation: str) -> int:
    """The id of a relation that the model knows; the graph need not have a fact of it."""
    if relation in answers.relations:
        return answers.graph.relations.id(relation)
    if relation not in answers.graph.relations:
        raise UnknownNameError("relation", relation, answers.relations)
    raise InputError(
        f"the model has not learned the relation '{relation}'{did_you_mean(relation, answers.relations)}",
        hint="ask for a relation of the training facts, or train again with facts of this one",
    )


def unlearned_facts(graph: KnowledgeGraph, relations: Sequence[str]) -> str | None:
    """Names and counts the facts of relations that the model does not know, with near ones that it does."""
    learned = frozenset(relations)
    told = passed_over(graph, learned)
    if told is None:
        return None
    counts = np.bincount(graph.relation_ids)
    names = (graph.relations[int(number)] for number in np.argsort(-counts, kind="stable") if counts[number])
    strange = islice((name for name in names if name not in learned), _FEW)  # to look for near names is slow
    near = [(name, near_names(name, relations, most=1)) for name in strange]
    meant = [f"'{found[0]}' for '{name}'" for name, found in near if found]
    return f"{told}; did you mean {', '.join(meant)}?" if meant else told


def no_facts(triples: KnowledgeGraph, facts: KnowledgeGraph) -> str | None:
    """Names and counts the triples that are no facts, or None where all are."""
    others = triples - facts
    if not others:
        return None
    shown = [spelled(triple) for triple in islice(others, _FEW)]
    more = [f"{len(others) - _FEW} more"] if len(others) > _FEW else []
    told = "is no fact" if len(others) == 1 else "are no facts"
    return f"{len(others):,} of {counted(len(triples), 'triple')} {told}, and passed over: {', '.join([*shown, *more])}"


# --- predictions ------------------------------------------------------------------------------------------------


def predict(answers: ModelAnswers, question: Question, *, top: int, known: Known) -> Predictions:
    """The best answers to one question."""
    check_top(top)
    if known not in ("exclude", "mark"):
        raise InputError(f"known = {known!r}", hint="'exclude' leaves known triples out, 'mark' marks them")
    facts = question.known(answers.graph)
    scored = answers.scored(question)
    scores = scored.total
    left_out = facts if known == "exclude" else np.zeros_like(facts)
    sure = None if answers.calibration is None else answers.calibration.confidences(scores, facts)
    rows = [
        Prediction(
            question.triple(answers.graph, int(place)),
            float(scored.constraint[place]),
            {kind: float(values[place]) for kind, values in scored.evidence.items()},
            None if sure is None or facts[place] else float(sure[place]),
            bool(facts[place]),
            question.side,
            answers,
            None if scored.injected is None else told(scored.injected[place]),
        )
        for place in best_places(scores, left_out, top)
    ]
    return Predictions(tuple(rows), tuple(scored.evidence))


# --- reasons ----------------------------------------------------------------------------------------------------


def reasons(
    answers: ModelAnswers, triple: Triple, *, most: int, side: Side
) -> tuple[tuple[Reason, ...], float]:
    """The walks that support a triple, as rules and facts, best first; and the share of what is asked that is met."""
    if most < 1:
        raise InputError(f"most = {most} asks for no reason", hint="give 1 or more")
    question, answer = _asked(answers, triple, side)
    walks = answers.walks(question, answer, most=most)
    graph, backwards = answers.graph, answers.asks_inverse(question)
    found = tuple(
        reason_of(
            triple,
            [_relation_name(answers, number) for number in walk.relations],
            graph.entities[np.array(walk.entities)],
            support=walk.support,
            met=walks.met,
            backwards=backwards,
        )
        for walk in walks.found
    )
    return found, walks.met / walks.asked if walks.asked else 0.0


def explain(answers: ModelAnswers, triple: Triple, *, most: int, side: Side) -> Explanation:
    """All that is to be said about one triple."""
    question, answer = _asked(answers, triple, side)
    scored, facts = answers.scored(question), question.known(answers.graph)
    sure = None
    if answers.calibration is not None and not facts[answer]:
        sure = float(answers.calibration.confidences(scored.total, facts)[answer])
    found, met = reasons(answers, triple, most=most, side=side)
    remarks = tuple(
        Remark(kind, float(values[answer]), float(values.mean()), answers.words(kind, question, answer))
        for kind, values in scored.evidence.items()
    )
    judged, known = scored.judged(triple, answer), bool(facts[answer])
    learned = not known and answers.follows(question, answer)
    proofs = answers.rule_proofs(triple, most=most) if judged.injected == 0 else ()
    return Explanation(
        judged,
        known=known,
        follows=known or learned or judged.injected == 0,
        hard=answers.supports.hard,
        confidence=sure,
        met=1.0 if learned else met,  # the search for walks may have missed some
        better_than=_better_than(answers, question, answer, scored.constraint),
        reasons=found,
        remarks=remarks,
        proofs=proofs,
    )


def _better_than(answers: ModelAnswers, question: Question, answer: int, scores: Values) -> float | None:
    """The share of the others, facts aside, that score less; the channel of a query says nothing about its head."""
    if answer == question.anchor and not answers.supports.by_slot:
        return None
    others = ~question.known(answers.graph)
    others[[answer, question.anchor]] = False
    return float((scores[others] < scores[answer]).mean()) if others.any() else 0.0


def _asked(answers: ModelAnswers, triple: Triple, side: Side) -> tuple[Question, int]:
    head, relation, tail = triple
    if side == "tail":
        return question_of(answers, relation, head=head), answers.graph.entities.id(tail)
    return question_of(answers, relation, tail=tail), answers.graph.entities.id(head)


def _relation_name(answers: ModelAnswers, number: int) -> str:
    count = len(answers.relations)
    name = answers.relations[number % count]
    return name if number < count else inverse_name(name)
