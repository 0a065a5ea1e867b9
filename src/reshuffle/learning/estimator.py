"""`Reshuffle`: hyperparameters in the constructor, data in `fit`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from reshuffle.errors import InputError, ReshuffleError
from reshuffle.evaluation.baselines.types import TypeBaseline
from reshuffle.kg import KnowledgeGraph
from reshuffle.kg.benchmarks.splits import GraphSplit
from reshuffle.learning.settings import Settings
from reshuffle.learning.training import Trainer, TrainingData
from reshuffle.model.answering import ModelAnswers
from reshuffle.progress import SILENT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reshuffle.learning.training import History
    from reshuffle.model.reshuffle import ReshuffleModel
    from reshuffle.progress import Progress

_HELD_OUT = 0.1


class Reshuffle:
    """Learns ordering constraints from triples.

    >>> from reshuffle import load_benchmark
    >>> bench = load_benchmark("families")
    >>> model = Reshuffle(num_slots=4, num_channels=4, num_layers=2, max_epochs=1).fit(bench.train)
    >>> model.on(bench.test.facts).states.shape[1:]
    torch.Size([4, 4])
    """

    def __init__(self, settings: Settings | None = None, *, device: str = "auto", **changes: Any) -> None:
        """`changes` are settings by name: num_slots, num_channels, num_layers, learning_rate, margin, seed, ..."""
        self.settings = (settings or Settings()).changed(**changes)
        self.device = chosen_device(device)
        self.relations: tuple[str, ...] = ()
        self.history: History | None = None
        self._model: ReshuffleModel | None = None
        self._types: TypeBaseline | None = None

    @property
    def model(self) -> ReshuffleModel:
        """The module with the parameters."""
        if self._model is None:
            raise ReshuffleError(
                "this model has not been trained\n  hint: call fit(facts) first, or load one"
            )
        return self._model

    def fit(
        self,
        facts: KnowledgeGraph | GraphSplit,
        *,
        valid: KnowledgeGraph | None = None,
        progress: Progress = SILENT,
    ) -> Reshuffle:
        """Train on a graph; without validation triples 10 % of it are held out by seed."""
        graph, held_out = self._split(facts, valid)
        self.relations = tuple(graph.relations)
        trainer = Trainer(
            TrainingData(_ids(graph), _ids(held_out, graph), graph.num_entities, len(graph.relations)),
            self.settings.architecture,
            self.settings.training,
            device=self.device,
        )
        with progress("training", total=self.settings.training.max_epochs, unit="epoch") as report:
            for _ in trainer.epochs():
                report(1)
        self._model, self.history = trainer.model.eval(), trainer.history
        self._types = TypeBaseline.fit(graph)
        return self

    def on(self, graph: KnowledgeGraph, *, seed: int | None = None) -> ModelAnswers:
        """The model's answers about a graph, of the same relations and any entities."""
        return ModelAnswers(
            self.model,
            self.relations,
            graph,
            seed=self.settings.training.seed if seed is None else seed,
            training_types=self._types,
        )

    def _split(
        self, facts: KnowledgeGraph | GraphSplit, valid: KnowledgeGraph | None
    ) -> tuple[KnowledgeGraph, KnowledgeGraph]:
        graph = facts.facts if isinstance(facts, GraphSplit) else facts
        if valid is None and isinstance(facts, GraphSplit):
            valid = facts.valid
        if not len(graph):
            raise InputError("there are no triples to train on", hint="give a graph with facts")
        return (
            (graph, valid)
            if valid is not None and len(valid)
            else _held_out(graph, self.settings.training.seed)
        )


def chosen_device(name: str) -> torch.device:
    """`auto` takes a GPU where there is one."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(name)


def _ids(graph: KnowledgeGraph, like: KnowledgeGraph | None = None) -> NDArray[np.int64]:
    """Triples as ids of the graph `like`; those with names it does not have are left out."""
    if like is None or (graph.entities == like.entities and graph.relations == like.relations):
        return np.stack([graph.heads, graph.relation_ids, graph.tails], axis=1).astype(np.int64)
    rows = [
        (like.entities.find(head), like.relations.find(relation), like.entities.find(tail))
        for head, relation, tail in graph
    ]
    return np.array([row for row in rows if None not in row], dtype=np.int64).reshape(-1, 3)


def _held_out(facts: KnowledgeGraph, seed: int) -> tuple[KnowledgeGraph, KnowledgeGraph]:
    """90 % to train on and 10 % to stop by, over the same names."""
    order = np.random.default_rng(seed).permutation(len(facts))
    cut = int(len(facts) * _HELD_OUT)

    def part(rows: NDArray[np.int64]) -> KnowledgeGraph:
        return KnowledgeGraph.from_ids(
            facts.heads[rows],
            facts.relation_ids[rows],
            facts.tails[rows],
            entities=facts.entities,
            relations=facts.relations,
        )

    return part(order[cut:]), part(order[:cut])
