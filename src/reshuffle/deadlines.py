"""When a computation should be done: one object that is passed down, and asked by work that can stop early.

What is computed within a deadline depends on how fast the machine is; without one, it does not.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

from reshuffle.errors import InputError


@dataclass(frozen=True)
class Deadline:
    """A moment by which the work should be done, in the seconds of `time.monotonic`."""

    at: float = math.inf

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """The deadline that is `seconds` from now."""
        return cls(time.monotonic() + seconds)

    @property
    def seconds_left(self) -> float:
        """0 where it is over."""
        return max(0.0, self.at - time.monotonic())

    @property
    def is_over(self) -> bool:
        """Should the work be done by now?"""
        return time.monotonic() >= self.at

    @property
    def is_set(self) -> bool:
        """Is there one at all?"""
        return math.isfinite(self.at)

    def part(self, share: float) -> Deadline:
        """The deadline of the next piece of work, which gets that share of the time that is left."""
        return Deadline.after(share * self.seconds_left) if self.is_set else self


NO_DEADLINE = Deadline()
"""All the time that the work takes."""


def deadline_in(minutes: float | None) -> Deadline:
    """The deadline that a user gives in minutes; None is no deadline."""
    if minutes is None:
        return NO_DEADLINE
    if isinstance(minutes, bool) or not isinstance(minutes, int | float) or not 0 < minutes < math.inf:
        raise InputError(f"found minutes = {minutes!r}, expected a number above 0", hint="10 or 0.5")
    return Deadline.after(60 * minutes)
