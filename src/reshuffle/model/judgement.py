"""What a triple's score is made of."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Judgement:
    """A triple's score and what it is made of.

    The guarantees speak of `constraint_score` alone: it is 0 iff the model's constraints capture the triple, and
    negative otherwise. Evidence only decides the order.
    """

    triple: tuple[str, str, str]
    constraint_score: float
    evidence: dict[str, float]

    @property
    def score(self) -> float:
        """What is ranked by."""
        return self.constraint_score + sum(self.evidence.values())

    @property
    def captured(self) -> bool:
        """Do the constraints hold for it?"""
        return self.constraint_score == 0

    def to_dict(self) -> dict[str, object]:
        """Plain data."""
        return {
            "triple": list(self.triple),
            "score": self.score,
            "constraint_score": self.constraint_score,
            "captured": self.captured,
            "evidence": dict(self.evidence),
        }

    def __str__(self) -> str:
        told = ", ".join(f"{kind} {value:+.3f}" for kind, value in self.evidence.items())
        state = "captured" if self.captured else f"constraint score {self.constraint_score:.4f}"
        return f"{' '.join(self.triple)}: {state}{'; evidence: ' + told if told else ''}"
