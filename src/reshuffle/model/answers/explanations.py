"""Explanations of a model's scores: reasons as data trees, with text, JSON and Mermaid output."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from reshuffle import results
from reshuffle.evaluation.questions import other_side, question_about, told_scores
from reshuffle.kg import Triple, inverse_name
from reshuffle.model.answers.predictions import Judgement, parts_of
from reshuffle.model.evidence.registry import SHOWN_NAMES
from reshuffle.model.scoring import RULE_LIST
from reshuffle.pictures.diagram import Growing, mermaid_text
from reshuffle.reasoning.proofs import Proof, proofs_diagram, spelled
from reshuffle.rules import PathRule
from reshuffle.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from reshuffle.evaluation.questions import Question
    from reshuffle.evaluation.scorer import Side
    from reshuffle.model.answers.model_on_graph import ModelOnGraph
    from reshuffle.model.answers.walks import Walks
    from reshuffle.model.scoring import Calibration, Scores
    from reshuffle.pictures.diagram import Diagram

_LITTLE = 0.1  # points of the score
_MOST = 0.9  # of the other candidates
_ROUNDING = 1e-3  # of a percent


@dataclass(frozen=True)
class Reason:
    """Facts that lead from the head to the tail, the rule they follow, and how much of what is met they bring.

    Several reasons may each bring all of it: the layers take the maximum, they do not add up.
    """

    proof: Proof
    support: float
    """In points of the constraint score."""
    share: float
    """Of what is met at the tail, from 0 to 1."""

    @property
    def rule(self) -> PathRule:
        """`body -> relation`."""
        rule = self.proof.rule
        assert isinstance(rule, PathRule)  # made so in `_reasons_of`
        return rule

    @property
    def facts(self) -> tuple[Triple, ...]:
        """The supporting triples, in the order of the rule's body."""
        return tuple(premise.triple for premise in self.proof.premises)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "rule": str(self.rule),
            "facts": [list(fact) for fact in self.facts],
            "support": self.support,
            "share": self.share,
        }

    def __str__(self) -> str:
        return f"{self.share:.0%} of its support\n{self.proof}"


@dataclass(frozen=True)
class Remark:
    """One kind of evidence: its value, that of the average candidate, and what it looks at."""

    kind: str
    value: float
    average: float
    words: str

    @property
    def speaks(self) -> str:
        """`for` or `against` it, or `little`, compared with the average candidate."""
        difference = self.value - self.average
        return "little" if abs(difference) < _LITTLE else "for" if difference > 0 else "against"

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "kind": self.kind,
            "value": self.value,
            "average": self.average,
            "speaks": self.speaks,
            "words": self.words,
        }

    @property
    def said(self) -> str:
        """What kind it is, which way it speaks, and how much."""
        speaks = "says little" if self.speaks == "little" else f"speaks {self.speaks} it"
        name = SHOWN_NAMES.get(self.kind, self.kind)
        return f"{name} {speaks} ({self.value:+.3f}, on average {self.average:+.3f})"

    def __str__(self) -> str:
        return f"{self.said}: {self.words}"


