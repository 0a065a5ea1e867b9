"""Pieces of work that are handed out some at a time: shares of one round do not know what the others have found."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reshuffle.deadlines import Deadline

_GROWTH = 3  # times as many pieces as before all together, at most


@dataclass
class Rounds:
    """The first round is a piece for each core.

    The next ones are as large as what is still needed and the time that is left allow by the pace so far, but not too
    large, since pieces differ.
    """

    pieces: int
    cores: int
    most: float = math.inf
    """Pieces of one round."""
    done: int = 0
    _begun: float = field(default_factory=time.monotonic)

    def following(self, deadline: Deadline, *, needed: float = math.inf) -> slice | None:
        """The pieces of the next round; None where enough is done, or there is no more time.

        `needed`: how many more are likely to be enough.
        """
        is_done = self.done >= self.pieces or needed <= 0
        number = 0 if is_done else self._number(deadline, needed)
        return slice(self.done, min(self.pieces, self.done + number)) if number else None

    def count(self, pieces: int) -> None:
        """The next pieces are done."""
        self.done += pieces

    def _number(self, deadline: Deadline, needed: float) -> int:
        if not self.done:
            return self.cores
        number = max(self.cores, int(min(_GROWTH * self.done, needed, self.most)))
        if not deadline.is_set:
            return number
        in_time = int(self.done * deadline.seconds_left / (time.monotonic() - self._begun))
        return min(number, in_time - in_time % self.cores)  # cores that wait do not end a round sooner
