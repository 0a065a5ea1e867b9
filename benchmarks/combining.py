"""Scorers made of scorers: the mean of several, and both directions of a query."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from reshuffle.evaluation import Scorer, Side
    from reshuffle.kg import KnowledgeGraph

_AT_ONCE = 64  # queries


class Averaged:
    """The mean of the scores of several scorers."""

    def __init__(self, scorers: Sequence[Scorer]) -> None:
        self._scorers = tuple(scorers)

    @property
    def graph(self) -> KnowledgeGraph:
        """The graph, which all scorers share."""
        return self._scorers[0].graph

    def scores(
        self,
        anchors: NDArray[np.int32],
        relations: NDArray[np.int32],
        *,
        side: Side,
        candidates: NDArray[np.int32] | None,
    ) -> NDArray[np.float32]:
        """Scores as `Scorer` defines them."""
        told = [one.scores(anchors, relations, side=side, candidates=candidates) for one in self._scorers]
        found: NDArray[np.float32] = np.mean(told, axis=0, dtype=np.float32)
        return found


class BothDirections:
    """(h, r, t) is worth what t is worth as an answer to (h, r, ?) and h as one to (?, r, t).

    The two are added as they are, or, with `shares`, as logarithms of shares among all answers (softmax).
    """

    def __init__(self, scorer: Scorer, *, shares: bool) -> None:
        self._scorer, self._shares = scorer, shares
        self._found: dict[int, NDArray[np.float32]] = {}

    @property
    def graph(self) -> KnowledgeGraph:
        """The graph of the scorer."""
        return self._scorer.graph

    def scores(
        self,
        anchors: NDArray[np.int32],
        relations: NDArray[np.int32],
        *,
        side: Side,
        candidates: NDArray[np.int32] | None,
    ) -> NDArray[np.float32]:
        """Scores as `Scorer` defines them."""
        tables = (self._table(int(relation)) for relation in relations)
        rows = np.stack(
            [
                table[anchor] if side == "tail" else table[:, anchor]
                for table, anchor in zip(tables, anchors, strict=True)
            ]
        )
        if candidates is None:
            return rows
        return np.take_along_axis(rows, candidates.astype(np.int64), axis=1)

    def _table(self, relation: int) -> NDArray[np.float32]:  # head tail
        if relation not in self._found:
            forward, backward = (self._all(relation, side) for side in ("tail", "head"))
            self._found[relation] = (forward + backward.T).astype(np.float32)
        return self._found[relation]

    def _all(self, relation: int, side: Side) -> NDArray[np.float64]:  # anchor candidate
        entities = np.arange(self.graph.num_entities, dtype=np.int32)
        pieces = np.split(entities, range(_AT_ONCE, len(entities), _AT_ONCE))
        rows = [
            self._scorer.scores(piece, np.full_like(piece, relation), side=side, candidates=None)
            for piece in pieces
        ]
        found = np.concatenate(rows).astype(np.float64)
        return found - np.logaddexp.reduce(found, axis=1, keepdims=True) if self._shares else found
