"""A scorer whose ties another scorer breaks: rules first, then types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from reshuffle.errors import InputError
from reshuffle.evaluation.queries import same_ids

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reshuffle.evaluation.scorer import Scorer, Side
    from reshuffle.kg import KnowledgeGraph


@dataclass(frozen=True)
class TieBroken:
    """Ranks by the first scorer, and breaks its ties by the second. Both must look at the same graph.

    A score is the place of the candidate's pair of scores among those of its row, counted from the lowest.
    """

    first: Scorer
    second: Scorer

    def __post_init__(self) -> None:
        if not same_ids(*self._graphs):
            raise InputError(
                "two scorers on different graphs cannot be combined",
                hint="call .on(graph) with the same graph for both",
            )

    @property
    def name(self) -> str:
        """The names of both scorers, the first one first."""
        return ", then ".join(
            str(getattr(one, "name", type(one).__name__)) for one in (self.first, self.second)
        )

    @property
    def graph(self) -> KnowledgeGraph:
        """The graph of both scorers; of two that name different relations, the one with fewer."""
        return self._graphs[0]

    @property
    def _graphs(self) -> tuple[KnowledgeGraph, KnowledgeGraph]:
        """The graphs of both scorers, the one with fewer relations first."""
        one, other = self.first.graph, self.second.graph
        return (other, one) if len(other.relations) < len(one.relations) else (one, other)

    def scores(
        self,
        anchors: NDArray[np.int32],
        relations: NDArray[np.int32],
        *,
        side: Side,
        candidates: NDArray[np.int32] | None,
    ) -> NDArray[np.float32]:
        """The place of each candidate by both scores (`Scorer.scores`)."""
        pairs = [
            scorer.scores(anchors, relations, side=side, candidates=candidates)
            for scorer in (self.first, self.second)
        ]
        return np.stack([_places(*row) for row in zip(*pairs, strict=True)])


def _places(first: NDArray[np.float32], second: NDArray[np.float32]) -> NDArray[np.float32]:
    """The place of each pair of scores among the distinct pairs, counted from the lowest.

    >>> _places(np.array([2, 1, 1, 1]), np.array([0, 5, 7, 5]))
    array([2., 0., 1., 0.], dtype=float32)
    """
    order = np.lexsort((second, first))
    steps = (np.diff(first[order]) != 0) | (np.diff(second[order]) != 0)
    places = np.empty(len(first), dtype=np.float32)
    places[order] = np.concatenate([[0], np.cumsum(steps)])
    return places
