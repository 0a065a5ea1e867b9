"""Ranked answers to questions: new links with the parts of their scores, as a list and as a table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from reshuffle.errors import InputError
from reshuffle.evaluation.questions import check_known, check_top
from reshuffle.evaluation.ranked_links import Predictions
from reshuffle.evaluation.ranks import found_nan
from reshuffle.model.evidence.registry import SHOWN_NAMES
from reshuffle.reasoning.proofs import spelled
from reshuffle.results import Column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from reshuffle.evaluation.questions import Known, Question
    from reshuffle.evaluation.scorer import Side
    from reshuffle.kg import Triple
    from reshuffle.model.answers.explanations import Explanation, Reason
    from reshuffle.model.answers.model_answers import ModelAnswers
    from reshuffle.model.answers.model_on_graph import ModelOnGraph
    from reshuffle.model.scoring import Scores
    from reshuffle.reasoning.proofs import Proof


@dataclass(frozen=True)
class JudgedTriple:
    """A triple and what its score is made of.

    The guarantees speak of `constraint_score` and `injected` alone: each is 0 iff its constraints, the learned ones or
    those of injected rules, capture the triple, and negative otherwise. Evidence only decides the order. `injected` is
    None where no injected rule derives the relation.
    """

    triple: tuple[str, str, str]
    constraint_score: float
    evidence: dict[str, float]
    injected: float | None = field(default=None, kw_only=True)

    @property
    def score(self) -> float:
        """The sum of the parts, by which triples are ranked."""
        return self.constraint_score + sum(self.evidence.values()) + (self.injected or 0.0)

    @property
    def captured(self) -> bool:
        """Do the constraints hold for it, the learned or the injected ones?"""
        return bool(self.captured_by)

    @property
    def captured_by(self) -> tuple[str, ...]:
        """Which constraints hold for it: "learned", "injected", both or none."""
        scores = {"learned": self.constraint_score, "injected": self.injected}
        return tuple(block for block, score in scores.items() if score == 0)


@dataclass(frozen=True)
class Judgement(JudgedTriple):
    """What a model says about one triple."""

    @property
    def verdict(self) -> str:
        """What the constraints say, in words."""
        if self.injected is None:
            return "captured" if self.captured else f"constraint score {self.constraint_score:.4f}"
        if self.captured:
            return f"captured by the {' and the '.join(self.captured_by)} constraints"
        return f"constraint score {self.constraint_score:.4f}, injected {self.injected:.4f}"

    def to_dict(self) -> dict[str, object]:
        """Plain data."""
        data: dict[str, object] = {
            "triple": list(self.triple),
            "score": self.score,
            "constraint_score": self.constraint_score,
            "captured": self.captured,
            "evidence": dict(self.evidence),
        }
        if self.injected is not None:
            data |= {"injected": self.injected, "captured_by": list(self.captured_by)}
        return data

    def __str__(self) -> str:
        told = ", ".join(
            f"{SHOWN_NAMES.get(part, part)} {value:+.3f}" for part, value in self.evidence.items()
        )
        return f"{' '.join(self.triple)}: {self.verdict}{'; evidence: ' + told if told else ''}"


@dataclass(frozen=True)
class Prediction(JudgedTriple):
    """A judged triple, how sure the model is, and whether it is known already.

    `confidence` is None for known triples and for models that were not calibrated.
    """

    triple: Triple
    confidence: float | None = None
    known: bool = False
    side: Side = "tail"
    """Which end was asked for: the two questions have scores of their own."""
    answers: ModelAnswers | None = field(default=None, repr=False, compare=False)
    plausibility: float | None = None
    """What links of a whole graph are ranked by; None where one question was asked."""

    @property
    def head(self) -> str:
        """The head of the triple."""
        return self.triple.head

    @property
    def relation(self) -> str:
        """The relation of the triple."""
        return self.triple.relation

    @property
    def tail(self) -> str:
        """The tail of the triple."""
        return self.triple.tail

    @property
    def judgement(self) -> Judgement:
        """The triple with its score alone."""
        return Judgement(self.triple, self.constraint_score, self.evidence, injected=self.injected)

    def reasons(self, most: int = 3) -> tuple[Reason, ...]:
        """The facts and the rules that support it, best first; found now."""
        return self._asked().reasons(*self.triple, most=most, side=self.side)

    def proofs(self, most: int = 1) -> tuple[Proof, ...]:
        """How injected rules derive it, where they capture it."""
        return self._asked().rule_proofs(self.triple, most=most) if self.injected == 0 else ()

    def explain(self, most: int = 3) -> Explanation:
        """The reasons, and what the evidence looked at."""
        return self._asked().explain(*self.triple, most=most, side=self.side)

    def _first(self, most: int) -> tuple[tuple[Proof, ...], tuple[Reason, ...]]:
        """The first reasons: a rule that somebody wrote comes before what was learned."""
        proofs = self.proofs(most)
        return proofs, self.reasons(most - len(proofs)) if len(proofs) < most else ()

    def reason_lines(self, most: int) -> list[str]:
        """Up to `most` reasons as trees of facts."""
        proofs, learned = self._first(most)
        return [*(f"by injected rules:\n{proof}" for proof in proofs), *map(str, learned)]

    def reason_cells(self, most: int) -> list[str]:
        """Up to `most` reasons, a line each: the contribution, the rule, and the facts it uses."""
        proofs, learned = self._first(most)
        told = [("by an injected rule", proof) for proof in proofs]
        told += [(f"{reason.share:.0%} of its support", reason.proof) for reason in learned]
        return [
            f"{share}: {proof.rule}: {', '.join(spelled(premise.triple) for premise in proof.premises)}"
            for share, proof in told
        ]

    def reason_data(self, most: int) -> dict[str, Any]:
        """Up to `most` reasons as plain data, and proofs by injected rules where there are some."""
        proofs = [proof.to_dict() for proof in self.proofs(most)]
        found = {"proofs": proofs} if proofs else {}
        return {**found, "reasons": [reason.to_dict() for reason in self.reasons(most)]}

    def data(self) -> dict[str, Any]:
        """The row as plain data, its evidence together."""
        data = self.row()
        evidence = {kind: data.pop(kind) for kind in self.evidence}
        return data | {"evidence": evidence, "side": self.side}

    def _asked(self) -> ModelAnswers:
        if self.answers is None:
            raise InputError(
                "this prediction is detached from its model",
                hint="ask answers.reasons(head, relation, tail)",
            )
        return self.answers

    def row(self) -> dict[str, Any]:
        """The values of one row of the table, by column."""
        return {
            **self.triple._asdict(),
            **({} if self.plausibility is None else {"plausibility": self.plausibility}),
            "score": self.score,
            "constraint_score": self.constraint_score,
            "captured": self.captured,
            **self.evidence,
            **({} if self.injected is None else {"injected": self.injected}),
            "confidence": self.confidence,
            "known": self.known,
        }


def ranked_links(
    rows: Sequence[Prediction], kinds: Sequence[str] = (), *, whole_graph: bool = False
) -> Predictions[Prediction]:
    """Predictions with a column for each kind of evidence; links of a whole graph have their plausibility, too."""
    plausible = (Column("plausibility", "number"),) if whole_graph else ()
    injected = any(row.injected is not None for row in rows)
    by_rules = (Column("injected", "number", spell=_told),) if injected else ()
    evidence = tuple(Column(kind, "number", SHOWN_NAMES.get(kind), spell="{:+.3f}".format) for kind in kinds)
    constraint = Column("constraint_score", "number", "constraint", spell=_told)
    sure = ["confidence"] if any(row.confidence is not None for row in rows) else []
    return Predictions(
        tuple(rows),
        (
            *plausible,
            Column("score", "number"),
            constraint,
            Column("captured", "truth"),
            *evidence,
            *by_rules,
            Column("confidence", "number"),
        ),
        printed=(
            *(column.name for column in plausible),
            "score",
            *sure,
            constraint.name,
            *(column.name for column in (*by_rules, *evidence)),
        ),
        several=whole_graph,
    )


def _told(score: float | None) -> str:
    return "-" if score is None else "captured" if score == 0 else f"{score:.3f}"


def predict(
    answers: ModelAnswers, model: ModelOnGraph, question: Question, *, top: int, known: Known
) -> Predictions[Prediction]:
    """The best answers to one question; `answers` is kept for those who ask a prediction for its reasons."""
    check_top(top)
    check_known(known)
    facts = question.known(model.graph)
    scores = model.scores(np.array([question.anchor]), np.array([question.relation]), side=question.side)
    totals = scores.summed()[0]
    if np.isnan(totals).any():  # it would be sorted, too
        raise found_nan()
    sure = None if answers.calibration is None else answers.calibration.confidences(totals, facts)
    shown = _scores_shown(scores, derived=model.derived[question.relation])
    order = np.argsort(-shown, kind="stable")  # equal ones by id
    best = order if known == "mark" else order[~facts[order]]
    if question.excludes_itself(model.graph):
        best = best[best != question.anchor]
    rows = tuple(
        Prediction(
            question.triple(model.graph, place),
            **parts_of(scores, 0, place, derived=model.derived[question.relation]),
            confidence=None if sure is None or facts[place] else float(sure[place]),
            known=bool(facts[place]),
            side=question.side,
            answers=answers,
        )
        for place in best[:top].tolist()
    )
    return ranked_links(rows, tuple(scores.evidence))


def _scores_shown(scores: Scores[NDArray[np.float32]], *, derived: bool) -> NDArray[np.float64]:  # candidate
    """`JudgedTriple.score` of every answer, to the last bit: by another sum, rows may stand in another order."""
    evidence = sum((values[0].astype(np.float64) for values in scores.evidence.values()), start=np.float64(0))
    shown: NDArray[np.float64] = scores.constraint[0].astype(np.float64) + evidence
    return shown if scores.injected is None or not derived else shown + scores.injected[0]


def parts_of(
    scores: Scores[NDArray[np.float32]], query: int, answer: int, *, derived: bool
) -> dict[str, Any]:
    """What the score of one answer is made of; `derived` says whether some injected rule derives the relation."""
    rules = scores.injected if derived else None
    return {
        "constraint_score": float(scores.constraint[query, answer]),
        "evidence": {part: float(values[query, answer]) for part, values in scores.evidence.items()},
        "injected": None if rules is None else float(rules[query, answer]),
    }
