"""When to stop: the rule is a function, the patience a tiny dataclass, and neither knows of models."""

from __future__ import annotations

from dataclasses import dataclass


def is_improvement(current: float, best: float | None, *, relative_delta: float) -> bool:
    """Better than the best so far by more than a share of it.

    >>> is_improvement(0.51, 0.50, relative_delta=0.01), is_improvement(0.505, 0.50, relative_delta=0.01)
    (True, False)
    """
    return best is None or current > best * (1 + relative_delta)


@dataclass
class Patience:
    """Counts the looks without improvement. The paper: less than 1 % within 100 epochs stops the training."""

    looks: int = 10
    relative_delta: float = 0.01
    best: float | None = None
    best_epoch: int = 0
    without: int = 0

    def look(self, value: float, epoch: int) -> bool:
        """Take note of a validation result; True when it is the best so far."""
        if is_improvement(value, self.best, relative_delta=self.relative_delta):
            self.best, self.best_epoch, self.without = value, epoch, 0
            return True
        self.without += 1
        return False

    @property
    def exhausted(self) -> bool:
        """Time to stop?"""
        return self.without >= self.looks
