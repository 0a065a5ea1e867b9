"""The result of extraction: rules with their measures, as a list, a table, a rule base and a scorer."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from reshuffle.errors import InputError
from reshuffle.evaluation.baselines.rules import RuleBaseline, RuleScorer
from reshuffle.kg.coerce import as_graph
from reshuffle.kg.frames import RowFrames
from reshuffle.pictures.markup import SHOWN
from reshuffle.pictures.notebook import shown_rows
from reshuffle.rules import IntersectionRule, RuleBase
from reshuffle.rules.rule import Quality
from reshuffle.text import counted, table

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from reshuffle.extraction.type_rules import TypeRule
    from reshuffle.kg.coerce import Triples
    from reshuffle.rules import Rule
    from reshuffle.rules.mining import Measures

SortKey = Literal["reading", "confidence", "support", "head_coverage", "degree", "evidence", "head"]
SORT_KEYS = get_args(SortKey)

_SHOWN = 20
_SHOWN_NUMBERS = ("confidence", "support", "pca_confidence", "head_coverage", "degree", "evidence")
SHOWN_COLUMNS = (*_SHOWN_NUMBERS, "redundant", "rule")
"""Of the rows, on pages."""


@dataclass(frozen=True)
class ExtractedRule:
    """A rule, how far the model captures it, and how well it does on a graph, where one was given.

    `degree` is 1 for rules of hard constraints. `evidence` is what one path says, for models with starts and weights.
    """

    rule: Rule
    degree: float | None = None
    evidence: float | None = None
    measures: Measures | None = None
    gain: float | None = None
    """The share of its head's facts that it explains and no rule before it, less what it gets wrong (`order`)."""
    redundant: bool = False
    """Do other rules of the list entail it?"""

    @property
    def grade(self) -> float:
        """The degree or the evidence."""
        return self.degree if self.degree is not None else self.evidence or 0.0

    @property
    def quality(self) -> Quality:
        """The quality counted on the graph; else the confidence by which a rule scorer adds up the evidence."""
        if self.measures is not None:
            counts = self.measures
            return Quality(counts.predictions, counts.support, counts.confidence)
        if self.evidence is not None:
            return Quality(confidence=1 - math.exp(-self.evidence))
        return Quality(confidence=self.degree)

    def row(self) -> dict[str, Any]:
        """One row of the table."""
        counts = self.measures
        return {
            "rule": str(self.rule),
            "kind": "intersection" if isinstance(self.rule, IntersectionRule) else "path",
            "head": self.rule.head,
            "body": list(self.rule.body),
            "degree": self.degree,
            "evidence": self.evidence,
            "support": None if counts is None else counts.support,
            "predictions": None if counts is None else counts.predictions,
            "confidence": None if counts is None else counts.confidence,
            "standard_confidence": None if counts is None else counts.standard_confidence,
            "pca_confidence": None if counts is None else counts.pca_confidence,
            "head_coverage": None if counts is None else counts.head_coverage,
            "gain": self.gain,
            "redundant": self.redundant,
        }