@dataclass(frozen=True)
class Explanation(results.Explanation):
    """A judgement, the reasons for it, and what the evidence looked at.

    `follows` is exact: it is a fact, or the rules that the matrices capture, or injected ones, entail it. A judgement
    with a channel per query, or with random channels, may call more captured. `met` is the share of what the relation
    asks for that the tail has, and `better_than` the share of the other candidates, but for facts and the entity asked
    about, that the constraints fit less well; both from 0 to 1. With a channel per query a triple (h, r, h) has no
    `better_than`: all slots of h are lit from the start, so its score is 0 whatever the facts. A fact is explained as
    if it were not there: it is no reason for itself.
    """

    judgement: Judgement
    known: bool
    follows: bool
    hard: bool
    """Are the matrices hard? Then a triple follows or does not, and there is no support by halves."""
    confidence: float | None
    met: float
    better_than: float | None
    reasons: tuple[Reason, ...]
    remarks: tuple[Remark, ...]
    proofs: tuple[Proof, ...] = ()
    """How injected rules derive it."""
    side: Side = "tail"
    """Which end was asked for."""
    other_score: float | None = None
    """As an answer to the question for the other end, which has matrices of its own; None if not asked."""

    def __bool__(self) -> bool:
        """Whether something supports the triple, as proofs and sums have it."""
        return self.supported

    @property
    def supported(self) -> bool:
        """Does it follow, or do reasons make it fit a soft model better than nine of ten others that are no facts?

        In a soft model something leads almost everywhere, so that there being a reason says little.
        """
        return self.follows or self._fits

    @property
    def _fits(self) -> bool:
        better_than = 0.0 if self.better_than is None else self.better_than
        return not self.hard and bool(self.reasons) and better_than >= _MOST

    @property
    def scores(self) -> dict[Side, float]:
        """By the end that is asked for, as far as they are known."""
        other = {} if self.other_score is None else {other_side(self.side): self.other_score}
        return {self.side: self.judgement.score, **other}

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            **self.judgement.to_dict(),
            "side": self.side,
            "scores": self.scores,
            "known": self.known,
            "follows": self.follows,
            "confidence": self.confidence,
            "met": self.met,
            "better_than": self.better_than,
            "supported": self.supported,
            "reasons": [reason.to_dict() for reason in self.reasons],
            "remarks": [remark.to_dict() for remark in self.remarks],
            **({"proofs": [proof.to_dict() for proof in self.proofs]} if self.proofs else {}),
        }

    def diagram(self, most: int | None = None) -> Diagram:
        """The explanation as it is drawn: injected rules, up to `most` reasons with their facts, and other evidence."""
        tree, parts, goal = Growing(), [], spelled(self.judgement.triple)
        if self.proofs:
            parts.append(tree.add("by injected rules", "", "rule", tree.take(proofs_diagram(self.proofs))))
        for reason in self.reasons[:most]:
            facts = [tree.add(spelled(fact), kind="fact") for fact in reason.facts]
            parts.append(tree.add(str(reason.rule), f"{reason.share:.0%} of its support", "rule", facts))
        parts += [tree.add(remark.said, remark.words, "part") for remark in self.remarks]
        little = [] if self.supported else [_too_little(self)]
        tree.add(goal, "; ".join([_verdict(self).removeprefix(f"{goal}: "), *little]), below=parts)
        return tree.grown(f"why {goal}")

    def rule_rows(self, most: int | None = None) -> list[dict[str, Any]]:
        """The rules that speak for it, a row each: injected ones, and those of the first reasons."""
        injected = dict.fromkeys(str(proof.rule) for proof in self.proofs)
        learned = {str(reason.rule): reason.share for reason in reversed(self.reasons[:most])}
        rows: list[dict[str, Any]] = [{"rule": rule, "origin": "injected"} for rule in injected]
        return rows + [{"rule": rule, "origin": "learned", "share": learned[rule]} for rule in learned]

    def to_mermaid(self) -> str:
        """A flow chart from the facts (round) through the rules to the triple."""
        return reasons_to_mermaid(self.judgement.triple, self.reasons)

    def __str__(self) -> str:
        lines = [_verdict(self), _fit(self) if self.reasons else _without_reasons(self)]
        if not self.supported:
            lines.append(_too_little(self))
        for proof in self.proofs:
            lines += ["", f"by injected rules:\n{proof}"]
        for number, reason in enumerate(self.reasons, start=1):
            lines += ["", f"reason {number}: {reason}"]
        return "\n".join([*lines, *([""] if self.remarks else []), *map(str, self.remarks)])


def _verdict(explanation: Explanation) -> str:
    judged = explanation.judgement
    scores = told_scores(judged.triple, explanation.side, explanation.scores)
    parts = [_of_constraints(explanation), scores]
    if explanation.confidence is not None:
        parts.append(f"confidence {explanation.confidence:.2f}")
    if explanation.known:
        parts.append("a fact")
    return f"{spelled(judged.triple)}: {', '.join(parts)}"


def _of_constraints(explanation: Explanation) -> str:
    judged = explanation.judgement
    if judged.captured == explanation.follows or explanation.known:
        return judged.verdict
    if judged.captured:
        return "constraint score 0, but it does not follow"
    return f"{judged.verdict}, but it follows"


def _fit(explanation: Explanation) -> str:
    met = f"{_percent(explanation.met)} of what the relation asks for is met"
    if explanation.better_than is None:
        return met
    return f"{met}, which fits better than {_percent(explanation.better_than)} of the others"


def _percent(share: float) -> str:
    """Never all, or enough, by rounding."""
    return f"{math.floor(100 * share + _ROUNDING)}%"


def _without_reasons(explanation: Explanation) -> str:
    if explanation.known:
        return "nothing else in the graph leads to it"
    if explanation.proofs:
        return "nothing that was learned leads to it"
    return "nothing needs to lead to it" if explanation.follows else "nothing leads to it"


def _too_little(explanation: Explanation) -> str:
    if not explanation.reasons:
        return "nothing supports it"
    if explanation.hard or explanation.better_than is None:
        return "too little to count as support: all that the relation asks for would have to be met"
    return f"too little to count as support: it would have to fit better than {_MOST:.0%} of the others"


def reasons_to_mermaid(triple: tuple[str, str, str], reasons: Sequence[Reason]) -> str:
    """All reasons in one chart; a fact that several use is drawn once."""
    lines = ["flowchart BT", f'  goal["{mermaid_text(spelled(triple))}"]']
    numbers: dict[Triple, int] = {}
    for number, reason in enumerate(reasons):
        label = f"{mermaid_text(str(reason.rule))}<br/>{reason.share:.0%}"
        lines += [f'  rule{number}{{{{"{label}"}}}}', f"  rule{number} --> goal"]
        for fact in reason.facts:
            if fact not in numbers:
                numbers[fact] = len(numbers)
                lines.append(f'  fact{numbers[fact]}(["{mermaid_text(spelled(fact))}"])')
            lines.append(f"  fact{numbers[fact]} --> rule{number}")
    return "\n".join(lines)


# --- how they are found -----------------------------------------------------------------------------------------


