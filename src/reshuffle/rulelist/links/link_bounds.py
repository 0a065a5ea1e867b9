"""What links of questions are worth at most, told without distances.

On a large graph a search for distances takes far longer than all walks of rules from an entity, and most questions have
no link that is good enough. What rules add is known from the walks. What tables say is known but for the distance, and
an entity that a body of three atoms leads to is at most three steps away. So questions are looked at without distances
first, and these are searched for only where a link may be good enough beside those that are kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from reshuffle.rulelist.kernels.link_sums import promising_questions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reshuffle.rulelist.rule_answers import RulesOnGraph

_MOST_STORED = 1 << 26  # numbers of what types add that a search through all entities may fill


@dataclass(frozen=True)
class LinkBounds:
    """Bounds for the links of a model on a graph."""

    tables: tuple[Any, ...]
    """As `links_of_questions` takes them, with what distances say at most."""
    order: tuple[Any, ...]
    bounds: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]
    """As `promising_questions` takes them."""

    @classmethod
    def of(cls, state: RulesOnGraph, order: tuple[Any, ...]) -> LinkBounds:
        """The bounds, for entities that are no further away than the longest body is long; `order` says what links are
        compared by, as `RulesOnGraph.link_order` does.
        """
        distances, lengths = state.model.tables.distances, state.program.walks.lengths
        furthest = int(lengths.max(initial=1)) if state.constants is None else distances.shape[1]
        near = distances[:, : furthest + 1]
        most = near.max(axis=1)
        weights, counts, _, *types, stored, mass, peaks = state.link_tables
        stored = stored if stored.size <= _MOST_STORED else np.zeros((0, 0))
        tables = (weights, counts, np.ascontiguousarray(most[:, None]), *types, stored, mass, peaks)
        unknown = np.full(len(distances), np.nan)
        return cls(tables, (*order, False), (most - near.min(axis=1), distances.min(axis=1), unknown))

    @property
    def hold(self) -> bool:
        """Does the value of a link rise with what tables say, and with its share?"""
        _, by_tables, by_share, *_ = self.order
        return bool(by_tables >= 0 and by_share >= 0)

    def may_reach(
        self,
        state: RulesOnGraph,
        questions: tuple[NDArray[Any], ...],
        floors: NDArray[np.float64],
        added: Any,
    ) -> NDArray[np.bool_]:
        """Which questions (anchors, directed relations, rows) may have a link that reaches the floor of their row.

        `added` is what rules about particular entities add.
        """
        found, lines = np.ones(len(questions[0]), dtype=np.bool_), np.zeros(len(questions[0]), dtype=np.int64)
        if self.hold:
            nowhere = np.zeros((1, 1), dtype=np.uint8)
            asked = (*questions, lines, nowhere)
            promising_questions(
                state.link_graph, asked, self.tables, self.order, floors, added, self.bounds, found
            )
        return found
