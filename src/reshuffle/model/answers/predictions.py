"""Ranked answers to questions: new links with the parts of their scores, as a list and as a table."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from reshuffle.errors import InputError
from reshuffle.evaluation.questions import check_known, check_top, told_question
from reshuffle.evaluation.ranks import found_nan
from reshuffle.kg import Triple
from reshuffle.kg.frames import ArrowFrames
from reshuffle.kg.io.writing import check_row_ending, write_rows
from reshuffle.model.evidence.registry import SHOWN_NAMES
from reshuffle.pictures.markup import SHOWN
from reshuffle.pictures.notebook import shown_rows
from reshuffle.progress import SILENT
from reshuffle.reasoning.proofs import spelled
from reshuffle.text import counted, table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa
    from numpy.typing import NDArray

    from reshuffle.evaluation.questions import Known, Question
    from reshuffle.evaluation.scorer import Side
    from reshuffle.model.answers.explanations import Explanation, Reason
    from reshuffle.model.answers.model_answers import ModelAnswers
    from reshuffle.model.answers.model_on_graph import ModelOnGraph
    from reshuffle.model.scoring import Scores
    from reshuffle.progress import Progress
    from reshuffle.reasoning.proofs import Proof

_BETWEEN_REASONS = " | "


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


@dataclass(frozen=True)
class Predictions(ArrowFrames):
    """Predictions, best first. Prints as a table."""

    rows: tuple[Prediction, ...]
    kinds: tuple[str, ...] = ()
    """The names of the evidence, one column each."""
    whole_graph: bool = False
    """Are they links of different questions, each with its plausibility?"""

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Prediction]:
        return iter(self.rows)

    def __getitem__(self, place: int) -> Prediction:
        return self.rows[place]

    def to_dict(self, *, reasons: int = 0, progress: Progress = SILENT) -> dict[str, Any]:
        """Plain data; with that number of reasons for each."""
        data = []
        with progress("looking for reasons", total=len(self.rows), unit="links") as report:
            for row in self.rows:
                data.append(_data(row, reasons))
                report(1)
        return {"predictions": data}

    def to_arrow(self) -> pa.Table:
        """An Arrow table: head, relation, tail, the scores, a column per kind of evidence, confidence, known.

        Links of a whole graph have their plausibility before the scores.
        """
        import pyarrow as pa  # noqa: PLC0415 - only for who asks

        numbers = (*self._of_graph, "score", "constraint_score")
        schema = pa.schema(
            [
                *((name, pa.large_string()) for name in Triple._fields),
                *((name, pa.float64()) for name in numbers),
                ("captured", pa.bool_()),
                *((name, pa.float64()) for name in (*self.kinds, *self._of_rules, "confidence")),
                ("known", pa.bool_()),
            ]
        )
        return pa.Table.from_pylist([row.row() for row in self.rows], schema=schema)

    @property
    def _of_graph(self) -> tuple[str, ...]:
        return ("plausibility",) if self.whole_graph else ()

    @property
    def _of_rules(self) -> tuple[str, ...]:
        return ("injected",) if any(row.injected is not None for row in self.rows) else ()

    def write(self, path: str, *, reasons: int = 0) -> None:
        """The table as a file: .parquet, .csv or .tsv, with a header.

        With reasons, a column `reasons` has up to that number for each link: a list in Parquet, else one text.
        """
        import pyarrow as pa  # noqa: PLC0415 - slow to load, and only needed here

        check_row_ending(path)
        rows = self.to_arrow()
        if reasons:
            told = [_told_reasons(row, reasons) for row in self.rows]
            as_lists = Path(path).suffix == ".parquet"
            column = (
                pa.array(told) if as_lists else pa.array([_BETWEEN_REASONS.join(lines) for lines in told])
            )
            rows = rows.append_column("reasons", column)
        write_rows(rows, path)

    def text(self, *, reasons: int, shown: Callable[[str], str] = str) -> str:
        """The table, followed by that number of reasons for each link; `shown` formats names."""
        lines = [self._table(shown)]
        for place, row in enumerate(self.rows if reasons else (), start=1):
            proofs = row.proofs(reasons)  # a rule that somebody wrote comes before what was learned
            learned = row.reasons(reasons - len(proofs)) if len(proofs) < reasons else ()
            known = proofs or learned
            lines += ["", f"{place}. {' '.join(row.triple)}{'' if known else ': nothing leads to it'}"]
            lines += [f"by injected rules:\n{proof}" for proof in proofs]
            lines += [str(reason) for reason in learned]
        return "\n".join([*lines, *told_question(self.rows, several=self.whole_graph)])

    def __str__(self) -> str:
        return self._table(str)

    def _table(self, shown: Callable[[str], str]) -> str:
        if not self.rows:
            return "no predictions"
        sure = any(row.confidence is not None for row in self.rows)
        header = [
            "rank",
            *self._of_graph,
            "score",
            *(["confidence"] if sure else []),
            "constraint",
            *self._of_rules,
            *(SHOWN_NAMES.get(kind, kind) for kind in self.kinds),
        ]
        cells = [
            [
                *self._cells(place, sure=sure),
                shown(row.head),
                shown(row.relation),
                shown(row.tail) + ("  known" if row.known else ""),
            ]
            for place, row in enumerate(self.rows)
        ]
        align = "r" * len(header) + "lll"
        return table([*header, *Triple._fields], cells, align=align)

    def shown(self, most: int | None = None) -> list[dict[str, Any]]:
        """The first rows, with display names for kinds of evidence."""
        rows = (row.row() for row in self.rows[:most])
        return [{SHOWN_NAMES.get(name, name): value for name, value in row.items()} for row in rows]

    def _repr_html_(self) -> str:
        return shown_rows(counted(len(self), "prediction"), self.shown(SHOWN), total=len(self))

    def _cells(self, place: int, *, sure: bool) -> list[str]:
        row = self.rows[place]
        confidence = "-" if row.confidence is None else f"{row.confidence:.3f}"
        scores = (row.constraint_score, *((row.injected,) if self._of_rules else ()))
        plausible = () if row.plausibility is None else (f"{row.plausibility:.3f}",)
        evidence = [f"{row.evidence[kind]:+.3f}" for kind in self.kinds]
        return [
            str(place + 1),
            *plausible,
            f"{row.score:.3f}",
            *([confidence] if sure else []),
            *(_told(score) for score in scores),
            *evidence,
        ]


def _told(score: float | None) -> str:
    return "-" if score is None else "captured" if score == 0 else f"{score:.3f}"


def _told_reasons(row: Prediction, most: int) -> list[str]:
    """The first reasons, a line each: its contribution, the rule, and the facts it uses."""
    proofs = row.proofs(most)
    learned = row.reasons(most - len(proofs)) if len(proofs) < most else ()
    told = [("by an injected rule", proof) for proof in proofs]
    told += [(f"{reason.share:.0%} of its support", reason.proof) for reason in learned]
    return [
        f"{share}: {proof.rule}: {', '.join(spelled(premise.triple) for premise in proof.premises)}"
        for share, proof in told
    ]


def _data(row: Prediction, reasons: int) -> dict[str, Any]:
    data = row.row()
    evidence = {kind: data.pop(kind) for kind in row.evidence}
    data |= {"evidence": evidence, "side": row.side}
    if not reasons:
        return data
    if proofs := row.proofs(reasons):
        data["proofs"] = [proof.to_dict() for proof in proofs]
    data["reasons"] = [reason.to_dict() for reason in row.reasons(reasons)]
    return data


def predict(
    answers: ModelAnswers, model: ModelOnGraph, question: Question, *, top: int, known: Known
) -> Predictions:
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
    return Predictions(rows, tuple(scores.evidence))


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
