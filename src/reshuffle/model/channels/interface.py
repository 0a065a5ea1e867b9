"""What every kind of channels has: how states begin, and how queries on a graph are scored with them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import torch

from reshuffle.model.evidence.evidence_graph import EvidenceGraph
from reshuffle.model.kernels import all_threads_for
from reshuffle.model.propagation import MessageGraph

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

    from reshuffle.model.injected import InjectedGraph
    from reshuffle.model.reshuffle import ReshuffleModel
    from reshuffle.model.scoring import Scores


@dataclass(frozen=True)
class ModelGraph:
    """A graph as a model computes with it, on the model's device; each form is built when it is first needed."""

    model: ReshuffleModel
    triples: NDArray[np.int64]  # triple (head relation tail): ids, relations as the model numbers them
    num_entities: int

    @cached_property
    def messages(self) -> MessageGraph:
        """The graph as the layers need it."""
        return MessageGraph.build(
            self.triples,
            num_entities=self.num_entities,
            num_relations=self.model.num_relations,
            num_identities=self.model.num_identities,
        ).to(self.model.matrices.logits.device)

    @cached_property
    def facts(self) -> EvidenceGraph:
        """The graph as evidence and the search for walks need it."""
        return EvidenceGraph.build(
            self.triples,
            num_entities=self.num_entities,
            num_relations=self.model.num_relations,
            device=self.model.matrices.logits.device,
        )

    @cached_property
    def injected(self) -> InjectedGraph | None:
        """The graph as injected rules need it; None for a model without."""
        block, device = self.model.injected, self.model.matrices.logits.device
        if block is None:
            return None
        return block.graph_of(self.triples, num_entities=self.num_entities, device=device)


@dataclass(frozen=True)
class Plan:
    """What queries cost."""

    at_once: int  # how many memory has room for
    work: int  # roughly how many numbers one goes through


class ChannelKind(ABC):
    """A kind of channels, as the setting `initial` names it."""

    per_query: ClassVar[bool] = False
    """Does every query have a channel of its own? Then no entity has a state before a question."""
    trainable: ClassVar[bool] = True
    alike: bool = False
    """Do all entities begin with the same state?"""

    @abstractmethod
    def initial_states(
        self, shape: tuple[int, int, int], *, probability: float, generator: torch.Generator
    ) -> Tensor:  # entity slot channel
        """A draw of Z^(0), made on the generator's device."""

    @abstractmethod
    def on_graph(self, graph: ModelGraph, matrices: Tensor, *, seed: int) -> ChannelsOnGraph:
        """Channels of this kind on a graph, from the draw that the seed names."""


class ChannelsOnGraph(ABC):
    """A model on a graph, with channels of one kind."""

    @property
    @abstractmethod
    def states(self) -> Tensor:  # entity slot channel
        """Z^(m) of every entity."""

    @abstractmethod
    def scores(
        self, anchors: Tensor, relations: Tensor, candidates: Tensor | None, *, forward: bool
    ) -> Scores[Tensor]:  # query candidate
        """What the scores of some queries are made of: of the given candidates, or of all entities.

        Candidates are tails of the anchors, or, unless `forward`, heads.
        """

    @abstractmethod
    def plan(self, width: int | None, *, forward: bool) -> Plan:
        """What queries cost, each with so many candidates, or all entities."""

    @torch.no_grad()
    def pieces(
        self, anchors: Tensor, relations: Tensor, candidates: Tensor | None, *, forward: bool
    ) -> Iterator[Scores[Tensor]]:
        """The scores of many queries, as many at a time as memory has room for."""
        plan = self.plan(None if candidates is None else candidates.shape[1], forward=forward)
        with all_threads_for(len(anchors) * plan.work):
            for start in range(0, len(anchors), plan.at_once):
                piece = slice(start, start + plan.at_once)
                some = None if candidates is None else candidates[piece]
                yield self.scores(anchors[piece], relations[piece], some, forward=forward)

    @property
    def keeps_layers(self) -> bool:
        """Are the states of every layer kept, so that a change of the graph costs only what changes?"""
        return False

    @abstractmethod
    def moved(self, graph: ModelGraph, touched: Tensor, kept: Tensor) -> ChannelsOnGraph:
        """The same on a graph that has changed; what is kept is handed over, so these are not to be used any more.

        The graph has the entities `kept` of this one in their order, and new ones behind. Its facts differ between
        `touched` entities, by their new ids; `touched` is looked at where layers are kept.
        """
