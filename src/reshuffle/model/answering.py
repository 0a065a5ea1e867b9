"""A trained model on a graph: a scorer."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from reshuffle.evaluation.baselines.types import TypeBaseline
from reshuffle.model.messages import MessageGraph
from reshuffle.model.scoring import all_tail_scores, tail_scores

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from reshuffle.evaluation.scorer import Side
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.model.reshuffle import ReshuffleModel

_MOST_STATES = 1 << 26  # numbers of bodies held at a time


class ModelAnswers:
    """Scores triples of one graph; the states of its entities are computed once, from the draw that `seed` names.

    Relations that the model has not seen send no messages, and `learned_relations` says which they are. Head queries
    (?, r, f) go through the inverse relation, that is through B_{r^-1} Z_f, as in the official code.
    """

    name = "reshuffle"

    def __init__(
        self,
        model: ReshuffleModel,
        relations: Sequence[str],
        graph: KnowledgeGraph,
        *,
        seed: int = 0,
        training_types: TypeBaseline | None = None,
    ) -> None:
        self._model, self._relations, self._seed, self._types = model, tuple(relations), seed, training_types
        self.graph = graph

    def on(self, graph: KnowledgeGraph) -> ModelAnswers:
        """The same model on another graph."""
        return ModelAnswers(self._model, self._relations, graph, seed=self._seed, training_types=self._types)

    @property
    def type_baseline(self) -> TypeBaseline:
        """Fitted on the training facts where those are known, else on this graph."""
        return self._types or TypeBaseline.fit(self.graph)

    @cached_property
    def _numbers(self) -> NDArray[np.int64]:  # relation of the graph -> relation of the model, or -1
        known = {relation: number for number, relation in enumerate(self._relations)}
        return np.array([known.get(relation, -1) for relation in self.graph.relations], dtype=np.int64)

    @property
    def learned_relations(self) -> NDArray[np.bool_]:
        """For each relation of the graph: was it there in training?"""
        return self._numbers >= 0

    @cached_property
    def _matrices(self) -> Tensor:
        with torch.no_grad():
            matrices: Tensor = self._model.matrices()
        return matrices

    @cached_property
    def states(self) -> Tensor:  # entity slot channel
        """Z^(m) of every entity."""
        model = self._model
        relations = self._numbers[self.graph.relation_ids]
        triples = np.stack([self.graph.heads, relations, self.graph.tails], axis=1).astype(np.int64)
        messages = MessageGraph.build(
            triples[relations >= 0],
            num_entities=self.graph.num_entities,
            num_relations=model.num_relations,
            identity=model.architecture.identity,
        ).to(model.device)
        generator = torch.Generator(model.device).manual_seed(self._seed)
        with torch.no_grad():
            return model.states(messages, self._matrices, generator)

    def scores(
        self,
        anchors: NDArray[np.int32],
        relations: NDArray[np.int32],
        *,
        side: Side,
        candidates: NDArray[np.int32] | None,
    ) -> NDArray[np.float32]:  # query candidate
        """-||ReLU(B_r Z_e - Z_f)||_2 for every candidate; 0 iff captured."""
        numbers = self._numbers[relations] + (self._model.num_relations if side == "head" else 0)
        step = max(1, _MOST_STATES // max(1, self.states[0].numel()))
        pieces = [
            self._piece(anchors[piece], numbers[piece], None if candidates is None else candidates[piece])
            for piece in (slice(start, start + step) for start in range(0, len(anchors), step))
        ]
        return np.concatenate(pieces)

    @torch.no_grad()
    def _piece(
        self, anchors: NDArray[np.int32], numbers: NDArray[np.int64], candidates: NDArray[np.int32] | None
    ) -> NDArray[np.float32]:
        heads, relations = self._on_device(anchors), self._on_device(numbers)
        bodies = self._model.bodies(self._matrices, self.states, heads, relations)
        if candidates is None:
            scores = all_tail_scores(bodies, self.states)
        else:
            scores = tail_scores(bodies, self.states, self._on_device(candidates))
        result: NDArray[np.float32] = scores.cpu().numpy()
        return result

    def _on_device(self, ids: NDArray[np.integer]) -> Tensor:
        return torch.from_numpy(ids.astype(np.int64)).to(self._model.device)