def reasons(model: ModelOnGraph, triple: Triple, *, most: int, side: Side) -> tuple[Reason, ...]:
    """The facts that support a triple and the rule that they follow, best first."""
    question, answer = question_about(model.graph, model.relations, triple, side)
    return _reasons_of(model, triple, model.walks(question, answer, most=most), side)


def explain(
    model: ModelOnGraph, triple: Triple, *, most: int, side: Side, calibration: Calibration | None
) -> Explanation:
    """All that is to be said about one triple."""
    question, answer = question_about(model.graph, model.relations, triple, side)
    scores = model.scores(np.array([question.anchor]), np.array([question.relation]), side=side)
    facts, constraint = question.known(model.graph), scores.constraint[0]
    known, sure = bool(facts[answer]), None
    if calibration is not None and not known:
        sure = float(calibration.confidences(scores.summed()[0], facts)[answer])
    walks = model.walks(question, answer, most=most)
    judged = Judgement(triple, **parts_of(scores, 0, answer, derived=model.derived[question.relation]))
    learned = not known and model.follows(question, answer)
    return Explanation(
        judged,
        known=known,
        follows=known or learned or judged.injected == 0,
        hard=model.walk_graph.hard,
        confidence=sure,
        met=1.0 if learned else walks.share_met,  # the search for walks may have missed some
        better_than=_better_than(model, question, answer, constraint, others=~facts),
        reasons=_reasons_of(model, triple, walks, side),
        remarks=_remarks(model, scores, question, answer),
        proofs=rule_proofs(model, triple, most=most) if judged.injected == 0 else (),
        side=side,
        other_score=_other_score(model, triple, other_side(side)),
    )


def _other_score(model: ModelOnGraph, triple: Triple, side: Side) -> float | None:
    """The score as an answer to the question for the other end; None where the model cannot be asked for heads."""
    if side == "head" and model.kind.per_query and not model.through_inverse:
        return None
    question, answer = question_about(model.graph, model.relations, triple, side)
    scores = model.scores(np.array([question.anchor]), np.array([question.relation]), side=side)
    return Judgement(triple, **parts_of(scores, 0, answer, derived=model.derived[question.relation])).score


def rule_proofs(model: ModelOnGraph, triple: Triple, *, most: int) -> tuple[Proof, ...]:
    """How injected rules derive a triple that they capture; that it is a fact is no derivation."""
    answers = model.rule_answers
    found = () if answers is None else answers.proofs(*triple, most=most + 1)
    return tuple(proof for proof in found if proof.rule is not None)[:most]


def _reasons_of(model: ModelOnGraph, triple: Triple, walks: Walks, side: Side) -> tuple[Reason, ...]:
    """Walks by name, as rules and facts; those that lead from the tail to the head are turned around."""
    names, count = model.relations, len(model.relations)
    backwards, found = side == "head" and model.through_inverse, []
    for walk in walks.found:
        steps = [(names[number % count], (number < count) == backwards) for number in walk.relations]
        entities = list(model.graph.entities[np.array(walk.entities)])
        if backwards:
            steps, entities = steps[::-1], entities[::-1]
        body = tuple(inverse_name(relation) if turned else relation for relation, turned in steps)
        leaves = tuple(
            Proof(Triple(end, relation, start) if turned else Triple(start, relation, end))
            for (relation, turned), start, end in zip(steps, entities, entities[1:], strict=False)
        )
        proof = Proof(triple, PathRule(body, triple.relation), leaves)
        found.append(Reason(proof, walk.support, walk.support / walks.met if walks.met else 0.0))
    return tuple(found)


def _better_than(
    model: ModelOnGraph,
    question: Question,
    answer: int,
    scores: NDArray[np.float32],
    *,
    others: NDArray[np.bool_],
) -> float | None:
    """The share of the others that score less; the channel of a query says nothing about its head."""
    if answer == question.anchor and model.kind.per_query:
        return None
    others[[answer, question.anchor]] = False
    return float((scores[others] < scores[answer]).mean()) if others.any() else 0.0


def _remarks(
    model: ModelOnGraph, scores: Scores[NDArray[np.float32]], question: Question, answer: int
) -> tuple[Remark, ...]:
    """What each part of the evidence says about the answer, and about the average candidate."""
    return tuple(
        Remark(
            part,
            float(values[0, answer]),
            float(values[0].mean()),
            _words(model, part, question, answer),
        )
        for part, values in scores.evidence.items()
    )


def _words(model: ModelOnGraph, part: str, question: Question, answer: int) -> str:
    """What a part of the evidence has looked at."""
    if part != RULE_LIST:
        evidence = model.model.evidence
        assert evidence is not None  # it has a part
        return evidence.words(part, question, answer, graph=model.graph, messages=model.tensors.messages)
    rules = model.rules_on_graph
    assert rules is not None  # likewise
    parts = rules.sum_of(question, answer, most=1).parts
    found = [each for each in parts if each.rule is not None]
    if not found:
        return "no rule of the list leads there"
    told = f"{counted(len(found), 'rule')} of the list {'leads' if len(found) == 1 else 'lead'} there"
    return f"{told}, first {' '.join(found[0].words.split())}"
