"""Small random graphs, and a scorer whose scores are known to the test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from reshuffle.kg import KnowledgeGraph
from reshuffle.kg.splits import GraphSplit, TransductiveBenchmark

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reshuffle.evaluation.scorer import Side

RELATIONS = ("r", "s", "t")


def random_split(seed: int, *, entities: int = 12, triples: int = 60) -> GraphSplit:
    """Facts, validation triples and queries over few entities, so that pools are small and answers many."""
    rng = np.random.default_rng(seed)
    drawn = {
        (f"e{rng.integers(entities)}", RELATIONS[rng.integers(3)], f"e{rng.integers(entities)}")
        for _ in range(triples)
    }
    everyone = {(f"e{number}", "r", f"e{number}") for number in range(entities)}
    rows = sorted(drawn - everyone)
    rng.shuffle(rows)
    third = len(rows) // 3
    named = [tuple(map(str, row)) for row in rows]
    return TransductiveBenchmark.from_graphs(
        "random",
        facts=KnowledgeGraph([*everyone, *named[2 * third :]]),  # type: ignore[list-item]
        valid=KnowledgeGraph(named[:third]),  # type: ignore[arg-type]
        queries=KnowledgeGraph(named[third : 2 * third]),  # type: ignore[arg-type]
    ).graph


@dataclass(frozen=True)
class TableScorer:
    """Scores that are drawn once, from few values, so that ties are common."""

    graph: KnowledgeGraph
    seed: int = 0
    values: int = 4

    def table(self, side: Side) -> NDArray[np.float32]:  # relation anchor entity
        shape = (len(self.graph.relations), self.graph.num_entities, self.graph.num_entities)
        rng = np.random.default_rng([self.seed, side == "tail"])
        return rng.integers(0, self.values, shape).astype(np.float32)

    def scores(
        self,
        anchors: NDArray[np.int32],
        relations: NDArray[np.int32],
        *,
        side: Side,
        candidates: NDArray[np.int32] | None,
    ) -> NDArray[np.float32]:
        rows = self.table(side)[relations, anchors]
        return rows if candidates is None else np.take_along_axis(rows, candidates, axis=1)
