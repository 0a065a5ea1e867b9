"""Explain scores as sums: the contributions of rules, distance and types, with the facts on the walks."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

from reshuffle.evaluation.questions import other_side, told_scores
from reshuffle.pictures.diagram import Growing
from reshuffle.reasoning.proofs import spelled
from reshuffle.results import Explanation
from reshuffle.rulelist.features import MOST_STEPS
from reshuffle.rules.rule import ConstantRule
from reshuffle.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reshuffle.evaluation.scorer import Side
    from reshuffle.kg import Triple
    from reshuffle.pictures.diagram import Diagram
    from reshuffle.rulelist.rule_model import WeightedRule
    from reshuffle.rules import Quality

Kind = Literal["rule", "distance", "types"]
_RULES_DRAWN = 10  # in a notebook
_DIGITS = 3  # behind the point of printed parts


@dataclass(frozen=True)
class Part:
    """One summand of a score."""

    kind: Kind
    value: float
    rule: WeightedRule | None = None
    walks: int = 0
    """How many walks follow the rule."""
    proofs: tuple[tuple[Triple, ...], ...] = ()
    """The facts of some of these walks."""
    steps: int | None = None
    """Of a distance; None for more than are counted."""

    @property
    def words(self) -> str:
        """What the part is about."""
        if self.rule is not None:
            return f"{self.rule.rule}  ({self.evidence})"
        if self.kind == "types":
            return "types: what the answer is like, whatever is asked about"
        far = (
            f"more than {counted(MOST_STEPS, 'step')}" if self.steps is None else counted(self.steps, "step")
        )
        return f"distance: {far} apart"

    @property
    def evidence(self) -> str:
        """How many walks follow the rule, or how often a rule about particular entities was right."""
        measures = None if self.rule is None else self.rule.rule.quality
        if self.rule is not None and isinstance(self.rule.rule, ConstantRule):
            known = measures is not None and measures.predictions
            return f"{measures.support} of {measures.predictions}" if known and measures else "not counted"
        return counted(self.walks, "walk")

    def add_to(self, tree: Growing, value: str) -> int:
        """Add the part to a picture, with the facts of its walks; its number there."""
        if self.rule is None:
            return tree.add(self.words, value, "part")
        walks = [[tree.add(spelled(fact), kind="fact") for fact in walk] for walk in self.proofs]
        if len(walks) > 1:  # which facts belong together
            walks = [
                [tree.add(f"walk {place}", "", "plain", walk)] for place, walk in enumerate(walks, start=1)
            ]
        note = f"{value}, {self.evidence}"
        return tree.add(str(self.rule.rule), note, "rule", chain(*walks))

    @property
    def _counts(self) -> dict[str, Any]:
        """Of a rule about particular entities: how many its body holds for, and of how many it was right."""
        if (
            self.rule is None
            or not isinstance(self.rule.rule, ConstantRule)
            or self.rule.rule.quality is None
        ):
            return {}
        quality = self.rule.rule.quality
        return {"predictions": quality.predictions, "support": quality.support}

    def __str__(self) -> str:
        walks = [f"  {', '.join(map(spelled, walk))}" for walk in self.proofs]
        return "\n".join([f"{self.value:+.{_DIGITS}f}  {self.words}", *walks])

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        data: dict[str, Any] = {"kind": self.kind, "value": self.value}
        if self.rule is not None:
            data |= {
                "rule": str(self.rule.rule),
                "walks": self.walks,
                **self._counts,
                "proofs": [[list(fact) for fact in walk] for walk in self.proofs],
            }
        elif self.kind == "distance":
            data["steps"] = self.steps
        return data


@dataclass(frozen=True)
class RuleSum(Explanation):
    """A triple's score as the sum of its parts, largest first; false where no rule leads to it."""

    triple: Triple
    parts: tuple[Part, ...]
    known: bool = False
    """Is it a fact? Then walks and steps over the fact itself count, too."""
    side: Side = "tail"
    """Which end was asked for."""
    score: float = 0.0
    """The sum, added up in the order in which answers are scored."""
    other_score: float | None = None
    """As an answer to the question for the other end, whose distances and types are fitted apart; None if not asked."""

    def __bool__(self) -> bool:
        return any(part.rule is not None for part in self.parts)

    @property
    def rule_score(self) -> float:
        """What the rules add."""
        return sum(part.value for part in self.parts if part.rule is not None)

    @property
    def scores(self) -> dict[Side, float]:
        """By the end that is asked for, as far as they are known."""
        other = {} if self.other_score is None else {other_side(self.side): self.other_score}
        return {self.side: self.score, **other}

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "triple": list(self.triple),
            "side": self.side,
            "score": self.score,
            "scores": self.scores,
            "rule_score": self.rule_score,
            "known": self.known,
            "supported": bool(self),
            "parts": [part.to_dict() for part in self.parts],
        }

    def diagram(self, most: int | None = None) -> Diagram:
        """The sum as it is drawn: a branch for each part, of up to `most` rules, with the facts of its walks."""
        tree, values = Growing(), printed_parts(self.score, [part.value for part in self.parts])
        told = [
            pair
            for pair in zip(self.parts, values, strict=True)
            if pair[0].rule is not None or float(pair[1])
        ]
        left = [pair for pair in told if pair[0].rule is not None][most:] if most is not None else []
        parts = [part.add_to(tree, value) for part, value in told if (part, value) not in left]
        if left:
            rest = sum(float(value) for _, value in left)
            parts.append(tree.add(counted(len(left), "more rule"), f"{rest:+.{_DIGITS}f} together", "more"))
        note = told_scores(self.triple, self.side, self.scores) + (", a fact" if self.known else "")
        tree.add(spelled(self.triple), note, below=parts)
        return tree.grown(f"why {spelled(self.triple)}")

    def rule_rows(self, most: int | None = None) -> list[dict[str, Any]]:
        """The first rules that support it, a row each."""
        rules = [part.rule for part in self.parts if part.rule is not None][:most]
        return [{"weight": one.weight, **_measured(one.rule.quality), "rule": str(one.rule)} for one in rules]

    @property
    def drawn_reasons(self) -> int:
        """How many rules a notebook draws."""
        return _RULES_DRAWN

    def __str__(self) -> str:
        values = printed_parts(self.score, [part.value for part in self.parts])
        known = "  (a fact)" if self.known else ""
        lines = [f"{spelled(self.triple)}: {told_scores(self.triple, self.side, self.scores)}{known}"]
        for part, value in zip(self.parts, values, strict=True):
            if not float(value):
                continue
            lines.append(f"  {value:>8}  {part.words}")
            lines += [f"  {'':>8}    {', '.join(map(spelled, walk))}" for walk in part.proofs]
        return "\n".join(lines if self else [*lines, "  no rule leads to it"])


def _measured(quality: Quality | None) -> dict[str, Any]:
    return {} if quality is None else {"support": quality.support, "confidence": quality.confidence}


def printed_parts(total: float, parts: Sequence[float]) -> list[str]:
    """The parts as texts that add up to the printed total: those that lose most by rounding are rounded the other way.

    >>> printed_parts(1.0, [1 / 3, 1 / 3, 1 / 3])
    ['+0.334', '+0.333', '+0.333']
    """
    unit = 10**_DIGITS
    rounded = [round(part * unit) for part in parts]
    missing = round(total * unit) - sum(rounded)
    step = 1 if missing > 0 else -1
    lost = [(rounded[place] - parts[place] * unit) * step for place in range(len(parts))]
    for place in sorted(range(len(parts)), key=lambda place: lost[place])[: abs(missing)]:
        rounded[place] += step
    return [f"{value / unit:+.{_DIGITS}f}" for value in rounded]
