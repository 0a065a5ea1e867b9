"""What a triple's score is made of."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Judgement:
    """A triple's score and what it is made of.

    The guarantees speak of `constraint_score` and `injected` alone: each is 0 iff its constraints, the learned ones or
    those of injected rules, capture the triple, and negative otherwise. Evidence only decides the order. `injected` is
    None where no injected rule derives the relation.
    """

    triple: tuple[str, str, str]
    constraint_score: float
    evidence: dict[str, float]
    injected: float | None = None

    @property
    def score(self) -> float:
        """What is ranked by."""
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
        return {
            "triple": list(self.triple),
            "score": self.score,
            "constraint_score": self.constraint_score,
            "captured": self.captured,
            "evidence": dict(self.evidence),
            **({} if self.injected is None else self._of_injected()),
        }

    def _of_injected(self) -> dict[str, object]:
        return {"injected": self.injected, "captured_by": list(self.captured_by)}

    def __str__(self) -> str:
        told = ", ".join(f"{kind} {value:+.3f}" for kind, value in self.evidence.items())
        return f"{' '.join(self.triple)}: {self.verdict}{'; evidence: ' + told if told else ''}"
