"""What links of questions are worth at most, told without distances.

On a large graph a search for distances takes far longer than all walks of rules from an entity, and most questions have
no link that is good enough. What rules add is known from the walks. What tables say is known but for the distance, and
an entity that a body of three atoms leads to is at most three steps away. So questions are looked at without distances
first, and these are searched for only where a link may be good enough beside those that are kept.

Walks take long, too, where many entities have many facts. So in a search through the whole graph only those questions
are walked from which, by the edges around their entity, may have a link that is good enough (`Reach`). Entities that
may have the best links come first, so that these are found early.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from reshuffle.rulelist.kernels.link_sums import promising_questions
from reshuffle.rulelist.kernels.rule_bounds import codes_around, most_by_rules, most_edges, within_reach

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reshuffle.rulelist.rule_answers import RulesOnGraph

_MOST_STORED = 1 << 26  # numbers of what types add that a search through all entities may fill
_WORDS = 1 << 24  # of 64 codes, of all entities


@dataclass(frozen=True)
class Reach:
    """What rules add at most, told without walks, for a model on a graph."""

    arrays: tuple[Any, ...]
    """As `_add_rules` takes them."""

    @classmethod
    def of(cls, state: RulesOnGraph) -> Reach:
        """The edges of a graph and the rules of a model, by their first codes."""
        edges, walks, count = state.features.edges, state.program.walks, 2 * state.features.num_relations
        entities = state.graph.num_entities
        words = min(-(-count // 64), max(1, _WORDS // max(1, entities)))
        order = np.argsort(walks.bodies[:, 0], kind="stable")
        bodies, lengths, rules = walks.bodies[order], walks.lengths[order], walks.rules[order]
        nexts = np.full(len(order), -1, dtype=np.int64)
        if bodies.shape[1] > 1:
            nexts = np.where(walks.meets[order], -1, bodies[:, 1]).astype(np.int64)
        weights, count_weights = (np.maximum(column[rules], 0.0) for column in state.model.arrays)
        relations = np.repeat(np.arange(count), np.diff(walks.firsts))[order]
        between = _logs_between(bodies, lengths, most_edges(edges, count))
        firsts = np.searchsorted(bodies[:, 0], np.arange(count + 1))
        return cls(
            (edges, codes_around(edges, words), firsts, (relations, nexts, weights, count_weights, between))
        )

    def worth(
        self, anchors: NDArray[np.int32], rows: NDArray[np.int64], order: tuple[Any, ...]
    ) -> NDArray[np.float64]:  # anchor
        """How good a link of each anchor may be by rules alone; `rows` are those of directed relations, or -1."""
        found = np.empty(len(anchors))
        most_by_rules(self.arrays, anchors, rows, order, found)
        return found


def _logs_between(
    bodies: NDArray[np.int32], lengths: NDArray[np.int64], most: NDArray[np.int64]
) -> NDArray[np.float64]:  # rule
    """The log of how many ways lead through the steps of a body between its first and its last, at most."""
    logs = np.log(np.maximum(most, 1))
    steps = np.arange(bodies.shape[1])
    inner = (steps > 0) & (steps < lengths[:, None] - 1)
    found: NDArray[np.float64] = np.where(inner, logs[bodies], 0.0).sum(axis=1)
    return found


@dataclass(frozen=True)
class LinkBounds:
    """Bounds for the links of a model on a graph."""

    tables: tuple[Any, ...]
    """As `links_of_questions` takes them, with what distances say at most."""
    order: tuple[Any, ...]
    bounds: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]
    """As `promising_questions` takes them."""
    reach: Reach | None = None
    """For a search through a whole graph."""

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
        unknown = np.full(len(distances), np.nan), np.full(len(distances), np.nan)
        return cls(tables, (*order, False), (most - near.min(axis=1), distances.min(axis=1), *unknown))

    def of_all(self, state: RulesOnGraph) -> LinkBounds:
        """The same for a search through the whole graph."""
        return replace(self, reach=state.link_reach)

    @property
    def hold(self) -> bool:
        """Does the value of a link rise with what tables say, and with its share?"""
        by_rules, by_tables, by_share, *_ = self.order
        return bool(by_rules >= 0 and by_tables >= 0 and by_share >= 0)

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
        if self.hold and self.reach is not None:
            reach, types = self.reach.arrays, self.bounds[2:]
            within_reach(reach, questions, self.tables, self.order, floors, added, types, found)
        if self.hold and found.any():
            nowhere = np.zeros((1, 1), dtype=np.uint8)
            asked = (*questions, lines, nowhere)
            promising_questions(
                state.link_graph, asked, self.tables, self.order, floors, added, self.bounds, found
            )
        return found
