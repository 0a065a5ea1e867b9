"""Ranked new links: what `predict` gives back, as a list and as a table."""

from __future__ import annotations

import csv
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from reshuffle.errors import InputError, Place
from reshuffle.evaluation.ranks import refuse_nan
from reshuffle.kg import Triple
from reshuffle.kg.frames import ArrowFrames
from reshuffle.kg.io.files import written_whole
from reshuffle.model.judgement import Judgement

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from reshuffle.evaluation.scorer import Side
    from reshuffle.model.answers.explanations import Explanation, Reason
    from reshuffle.model.answers.model_answers import ModelAnswers
    from reshuffle.reasoning.proofs import Proof

Known = Literal["exclude", "mark"]

ENDINGS = (".parquet", ".csv", ".tsv")


@dataclass(frozen=True)
class Prediction:
    """A triple, what its score is made of, how sure the model is, and whether it is known already.

    `confidence` is None for known triples and for models that were not calibrated.
    """

    triple: Triple
    constraint_score: float
    evidence: dict[str, float]
    confidence: float | None = None
    known: bool = False
    side: Side = "tail"
    """Which end was asked for: the two questions have scores of their own."""
    answers: ModelAnswers | None = field(default=None, repr=False, compare=False)
    injected: float | None = None
    """What injected rules add; 0 where they capture it, None where none derives the relation."""
    plausibility: float | None = None
    """What links of a whole graph are ranked by; None where one question was asked."""

    @property
    def head(self) -> str:
        """Of the triple."""
        return self.triple.head

    @property
    def relation(self) -> str:
        """Of the triple."""
        return self.triple.relation

    @property
    def tail(self) -> str:
        """Of the triple."""
        return self.triple.tail

    @property
    def judgement(self) -> Judgement:
        """The score and its parts."""
        return Judgement(self.triple, self.constraint_score, self.evidence, self.injected)

    @property
    def score(self) -> float:
        """What is ranked by."""
        return self.judgement.score

    @property
    def captured(self) -> bool:
        """Do the constraints hold for it?"""
        return self.judgement.captured

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
                "this prediction stands alone: it does not know the answers it came from",
                hint="ask answers.reasons(head, relation, tail)",
            )
        return self.answers

    def row(self) -> dict[str, Any]:
        """One row of the table."""
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
    """Of evidence."""
    whole_graph: bool = False
    """Are they links of different questions, each with its plausibility?"""

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Prediction]:
        return iter(self.rows)

    def __getitem__(self, place: int) -> Prediction:
        return self.rows[place]

    def to_dict(self, *, reasons: int = 0) -> dict[str, Any]:
        """Plain data; with so many reasons for each."""
        return {"predictions": [_data(row, reasons) for row in self.rows]}

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

    def write(self, path: str) -> None:
        """The table as a file: .parquet, .csv or .tsv, with a header."""
        from pyarrow import parquet  # noqa: PLC0415 - slow to load, and only needed here

        ending = Path(path).suffix
        if ending not in ENDINGS:
            raise InputError(
                f"found the ending '{ending}'",
                place=Place(path),
                hint=f"predictions go to {', '.join(ENDINGS)}",
            )
        table = self.to_arrow()
        with written_whole(path) as aside:
            if ending == ".parquet":
                parquet.write_table(table, aside)
                return
            with aside.open("w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file, delimiter="," if ending == ".csv" else "\t", lineterminator="\n")
                writer.writerow(table.column_names)
                writer.writerows(row.values() for row in table.to_pylist())

    def __str__(self) -> str:
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
            *self.kinds,
        ]
        cells = [header, *(self._cells(place, sure=sure) for place in range(len(self.rows)))]
        widths = [max(len(line[column]) for line in cells) for column in range(len(header))]
        names = _aligned([("head", "relation", "tail"), *(row.triple for row in self.rows)])
        marks = ["", *("  known" if row.known else "" for row in self.rows)]
        return "\n".join(
            "  ".join([*(cell.rjust(width) for cell, width in zip(line, widths, strict=True)), name])
            + mark.rstrip()
            for line, name, mark in zip(cells, names, marks, strict=True)
        )

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


def _data(row: Prediction, reasons: int) -> dict[str, Any]:
    data = row.row()
    evidence = {kind: data.pop(kind) for kind in row.evidence}
    data["evidence"] = evidence
    if not reasons:
        return data
    if proofs := row.proofs(reasons):
        data["proofs"] = [proof.to_dict() for proof in proofs]
    data["reasons"] = [reason.to_dict() for reason in row.reasons(reasons)]
    return data


def _aligned(triples: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(triple[column]) for triple in triples) for column in range(2)]
    return [
        f"{head.ljust(widths[0])}  {relation.ljust(widths[1])}  {tail}" for head, relation, tail in triples
    ]


def best_places(
    scores: NDArray[np.floating[Any]], left_out: NDArray[np.bool_], top: int
) -> NDArray[np.int64]:
    """The places of the highest scores, highest first, equal ones in order."""
    refuse_nan(scores)  # it would be sorted, too
    order = np.argsort(-scores, kind="stable")
    return order[~left_out[order]][:top]


def check_top(top: int) -> None:
    """A whole number, and at least one."""
    if not isinstance(top, int | np.integer):
        raise InputError(f"found top = {top!r}, expected a whole number", hint="give 1 or more")
    if top < 1:
        raise InputError(f"top = {top} asks for no prediction", hint="give 1 or more")
