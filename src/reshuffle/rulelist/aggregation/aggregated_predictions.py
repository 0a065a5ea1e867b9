"""Answers ranked by aggregated confidences, as a list and as a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reshuffle.evaluation.ranked_links import Predictions
from reshuffle.pictures.diagram import Growing
from reshuffle.reasoning.proofs import spelled
from reshuffle.results import Column, Explanation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reshuffle.evaluation.scorer import Side
    from reshuffle.kg import Triple
    from reshuffle.pictures.diagram import Diagram
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

    def data(self) -> dict[str, Any]:
        """The row as plain data."""
        return {**self.row(), "side": self.side}

    def reason_lines(self, most: int) -> list[str]:
        """Up to `most` rules, a line each."""
        return self.reasons(most)

    def reason_cells(self, most: int) -> list[str]:
        """Up to `most` rules, a line each."""
        return self.reasons(most)

    def reason_data(self, most: int) -> dict[str, Any]:
        """Up to `most` rules with their confidences."""
        return {
            "reasons": [
                {"rule": str(rule), "confidence": confidence} for rule, confidence in self.sure[:most]
            ]
        }

    def explain(self, most: int = 3) -> RulesBehind:
        """The rules that lead to it, `most` of them in pictures."""
        return RulesBehind(self, most)


@dataclass(frozen=True)
class RulesBehind(Explanation):
    """The rules that lead to a link, the surest first."""

    link: AggregatedPrediction
    drawn_reasons: int = 3

    def __str__(self) -> str:
        score = f"{spelled(self.link.triple)}: score {self.link.score:.3f}"
        return "\n".join([score, *(f"  {line}" for line in self.link.reasons(len(self.link.sure)))])

    def __bool__(self) -> bool:
        return bool(self.link.sure)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        rules = self.link.reason_data(len(self.link.sure))
        return {"triple": list(self.link.triple), "score": self.link.score, "supported": bool(self), **rules}

    def diagram(self, most: int | None = None) -> Diagram:
        """A branch for each rule."""
        tree, goal = Growing(), spelled(self.link.triple)
        rules = [
            tree.add(str(rule), f"{confidence:.3f}", "rule") for rule, confidence in self.link.sure[:most]
        ]
        tree.add(goal, f"score {self.link.score:.3f}", below=rules)
        return tree.grown(f"why {goal}")

    def rule_rows(self, most: int | None = None) -> list[dict[str, Any]]:
        """The first rules, a row each."""
        return [{"confidence": confidence, "rule": str(rule)} for rule, confidence in self.link.sure[:most]]


def ranked_links(
    links: Sequence[AggregatedPrediction], *, several: bool = False
) -> Predictions[AggregatedPrediction]:
    """Predictions with the number of rules that lead to each."""
    return Predictions(
        tuple(links),
        (Column("score", "number"), Column("rules", "count", spell=str)),
        printed=("score", "rules"),
        several=several,
        unsupported="no rule leads to it",
    )
