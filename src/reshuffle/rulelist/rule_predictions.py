"""Ranked answers of a rule model: new links with their sums, as a list and as a table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from reshuffle.evaluation.ranked_links import Predictions
from reshuffle.results import Column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reshuffle.evaluation.scorer import Side
    from reshuffle.kg import Triple
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

    def data(self) -> dict[str, Any]:
        """The row as plain data."""
        return {**self.row(), "side": self.side}

    def reason_lines(self, most: int) -> list[str]:
        """Up to `most` rules, each with its walks."""
        return [str(part) for part in self.reasons(most)]

    def reason_cells(self, most: int) -> list[str]:
        """Up to `most` rules in words."""
        return [part.words for part in self.reasons(most)]

    def reason_data(self, most: int) -> dict[str, Any]:
        """Up to `most` rules as plain data."""
        return {"reasons": [part.to_dict() for part in self.reasons(most)]}

    def explain(self, most: int = 3) -> RuleSum:
        """The whole sum, with a walk for each of its rules."""
        del most
        return self.explained()

    def explained(self, rules: int | None = None) -> RuleSum:
        """The sum with a walk for each of its rules, or for the first ones."""
        return self.sum if self.on_graph is None else self.on_graph.with_walks(self.sum, most=1, rules=rules)


def ranked_links(
    links: Sequence[RulePrediction], *, several: bool = False, complete: bool = True
) -> Predictions[RulePrediction]:
    """Predictions with the parts of their sums; those of several questions with what they are ranked by."""
    likely = bool(links) and links[0].probability is not None
    ranked_by = ("probability",) if likely else ("plausibility",) if several else ()
    columns = tuple(Column(name, "number") for name in (*ranked_by, *_NUMBERS))
    return Predictions(
        tuple(links),
        columns,
        printed=tuple(column.name for column in columns),
        several=several,
        complete=complete,
        unsupported="no rule leads to it",
    )