@dataclass(frozen=True)
class ExtractedRules(RowFrames):
    """Rules, best first: in reading order where they were measured, else by degree or evidence. Prints as a table.

    `types` are rules about roles, where they were asked for. `unconstrained` are relations that the model says nothing
    about. `complete` is False where a limit or a budget left rules out, and `cut` is the highest grade these may have,
    where that is known.
    """

    rules: tuple[ExtractedRule, ...]
    types: tuple[TypeRule, ...] = ()
    unconstrained: tuple[str, ...] = ()
    complete: bool = True
    cut: float | None = None

    def __len__(self) -> int:
        return len(self.rules)

    def __iter__(self) -> Iterator[ExtractedRule]:
        return iter(self.rules)

    def __getitem__(self, place: int) -> ExtractedRule:
        return self.rules[place]

    def top(self, number: int) -> ExtractedRules:
        """The first `number` rules and type rules."""
        return replace(self, rules=self.rules[: max(0, number)], types=self.types[: max(0, number)])

    def sorted_by(self, key: SortKey) -> ExtractedRules:
        """The rules by one number, highest first, or by `head` in the order of its name; "reading" is as they are."""
        if key not in SORT_KEYS:
            raise InputError(f"found '{key}' to sort by", hint=f"give one of {', '.join(SORT_KEYS)}")
        if key == "reading":
            return self
        if key == "head":
            return replace(self, rules=tuple(sorted(self.rules, key=lambda one: one.rule.head)))
        numbers = {one: one.row()[key] for one in self.rules}
        if all(number is None for number in numbers.values()) and self.rules:
            raise InputError(
                f"these rules have no {key}", hint="measure them on a graph: on=graph, or --on FACTS"
            )
        return replace(self, rules=tuple(sorted(self.rules, key=lambda one: -(numbers[one] or 0))))

    def without_redundant(self) -> ExtractedRules:
        """The rules that no other rules of the list entail."""
        return replace(self, rules=tuple(rule for rule in self.rules if not rule.redundant))

    def to_rule_base(self) -> RuleBase:
        """The rules with their qualities, for reasoning, injecting and writing; type rules have no place in it."""
        return RuleBase(tuple(replace(one.rule, quality=one.quality) for one in self.rules))

    def on(self, graph: Triples) -> RuleScorer:
        """The rules as a scorer, which adds up the evidence of all paths by noisy-or."""
        return RuleBaseline(self.to_rule_base()).on(as_graph(graph))

    # --- tables -------------------------------------------------------------------------------------------------

    def rows(self) -> list[dict[str, Any]]:
        """One row per rule, in order."""
        return [rule.row() for rule in self.rules]

    def to_dict(self) -> dict[str, Any]:
        """Rules, type rules and remarks as plain data."""
        return {
            "rules": self.rows(),
            "types": [
                {
                    "rule": str(rule),
                    "body": list(rule.body),
                    "head": list(rule.head),
                    "support": rule.support,
                    "predictions": rule.predictions,
                    "confidence": rule.confidence,
                }
                for rule in self.types
            ],
            "unconstrained": list(self.unconstrained),
            "complete": self.complete,
            "cut": self.cut,
        }

    def schema(self) -> pa.Schema:
        """The columns with their types, so that an empty table and a column of nothing have them too."""
        import pyarrow as pa  # noqa: PLC0415 - slow to load

        numbers = ("confidence", "standard_confidence", "pca_confidence", "head_coverage", "gain")
        return pa.schema(
            [
                *((name, pa.string()) for name in ("rule", "kind", "head")),
                ("body", pa.list_(pa.string())),
                *((name, pa.float64()) for name in ("degree", "evidence")),
                *((name, pa.int64()) for name in ("support", "predictions")),
                *((name, pa.float64()) for name in numbers),
                ("redundant", pa.bool_()),
            ]
        )

    def _repr_html_(self) -> str:
        rows = [rule.row() for rule in self.rules[:SHOWN]]
        heading = counted(len(self.rules), "rule")
        return shown_rows(heading, rows, columns=SHOWN_COLUMNS, total=len(self.rules), remarks=self.remarks())

    def __str__(self) -> str:
        return self.table()

    def table(self, most: int | None = None) -> str:
        """The first rules (20 by default) with their numbers as a table, and the remarks below it."""
        shown = _SHOWN if most is None else most
        lines = [counted(len(self.rules), "rule")]
        if self.rules[:shown]:
            lines.append(_table(self.rules[:shown]))
        lines += _more(len(self.rules) - shown)
        if any(rule.redundant for rule in self.rules[:shown]):
            lines.append("* follows from other rules of the list")
        if self.types:
            types = [f"{rule.confidence:.3f}  {rule}" for rule in self.types[:shown]]
            lines += ["", counted(len(self.types), "type rule"), *types, *_more(len(self.types) - shown)]
        return "\n".join([*lines, *self.remarks()])

    def remarks(self) -> list[str]:
        """Sentences on what the list leaves out."""
        remarks = []
        if self.unconstrained:
            remarks.append(f"unconstrained, so that any body captures them: {', '.join(self.unconstrained)}")
        if not self.complete:
            remarks.append("not all: a limit was reached" + _up_to(self.cut))
        return remarks


def _more(number: int) -> list[str]:
    return [f"... and {number:,} more"] if number > 0 else []


def _up_to(cut: float | None) -> str:
    return "" if cut is None else f"; what is missing is graded at most {cut:.3f}"


def _table(rules: tuple[ExtractedRule, ...]) -> str:
    """The rules as text: the numbers that are known, then the rule."""
    rows = [rule.row() for rule in rules]
    columns = [name for name in _SHOWN_NUMBERS if any(row[name] is not None for row in rows)]
    header = [name.replace("_confidence", "").replace("_", " ") for name in columns]
    cells = [
        [*(row[name] for name in columns), f"{row['rule']}{' *' if row['redundant'] else ''}"] for row in rows
    ]
    return table([*header, "rule"], cells)
