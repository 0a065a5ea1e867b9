"""Answers ranked by aggregated confidences, as a list and as a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reshuffle.evaluation.questions import told_question
from reshuffle.kg import Triple
from reshuffle.kg.frames import RowFrames
from reshuffle.kg.io.writing import check_row_ending, write_rows
from reshuffle.text import table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa

    from reshuffle.evaluation.scorer import Side
    from reshuffle.rules import Rule

SureRule = tuple["Rule", float]
"""A rule and the confidence that it counts with."""


@dataclass(frozen=True)
class AggregatedPrediction:
    """A triple with the rules that lead to it, the surest first; `known` tells facts."""

    triple: Triple
    score: float
    """Of max-plus the surest confidence; of the others what they make of several."""
    side: Side
    sure: tuple[SureRule, ...]
    known: bool = False

    def row(self) -> dict[str, Any]:
        """The values of one row of the table, by column."""
        return {**self.triple._asdict(), "score": self.score, "rules": len(self.sure), "known": self.known}

    def reasons(self, most: int = 3) -> list[str]:
        """The surest rules that lead to it, with their confidences."""
        return [f"{confidence:.3f}  {rule}" for rule, confidence in self.sure[:most]]


@dataclass(frozen=True)
class AggregatedPredictions(RowFrames):
    """Predictions, best first. Prints as a table."""

    links: tuple[AggregatedPrediction, ...]
    several: bool = False
    """Are they links of several questions?"""

    def __len__(self) -> int:
        return len(self.links)

    def __iter__(self) -> Iterator[AggregatedPrediction]:
        return iter(self.links)

    def __getitem__(self, place: int) -> AggregatedPrediction:
        return self.links[place]

    def rows(self) -> list[dict[str, Any]]:
        """One row per prediction, in order."""
        return [link.row() for link in self.links]

    def schema(self) -> pa.Schema:
        """The columns with their types."""
        import pyarrow as pa  # noqa: PLC0415 - only for who asks

        names = ((name, pa.large_string()) for name in Triple._fields)
        numbers = (("score", pa.float64()), ("rules", pa.int64()), ("known", pa.bool_()))
        return pa.schema([*names, *numbers])

    def write(self, path: str, *, reasons: int = 0) -> None:
        """The table as a file: .parquet, .csv or .tsv, with a header; with reasons, these in a column of their own."""
        import pyarrow as pa  # noqa: PLC0415 - only for who asks

        check_row_ending(path)
        rows = self.to_arrow()
        if reasons:
            told = ["; ".join(link.reasons(reasons)) for link in self.links]
            rows = rows.append_column("reasons", pa.array(told, pa.large_string()))
        write_rows(rows, path)

    def text(self, *, reasons: int, shown: Callable[[str], str] = str) -> str:
        """The table, followed by so many rules for each link; `shown` says how names are shown."""
        lines = [self._table(shown)]
        for place, link in enumerate(self.links if reasons else (), start=1):
            lines += ["", f"{place}. {' '.join(link.triple)}", *link.reasons(reasons)]
        return "\n".join([*lines, *told_question(self.links, several=self.several)])

    def to_dict(self, *, reasons: int = 0) -> dict[str, Any]:
        """Plain data; with so many reasons for each."""
        rows = []
        for link in self.links:
            told = [{"rule": str(rule), "confidence": confidence} for rule, confidence in link.sure[:reasons]]
            rows.append({**link.row(), "side": link.side, **({"reasons": told} if reasons else {})})
        return {"predictions": rows}

    def __str__(self) -> str:
        return self._table(str)

    def _table(self, shown: Callable[[str], str]) -> str:
        if not self.links:
            return "no predictions"
        cells = [
            [str(place), f"{link.score:.3f}", str(len(link.sure)), *map(shown, link.triple)]
            for place, link in enumerate(self.links, start=1)
        ]
        for row, link in zip(cells, self.links, strict=True):
            row[-1] += "  known" if link.known else ""
        return table(["rank", "score", "rules", *Triple._fields], cells, align="rrrlll")
