"""What every kind of channels has: how states begin, and how queries on a graph are scored with them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from reshuffle.model.evidence.evidence_graph import EvidenceGraph
from reshuffle.model.propagation import MessageGraph

if TYPE_CHECKING:
    import numpy as np
    import torch
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
    def at_once(self, width: int | None, *, forward: bool) -> int:
        """How many queries memory has room for, each with so many candidates, or all entities."""

    @abstractmethod
    def work(self, queries: int) -> int:
        """Roughly how many numbers some queries go through."""

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
