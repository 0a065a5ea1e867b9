"""Ranked answers of a rule model: new links with their sums, as a list and as a table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from reshuffle.evaluation.questions import told_question
from reshuffle.kg import Triple
from reshuffle.kg.frames import RowFrames
from reshuffle.kg.io.writing import check_row_ending, write_rows
from reshuffle.pictures.markup import SHOWN
from reshuffle.pictures.notebook import shown_rows
from reshuffle.progress import SILENT
from reshuffle.text import counted, table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa

    from reshuffle.evaluation.scorer import Side
    from reshuffle.progress import Progress
    from reshuffle.rulelist.rule_answers import RulesOnGraph
    from reshuffle.rulelist.sums import Part, RuleSum

_NUMBERS = ("score", "rules", "distance", "types")


@dataclass(frozen=True)
class RulePrediction:
    """A triple with the sum that ranks it; `known` tells facts."""

    triple: Triple
    sum: RuleSum
    known: bool = False
    plausibility: float | None = None
    """What links of several questions are ranked by; None where one question was asked."""
    probability: float | None = None
    """How likely it is true, where the model says how likely its answers are."""
    on_graph: RulesOnGraph | None = field(default=None, repr=False, compare=False)
    """Where the walks behind a sum are found, when somebody asks."""

    @property
    def score(self) -> float:
        """By which answers are ranked."""
        return self.sum.score

    @property
    def side(self) -> Side:
        """Which end was asked for: the two questions have scores of their own."""
        return self.sum.side

    def row(self) -> dict[str, Any]:
        """The values of one row of the table, by column."""
        parts = {
            kind: sum(part.value for part in self.sum.parts if part.kind == kind) for kind in _NUMBERS[2:]
        }
        return {
            **self.triple._asdict(),
            **({} if self.plausibility is None else {"plausibility": self.plausibility}),
            **({} if self.probability is None else {"probability": self.probability}),
            "score": self.score,
            "rules": self.sum.rule_score,
            **parts,
            "known": self.known,
        }

    def reasons(self, most: int = 3) -> tuple[Part, ...]:
        """The rules that lead to it, the largest part first."""
        return tuple(part for part in self.explained(most).parts if part.rule is not None)[:most]

    def explained(self, rules: int | None = None) -> RuleSum:
        """The sum with a walk for each of its rules, or for the first ones."""
        return self.sum if self.on_graph is None else self.on_graph.with_walks(self.sum, most=1, rules=rules)


@dataclass(frozen=True)
class RulePredictions(RowFrames):
    """Predictions, best first. Prints as a table."""

    links: tuple[RulePrediction, ...]
    several: bool = False
    """Are they links of several questions, each with its plausibility?"""
    complete: bool = True
    """False where an interrupt ended the search for them early."""

    def __len__(self) -> int:
        return len(self.links)

    def __iter__(self) -> Iterator[RulePrediction]:
        return iter(self.links)

    def __getitem__(self, place: int) -> RulePrediction:
        return self.links[place]

    def rows(self) -> list[dict[str, Any]]:
        """One row per prediction, in order."""
        return [link.row() for link in self.links]

    def schema(self) -> pa.Schema:
        """The columns with their types."""
        import pyarrow as pa  # noqa: PLC0415 - only for who asks

        names = ((name, pa.large_string()) for name in Triple._fields)
        return pa.schema([*names, *((name, pa.float64()) for name in self._numbers), ("known", pa.bool_())])

    @property
    def _numbers(self) -> tuple[str, ...]:
        first = self.links[0] if self.links else None
        if first is not None and first.probability is not None:
            return ("probability", *_NUMBERS)
        return ("plausibility", *_NUMBERS) if self.several else _NUMBERS

    def write(self, path: str, *, reasons: int = 0) -> None:
        """The table as a file: .parquet, .csv or .tsv, with a header; with reasons, these in a column of their own."""
        import pyarrow as pa  # noqa: PLC0415 - only for who asks

        check_row_ending(path)
        rows = self.to_arrow()
        if reasons:
            told = ["; ".join(part.words for part in link.reasons(reasons)) for link in self.links]
            rows = rows.append_column("reasons", pa.array(told, pa.large_string()))
        write_rows(rows, path)

    def text(self, *, reasons: int, shown: Callable[[str], str] = str) -> str:
        """The table, followed by that number of rules for each link; `shown` formats names."""
        lines = [self._table(shown)]
        for place, link in enumerate(self.links if reasons else (), start=1):
            found = link.reasons(reasons)
            lines += ["", f"{place}. {' '.join(link.triple)}{'' if found else ': no rule leads to it'}"]
            lines += map(str, found)
        return "\n".join([*lines, *told_question(self.links, several=self.several)])

    def to_dict(self, *, reasons: int = 0, progress: Progress = SILENT) -> dict[str, Any]:
        """Plain data; with that number of reasons for each."""
        rows = []
        with progress("looking for reasons", total=len(self.links), unit="links") as report:
            for link in self.links:
                told = {"reasons": [part.to_dict() for part in link.reasons(reasons)]} if reasons else {}
                rows.append({**link.row(), "side": link.side, **told})
                report(1)
        return {"predictions": rows}

    def shown(self, most: int | None = None) -> list[dict[str, Any]]:
        """The first rows."""
        return [link.row() for link in self.links[:most]]

    def _repr_html_(self) -> str:
        return shown_rows(counted(len(self), "prediction"), self.shown(SHOWN), total=len(self))

    def __str__(self) -> str:
        return self._table(str)

    def _table(self, shown: Callable[[str], str]) -> str:
        if not self.links:
            return "no predictions"
        cells = [
            [
                str(place),
                *(f"{row[name]:.3f}" for name in self._numbers),
                shown(row["head"]),
                shown(row["relation"]),
                shown(row["tail"]) + mark,
            ]
            for place, row in enumerate(self.rows(), start=1)
            for mark in ["  known" if row["known"] else ""]
        ]
        align = "r" * (1 + len(self._numbers)) + "lll"
        return table(["rank", *self._numbers, *Triple._fields], cells, align=align)
